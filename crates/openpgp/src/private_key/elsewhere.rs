//! Clear RSA keys whose operations run outside this crate, such as on cards.

use super::PrivateKeyError;
use engine::RsaPrivateKey;
use zeroize::Zeroizing;

/// Takes over clear RSA keys, to compute with them elsewhere.
pub trait RsaProvider {
    /// Takes over a key; returns the object that carries out the key's operations.
    ///
    /// # Errors
    /// [`PrivateKeyError`] if the provider does not take such a key.
    fn take(&self, key: &RsaPrivateKey) -> Result<Box<dyn RsaOperation>, PrivateKeyError>;
}

/// The operations of one key that was taken over.
pub trait RsaOperation: Send + Sync {
    /// The raw private operation (RFC 8017, 5.1.2) over a block as long as the modulus; the result has the same length.
    ///
    /// # Errors
    /// [`PrivateKeyError::NotOpened`] if the block is not below the modulus; other errors if nothing was computed.
    fn private(&self, block: &[u8]) -> Result<Zeroizing<Vec<u8>>, PrivateKeyError>;
}

//! Clear RSA keys whose operations run outside this crate, such as on cards.

use super::PrivateKeyError;
use engine::RsaPrivateKey;
use zeroize::Zeroizing;

/// Takes clear RSA keys over.
pub trait RsaProvider {
    /// A key from here on.
    ///
    /// # Errors
    /// [`PrivateKeyError`] where it does not take such a key.
    fn take(&self, key: &RsaPrivateKey) -> Result<Box<dyn RsaOperation>, PrivateKeyError>;
}

/// What is done with one key that was taken over.
pub trait RsaOperation: Send + Sync {
    /// The raw private operation (RFC 8017, 5.1.2) over a block as long as the modulus, which the result is, too.
    ///
    /// # Errors
    /// [`PrivateKeyError::NotOpened`] where the block is not below the modulus; others where nothing was computed.
    fn private(&self, block: &[u8]) -> Result<Zeroizing<Vec<u8>>, PrivateKeyError>;
}

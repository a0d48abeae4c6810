//! Private keys: their operations, wherever they are, and the certificates that hold them.
//!
//! | need | where |
//! |---|---|
//! | parse from bytes, as GnuPG and others export them | [`PrivateCertificate::parse_all`] |
//! | unlock | [`PrivateCertificate::unlock`], [`PrivateCertificate::unlock_key`] |
//! | another passphrase | [`PrivateCertificate::with_passphrase`] |
//! | open session keys, sign | [`PrivateKey`] |
//! | clear RSA keys computed with elsewhere | [`PrivateCertificate::unlock_on`], [`RsaProvider`] |
//! | hand a key to a process that holds it | [`PrivateCertificate::clear_key`], [`ClearKey::open`] |
//! | a key that is not in this process at all | an implementation of [`PrivateKey`] |

mod certificate;
pub(crate) mod elgamal;
mod elsewhere;
mod software;

use crate::compute::engine_hash;
use crate::{HashAlgorithm, PlainSessionKey};
use pgp::packet::PublicKeyEncryptedSessionKey;
use pgp::types::{KeyDetails, SignatureBytes};
use std::fmt;

pub use crate::key::{Locking, PrivateKeyError};
pub use certificate::{ClearKey, PrivateCertificate};
pub use elsewhere::{RsaOperation, RsaProvider};
pub(crate) use software::SoftwareKey;

/// One private key (primary key or subkey): in this process, or on a card.
pub trait PrivateKey: Send + Sync {
    /// Its public half: version, algorithm, fingerprint, parameters.
    fn public(&self) -> &dyn KeyDetails;

    /// Opens a session key.
    ///
    /// # Errors
    /// [`PrivateKeyError::NotOpened`] without any detail for whatever is wrong with the packet's secret part;
    /// others where the key cannot be used at all.
    fn open(&self, packet: &PublicKeyEncryptedSessionKey) -> Result<PlainSessionKey, PrivateKeyError>;

    /// Signs a digest of the algorithm's length.
    ///
    /// # Errors
    /// Where the key cannot sign, or its card cannot be reached.
    fn sign(&self, hash: HashAlgorithm, digest: &[u8]) -> Result<SignatureBytes, PrivateKeyError>;
}

/// What an RSA key signs, before its padding: hash and digest in DER (RFC 8017, 9.2, note 1); for keys that are not in
/// this process.
///
/// # Errors
/// [`PrivateKeyError::Unsupported`] for unsupported hashes, and digests of a wrong length.
pub fn digest_info(hash: HashAlgorithm, digest: &[u8]) -> Result<Vec<u8>, PrivateKeyError> {
    let known = engine_hash(hash).filter(|hash| hash.digest_bytes() == digest.len());
    let known = known.ok_or_else(|| PrivateKeyError::Unsupported {
        operation: "sign with this hash",
        algorithm: "RSA".to_owned(),
    })?;
    Ok([engine::digest_info_prefix(known), digest].concat())
}

impl fmt::Debug for dyn PrivateKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "PrivateKey({:X})", self.public().fingerprint())
    }
}

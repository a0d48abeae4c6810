//! Private keys: their operations, wherever they are, and the certificates that hold them.
//!
//! | need | where |
//! |---|---|
//! | parse from bytes, as GnuPG and others export them | [`PrivateCertificate::parse_all`] |
//! | unlock | [`PrivateCertificate::unlock`], [`PrivateCertificate::unlock_key`] |
//! | another passphrase | [`PrivateCertificate::with_passphrase`] |
//! | open session keys, sign | [`PrivateKey`] |
//! | clear RSA keys whose operations run elsewhere | [`PrivateCertificate::unlock_on`], [`RsaProvider`] |
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

/// One private key (primary key or subkey): in this process, on a card, or in another process.
pub trait PrivateKey: Send + Sync {
    /// The public half: version, algorithm, fingerprint, parameters.
    fn public(&self) -> &dyn KeyDetails;

    /// Opens the session key in a packet.
    ///
    /// # Errors
    /// [`PrivateKeyError::NotOpened`], without any detail, for every defect of the packet's secret part; other errors
    /// if the key cannot be used at all.
    fn open(&self, packet: &PublicKeyEncryptedSessionKey) -> Result<PlainSessionKey, PrivateKeyError>;

    /// Signs a digest of the hash algorithm's length.
    ///
    /// # Errors
    /// [`PrivateKeyError`] if the key cannot sign, or its card cannot be reached.
    fn sign(&self, hash: HashAlgorithm, digest: &[u8]) -> Result<SignatureBytes, PrivateKeyError>;
}

/// The text that an RSA key signs before padding: hash and digest in DER (RFC 8017, 9.2, note 1). For keys that are not
/// in this process.
///
/// # Errors
/// [`PrivateKeyError::Unsupported`] for an unsupported hash, or a digest of a wrong length.
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

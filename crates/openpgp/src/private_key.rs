//! Private keys: what they do wherever they are, and the certificates that hold them.
//!
//! | need | where |
//! |---|---|
//! | out of bytes, as GnuPG and others export them | [`PrivateCertificate::parse_all`] |
//! | unlock | [`PrivateCertificate::unlock`], [`PrivateCertificate::unlock_key`] |
//! | another passphrase | [`PrivateCertificate::with_passphrase`] |
//! | open session keys, sign | [`PrivateKey`] |
//! | clear RSA keys computed with elsewhere | [`PrivateCertificate::unlock_on`], [`RsaProvider`] |
//! | a key that is not in this process at all | an implementation of [`PrivateKey`] |

mod certificate;
pub(crate) mod elgamal;
mod elsewhere;
mod lock;
mod packet;
mod software;

use crate::compute::engine_hash;
use crate::{HashAlgorithm, PlainSessionKey};
use pgp::packet::PublicKeyEncryptedSessionKey;
use pgp::types::{KeyDetails, SignatureBytes};
use std::fmt;

pub use certificate::PrivateCertificate;
pub use elsewhere::{RsaOperation, RsaProvider};
pub(crate) use packet::SecretPacket;
pub(crate) use software::SoftwareKey;

/// How a private key is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Locking {
    /// In the clear.
    Open,
    /// Under a passphrase.
    Passphrase,
    /// Not here: a mark of GnuPG stands in its place.
    Elsewhere {
        /// Serial number of the smart card, where the mark has one.
        card: Option<Vec<u8>>,
    },
}

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

/// Why a private key did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PrivateKeyError {
    /// The session key is not one for this key. Opaque on purpose: which check failed would be an oracle.
    NotOpened,
    /// The passphrase is not that of the key, or none was given.
    Locked,
    /// The key's algorithm is not served for this.
    Unsupported {
        /// What was asked: `"open session keys"`, `"sign"`.
        operation: &'static str,
        /// Name of the algorithm.
        algorithm: String,
    },
    /// The card or its home did not do it.
    Card {
        /// Label of the key.
        label: String,
        /// What the facility or the verb said.
        cause: String,
    },
    /// The key packet does not hold together.
    Malformed {
        /// What is wrong.
        cause: String,
    },
}

impl fmt::Display for PrivateKeyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOpened => out.write_str("the session key was not opened"),
            Self::Locked => out.write_str("the private key is locked: its passphrase is missing or wrong"),
            Self::Unsupported { operation, algorithm } => {
                write!(out, "keys of the algorithm {algorithm} cannot {operation} here")
            }
            Self::Card { label, cause } => {
                write!(out, "the key with the label {label} was not used: {cause}")
            }
            Self::Malformed { cause } => write!(out, "the private key is malformed: {cause}"),
        }
    }
}

impl std::error::Error for PrivateKeyError {}

/// What an RSA key signs, before its padding: hash and digest in DER (RFC 8017, 9.2, note 1); for keys that are not in this
/// process.
///
/// # Errors
/// [`PrivateKeyError::Unsupported`] for hashes that are not served, and digests that are not as long as theirs.
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

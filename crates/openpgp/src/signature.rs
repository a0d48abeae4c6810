//! Signatures over messages.
//!
//! | need | where |
//! |---|---|
//! | make them, several at once | [`Maker`] |
//! | check them, several at once | [`Checker`] |
//! | which hash a signer takes | [`hash_for`] |
//!
//! Both take the text in pieces of any length. For a cleartext signature (RFC 9580, 7) the caller takes off what its
//! framework says: blanks at line ends, and the last line end.

mod checker;
mod maker;
pub(crate) mod over_keys;

use crate::key::curve_and_point;
use crate::{Fingerprint, HashAlgorithm, PrivateKey, Timestamp};
use engine::Curve;
use pgp::types::KeyDetails;
use std::sync::Arc;

pub use crate::signed::Issuer;
pub use checker::{Checker, HASHES_MAX};
pub use maker::{INTENDED_MAX, Maker};

/// Who signs, and with which hash.
#[derive(Clone)]
pub struct Signer {
    /// The key.
    pub key: Arc<dyn PrivateKey>,
    /// The hash: what the certificate prefers, at least as strong as the key asks.
    pub hash: HashAlgorithm,
    /// User id to name in the signature, if one.
    pub user_id: Option<String>,
}

/// Where a signed text was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Context {
    /// In a message that is not encrypted, or beside its signature.
    #[default]
    Clear,
    /// In an encrypted message.
    Encrypted {
        /// Primary key of the certificate whose private key opened it, if that was what did.
        opened_by: Option<Fingerprint>,
    },
}

/// One signature, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Whom it names as its maker.
    pub issuer: Issuer,
    /// When it says that it was made.
    pub made: Option<Timestamp>,
    /// Whether the line ends of the text were normalised (type 0x01).
    pub is_text: bool,
    /// What became of it.
    pub verdict: Verdict,
}

/// What became of a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It holds, and its key was valid when it was made.
    Good {
        /// The certificate's primary key.
        certificate: Fingerprint,
        /// The key that signed.
        key: Fingerprint,
    },
    /// It does not hold, its key was not valid, or it rests on something that is too weak.
    Bad {
        /// Why, for people, with the fingerprint.
        why: String,
    },
    /// Nobody knows a certificate of its issuer.
    Unknown,
}

/// The hash for signatures of a key: the first one wanted (by the certificate's preferences, or a recipient's) that is
/// as strong as the key asks, else the key's own.
pub fn hash_for(key: &dyn KeyDetails, wanted: &[HashAlgorithm]) -> HashAlgorithm {
    let own = match curve_and_point(key.public_params()) {
        Some((Curve::BrainpoolP384r1, _)) => HashAlgorithm::Sha384,
        _ => key.public_params().hash_alg(),
    };
    let is_fit = |hash: &HashAlgorithm| {
        matches!(hash, HashAlgorithm::Sha256 | HashAlgorithm::Sha384 | HashAlgorithm::Sha512)
            && hash.digest_size() >= own.digest_size()
    };
    wanted.iter().copied().find(is_fit).unwrap_or(own)
}

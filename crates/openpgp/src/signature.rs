//! Signatures over messages.
//!
//! | need | where |
//! |---|---|
//! | make them, several at once | [`Maker`] |
//! | check them, several at once | [`Checker`] |
//! | the hash for a signer's key | [`hash_for`] |
//!
//! Both take the text in pieces of any length. For a cleartext signature (RFC 9580, 7) the caller removes blanks at
//! line ends and the last line end first, as the framework demands.

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

/// A key that signs, and the hash that it signs with.
#[derive(Clone)]
pub struct Signer {
    /// The private key that makes the signature.
    pub key: Arc<dyn PrivateKey>,
    /// The hash: preferred by the certificate, and at least as strong as the key demands.
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
        /// Primary key of the certificate whose private key opened the message; `None` if a passphrase or session key
        /// did.
        opened_by: Option<Fingerprint>,
    },
}

/// The result of checking one signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The issuer that the signature names.
    pub issuer: Issuer,
    /// The time at which the signature claims to be made.
    pub made: Option<Timestamp>,
    /// Whether the line ends of the text were normalised (type 0x01).
    pub is_text: bool,
    /// The verdict on the signature.
    pub verdict: Verdict,
}

/// The verdict on a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The signature is valid, and its key was valid when the signature was made.
    Good {
        /// The certificate's primary key.
        certificate: Fingerprint,
        /// The key that signed.
        key: Fingerprint,
    },
    /// The signature is not valid, its key was not valid, or it has a weakness.
    Bad {
        /// The reason, for people, with the fingerprint.
        why: String,
    },
    /// No certificate of the issuer is known.
    Unknown,
}

/// The hash for signatures of a key: the first of `wanted` that is SHA-2 of 256 bits or more and as strong as the key
/// demands. Without one, the key's own hash. `wanted` holds the preferences of the certificate, or of a recipient.
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

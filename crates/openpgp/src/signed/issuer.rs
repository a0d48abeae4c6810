//! The issuer that a signature names (RFC 9580, 5.2.3.12 and 5.2.3.35).

use crate::{Fingerprint, KeyId};
use pgp::packet::Signature;
use std::fmt;

/// At most this many issuers are looked at for one signature.
const ISSUERS_MAX: usize = 8;

/// The issuer that a signature names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Issuer {
    /// A key's fingerprint.
    Fingerprint(Fingerprint),
    /// Only a key ID, as in old signatures.
    KeyId(KeyId),
    /// No issuer is named.
    Unnamed,
}

impl Issuer {
    /// The first issuer that a signature names, by fingerprint rather than by key ID.
    pub fn of(signature: &Signature) -> Self {
        Self::all_of(signature).swap_remove(0)
    }

    /// All issuers that a signature names, fingerprints first, at most [`ISSUERS_MAX`]; [`Self::Unnamed`] if there is
    /// none. Anybody can add issuers to a signature.
    pub(crate) fn all_of(signature: &Signature) -> Vec<Self> {
        let fingerprints = signature
            .issuer_fingerprint()
            .into_iter()
            .map(|fingerprint| Self::Fingerprint(fingerprint.clone()));
        let ids = signature.issuer_key_id().into_iter().map(|id| Self::of_id(*id));
        let mut issuers: Vec<_> = fingerprints.chain(ids).take(ISSUERS_MAX).collect();
        if issuers.is_empty() {
            issuers.push(Self::Unnamed);
        }
        issuers
    }

    /// The issuer with this key ID; the wildcard stands for no issuer.
    pub(crate) fn of_id(id: KeyId) -> Self {
        if id.is_wildcard() { Self::Unnamed } else { Self::KeyId(id) }
    }
}

/// The fingerprint or key ID in hexadecimal, or `unnamed`.
impl fmt::Display for Issuer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fingerprint(fingerprint) => write!(out, "{fingerprint:X}"),
            Self::KeyId(id) => out.write_str(&id.to_string().to_uppercase()),
            Self::Unnamed => out.write_str("unnamed"),
        }
    }
}

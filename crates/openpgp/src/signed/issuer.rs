//! Whom a signature names as its maker (RFC 9580, 5.2.3.12 and 5.2.3.35).

use crate::{Fingerprint, KeyId};
use pgp::packet::Signature;
use std::fmt;

/// Most makers that one signature is checked for.
const ISSUERS_MAX: usize = 8;

/// Whom a signature names as its maker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Issuer {
    /// By fingerprint.
    Fingerprint(Fingerprint),
    /// By key id alone, as old signatures do.
    KeyId(KeyId),
    /// Not at all.
    Unnamed,
}

impl Issuer {
    /// Whom a signature names; a fingerprint rather than a key ID.
    pub fn of(signature: &Signature) -> Self {
        Self::all_of(signature).swap_remove(0)
    }

    /// All that a signature names, which anybody can add to, or that it names nobody: one at least, fingerprints first.
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

    /// By a key ID, of which one is that of nobody.
    pub(crate) fn of_id(id: KeyId) -> Self {
        if id.is_wildcard() { Self::Unnamed } else { Self::KeyId(id) }
    }
}

/// In hexadecimal; `unnamed` where it is nobody.
impl fmt::Display for Issuer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fingerprint(fingerprint) => write!(out, "{fingerprint:X}"),
            Self::KeyId(id) => out.write_str(&id.to_string().to_uppercase()),
            Self::Unnamed => out.write_str("unnamed"),
        }
    }
}

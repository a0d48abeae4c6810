//! Signatures with elliptic-curve keys.

use super::signature_hash_of;
use token::pka::ecc::EccCurve;
use wire::verb::SignatureHash;
use wire::{Codes, code};

/// A method of signatures with elliptic-curve keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// ECDSA (FIPS 186-5, 6): the data is a digest.
    Ecdsa,
    /// Ed25519 (RFC 8032, 5.1): the data is the text.
    Eddsa,
}

impl Method {
    /// Checks that a key of this curve signs data of this length by this method.
    ///
    /// # Errors
    /// 8/874 if the method is not one of the curve; 8/25 for a digest that is not as long as the named hash, or, if
    /// none is named, as any hash.
    pub(crate) fn check(
        self,
        curve: EccCurve,
        data: &[u8],
        hash: Option<SignatureHash>,
    ) -> Result<(), Codes> {
        if (self == Self::Eddsa) != (curve == EccCurve::Ed25519) {
            return Err(code::CURVE);
        }
        let fits = match (self, hash) {
            (Self::Eddsa, _) => true,
            (Self::Ecdsa, Some(hash)) => data.len() == signature_hash_of(hash).digest_bytes(),
            (Self::Ecdsa, None) => matches!(data.len(), 20 | 28 | 32 | 48 | 64),
        };
        if fits { Ok(()) } else { Err(code::TEXT_LENGTH) }
    }
}

/// Length of a signature in bytes: r and s, each as long as the curve's prime; of Ed25519 R and S.
pub(crate) const fn signature_bytes(curve: EccCurve) -> usize {
    2 * curve.bytes()
}

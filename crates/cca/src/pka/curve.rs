//! Tokens of elliptic-curve keys as verbs make and read them.

use engine::SecretBytes;
use token::pka::ecc::{EccAttributes, EccCurve, EccToken, EccWrappedBuilder};
use token::pka::{Destination, Source};
use wire::verb::SignatureHash;
use wire::{Codes, code};

use super::signature_hash_of;
use crate::call::{Call, Refusal};
use crate::pass::{Skeleton, Token};

impl<'a> Call<'_, 'a> {
    /// The validated elliptic-curve token of a key field.
    pub(crate) fn ecc_token(&self, field: &'a [u8]) -> Result<EccToken<'a>, Refusal> {
        let field = self.key(field)?.bytes();
        Ok(EccToken::parse(field).map_err(|error| error.codes())?)
    }
}

/// The internal token of a private value, wrapped under the current master key.
pub(crate) async fn internal(
    call: Call<'_, '_>,
    curve: EccCurve,
    value: SecretBytes,
    point: &[u8],
    attributes: &EccAttributes,
    source: Source,
) -> Result<Token, Refusal> {
    let builder = EccWrappedBuilder::new(Destination::Internal(source), curve, point, attributes)
        .map_err(|error| error.codes())?;
    Ok(call.make(Skeleton::Ecc(Box::new(builder)), value).await?)
}

/// A method of signatures with elliptic-curve keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// ECDSA (FIPS 186-5, 6): the data is a digest.
    Ecdsa,
    /// Ed25519 (RFC 8032, 5.1): the data is the text.
    Eddsa,
}

impl Method {
    /// Refuses what a key of this curve does not sign by this method.
    ///
    /// # Errors
    /// 8/874 where the curve is not one of the method; 8/25 for a digest that has not the length of the hash that is
    /// named, or where none is, of any hash.
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

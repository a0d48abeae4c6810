//! PKA tokens in the hands of a verb: read from its fields, and made.

use crate::call::Call;
use crate::ground::Refusal;
use crate::pass::{Skeleton, Token};
use engine::{SecretBytes, sha1, sha256};
use token::pka::ecc::{EccAttributes, EccCurve, EccToken, EccWrappedBuilder};
use token::pka::{Destination, PkaToken, Source};

impl<'a> Call<'_, 'a> {
    /// The validated RSA token of a key field.
    pub(crate) fn pka_token(&self, field: &'a [u8]) -> Result<PkaToken<'a>, Refusal> {
        let field = self.key(field)?.bytes();
        Ok(PkaToken::parse(field, &(sha1, sha256)).map_err(|error| error.codes())?)
    }

    /// The validated elliptic-curve token of a key field.
    pub(crate) fn ecc_token(&self, field: &'a [u8]) -> Result<EccToken<'a>, Refusal> {
        let field = self.key(field)?.bytes();
        Ok(EccToken::parse(field).map_err(|error| error.codes())?)
    }
}

/// The internal token of a private value, wrapped under the current master key.
pub(crate) async fn internal_ecc(
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

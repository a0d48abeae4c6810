//! Key-identifier fields that a new token is written into: empty, or with a token that determines the kind of the new
//! one.

use crate::ground::Refusal;
use token::control_vector::bit;
use token::unconfirmed::CONTROL_VECTOR_BIT_NO_TR31;
use token::{AesToken, ControlVector, DesToken, Format, TOKEN_BYTES};
use wire::code;
use wire::verb::TokenWrapping;

/// Whether a field of a fixed-length token has none: it is left out, or as long as a token and begins with X'00'.
pub(crate) fn is_null(field: &[u8]) -> bool {
    Format::of(field) == Format::Null && matches!(field.len(), 0 | TOKEN_BYTES)
}

/// The internal DES token in a field; `None` for a null token.
///
/// # Errors
/// 8/30 for a label, 8/47 for another token, the token's own.
pub(crate) fn des_target(field: &[u8]) -> Result<Option<DesToken>, Refusal> {
    match Format::of(field) {
        Format::Null if is_null(field) => Ok(None),
        Format::DesInternal => Ok(Some(DesToken::parse(field)?)),
        Format::Label => Err(code::LABEL_NOT_FOUND.into()),
        _ => Err(code::TOKEN_INVALID.into()),
    }
}

/// The same token with the wrapping that a keyword names; unchanged if there is no keyword.
///
/// # Errors
/// 8/2111 for the original wrapping of a key that may not have it.
pub(crate) fn with_wrapping(token: DesToken, wrapping: Option<TokenWrapping>) -> Result<DesToken, Refusal> {
    let is_enhanced = match wrapping {
        Some(TokenWrapping::Ecb) if token.control_vector().is_enhanced_only() => {
            return Err(code::WRAPPING_BIT.into());
        }
        Some(TokenWrapping::Enhanced) => true,
        Some(TokenWrapping::Ecb) => false,
        _ => token.is_enhanced(),
    };
    Ok(token.with_enhanced(is_enhanced))
}

/// The same token, kept out of key blocks if the key that it is derived of is: no keyword of a token says so.
///
/// # Errors
/// 8/39 for a token without a control vector, which cannot say so either.
pub(crate) fn kept_as(token: DesToken, generating: ControlVector) -> Result<DesToken, Refusal> {
    const NO_BLOCKS: u64 = bit(CONTROL_VECTOR_BIT_NO_TR31);
    let vector = token.control_vector();
    if generating.left() & NO_BLOCKS == 0 {
        return Ok(token);
    }
    if vector.is_zero() {
        return Err(code::KEY_USAGE.into());
    }
    Ok(token.with_vector(vector.with_bits(NO_BLOCKS, true).map_err(|_| code::KEY_USAGE)?)?)
}

/// The external DES token in a field; `None` for a null token.
///
/// # Errors
/// As [`des_target`].
pub(crate) fn external_des_target(field: &[u8]) -> Result<Option<DesToken>, Refusal> {
    match Format::of(field) {
        Format::Null if is_null(field) => Ok(None),
        Format::DesExternal => Ok(Some(DesToken::parse(field)?)),
        Format::Label => Err(code::LABEL_NOT_FOUND.into()),
        _ => Err(code::TOKEN_INVALID.into()),
    }
}

/// The fixed-length AES token in a field; `None` for a null token.
///
/// # Errors
/// As [`des_target`].
pub(crate) fn aes_target(field: &[u8]) -> Result<Option<AesToken>, Refusal> {
    match Format::of(field) {
        Format::Null if is_null(field) => Ok(None),
        Format::AesInternal => Ok(Some(AesToken::parse(field)?)),
        Format::Label => Err(code::LABEL_NOT_FOUND.into()),
        _ => Err(code::TOKEN_INVALID.into()),
    }
}

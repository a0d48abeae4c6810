//! Key_Token_Change (CSNBKTC): returns a DES or AES token that is under the old master key under the current one.
//!
//! RTNMK is refused: no card holds a new master key before it is set. A token that is under the current master key
//! already is returned unchanged, or in the form that this system makes. In a home of compatible tokens WRAP-ENH gives
//! a DES token the enhanced wrapping, and WRAP-ECB is refused for one that has it (8/2110): it would be weaker. With
//! ENH-ONLY the control vector forbids the original wrapping from then on; a control vector that is zero, or that of a
//! part of a key, cannot have this bit (8/39). Both are ignored for AES keys. A record that is named by its label is
//! not changed by them (8/30).

use crate::call::{Call, Reply, Verdict};
use crate::ground::{Algorithm, Refusal};
use crate::pass::Skeleton;
use token::DesToken;
use token::control_vector::bit;
use wire::code;
use wire::verb::key_token_change::{Answer, Request};
use wire::verb::{ChangedAlgorithm, TokenWrapping, WrappingBound};

pub(crate) async fn key_token_change(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let found = call.key(request.key_identifier)?.any()?;
    let expected = match request.algorithm {
        Some(ChangedAlgorithm::Des) => Some(Algorithm::Des),
        Some(ChangedAlgorithm::Aes) => Some(Algorithm::Aes),
        None => None,
    };
    if expected.is_some_and(|expected| expected != found.algorithm()) {
        return Err(code::TOKEN_INVALID.into());
    }
    let rewrapped = found.des().map(|token| rewrapped(token, &request)).transpose()?.flatten();
    if rewrapped.is_some() && call.is_of_record(request.key_identifier) {
        return Err(code::LABEL_NOT_FOUND.into());
    }
    let key = found.open()?.await?;
    let token = match rewrapped {
        Some(skeleton) => Some(call.make(Skeleton::Des(skeleton), key.secret).await?),
        None => key.renew(call, request.key_identifier)?.token().await?,
    };
    reply.write(Answer { key_identifier: token.as_deref() })?;
    Ok(code::OK)
}

/// The token for the wrapping that the keywords ask for, or `None` if the wrapping is kept; refuses WRAP-ECB for an
/// enhanced token.
fn rewrapped(token: &DesToken, request: &Request<'_>) -> Result<Option<DesToken>, Refusal> {
    match request.wrapping {
        Some(TokenWrapping::Ecb) if token.is_enhanced() => Err(code::WRAPPING_TYPE.into()),
        Some(TokenWrapping::Enhanced) => {
            let vector = token.control_vector();
            let bound = match request.bound {
                None => *token,
                Some(WrappingBound::EnhancedOnly) if vector.is_zero() || vector.is_key_part() => {
                    return Err(code::KEY_USAGE.into());
                }
                Some(WrappingBound::EnhancedOnly) => {
                    token.with_vector(vector.with_bits(bit(56), true).map_err(|_| code::KEY_USAGE)?)?
                }
            };
            Ok(Some(bound.with_enhanced(true)))
        }
        _ => Ok(None),
    }
}

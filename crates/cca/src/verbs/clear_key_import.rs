//! Clear_Key_Import (CSNBCKI): a clear single-length DES key becomes an internal DATA key.

use crate::call::{Call, Reply, Verdict};
use crate::ground::Refusal;
use crate::key::target::des_target;
use crate::parity;
use crate::pass::{Skeleton, Token};
use engine::SecretBytes;
use token::control_vector::KeyForm;
use token::des::Origin;
use token::{ControlVector, DesToken, KeyType};
use wire::point::Point;
use wire::verb::TokenWrapping;
use wire::verb::clear_key_import::{Answer, Request};
use wire::{Codes, code};

/// Answers with the token; 0/2 if a byte of the key has even parity.
pub(crate) async fn clear_key_import(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let (token, codes) = import_des(call, request.clear_key, request.target_key_identifier, None).await?;
    reply.write(Answer { target_key_identifier: Some(&token) })?;
    Ok(codes)
}

/// The DATA token of a clear DES key of 8, 16 or 24 bytes, to replace the token in the target field. In a home of
/// compatible tokens the key is wrapped by `wrapping`, or else as the target token is.
pub(super) async fn import_des(
    call: Call<'_, '_>,
    clear: &[u8],
    target: &[u8],
    wrapping: Option<TokenWrapping>,
) -> Result<(Token, Codes), Refusal> {
    let form = match clear.len() {
        8 => KeyForm::Single,
        16 => KeyForm::Double,
        24 => KeyForm::Triple,
        _ => return Err(code::KEY_LENGTH_KEYWORD.into()),
    };
    if form == KeyForm::Single {
        call.permit(Point::SingleLengthDes)?;
    }
    let there = des_target(target)?;
    let vector = target_vector(there, form)?;
    if vector.is_enhanced_only() && wrapping == Some(TokenWrapping::Ecb) {
        return Err(code::WRAPPING_BIT.into());
    }
    let is_enhanced = match wrapping {
        Some(TokenWrapping::Enhanced) => true,
        Some(TokenWrapping::Ecb) => false,
        _ => there.is_some_and(|token| token.is_enhanced()),
    };
    let skeleton = DesToken::skeleton(Origin::Internal, form, vector)?.with_enhanced(is_enhanced);
    let key = SecretBytes::from_slice(clear);
    let codes = if parity::is_odd(&key) { code::OK } else { code::PARITY_NOT_ODD };
    Ok((call.make(Skeleton::Des(skeleton), key).await?, codes))
}

/// The control vector of the target: the default of DATA for a null token, else that of the target token, adjusted to
/// the form of the key. The target token must be that of a DATA key.
fn target_vector(target: Option<DesToken>, form: KeyForm) -> Result<ControlVector, Codes> {
    let Some(token) = target else {
        return KeyType::Data.default_vector(form).ok_or(code::KEY_LENGTH_KEYWORD);
    };
    let vector = token.control_vector();
    match vector.type_bits() {
        (0, 0) if !vector.is_key_part() => Ok(vector.with_form(form)),
        _ => Err(code::CONTROL_VECTOR_NOT_DATA),
    }
}

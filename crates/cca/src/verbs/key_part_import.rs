//! Key_Part_Import (CSNBKPI): a DES key from clear parts, which are combined by exclusive or.
//!
//! | keyword | token before | token after |
//! |---|---|---|
//! | FIRST | without a key | a part of a key |
//! | MIDDLE, ADD-PART | a part of a key | the same with this part |
//! | LAST | a part of a key | the key with this part |
//! | COMPLETE | a part of a key | the key |
//!
//! The control vector of a part of a key has bit 44 set: it is for no use but this verb, tests and changes of the
//! master key, and is kept in authenticated tokens alone. A part has 16 bytes, of which a key of single length takes
//! the first 8, and 24 where the token is one of triple length (8/21 for a shorter one). The parity of the first part
//! is made odd and that of each further one even, so that the key has odd parity. A key of which two halves or thirds
//! are equal is refused when it is completed (8/442). A record that is named by its label is not changed (8/30): the
//! caller must read its token and write it back. WRAP-ENH, with the part that completes a key, is for homes of
//! compatible tokens; WRAP-ECB is refused for a key whose control vector forbids it (8/2111). RETRKPR, for registers of
//! a workstation of IBM's, is not served (8/33).

use crate::call::{Call, Reply, Verdict};
use crate::ground::{Algorithm, Refusal};
use crate::parity;
use crate::pass::Skeleton;
use engine::SecretBytes;
use token::control_vector::{KeyForm, bit};
use token::des::Origin;
use token::{ControlVector, DesToken};
use wire::point::Point;
use wire::verb::key_part_import::{Answer, Request};
use wire::verb::{KeyPart, TokenWrapping};
use wire::{Codes, code};

pub(crate) async fn key_part_import(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    if call.is_of_record(request.key_identifier) {
        return Err(code::LABEL_NOT_FOUND.into());
    }
    let found = call.key(request.key_identifier)?.of(Algorithm::Des)?;
    let token = *found.des().ok_or(code::TOKEN_INVALID)?;
    check(&call, &token, request.part)?;
    if token.control_vector().is_enhanced_only() && request.wrapping == Some(TokenWrapping::Ecb) {
        return Err(code::WRAPPING_BIT.into());
    }
    let part_bytes = token.form().key_bytes();
    let (key, codes) = match request.part {
        KeyPart::First => {
            let mut first = part(request.key_part, part_bytes)?;
            parity::make_odd(&mut first);
            (first, code::OK)
        }
        _ => {
            let before = found.open()?.await?;
            let mut key = before.secret;
            if request.part != KeyPart::Complete {
                let mut added = part(request.key_part, part_bytes)?;
                parity::make_even(&mut added);
                key.iter_mut().zip(added.iter()).for_each(|(byte, added)| *byte ^= added);
            }
            (key, before.age.codes())
        }
    };
    let is_complete = matches!(request.part, KeyPart::Last | KeyPart::Complete);
    if is_complete {
        check_halves(&token, &key)?;
    }
    let vector = token.control_vector().with_bits(bit(44), !is_complete).map_err(|_| code::KEY_USAGE)?;
    let is_enhanced = request.wrapping == Some(TokenWrapping::Enhanced) || token.is_enhanced();
    let skeleton = token.with_vector(vector)?.with_enhanced(is_enhanced);
    let made = call.make(Skeleton::Des(skeleton), key).await?;
    reply.write(Answer { key_identifier: Some(&made) })?;
    Ok(codes)
}

/// Refuses a token that this part cannot be combined with.
///
/// # Errors
/// 8/47 for an external token, 8/2115 for FIRST although the token has a key, 8/439 for another part although it has
/// none, 8/441 for a complete key, 8/39 for a token without a control vector, 8/90 for single length that the role does
/// not permit.
fn check(call: &Call<'_, '_>, token: &DesToken, part: KeyPart) -> Result<(), Refusal> {
    if token.origin() != Origin::Internal {
        return Err(code::TOKEN_INVALID.into());
    }
    match (part, token.wrapped()) {
        (KeyPart::First, Some(_)) => return Err(code::KEY_PRESENT.into()),
        (KeyPart::First, None) => {}
        (_, None) => return Err(code::PARTS_MISSING.into()),
        (_, Some(_)) if !token.control_vector().is_key_part() => return Err(code::KEY_COMPLETE.into()),
        (_, Some(_)) => {}
    }
    if token.control_vector().is_zero() {
        return Err(code::KEY_USAGE.into());
    }
    match token.form() {
        KeyForm::Single => Ok(call.permit(Point::SingleLengthDes)?),
        _ => Ok(()),
    }
}

/// The first `bytes` bytes of a part, as long as the key; 8/21 for a shorter part.
fn part(given: &[u8], bytes: usize) -> Result<SecretBytes, Codes> {
    Ok(SecretBytes::from_slice(given.get(..bytes).ok_or(code::INVALID_PARAMETER)?))
}

/// Refuses equal halves or thirds (8/442): the holder of the last part could otherwise learn something of the other
/// parts.
fn check_halves(token: &DesToken, key: &[u8]) -> Result<(), Codes> {
    let form = match token.form() {
        KeyForm::Single => KeyForm::Single,
        KeyForm::Double | KeyForm::DoubleUnique => KeyForm::DoubleUnique,
        KeyForm::Triple | KeyForm::TripleUnique => KeyForm::TripleUnique,
    };
    crate::wrap::check_parts(form, ControlVector::ZERO, key)
}

//! Key_Part_Import2 (CSNBKPI2): an AES or HMAC key from clear parts, which are combined by exclusive or.
//!
//! | step | token that comes in | token that goes out |
//! |---|---|---|
//! | FIRST, with MIN3PART (default), MIN2PART or MIN1PART | a skeleton (a key: 8/2115) | two parts missing, one, or none |
//! | ADD-PART | an incomplete key (a complete one: 8/441) | one part less missing; none after those that are needed |
//! | COMPLETE | a key with no part missing (8/439; a complete one: 8/441) | complete |
//!
//! The number of missing parts is bound to the key, in its second management field. No verb uses an incomplete key.
//! Every part has the length of the first, which is that of the key (8/2114); COMPLETE has no part. All other
//! attributes of the token are kept. An incomplete key under the old master key comes back under the current one. A key
//! that is named by its label is refused with 8/90: the right to a label includes no right to see the token.

use super::key_generate2::internal;
use crate::call::{Call, Reply, Verdict};
use crate::ground::Refusal;
use crate::pass::Skeleton;
use engine::SecretBytes;
use token::VariableToken;
use token::variable::{Completeness, Pedigree, VariableKey, Wrapper};
use wire::point::Point;
use wire::verb::key_part_import2::{Answer, Request};
use wire::verb::{KeyPartsLeast, VariableAlgorithm, VariableKeyPart};
use wire::{Codes, code};

/// Answers with the token.
pub(crate) async fn key_part_import2(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let field = internal(request.key_identifier.start())?;
    if call.is_of_record(field) {
        return Err(code::ACCESS_DENIED.into());
    }
    let token = VariableToken::parse(field)?;
    if token.key_type().is_aes() != (request.algorithm == VariableAlgorithm::Aes) {
        return Err(code::TOKEN_INVALID.into());
    }
    let part = request.clear_key_part;
    let completeness = step(&call, &request, &token)?;
    let (key, codes) = match request.part {
        VariableKeyPart::First if token.key_type().has_length(part.len()) => {
            (SecretBytes::from_slice(part), code::OK)
        }
        VariableKeyPart::First => return Err(code::KEY_BITS.into()),
        VariableKeyPart::Add | VariableKeyPart::Complete => {
            let mut opened = call.key(field)?.variable()?.open()?.await?;
            if request.part == VariableKeyPart::Add {
                combine(&mut opened.secret, part)?;
            }
            (opened.secret, opened.age.codes())
        }
    };
    let attributes = token.attributes().clone().made(Pedigree::ClearParts, completeness);
    let skeleton = token.with_attributes(attributes)?;
    request.key_identifier.holds(skeleton.head().len() + skeleton.wrapped_bytes(key.len())?)?;
    let made = call.make(Skeleton::Variable(Box::new(skeleton)), key).await?;
    reply.write(Answer { key_identifier: Some(&made) })?;
    Ok(codes)
}

/// The completeness of the key after this step; refuses a step out of order.
fn step(call: &Call<'_, '_>, request: &Request<'_>, token: &VariableToken) -> Result<Completeness, Refusal> {
    let before = token.attributes().completeness();
    // The completeness in the token of a clear key proves nothing: its owner can write it.
    let is_wrapped = matches!(token.key(), VariableKey::Wrapped { under: Wrapper::Master(_), .. });
    Ok(match (request.part, before) {
        (VariableKeyPart::First, _) if !matches!(token.key(), VariableKey::Absent) => {
            return Err(code::KEY_PRESENT.into());
        }
        (VariableKeyPart::First, _) => match request.least.unwrap_or(KeyPartsLeast::Three) {
            KeyPartsLeast::Three => Completeness::TwoMissing,
            KeyPartsLeast::Two => Completeness::OneMissing,
            KeyPartsLeast::One => Completeness::Sufficient,
        },
        (VariableKeyPart::Add | VariableKeyPart::Complete, _) if !is_wrapped => {
            return Err(code::TOKEN_INVALID.into());
        }
        (VariableKeyPart::Add | VariableKeyPart::Complete, Completeness::Complete) => {
            return Err(code::KEY_COMPLETE.into());
        }
        (VariableKeyPart::Complete, _) if !request.clear_key_part.is_empty() => {
            return Err(code::KEY_BITS.into());
        }
        (VariableKeyPart::Complete, Completeness::Sufficient) => Completeness::Complete,
        (VariableKeyPart::Complete, _) => return Err(code::PARTS_MISSING.into()),
        (VariableKeyPart::Add, Completeness::TwoMissing) => {
            call.permit(Point::KeyPartSecond)?;
            Completeness::OneMissing
        }
        (VariableKeyPart::Add, Completeness::OneMissing) => {
            call.permit(Point::KeyPartLast)?;
            Completeness::Sufficient
        }
        (VariableKeyPart::Add, Completeness::Sufficient) => {
            call.permit(Point::KeyPartOptional)?;
            Completeness::Sufficient
        }
    })
}

/// XORs a part into a key; both must have the same length.
fn combine(key: &mut SecretBytes, part: &[u8]) -> Result<(), Codes> {
    if key.len() != part.len() {
        return Err(code::KEY_BITS);
    }
    key.iter_mut().zip(part).for_each(|(byte, other)| *byte ^= other);
    Ok(())
}

//! Encrypted_PIN_Verify2 (CSNBPVR2): whether the PIN in a block is the PIN in another.
//!
//! REFPIN: both PINs are the same, digit for digit. TRUNCPIN: their rightmost digits are the same; both PINs have at
//! least the number of digits that is checked. The keys of both blocks may verify (EPINVER). DUKPT, ADUKPT: the key of
//! the block is derived for the transaction ([`crate::pin::derivation`]); for the reference block the second rule array
//! says so, and also how the end of its PIN is found.
//!
//! Blocks are of 8 bytes: a PAN of ISO-4 has no length among the parameters. 4/19: it is not.

use crate::call::{Call, Reply, Verdict};
use crate::counting::{self, Purpose};
use crate::ground::Refusal;
use crate::pin::derivation::Method;
use crate::pin::side::Side;
use crate::pin::{data, rules};
use payments::{Format, Mask};
use token::usage::PinBlockIn;
use token::variable::PinField;
use wire::bounds::KEYWORD_BYTES;
use wire::point::Point;
use wire::verb::encrypted_pin_verify2::{Answer, Request};
use wire::verb::{PinComparison, PinDerivationOf, PinExtraction};
use wire::{Codes, code};

/// Answers whether the PINs are the same.
pub(crate) async fn encrypted_pin_verify2(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let (derivation, extraction) = reference_words(&call, request.reference_pin_rule_array)?;
    let pan = |pan: Option<&'_ [u8; 12]>| pan.map_or(Vec::new(), |pan| pan.to_vec());
    let side = |profile, given: &[u8], extraction, derivation| {
        let side = Side::read(&call, profile, given, extraction, method(derivation)?)?;
        if side.format() == Format::Iso4 {
            return Err(Refusal::from(code::PIN_FORMAT));
        }
        rules::check_verified(&call, side.format())?;
        Ok(side)
    };
    let (own_pan, other_pan) = (pan(request.input_pan_data), pan(request.reference_pan_data));
    let own = side(request.input_pin_profile, &own_pan, request.extraction, request.derivation)?;
    let other = side(request.reference_pin_profile, &other_pan, extraction, derivation)?;
    let checked = match request.comparison {
        PinComparison::Whole => None,
        PinComparison::Truncated => {
            let most = payments::Pin::DIGITS_MAX as u8;
            Some(data::check_length(&call, request.pin_check_length, most)?)
        }
    };
    let (own_block, other_block) =
        (own.given(request.input_pin_block)?, other.given(request.reference_pin_block)?);
    let (own_field, other_field) =
        (request.input_pin_encrypting_key_identifier, request.reference_pin_encrypting_key_identifier);
    let (step, usage) = (PinBlockIn::Verify, PinField::In(PinBlockIn::Verify));
    let own_opening = own.open_in(call, own_field, step, usage)?;
    let other_opening = other.open_in(call, other_field, step, usage)?;
    let (own_key, other_key) = (own_opening.await, other_opening.await);
    let (own_key, other_key) = (own_key?, other_key?);
    let renewed = (own_key.renew(call, own_field)?, other_key.renew(call, other_field)?);
    let working = (own.derivation.working(call, &own_key)?, other.derivation.working(call, &other_key)?);
    let (own_under, other_under) = (working.0.key().await?, working.1.key().await?);

    let own_clear = own.decipher(call, &own_under, own_block).await?;
    let other_clear = other.decipher(call, &other_under, other_block).await?;
    let at_work =
        counting::begin(call.verifier(), Purpose::Pin, &other_key.secret, &other.bound(&other_clear))?;
    let at_work = at_work.of_block(&own.bound(&own_clear))?;
    let ((found, is_block), (reference, is_reference)) = (own.pin(&own_clear), other.pin(&other_clear));
    let is_right = match checked {
        None => found.is(&reference),
        Some(digits) => found.has_end_of(&reference, digits),
    };
    let are_blocks: Mask = is_block.and(is_reference);
    at_work.judged(is_right.and(are_blocks));
    let (own_token, other_token) = (renewed.0.token().await?, renewed.1.token().await?);
    if !are_blocks.holds() {
        return Err(rules::wrong_block(&call).into());
    }
    reply.write(Answer {
        input_pin_encrypting_key_identifier: own_token.as_deref(),
        reference_pin_encrypting_key_identifier: other_token.as_deref(),
    })?;
    Ok(if is_right.holds() { own_key.age.max(other_key.age).codes() } else { code::PIN_NOT_VERIFIED })
}

/// Reads the keywords of the second rule array, which concern the reference block.
///
/// # Errors
/// 8/35 for more than two keywords, 8/33 for unknown ones, 8/34 for two of one kind, 8/90 for a keyword that the role
/// does not permit.
fn reference_words(
    call: &Call<'_, '_>,
    array: &[u8],
) -> Result<(Option<PinDerivationOf>, Option<PinExtraction>), Codes> {
    let (words, rest) = array.as_chunks::<KEYWORD_BYTES>();
    if words.len() > 2 || !rest.is_empty() {
        return Err(code::KEYWORD_COUNT);
    }
    let (mut derivation, mut extraction) = (None, None);
    for word in words.iter().map(|word| u64::from_be_bytes(*word)) {
        let derived = PinDerivationOf::ALL.iter().find(|(_, choice)| choice.keyword().word == word);
        let extracted = PinExtraction::ALL.iter().find(|(_, choice)| choice.keyword().word == word);
        let is_second = match (derived, extracted) {
            (Some((_, choice)), _) => derivation.replace(*choice).is_some(),
            (None, Some((_, choice))) => extraction.replace(*choice).is_some(),
            (None, None) => return Err(code::KEYWORD),
        };
        if is_second {
            return Err(code::KEYWORD_COMBINATION);
        }
    }
    if derivation.is_some() {
        call.permit(Point::PinDukpt)?;
    }
    Ok((derivation, extraction))
}

fn method(keyword: Option<PinDerivationOf>) -> Result<Method, Codes> {
    match keyword {
        None => Ok(Method::Fixed),
        Some(PinDerivationOf::Tdes) => Ok(Method::Tdes),
        Some(PinDerivationOf::Aes) => Ok(Method::Aes),
        Some(PinDerivationOf::Single) => Err(code::KEYWORD),
    }
}

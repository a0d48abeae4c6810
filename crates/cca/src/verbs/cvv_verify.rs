//! CVV_Verify (CSNBCSV): whether a card verification value is right. 4/1: it is not.

use payments::cvv;
use token::usage::Use;
use wire::code;
use wire::verb::cvv_verify::{Answer, Request};

use super::cvv::{Card, compute, count};
use crate::call::{Call, Reply, Verdict};

/// Answers whether the digits that the keyword asks for are those of the card.
pub(crate) async fn cvv_verify(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let card = Card {
        pan: request.pan_data,
        pan_digits: request.pan_digits,
        expiration_date: request.expiration_date,
        service_code: request.service_code,
    };
    let (given, blanks) = request.cvv_value.split_at(count(request.cvv_digits));
    let given: [u8; cvv::DIGITS_MAX] = payments::digits(given).map_err(|_| code::CVV)?;
    if blanks.iter().any(|blank| *blank != b' ') {
        return Err(code::CVV.into());
    }
    let fields = (request.cvv_key_a_identifier, request.cvv_key_b_identifier);
    let done = compute(call, card, fields, Use::CardValueVerify).await?;
    let is_right = cvv::verifies(&done.mac, &given[..count(request.cvv_digits)]);
    reply.write(Answer {
        cvv_key_a_identifier: done.key_a.as_deref(),
        cvv_key_b_identifier: done.key_b.as_deref(),
    })?;
    Ok(if is_right.holds() { done.codes } else { code::VERIFICATION_FAILED })
}

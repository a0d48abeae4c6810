//! CVV_Verify (CSNBCSV): whether a card verification value is right. 4/1: it is wrong. 8/90: too many wrong values for
//! this card.
//!
//! Values of one and two digits can be found digit by digit, in at most thirty tries, so they need a point of their
//! own.

use super::cvv::{Card, compute, count};
use crate::call::{Call, Reply, Verdict};
use payments::cvv;
use token::usage::Use;
use wire::code;
use wire::point::Point;
use wire::verb::cvv_verify::{Answer, Request};

/// Fewer digits are compared only in roles that may.
const DIGITS_MIN: usize = 3;

/// Answers whether the digits that the keyword asks for are those of the card.
pub(crate) async fn cvv_verify(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let card = Card {
        pan: request.pan_data,
        pan_digits: request.pan_digits,
        expiration_date: request.expiration_date,
        service_code: request.service_code,
    };
    if count(request.cvv_digits) < DIGITS_MIN {
        call.permit(Point::CardValueShort)?;
    }
    let (given, blanks) = request.cvv_value.split_at(count(request.cvv_digits));
    let given: [u8; cvv::DIGITS_MAX] = payments::digits(given).map_err(|_| code::CVV)?;
    if blanks.iter().any(|blank| *blank != b' ') {
        return Err(code::CVV.into());
    }
    let fields = (request.cvv_key_a_identifier, request.cvv_key_b_identifier);
    let done = compute(call, card, fields, Use::CardValueVerify).await?;
    let is_right = cvv::verifies(&done.mac, &given[..count(request.cvv_digits)]);
    if let Some(at_work) = done.at_work {
        at_work.judged(is_right);
    }
    reply.write(Answer {
        cvv_key_a_identifier: done.key_a.as_deref(),
        cvv_key_b_identifier: done.key_b.as_deref(),
    })?;
    Ok(if is_right.holds() { done.codes } else { code::VERIFICATION_FAILED })
}

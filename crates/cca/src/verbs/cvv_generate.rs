//! CVV_Generate (CSNBCSG): a card verification value, as VISA's CVV and MasterCard's CVC.

use super::cvv::{Card, compute, count};
use crate::call::{Call, Reply, Verdict};
use payments::cvv;
use token::usage::Use;
use wire::verb::cvv_generate::{Answer, Request};
use zeroize::Zeroizing;

/// Answers with the digits that the keyword asks for, and blanks behind them.
pub(crate) async fn cvv_generate(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let card = Card {
        pan: request.pan_data,
        pan_digits: request.pan_digits,
        expiration_date: request.expiration_date,
        service_code: request.service_code,
    };
    let fields = (request.cvv_key_a_identifier, request.cvv_key_b_identifier);
    let done = compute(call, card, fields, Use::CardValueGenerate).await?;
    let mut value = Zeroizing::new([b' '; cvv::DIGITS_MAX]);
    let digits = Zeroizing::new(cvv::digits(&done.mac));
    for (place, digit) in value.iter_mut().zip(&digits[..count(request.cvv_digits)]) {
        *place = b'0' | digit;
    }
    reply.write(Answer {
        cvv_key_a_identifier: done.key_a.as_deref(),
        cvv_key_b_identifier: done.key_b.as_deref(),
        cvv_value: Some(&value),
    })?;
    Ok(done.codes)
}

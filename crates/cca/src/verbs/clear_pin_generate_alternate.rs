//! Clear_PIN_Generate_Alternate (CSNBCPA): the offset or PVV of a PIN that comes in a block.
//!
//! IBM-PINO: the offset of PIN_check_length digits; VISA-PVV: the PVV of its leftmost four digits.

use crate::call::{Call, Reply, Verdict};
use crate::ground::Algorithm;
use crate::pin::data::{self, Data};
use crate::pin::form::Form;
use crate::pin::{self, Block, rules};
use engine::CipherDirection;
use payments::ibm3624::Intermediate;
use payments::{Pin, visa};
use token::usage::{PinBlockIn, PinMethod, PinStep, Use};
use wire::code;
use wire::verb::PinAlternateMethod;
use wire::verb::clear_pin_generate_alternate::{Answer, Request};

/// Answers with the digits, and blanks behind them.
pub(crate) async fn clear_pin_generate_alternate(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let form = Form::read(&call, request.pin_profile, request.pan_data, request.extraction)?.of_decimals();
    let given = Data::new(request.data_array);
    let (method, ibm, card, checked) = match request.method {
        PinAlternateMethod::IbmOffset => {
            let checked = data::check_length(&call, request.pin_check_length, Pin::DIGITS_MAX as u8)?;
            let ibm = (given.table(&call)?, given.validation()?);
            (PinMethod::IbmOffset, Some(ibm), None, checked)
        }
        PinAlternateMethod::Visa => {
            rules::check_pvv(&call, form.layout.format)?;
            given.no_visa_pin()?;
            (PinMethod::Visa, None, Some(given.visa()?), visa::PVV_DIGITS as u8)
        }
        PinAlternateMethod::Dutch => return Err(code::KEYWORD.into()),
    };
    let (block_field, pin_field) =
        (request.pin_encryption_key_identifier, request.pin_generation_key_identifier);
    let block_found = call.key(block_field)?.of(Algorithm::Des)?;
    let pin_found = call.key(pin_field)?.of(Algorithm::Des)?;
    let block_opening = block_found.for_use(Use::PinBlockIn(PinBlockIn::Alternate))?;
    let pin_opening = pin_found.for_use(Use::Pin(PinStep::Alternate, method))?;
    let (block_key, pin_key) = (block_opening.await, pin_opening.await);
    let (block_key, pin_key) = (block_key?, pin_key?);
    let renewed = (block_key.renew(call, block_field)?, pin_key.renew(call, pin_field)?);

    let given = request.encrypted_pin_block;
    let clear = pin::cipher(call, &block_key.secret, CipherDirection::Decipher, given).await?;
    let (found, is_block) = form.pin(&clear);
    let is_right = is_block.and(found.has_at_least(checked));
    let block = match (&ibm, &card) {
        (Some((_, validation)), _) => Block::new(*validation),
        (_, Some(card)) => Block::new(visa::block(&card.pan, card.key_index, &found)),
        _ => return Err(code::SELF_CHECK.into()),
    };
    let enciphered = pin::cipher(call, &pin_key.secret, CipherDirection::Encipher, &block).await?;
    let result = match &ibm {
        Some((table, _)) => {
            let offset = Intermediate::new(table, &enciphered).offset(&found, checked);
            data::characters(&offset[..usize::from(checked)])
        }
        None => data::characters(&visa::pvv(&enciphered)),
    };
    let (block_token, pin_token) = (renewed.0.token().await?, renewed.1.token().await?);
    if !is_right.holds() {
        return Err(rules::wrong_block(&call).into());
    }
    reply.write(Answer {
        pin_encryption_key_identifier: block_token.as_deref(),
        pin_generation_key_identifier: pin_token.as_deref(),
        returned_result: Some(&result),
    })?;
    Ok(block_key.age.max(pin_key.age).codes())
}

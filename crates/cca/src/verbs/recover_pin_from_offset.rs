//! Recover_PIN_From_Offset (CSNBPFO): the PIN that IBM 3624 gives with an offset, in a block.
//!
//! The PIN has as many digits as the offset, which stands at the left of its field, padded with blanks. The data array
//! has the decimalisation table and the validation data; its third element is ignored. ANSI X9.8 restricts blocks other
//! than those of ISO-0 and ISO-3. The block is of 8 bytes: a PAN of ISO-4 has no length among the parameters.

use crate::call::{Call, Reply, Verdict};
use crate::ground::Algorithm;
use crate::pin::data::Data;
use crate::pin::form::Form;
use crate::pin::{self, Block};
use engine::CipherDirection;
use payments::Format;
use payments::ibm3624::Intermediate;
use token::usage::{PinBlockOut, PinMethod, PinStep, Use};
use wire::code;
use wire::point::Point;
use wire::verb::recover_pin_from_offset::{Answer, Request};

/// Answers with the block.
pub(crate) async fn recover_pin_from_offset(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let form = Form::made(&call, request.pin_profile, request.pan_data, 0)?;
    if !matches!(form.layout.format, Format::Iso0 | Format::Iso3) {
        call.permit(Point::PinUnrestricted)?;
    }
    let given = Data::new(request.data_array);
    let (table, validation) = (given.table(&call)?, given.validation()?);
    let digits = request.offset.iter().take_while(|character| **character != b' ').count() as u8;
    let (least, most) = form.layout.format.digits();
    if !(form.layout.least.max(least)..=most).contains(&digits) {
        return Err(code::PIN_OFFSET.into());
    }
    let offset = Data::offset_in(request.offset, digits)?;
    request.encrypted_pin_blk.holds(pin::BLOCK_BYTES)?;
    let (block_field, pin_field) = (request.pin_enc_key_id, request.pin_gen_key_id);
    let block_found = call.key(block_field)?.of(Algorithm::Des)?;
    let pin_found = call.key(pin_field)?.of(Algorithm::Des)?;
    let block_opening = block_found.for_use(Use::PinBlockOut(PinBlockOut::Generate))?;
    let pin_opening = pin_found.for_use(Use::Pin(PinStep::Encrypted, PinMethod::IbmOffset))?;
    let (block_key, pin_key) = (block_opening.await, pin_opening.await);
    let (block_key, pin_key) = (block_key?, pin_key?);
    let renewed = (block_key.renew(call, block_field)?, pin_key.renew(call, pin_field)?);

    let enciphered = pin::cipher(call, &pin_key.secret, CipherDirection::Encipher, &validation).await?;
    let made = Intermediate::new(&table, &enciphered).with_offset(digits, &offset, digits);
    let (clear, _): (Block, _) = form.block(&call, &made);
    let out = pin::cipher(call, &block_key.secret, CipherDirection::Encipher, &clear).await?;
    let (block_token, pin_token) = (renewed.0.token().await?, renewed.1.token().await?);
    reply.write(Answer {
        pin_enc_key_id: block_token.as_deref(),
        pin_gen_key_id: pin_token.as_deref(),
        encrypted_pin_blk: Some(&out[..]),
    })?;
    Ok(pin_key.age.max(block_key.age).codes())
}

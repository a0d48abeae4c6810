//! Encrypted_PIN_Generate (CSNBEPG): a PIN that a method gives, in a block.
//!
//! IBM-PIN: of PIN_length digits; GBP-PIN and INBK-PIN: of four.

use crate::call::{Call, Reply, Verdict};
use crate::ground::Algorithm;
use crate::pin::data::{self, Data};
use crate::pin::form::Form;
use crate::pin::{self, Block};
use engine::CipherDirection;
use payments::ibm3624::{Intermediate, POOL_DIGITS};
use payments::interbank;
use token::usage::{PinBlockOut, PinMethod, PinStep, Use};
use wire::code;
use wire::verb::PinEncryptedMethod;
use wire::verb::encrypted_pin_generate::{Answer, Request};

/// Answers with the block.
pub(crate) async fn encrypted_pin_generate(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let form = Form::made(&call, request.pin_profile, request.pan_data, request.sequence_number)?;
    let given = Data::new(request.data_array);
    let (method, table, block) = match request.method {
        PinEncryptedMethod::Ibm => (PinMethod::Ibm, Some(given.table(&call)?), given.validation()?),
        PinEncryptedMethod::Pool => (PinMethod::Pool, Some(given.table(&call)?), given.validation()?),
        PinEncryptedMethod::Interbank => (PinMethod::Interbank, None, given.interbank()?),
        PinEncryptedMethod::Dutch => return Err(code::KEYWORD.into()),
    };
    let length = match request.method {
        PinEncryptedMethod::Ibm => data::pin_length(&call, request.pin_length)?,
        _ => POOL_DIGITS,
    };
    let (least, most) = form.layout.format.digits();
    if !(least..=most).contains(&length) {
        return Err(code::PIN_LENGTH.into());
    }
    let (pin_field, block_field) =
        (request.pin_generating_key_identifier, request.outbound_pin_encrypting_key_identifier);
    let pin_found = call.key(pin_field)?.of(Algorithm::Des)?;
    let block_found = call.key(block_field)?.of(Algorithm::Des)?;
    let pin_opening = pin_found.for_use(Use::Pin(PinStep::Encrypted, method))?;
    let block_opening = block_found.for_use(Use::PinBlockOut(PinBlockOut::Generate))?;
    let (pin_key, block_key) = (pin_opening.await, block_opening.await);
    let (pin_key, block_key) = (pin_key?, block_key?);
    let renewed = (pin_key.renew(call, pin_field)?, block_key.renew(call, block_field)?);

    let enciphered = pin::cipher(call, &pin_key.secret, CipherDirection::Encipher, &block).await?;
    let made = match table.map(|table| Intermediate::new(&table, &enciphered)) {
        Some(intermediate) if method == PinMethod::Ibm => intermediate.pin(length),
        Some(intermediate) => intermediate.pool_pin(&[0; 4]),
        None => interbank::pin(&enciphered),
    };
    let (clear, _): (Block, _) = form.block(&call, &made);
    let out = pin::cipher(call, &block_key.secret, CipherDirection::Encipher, &clear).await?;
    let (pin_token, block_token) = (renewed.0.token().await?, renewed.1.token().await?);
    reply.write(Answer {
        pin_generating_key_identifier: pin_token.as_deref(),
        outbound_pin_encrypting_key_identifier: block_token.as_deref(),
        encrypted_pin_block: Some(&out),
    })?;
    Ok(pin_key.age.max(block_key.age).codes())
}

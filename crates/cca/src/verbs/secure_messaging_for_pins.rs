//! Secure_Messaging_for_PINs (CSNBSPN): enciphers a text of the caller's, into which a PIN block is written, under a
//! session key (SECMSG with SMPIN).
//!
//! The PIN comes in a block of the input profile, and goes into one of the output profile as by
//! Encrypted_PIN_Translate: what that refuses is refused here. The block overwrites 8 bytes of the text, which has one
//! of the forms in which chip cards take a PIN block: the offset is counted from zero or from one. In a role that
//! permits any form it is counted from one.

use crate::call::{Call, Reply, Verdict};
use crate::chip::message::{Message, Place};
use crate::ground::Algorithm;
use crate::pin::form::Form;
use crate::pin::{self, rules};
use engine::CipherDirection;
use token::usage::{PinBlockIn, Use};
use wire::code;
use wire::verb::secure_messaging_for_pins::{Answer, Request};
use wire::verb::{PinInMessage, PinMessageMode};

/// Answers with the enciphered text.
pub(crate) async fn secure_messaging_for_pins(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let vector = match (request.mode, request.encryption) {
        (PinMessageMode::Cbc, PinInMessage::Clear) => {
            Some(*request.initialization_vector.ok_or(code::INVALID_PARAMETER)?)
        }
        (PinMessageMode::Ecb, PinInMessage::Clear) => None,
        _ => return Err(code::KEYWORD.into()),
    };
    let from = Form::read(&call, request.in_pin_profile, request.in_pan_data, None)?;
    let to = Form::made(&call, request.out_pin_profile, request.out_pan_data, 0)?;
    rules::check_reformat(&call, &from, &to)?;
    let (offset, length) = (request.pin_offset, request.pin_offset_field_length);
    let message = Message::new(&call, request.clear_text, offset, length, Place::PinBlock)?;
    let (block_field, session_field) = (request.in_pin_enc_key_id, request.secmsg_key);
    let usage = Use::PinBlockIn(PinBlockIn::Reformat);
    let opening = call.key(block_field)?.of(Algorithm::Des)?.for_use(usage)?;
    let session = call.key(session_field)?.of(Algorithm::Des)?.for_use(Use::MessageOfPins)?;
    let (key, session) = (opening.await, session.await);
    let (key, session) = (key?, session?);
    let renewed = (key.renew(call, block_field)?, session.renew(call, session_field)?);
    let clear = pin::cipher(call, &key.secret, CipherDirection::Decipher, request.in_pin_blk).await?;
    let (found, is_block) = from.pin(&clear);
    let (block, fits) = to.block(&call, &found);
    let is_right = is_block.and(fits);
    let done = message.encipher(call, &session.secret, vector, &block[..]).await?;
    let (key_token, session_token) = (renewed.0.token().await?, renewed.1.token().await?);
    if !is_right.holds() {
        return Err(rules::wrong_block(&call).into());
    }
    reply.write(Answer {
        in_pin_enc_key_id: key_token.as_deref(),
        secmsg_key: session_token.as_deref(),
        cipher_text: Some(&done.text),
        output_chaining_value: Some(&done.chain),
    })?;
    Ok(key.age.max(session.age).codes())
}

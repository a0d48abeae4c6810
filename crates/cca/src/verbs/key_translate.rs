//! Key_Translate (CSNBKTR): an external DES token under one key-encrypting key comes under another.
//!
//! Both keys need the usage XLATE: the first is an IMPORTER or IKEYXLAT key, the second an EXPORTER or OKEYXLAT key.
//! The control vector stays; a key that may not be exported is not translated (8/39).

use super::key_import::source;
use crate::call::{Call, Reply, Verdict};
use crate::key::exchange::AskedType;
use crate::key::field::KeyField;
use token::usage::{Side, Use, Wrapping};
use wire::code;
use wire::verb::key_translate::{Answer, Request};

pub(crate) async fn key_translate(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let token = source(request.input_key_token, AskedType::Token)?;
    if !token.control_vector().may(Use::Export) || token.export_prohibited() {
        return Err(code::KEY_USAGE.into());
    }
    let (input, output) = (request.input_kek_key_identifier, request.output_kek_key_identifier);
    let receiving = call.key_encrypting_key(input, Side::Receiving, Wrapping::Translated).await?;
    let sending = call.key_encrypting_key(output, Side::Sending, Wrapping::Translated).await?;
    let renewed = (receiving.renew(call, input)?, sending.renew(call, output)?);
    let key = KeyField::of_token(call, token).under(&receiving)?.await?;
    let skeleton = token.without_key();
    let made = sending.wrap(&call, skeleton, key.secret)?.await?;
    let (input, output) = (renewed.0.token().await?, renewed.1.token().await?);
    reply.write(Answer {
        input_kek_key_identifier: input.as_deref(),
        output_kek_key_identifier: output.as_deref(),
        output_key_token: Some(made.fixed()?),
    })?;
    Ok(receiving.age.max(sending.age).codes())
}

//! Secure_Messaging_for_Keys (CSNBSKY): enciphers a text of the caller's, into which a key of double length is written,
//! under a session key (SECMSG with SMKEY).
//!
//! The key must be one that may be exported (8/39). The key overwrites 16 bytes of the text, which are whole blocks:
//! the offset is counted from zero or from one. In a role that permits any place it is counted from one. Keys of
//! external tokens are refused (8/47), so the field of their key-encrypting key is ignored.

use crate::call::{Call, Reply, Verdict};
use crate::chip::message::{Message, Place};
use crate::ground::Algorithm;
use crate::key::exchange::exportable;
use token::usage::Use;
use wire::code;
use wire::verb::MessageMode;
use wire::verb::secure_messaging_for_keys::{Answer, Request};

const KEY_BYTES: usize = 16;

/// Answers with the enciphered text.
pub(crate) async fn secure_messaging_for_keys(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let (offset, length) = (request.key_offset, request.key_offset_field_length);
    let message = Message::new(&call, request.clear_text, offset, length, Place::Key)?;
    let vector = match request.mode {
        MessageMode::Cbc => Some(*request.initialization_vector.ok_or(code::INVALID_PARAMETER)?),
        MessageMode::Ecb => None,
    };
    let (key_field, session_field) = (request.input_key_identifier, request.session_key);
    let found = call.key(key_field)?.of(Algorithm::Des)?;
    exportable(&found)?;
    let opening = found.open()?;
    let session = call.key(session_field)?.of(Algorithm::Des)?.for_use(Use::MessageOfKeys)?;
    let (key, session) = (opening.await, session.await);
    let (key, session) = (key?, session?);
    if key.secret.len() != KEY_BYTES {
        return Err(code::KEY_USAGE.into());
    }
    let renewed = (key.renew(call, key_field)?, session.renew(call, session_field)?);
    let done = message.encipher(call, &session.secret, vector, &key.secret).await?;
    let (key_token, session_token) = (renewed.0.token().await?, renewed.1.token().await?);
    reply.write(Answer {
        input_key_identifier: key_token.as_deref(),
        session_key: session_token.as_deref(),
        cipher_text: Some(&done.text),
        output_chaining_value: Some(&done.chain),
    })?;
    Ok(key.age.max(session.age).codes())
}

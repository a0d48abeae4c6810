//! Prohibit_Export2 (CSNBPEX2): a key in a token of any form, internal or external, may not be exported from then on:
//! what Restrict_Key_Attribute does with NOEXPORT.
//!
//! The verb is named in the public header, but no description of it was found. Its keywords are inferred from its
//! parameters and from Restrict_Key_Attribute: one of AES, DES and HMAC, and those for the key that wraps an external
//! token.

use super::restrict_key_attribute::restrict;
use crate::call::{Call, Reply, Verdict};
use wire::verb::prohibit_export2::{Answer, Request};

/// Answers with the token.
pub(crate) async fn prohibit_export2(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let (key, kek) = (request.key_identifier, request.kek_key_identifier);
    let done = restrict(call, request.algorithm, &[], key, kek).await?;
    reply.write(Answer {
        key_identifier: Some(&done.token),
        kek_key_identifier: done.key_encrypting_key.as_deref(),
    })?;
    Ok(done.codes)
}

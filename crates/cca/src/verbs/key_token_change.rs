//! Key_Token_Change (CSNBKTC): returns a DES or AES token that is under the old master key under the current one.
//!
//! Only RTCMK is supported: no card holds a new master key before it is set, as RTNMK would need. A token that is
//! under the current master key already is returned unchanged, or in the form that this system makes.

use wire::code;
use wire::verb::ChangedAlgorithm;
use wire::verb::key_token_change::{Answer, Request};

use crate::call::{Call, Reply, Verdict};
use crate::key::Algorithm;

pub(crate) async fn key_token_change(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let found = call.key(request.key_identifier)?.any()?;
    let expected = match request.algorithm {
        Some(ChangedAlgorithm::Des) => Some(Algorithm::Des),
        Some(ChangedAlgorithm::Aes) => Some(Algorithm::Aes),
        None => None,
    };
    if expected.is_some_and(|expected| expected != found.algorithm()) {
        return Err(code::TOKEN_INVALID.into());
    }
    let key = found.open()?.await?;
    let token = key.renew(call, request.key_identifier)?.token().await?;
    reply.write(Answer { key_identifier: token.as_deref() })?;
    Ok(code::OK)
}

//! Key_Token_Change2 (CSNBKTC2): returns an AES or HMAC token of variable length that is under the old master key under
//! the current one, complete or not.
//!
//! RTNMK is refused (8/707): no card holds a new master key before it is set. A token that is
//! under the current master key already stays as it is.

use super::key_generate2::internal;
use crate::call::{Call, Reply, Verdict};
use wire::code;
use wire::verb::VariableAlgorithm;
use wire::verb::key_token_change2::{Answer, Request};

/// Answers with the renewed token, or with none if the token needs no renewal.
pub(crate) async fn key_token_change2(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let field = internal(request.key_identifier)?;
    let found = call.key(field)?.variable()?;
    if found.is_of_aes() != (request.algorithm == VariableAlgorithm::Aes) {
        return Err(code::TOKEN_INVALID.into());
    }
    let key = found.open()?.await?;
    let token = key.renew(call, field)?.token().await?;
    reply.write(Answer { key_identifier: token.as_deref() })?;
    Ok(code::OK)
}

//! PKA_Public_Key_Extract (CSNDPKX): the public key of any token, as an external public token.
//!
//! Needs no master key: the public part of an internal token is in the clear.

use token::pka::public_token;
use wire::code;
use wire::verb::pka_public_key_extract::{Answer, Request};

use crate::call::{Call, Reply, Verdict};

pub(crate) async fn pka_public_key_extract(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let source = call.pka_token(request.source_key_identifier)?;
    if source.modulus().is_empty() {
        return Err(code::TOKEN_INVALID.into());
    }
    let token = public_token(source.modulus(), source.exponent()).map_err(|error| error.codes())?;
    reply.write(Answer { target_key_token: Some(&token) })?;
    Ok(code::OK)
}

//! PKA_Public_Key_Extract (CSNDPKX): the public key of any token, as an external public token.
//!
//! Needs no master key for RSA: the public part of an internal token is in the clear. A token of an elliptic curve with
//! a private key is opened, and its public key is that of the private one.

use crate::call::{Call, Reply, Verdict};
use token::pka::ecc::{self, is_ecc};
use token::pka::public_token;
use wire::code;
use wire::verb::pka_public_key_extract::{Answer, Request};

pub(crate) async fn pka_public_key_extract(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    if is_ecc(request.source_key_identifier) {
        let key = call.key(request.source_key_identifier)?.public_ecc().await?;
        let token = ecc::public_token(key.curve, &key.point).map_err(|error| error.codes())?;
        reply.write(Answer { target_key_token: Some(&token) })?;
        return Ok(code::OK);
    }
    let source = call.pka_token(request.source_key_identifier)?;
    if source.modulus().is_empty() {
        return Err(code::TOKEN_INVALID.into());
    }
    let token = public_token(source.modulus(), source.exponent()).map_err(|error| error.codes())?;
    reply.write(Answer { target_key_token: Some(&token) })?;
    Ok(code::OK)
}

//! PKA_Public_Key_Extract (CSNDPKX): the public key of any token, as an external public token.
//!
//! Needs no master key: the public part of an internal token is in the clear.

use token::pka::public_token;
use wire::code;
use wire::verb::pka_public_key_extract::{
    RULE_ARRAY, RULE_ARRAY_COUNT, SOURCE_KEY_IDENTIFIER, TARGET_KEY_TOKEN, TARGET_KEY_TOKEN_LENGTH,
};

use crate::call::{Call, Reply, Verdict};
use crate::rules::Rules;

pub(crate) async fn pka_public_key_extract(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    Rules::read(&call, RULE_ARRAY_COUNT, RULE_ARRAY, 0, 1)?.finish()?;
    let source = call.pka_token(SOURCE_KEY_IDENTIFIER)?;
    if source.modulus().is_empty() {
        return Err(code::TOKEN_INVALID.into());
    }
    let token = public_token(source.modulus(), source.exponent()).map_err(|error| error.codes())?;
    call.capacity(TARGET_KEY_TOKEN_LENGTH, token.len())?;
    reply.counted(TARGET_KEY_TOKEN_LENGTH, TARGET_KEY_TOKEN, &token);
    Ok(code::OK)
}

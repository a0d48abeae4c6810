//! PKA_Key_Token_Change (CSNDKTC): returns an internal RSA or elliptic-curve token that is
//! under the old master key under the current one.
//!
//! RTNMK is refused (8/707): no card holds a new master key before it is set. The attributes of the key are kept:
//! usage, translation, name, source of the numbers. The private section is written again, with another object
//! protection key. A token that is under the current master key already is returned unchanged. RSA and ECC name the
//! algorithm of the key (8/47 for a key of the other one).
//!
//! A token under the ASYM master key, old or current, comes back under the APKA master key, except in a home that makes
//! compatible tokens.

use super::pka_key_generate::{Generated, internal, register_of};
use crate::call::{Call, Reply, Verdict};
use crate::ground::Age;
use crate::key::pka::internal_ecc;
use token::pka::ecc::{EccValue, is_ecc};
use token::pka::{Origin, PrivateValues, Source};
use wire::code;
use wire::control::Register;
use wire::verb::ChangedPkaAlgorithm;
use wire::verb::pka_key_token_change::{Answer, Request};

pub(crate) async fn pka_key_token_change(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let field = request.key_identifier;
    let algorithm = if is_ecc(field) { ChangedPkaAlgorithm::Ecc } else { ChangedPkaAlgorithm::Rsa };
    if request.algorithm.is_some_and(|named| named != algorithm) {
        return Err(code::TOKEN_INVALID.into());
    }
    if algorithm == ChangedPkaAlgorithm::Ecc {
        return of_curve(call, field, reply).await;
    }
    let token = call.pka_token(field)?;
    let private = token.private().ok_or(code::TOKEN_INVALID)?;
    let is_wrapped = matches!(private.values, PrivateValues::Wrapped(_) | PrivateValues::Asym(_));
    let (true, true, Some(source)) = (token.origin() == Origin::Internal, is_wrapped, private.source) else {
        return Err(code::TOKEN_INVALID.into());
    };
    let context = call.key(field)?.private().await?;
    let is_asym = matches!(private.values, PrivateValues::Asym(_));
    let changes_form = is_asym && register_of(call, private.form) != Register::Asym;
    // A caller who named the key by its label has no field for a token, and perhaps no right to see one.
    if context.age != Some(Age::Old) && !changes_form || call.is_of_record(field) {
        reply.write(Answer { key_identifier: None })?;
        return Ok(code::OK);
    }
    // The source in an X'08' token proves nothing: anyone who knows the key can write it.
    let source = if changes_form { Source::ExternalEncrypted } else { source };
    let numbers = Generated::of(&context.key, private.form)?;
    let changed = internal(call, private.form, &numbers.clear()?, &token.attributes(), source).await?;
    reply.write(Answer { key_identifier: Some(&changed) })?;
    Ok(code::OK)
}

/// Changes an elliptic-curve token from the old master key to the current one.
async fn of_curve<'a>(call: Call<'_, 'a>, field: &'a [u8], reply: &mut Reply<'_, '_>) -> Verdict {
    let token = call.ecc_token(field)?;
    let private = token.private().ok_or(code::TOKEN_INVALID)?;
    let (EccValue::Wrapped(_), Some(source)) = (private.value, private.source) else {
        return Err(code::TOKEN_INVALID.into());
    };
    let context = call.key(field)?.private_ecc().await?;
    if context.age != Some(Age::Old) || call.is_of_record(field) {
        reply.write(Answer { key_identifier: None })?;
        return Ok(code::OK);
    }
    let (value, attributes) = (context.key.value(), token.attributes());
    let changed = internal_ecc(call, context.curve, value, &context.point, &attributes, source).await?;
    reply.write(Answer { key_identifier: Some(&changed) })?;
    Ok(code::OK)
}

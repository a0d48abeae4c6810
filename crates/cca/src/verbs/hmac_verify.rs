//! HMAC_Verify (CSNBHMV): see [`super::hmac`].

use super::hmac::{self, MAC_BYTES_MIN, Value};
use crate::call::{Call, Reply, Verdict};
use subtle::ConstantTimeEq;
use token::variable::VariableUse;
use wire::code;
use wire::verb::hmac_verify::{Answer, Request};

/// Answers 4/1 for a wrong MAC. After FIRST and MIDDLE the MAC is ignored.
pub(crate) async fn hmac_verify(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let asked = hmac::Request {
        key_identifier: request.key_identifier,
        text: request.message_text,
        method: request.method,
        segment: request.segment,
        chaining_vector: request.chaining_vector,
    };
    let given = request.mac_text;
    if asked.is_last() && !(MAC_BYTES_MIN..=asked.mac_bytes()).contains(&given.len()) {
        return Err(code::INVALID_PARAMETER.into());
    }
    let computed = asked.compute(call, VariableUse::HmacVerify).await?;
    let key_identifier = computed.key_identifier.as_deref();
    match &computed.value {
        Value::Mac(mac) => {
            let is_right = bool::from(mac[..given.len()].ct_eq(given));
            reply.write(Answer { key_identifier, ..Answer::default() })?;
            Ok(if is_right { computed.codes } else { code::VERIFICATION_FAILED })
        }
        Value::Chained(vector) => {
            reply.write(Answer { key_identifier, chaining_vector: Some(&vector[..]) })?;
            Ok(computed.codes)
        }
    }
}

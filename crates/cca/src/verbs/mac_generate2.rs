//! MAC_Generate2 (CSNBMGN2): see [`super::mac2`].

use super::hmac::{MAC_BYTES_MIN, Value};
use super::mac2::{self, Fields, Purpose};
use crate::call::{Call, Reply, Verdict};
use wire::verb::mac_generate2::{Answer, Request};

/// Answers with the MAC after ONLY and LAST, as long as there is room for it, with the chaining vector after FIRST and
/// MIDDLE.
pub(crate) async fn mac_generate2(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let asked = mac2::Request::new(Fields {
        key_identifier: request.key_identifier,
        text: request.message_text,
        algorithm: request.algorithm,
        method: request.method,
        segment: request.segment,
        chaining_vector: request.chaining_vector,
    })?;
    if asked.is_last() {
        request.mac_text.holds(MAC_BYTES_MIN)?;
    }
    let mac_bytes = asked.mac_bytes().min(request.mac_text.capacity());
    let computed = asked.compute(call, Purpose::Generate).await?;
    let key_identifier = computed.key_identifier.as_deref();
    match &computed.value {
        Value::Mac(mac) => {
            reply.write(Answer { key_identifier, mac_text: Some(&mac[..mac_bytes]), ..Answer::default() })?
        }
        Value::Chained(vector) => {
            reply.write(Answer { key_identifier, chaining_vector: Some(&vector[..]), ..Answer::default() })?
        }
    }
    Ok(computed.codes)
}

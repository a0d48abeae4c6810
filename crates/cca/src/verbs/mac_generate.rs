//! MAC_Generate (CSNBMGN): a message authentication code over a text, whole or in segments.

use super::mac::{self, Computed};
use crate::call::{Call, Reply, Verdict};
use crate::ground::Refusal;
use std::future::Future;
use token::usage::Use;
use wire::code;
use wire::verb::mac_generate::{Answer, Request};

/// Answers with the MAC after ONLY and LAST, with the chaining vector after FIRST and MIDDLE.
pub(crate) fn mac_generate<'f, 'r, 'w>(
    call: Call<'f, 'f>,
    reply: &'f mut Reply<'r, 'w>,
) -> impl Future<Output = Verdict> + use<'f, 'r, 'w> {
    mac::compute(call, reply, Use::MacGenerate, read, answer)
}

fn read<'f>(call: &Call<'f, 'f>) -> Result<mac::Request<'f>, Refusal> {
    let Request { key_identifier, text, method, segment, format, chaining_vector, .. } = call.read()?;
    Ok(mac::Request { key_identifier, text, method, segment, format, chaining_vector, mac: &[] })
}

fn answer(reply: &mut Reply<'_, '_>, computed: &Computed<'_>, _: &[u8]) -> Verdict {
    reply.write(Answer {
        key_identifier: computed.key_identifier,
        chaining_vector: computed.chaining_vector().as_ref(),
        mac: computed.shown().as_ref().map(|(mac, length)| &mac[..*length]),
    })?;
    Ok(code::OK)
}

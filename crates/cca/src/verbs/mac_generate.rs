//! MAC_Generate (CSNBMGN): a message authentication code over a text, whole or in segments.

use std::future::Future;

use token::usage::Use;
use wire::code;
use wire::verb::mac_generate::MAC;

use super::mac::{self, Computed};
use crate::call::{Call, Reply, Verdict};

/// Answers with the MAC after ONLY and LAST, with the chaining vector after FIRST and MIDDLE.
pub(crate) fn mac_generate<'f, 'r, 'w>(
    call: Call<'f, 'f>,
    reply: &'f mut Reply<'r, 'w>,
) -> impl Future<Output = Verdict> + use<'f, 'r, 'w> {
    mac::compute(call, reply, Use::MacGenerate, show)
}

fn show(_: &Call<'_, '_>, reply: &mut Reply<'_, '_>, computed: &Computed) -> Verdict {
    let (shown, length) = computed.shown();
    reply.bytes(MAC, &shown[..length]);
    Ok(code::OK)
}

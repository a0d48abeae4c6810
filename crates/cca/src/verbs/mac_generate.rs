//! MAC_Generate (CSNBMGN): a message authentication code over a text, whole or in segments.

use token::usage::Use;
use wire::verb::mac_generate::MAC;

use super::mac;
use crate::call::{Call, Reply, Verdict};

/// Answers with the MAC after ONLY and LAST, with the chaining vector after FIRST and MIDDLE.
pub(crate) async fn mac_generate(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let computed = mac::compute(call, reply, Use::MacGenerate).await?;
    if computed.last {
        let (shown, length) = computed.format.show(&computed.value);
        reply.bytes(MAC, &shown[..length]);
    }
    Ok(computed.codes)
}

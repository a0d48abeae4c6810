//! MAC_Verify (CSNBMVR): compares a message authentication code with that of a text.

use std::future::Future;

use subtle::ConstantTimeEq;
use token::usage::Use;
use wire::code;
use wire::verb::mac_verify::MAC;

use super::mac::{self, Computed};
use crate::call::{Call, Reply, Verdict};

/// 4/1 where the MAC is another one. A field longer than the format is compared in its first bytes:
/// the caller's field has room for the longest.
pub(crate) fn mac_verify<'f, 'r, 'w>(
    call: Call<'f, 'f>,
    reply: &'f mut Reply<'r, 'w>,
) -> impl Future<Output = Verdict> + use<'f, 'r, 'w> {
    mac::compute(call, reply, Use::MacVerify, compare)
}

fn compare(call: &Call<'_, '_>, _: &mut Reply<'_, '_>, computed: &Computed) -> Verdict {
    let (expected, length) = computed.shown();
    let given = call.bytes(MAC).get(..length).ok_or(code::INVALID_PARAMETER)?;
    Ok(if bool::from(expected[..length].ct_eq(given)) { code::OK } else { code::VERIFICATION_FAILED })
}

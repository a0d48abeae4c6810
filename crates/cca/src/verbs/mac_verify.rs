//! MAC_Verify (CSNBMVR): compares a message authentication code with that of a text.

use super::mac::{self, Computed, shown_bytes};
use crate::call::{Call, Reply, Verdict};
use crate::ground::Refusal;
use std::future::Future;
use subtle::ConstantTimeEq;
use token::usage::Use;
use wire::code;
use wire::verb::mac_verify::{Answer, Request};

/// Answers 4/1 for a wrong MAC. A field longer than the format is compared in its first bytes: the caller's field has
/// room for the longest.
pub(crate) fn mac_verify<'f, 'r, 'w>(
    call: Call<'f, 'f>,
    reply: &'f mut Reply<'r, 'w>,
) -> impl Future<Output = Verdict> + use<'f, 'r, 'w> {
    mac::compute(call, reply, Use::MacVerify, read, compare)
}

fn read<'f>(call: &Call<'f, 'f>) -> Result<mac::Request<'f>, Refusal> {
    let Request { key_identifier, text, method, segment, format, chaining_vector, mac, .. } = call.read()?;
    let mut request =
        mac::Request { key_identifier, text, method, segment, format, chaining_vector, mac: &[] };
    if request.is_last() {
        mac::check_compared(call, mac::compared_bytes(format))?;
        request.mac = mac.get(..shown_bytes(format)).ok_or(code::INVALID_PARAMETER)?;
    }
    Ok(request)
}

fn compare(reply: &mut Reply<'_, '_>, computed: &Computed<'_>, given: &[u8]) -> Verdict {
    let key_identifier = computed.key_identifier;
    reply.write(Answer { key_identifier, chaining_vector: computed.chaining_vector().as_ref() })?;
    let is_same = computed.shown().is_none_or(|(mac, length)| bool::from(mac[..length].ct_eq(given)));
    Ok(if is_same { code::OK } else { code::VERIFICATION_FAILED })
}

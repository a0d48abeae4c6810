//! MAC_Verify (CSNBMVR): compares a message authentication code with that of a text.

use subtle::ConstantTimeEq;
use token::usage::Use;
use wire::code;
use wire::verb::mac_verify::MAC;

use super::mac;
use crate::call::{Call, Reply, Verdict};

/// 4/1 where the MAC is another one. A field longer than the format is compared in its first bytes:
/// the caller's field has room for the longest.
pub(crate) async fn mac_verify(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let computed = mac::compute(call, reply, Use::MacVerify).await?;
    if !computed.last {
        return Ok(computed.codes);
    }
    let (expected, length) = computed.format.show(&computed.value);
    let given = call.bytes(MAC).get(..length).ok_or(code::INVALID_PARAMETER)?;
    if bool::from(expected[..length].ct_eq(given)) {
        Ok(computed.codes)
    } else {
        Ok(code::VERIFICATION_FAILED)
    }
}

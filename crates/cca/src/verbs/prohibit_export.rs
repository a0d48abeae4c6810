//! Prohibit_Export (CSNBPEX): the control vector of a DES key under the master key loses the bit that permits export.
//!
//! A record that is named by its label is not changed (8/30): the caller must read its token and write it back.

use crate::call::{Call, Reply, Verdict};
use crate::ground::Algorithm;
use crate::pass::Skeleton;
use token::control_vector::bit;
use wire::code;
use wire::verb::prohibit_export::{Answer, Request};

/// Refuses a part of a key, and one without a control vector, with 8/39.
pub(crate) async fn prohibit_export(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    if call.is_of_record(request.key_identifier) {
        return Err(code::LABEL_NOT_FOUND.into());
    }
    let found = call.key(request.key_identifier)?.of(Algorithm::Des)?;
    let token = *found.des().ok_or(code::TOKEN_INVALID)?;
    let vector = token.control_vector();
    if vector.is_zero() || vector.is_key_part() {
        return Err(code::KEY_USAGE.into());
    }
    let key = found.open()?.await?;
    let vector = vector.with_bits(bit(EXPORT_BIT), false).map_err(|_| code::KEY_USAGE)?;
    let made = call.make(Skeleton::Des(token.with_vector(vector)?), key.secret).await?;
    reply.write(Answer { key_identifier: Some(&made) })?;
    Ok(key.age.codes())
}

/// The bit of a control vector that permits export.
pub(super) const EXPORT_BIT: u32 = 17;

//! Data_Key_Export (CSNBDKX): Key_Export of a DATA key.

use super::key_export::export;
use crate::call::{Call, Reply, Verdict};
use wire::code;
use wire::verb::data_key_export::{Answer, Request};

/// Refuses any other key with 8/31.
pub(crate) async fn data_key_export(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let exported = export(call, request.source_key_identifier, request.exporter_key_identifier, |token| {
        let is_data = token.control_vector().is_plain_data();
        if is_data { Ok(()) } else { Err(code::CONTROL_VECTOR_NOT_DATA.into()) }
    })
    .await?;
    reply.write(Answer {
        source_key_identifier: exported.source.as_deref(),
        exporter_key_identifier: exported.exporter.as_deref(),
        target_key_token: Some(exported.token.fixed()?),
    })?;
    Ok(exported.codes)
}

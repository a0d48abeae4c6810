//! Data_Key_Import (CSNBDKM): Key_Import of a DATA key, which may be without a control vector.

use super::key_import::{import, source};
use crate::call::{Call, Reply, Verdict};
use crate::key::exchange::AskedType;
use token::KeyType;
use wire::code;
use wire::verb::data_key_import::{Answer, Request};

/// Refuses any other key with 8/31.
pub(crate) async fn data_key_import(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let source = source(request.source_key_token, AskedType::Named(KeyType::Data))?;
    if !source.control_vector().is_plain_data() {
        return Err(code::CONTROL_VECTOR_NOT_DATA.into());
    }
    let imported =
        import(call, source, request.importer_key_identifier, request.target_key_identifier).await?;
    reply.write(Answer {
        importer_key_identifier: imported.importer.as_deref(),
        target_key_identifier: Some(&imported.token),
    })?;
    Ok(imported.codes)
}

//! PKA_Key_Import (CSNDPKI): a clear external private key into an internal token under the APKA master key.
//!
//! The importer must be a null token: keys under a transport key are not served. The numbers are
//! checked to be one key before they are wrapped. Usage, translation and name are kept; the form
//! becomes X'30' or X'31'.

use token::pka::{ClearKey, Origin, PrivateValues, Source};
use wire::code;
use wire::verb::pka_key_import::{Answer, Request};

use super::pka_key_generate::internal;
use crate::call::{Call, Reply, Verdict};
use crate::key::target::is_null;

pub(crate) async fn pka_key_import(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    if !is_null(request.importer_key_identifier) {
        return Err(code::INVALID_PARAMETER.into());
    }
    let source = call.pka_token(request.source_key_token)?;
    if source.origin() != Origin::External {
        return Err(code::TOKEN_INVALID.into());
    }
    let (n, e) = (source.modulus(), source.exponent());
    let key = match source.private().map(|private| private.values) {
        Some(PrivateValues::ClearMe { d }) => ClearKey::Me { n, e, d },
        Some(PrivateValues::ClearCrt(components)) => ClearKey::Crt { n, e, components },
        _ => return Err(code::TOKEN_INVALID.into()),
    };
    // Preparing it proves that the numbers are one key.
    call.key(request.source_key_token)?.private().await?;
    let token = internal(call, &key, &source.attributes(), Source::ExternalClear).await?;
    reply.write(Answer { target_key_identifier: Some(&token) })?;
    Ok(code::OK)
}

//! PKA_Key_Import (CSNDPKI): a clear external private key into an internal token under the APKA master key.
//!
//! The importer must be a null token: keys under a transport key are not served. The numbers are
//! checked to be one key before they are wrapped. Usage, translation and name are kept; the form
//! of an RSA token becomes X'30' or X'31'. Of an elliptic-curve token all that it says is kept.

use engine::SecretBytes;
use token::pka::ecc::{EccValue, is_ecc};
use token::pka::{ClearKey, Origin, PrivateValues, Source};
use wire::code;
use wire::verb::pka_key_import::{Answer, Request};

use super::pka_key_generate::internal;
use crate::call::{Call, Reply, Verdict};
use crate::key::target::is_null;
use crate::pka::curve;

pub(crate) async fn pka_key_import(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    if !is_null(request.importer_key_identifier) {
        return Err(code::INVALID_PARAMETER.into());
    }
    if is_ecc(request.source_key_token) {
        return of_curve(call, &request, reply).await;
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

/// A key of an elliptic curve.
async fn of_curve<'a>(call: Call<'_, 'a>, request: &Request<'a>, reply: &mut Reply<'_, '_>) -> Verdict {
    let source = call.ecc_token(request.source_key_token)?;
    let value = match source.private().map(|private| private.value) {
        Some(EccValue::Clear(value)) => SecretBytes::from_slice(value),
        _ => return Err(code::TOKEN_INVALID.into()),
    };
    // Preparing it proves that the public key is that of the private one.
    call.key(request.source_key_token)?.private_ecc().await?;
    let (curve, point, attributes) = (source.curve(), source.point(), source.attributes());
    let token = curve::internal(call, curve, value, point, &attributes, Source::ExternalClear).await?;
    reply.write(Answer { target_key_identifier: Some(&token) })?;
    Ok(code::OK)
}

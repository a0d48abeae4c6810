//! PKA_Key_Import (CSNDPKI): an external private key, clear or under a transport key, into an internal token under the APKA
//! master key.
//!
//! The importer is a null token for a clear key. An encrypted X'02' or X'08' token takes an IMP-PKA key, or in a role with
//! `pka-importers-of-both` an IMPORTER key with the use IMPORT; encrypted X'30', X'31' and elliptic-curve tokens, which take a
//! transport key of AES, are refused with 8/49. The numbers are checked to be one key before they are wrapped; of an
//! encrypted token whatever is wrong is one refusal, 8/47. Usage, translation and name are kept; the form of an RSA token
//! becomes X'30' or X'31', or in a home that makes compatible tokens X'08' stays. Of an elliptic-curve token all that it says is kept.
//!
//! The source may be left with RSA (default) or ECC, and the transport key with IKEK-DES (default).

use engine::SecretBytes;
use token::pka::ecc::{EccValue, is_ecc};
use token::pka::{ClearKey, Form, Origin, PrivateValues, Source, SplitValues};
use token::usage::Side;
use wire::code;
use wire::point::Point;
use wire::verb::ChangedPkaAlgorithm;
use wire::verb::pka_key_import::{Answer, Request};

use super::pka_key_generate::internal;
use crate::call::{Call, Reply, Verdict};
use crate::key::target::is_null;
use crate::pass::{Open, Opened};
use crate::pka::curve;

pub(crate) async fn pka_key_import(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let is_curve = is_ecc(request.source_key_token);
    if request.algorithm.is_some_and(|named| is_curve != (named == ChangedPkaAlgorithm::Ecc)) {
        return Err(code::TOKEN_INVALID.into());
    }
    if !is_null(request.importer_key_identifier) {
        return transported(call, &request, reply).await;
    }
    if is_curve {
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
    let form = source.private().map_or(Form::Crt, |private| private.form);
    let token = internal(call, form, &key, &source.attributes(), Source::ExternalClear).await?;
    reply.write(Answer { target_key_identifier: Some(&token) })?;
    Ok(code::OK)
}

/// An RSA key under a transport key.
async fn transported<'a>(call: Call<'_, 'a>, request: &Request<'a>, reply: &mut Reply<'_, '_>) -> Verdict {
    call.permit(Point::PkaKeyImportTransported)?;
    if is_ecc(request.source_key_token) {
        return Err(code::TOKEN_VERSION.into());
    }
    let source = call.pka_token(request.source_key_token)?;
    let Some(PrivateValues::Transported(transported)) = source.private().map(|private| private.values) else {
        return Err(code::TOKEN_INVALID.into());
    };
    let kek = call.private_key_encrypting_key(request.importer_key_identifier, Side::Receiving)?.await?;
    let codes = kek.age.codes();
    let asked = Open::Transported { wrapping: kek.secret, field: request.source_key_token };
    let Opened::Secret(values, _) = call.ask(asked).await? else { return Err(code::SELF_CHECK.into()) };
    let (n, e) = (source.modulus(), source.exponent());
    let key = match transported.lengths.split(&values).ok_or(code::SELF_CHECK)? {
        SplitValues::Me { d } => ClearKey::Me { n, e, d },
        SplitValues::Crt(components) => ClearKey::Crt { n, e, components },
    };
    let token =
        internal(call, transported.form, &key, &source.attributes(), Source::ExternalEncrypted).await?;
    reply.write(Answer { target_key_identifier: Some(&token) })?;
    Ok(codes)
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

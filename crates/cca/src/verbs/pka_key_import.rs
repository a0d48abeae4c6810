//! PKA_Key_Import (CSNDPKI): an external private key, clear or under a transport key, into an internal token under the
//! APKA master key.
//!
//! | source | importer |
//! |---|---|
//! | clear | a null token |
//! | encrypted X'02', X'08' | of DES (IKEK-DES): an IMP-PKA key, or in a role with `pka-importers-of-both` an IMPORTER key with the use IMPORT |
//! | encrypted X'30', X'31', X'20' | of AES (IKEK-AES): an IMPORTER key with the use IMPORT that wraps keys of RSA (WR-RSA) or of curves (WR-ECC) |
//!
//! An importer of the other algorithm, or its keyword, is refused with 8/49; one of AES that is weaker than the key
//! with 8/170, unless the role has `symmetric-key-import2-weak`. The numbers are checked to form one key before they
//! are wrapped. Every fault of an encrypted token is answered with the same 8/47. Usage, translation and name are kept;
//! the form of an RSA token becomes X'30' or X'31', or in a home that makes compatible tokens X'08' stays. All
//! attributes of an elliptic-curve token are kept.
//!
//! RSA and ECC name the algorithm of the key (8/47 for a key of the other one). IKEK-PKA is refused (8/33).

use super::pka_key_generate::internal;
use crate::call::{Call, Reply, Verdict};
use crate::ground::Refusal;
use crate::key::opening::Opening;
use crate::key::pka::internal_ecc;
use crate::key::private::{check_kind, open_transported, strength_of_curve, strength_of_modulus};
use crate::key::target::is_null;
use engine::SecretBytes;
use token::pka::ecc::{EccValue, is_ecc};
use token::pka::{ClearKey, Form, Origin, PrivateValues, Source, SplitValues};
use token::usage::{Side, Wrapping};
use token::variable::PrivateAlgorithm;
use wire::code;
use wire::point::Point;
use wire::verb::pka_key_import::{Answer, Request};
use wire::verb::{ChangedPkaAlgorithm, ImporterKind};

pub(crate) async fn pka_key_import(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let is_curve = is_ecc(request.source_key_token);
    if request.algorithm.is_some_and(|named| is_curve != (named == ChangedPkaAlgorithm::Ecc)) {
        return Err(code::TOKEN_INVALID.into());
    }
    if !is_null(request.importer_key_identifier) {
        call.permit(Point::PkaKeyImportTransported)?;
        // A caller who names a key by its label has the right to use the key, but no right to see its token.
        if call.is_of_record(request.source_key_token) {
            return Err(code::ACCESS_DENIED.into());
        }
        return if is_curve {
            transported_curve(call, &request, reply).await
        } else {
            transported(call, &request, reply).await
        };
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
    // Preparing the key proves that its numbers form one key.
    call.key(request.source_key_token)?.private().await?;
    let form = source.private().map_or(Form::Crt, |private| private.form);
    let token = internal(call, form, &key, &source.attributes(), Source::ExternalClear).await?;
    reply.write(Answer { target_key_identifier: Some(&token) })?;
    Ok(code::OK)
}

/// Imports an RSA key under a transport key.
async fn transported<'a>(call: Call<'_, 'a>, request: &Request<'a>, reply: &mut Reply<'_, '_>) -> Verdict {
    let source = call.pka_token(request.source_key_token)?;
    let field = request.importer_key_identifier;
    let (kek, lengths) = match source.private().map(|private| private.values) {
        Some(PrivateValues::Transported(transported)) => {
            check_kind(field, false, named(request))?;
            (call.private_key_encrypting_key(field, Side::Receiving)?.await?, transported.lengths)
        }
        Some(PrivateValues::TransportedAes(wrapped)) => {
            let kek = aes_importer(call, request, PrivateAlgorithm::Rsa)?.await?;
            kek.check_strength(&call, strength_of_modulus(source.modulus_bits()), Point::WeakImport)?;
            (kek, wrapped.lengths)
        }
        _ => return Err(code::TOKEN_INVALID.into()),
    };
    let codes = kek.age.codes();
    let values = open_transported(call, kek, request.source_key_token).await?;
    let (n, e) = (source.modulus(), source.exponent());
    let key = match lengths.split(&values).ok_or(code::SELF_CHECK)? {
        SplitValues::Me { d } => ClearKey::Me { n, e, d },
        SplitValues::Crt(components) => ClearKey::Crt { n, e, components },
    };
    let form = source.private().map_or(Form::CrtAes, |private| private.form);
    let token = internal(call, form, &key, &source.attributes(), Source::ExternalEncrypted).await?;
    reply.write(Answer { target_key_identifier: Some(&token) })?;
    Ok(codes)
}

/// Imports a key of an elliptic curve under a transport key.
async fn transported_curve<'a>(
    call: Call<'_, 'a>,
    request: &Request<'a>,
    reply: &mut Reply<'_, '_>,
) -> Verdict {
    let source = call.ecc_token(request.source_key_token)?;
    if !matches!(source.private().map(|private| private.value), Some(EccValue::Transported(_))) {
        return Err(code::TOKEN_INVALID.into());
    }
    let kek = aes_importer(call, request, PrivateAlgorithm::Ecc)?.await?;
    let (curve, attributes) = (source.curve(), source.attributes());
    kek.check_strength(&call, strength_of_curve(curve), Point::WeakImport)?;
    let codes = kek.age.codes();
    let value = open_transported(call, kek, request.source_key_token).await?;
    let from = Source::ExternalEncrypted;
    let token = internal_ecc(call, curve, value, source.point(), &attributes, from).await?;
    reply.write(Answer { target_key_identifier: Some(&token) })?;
    Ok(codes)
}

/// Whether the transport key is of AES, by its keyword; `None` without one.
fn named(request: &Request<'_>) -> Option<bool> {
    request.transport.map(|kind| kind == ImporterKind::Aes)
}

/// Starts opening the AES importer that unwraps the source key.
fn aes_importer<'p, 'a>(
    call: Call<'p, 'a>,
    request: &Request<'a>,
    algorithm: PrivateAlgorithm,
) -> Result<Opening<'p, 'a>, Refusal> {
    let field = request.importer_key_identifier;
    check_kind(field, true, named(request))?;
    call.aes_private_key_encrypting_key(field, Some(Side::Receiving), Wrapping::PrivateKeys, algorithm)
}

/// Imports a clear key of an elliptic curve.
async fn of_curve<'a>(call: Call<'_, 'a>, request: &Request<'a>, reply: &mut Reply<'_, '_>) -> Verdict {
    let source = call.ecc_token(request.source_key_token)?;
    let value = match source.private().map(|private| private.value) {
        Some(EccValue::Clear(value)) => SecretBytes::from_slice(value),
        _ => return Err(code::TOKEN_INVALID.into()),
    };
    // Preparing the key proves that the public key belongs to the private one.
    call.key(request.source_key_token)?.private_ecc().await?;
    let (curve, point, attributes) = (source.curve(), source.point(), source.attributes());
    let token = internal_ecc(call, curve, value, point, &attributes, Source::ExternalClear).await?;
    reply.write(Answer { target_key_identifier: Some(&token) })?;
    Ok(code::OK)
}

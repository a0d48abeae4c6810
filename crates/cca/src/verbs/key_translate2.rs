//! Key_Translate2 (CSNBKTR2): a key under one key-encrypting key comes under another, or its token takes another form.
//!
//! | keyword | from | to |
//! |---|---|---|
//! | TRANSLAT (default) | external DES token | the same under the output key-encrypting key, as Key_Translate does |
//! | TRANSLAT | external token of variable length, AES or HMAC | the same under the output key-encrypting key, of AES |
//! | REFORMAT | AES token of fixed length | CIPHER token of the attributes of the skeleton in the output; of the defaults, where that is empty |
//! | REFORMAT | CIPHER token | AES token of fixed length |
//! | V0PYLD, V1PYLD | CIPHER, EXPORTER, IMPORTER token, internal or external | the same with a payload of this version |
//!
//! Key-encrypting keys of AES need the usage TRANSLAT and must wrap keys of this algorithm and kind (8/39): the input
//! one is an IMPORTER, the output one an EXPORTER key. A key that may not leave under AES keys, or that misses parts,
//! is not translated (8/39). A key that is stronger than either key-encrypting key needs a role that permits it
//! (8/170), and its token records this. A payload changes under the input key alone, an IMPORTER or EXPORTER key; the
//! output key is ignored.
//!
//! A token of fixed length restricts neither use nor export, so any CIPHER token may replace it. The other way the key
//! must permit both directions, every mode and every way of export (8/39), since the new token cannot restrict them,
//! and the role must not forbid it (8/90). The completeness of the key comes from the source, not from the skeleton: a
//! complete key stays complete.
//!
//! Refused are clear keys (8/47: translating them would import them), and keys that miss parts (8/39). A key that is
//! named by its label is refused with 8/90 if the output is under the master key or under the same key as before: the
//! right to use a key includes no right to see its token. REFORMAT of DES tokens (8/49) needs a second wrapping, which
//! keys of DES do not have; COMP-CHK and COMP-TAG (8/33) a compliance mode. HMAC goes with TRANSLAT alone (8/34): such
//! keys have one form.

use super::key_import::source;
use super::key_token_build2::attribute_codes;
use crate::call::{Call, Reply, Verdict};
use crate::ground::{Algorithm, Refusal};
use crate::key::exchange::AskedType;
use crate::key::field::KeyField;
use crate::key::target::is_null;
use crate::key::variable_exchange::{may_come, may_leave};
use crate::pass::Skeleton;
use token::des::Origin;
use token::usage::{Side, Use, Wrapping};
use token::variable::{
    Attributes, Carrier, Completeness, PayloadVersion, Pedigree, VariableKey, VariableType,
};
use token::{Format, VariableToken};
use wire::point::Point;
use wire::verb::key_translate2::{Answer, Request};
use wire::verb::{SymmetricAlgorithm, TranslationProcess};
use wire::{Codes, code};

/// Answers with the token.
pub(crate) async fn key_translate2(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let field = request.input_key_token;
    check_algorithm(field, request.algorithm)?;
    match (request.process, Format::of(field)) {
        (TranslationProcess::Translate, Format::DesExternal) => translate_des(call, &request, reply).await,
        (TranslationProcess::Translate, Format::VariableExternal) => {
            translate_variable(call, &request, reply).await
        }
        (TranslationProcess::Variable | TranslationProcess::Fixed, Format::VariableExternal) => {
            reform_outside(call, &request, reply).await
        }
        (TranslationProcess::Reformat, Format::DesInternal | Format::DesExternal) => {
            Err(code::TOKEN_VERSION.into())
        }
        (_, Format::Label) => Err(code::LABEL_NOT_FOUND.into()),
        (TranslationProcess::Translate, _) => Err(code::TOKEN_INVALID.into()),
        _ => reform(call, &request, reply).await,
    }
}

/// Refuses a token of another algorithm than the keyword's.
fn check_algorithm(field: &[u8], algorithm: Option<SymmetricAlgorithm>) -> Result<(), Codes> {
    let is_of = match (algorithm, Format::of(field)) {
        (None, _) | (_, Format::Label) => true,
        (Some(SymmetricAlgorithm::Des), format) => {
            matches!(format, Format::DesInternal | Format::DesExternal)
        }
        (Some(algorithm), Format::VariableInternal | Format::VariableExternal) => {
            let token = VariableToken::parse(field).map_err(|error| error.codes())?;
            token.key_type().is_aes() == (algorithm == SymmetricAlgorithm::Aes)
        }
        (Some(algorithm), format) => algorithm == SymmetricAlgorithm::Aes && format == Format::AesInternal,
    };
    if is_of { Ok(()) } else { Err(code::TOKEN_INVALID) }
}

/// Translates an external DES token, by the rules of [`super::key_translate`].
async fn translate_des<'a>(call: Call<'_, 'a>, request: &Request<'a>, reply: &mut Reply<'_, '_>) -> Verdict {
    let token = source(request.input_key_token, AskedType::Token)?;
    if !token.control_vector().may(Use::Export) || token.export_prohibited() {
        return Err(code::KEY_USAGE.into());
    }
    request.output_key_token.holds(token::TOKEN_BYTES)?;
    let (input, output) = (request.input_kek_key_identifier, request.output_kek_key_identifier);
    let receiving = call.key_encrypting_key(input, Side::Receiving, Wrapping::Translated).await?;
    let sending = call.key_encrypting_key(output, Side::Sending, Wrapping::Translated).await?;
    let renewed = (receiving.renew(call, input)?, sending.renew(call, output)?);
    let key = KeyField::of_token(call, token).under(&receiving)?.await?;
    let made = sending.wrap(&call, token.without_key(), key.secret)?.await?;
    let (input, output) = (renewed.0.token().await?, renewed.1.token().await?);
    reply.write(Answer {
        input_kek_key_identifier: input.as_deref(),
        output_kek_key_identifier: output.as_deref(),
        output_key_token: Some(&made),
    })?;
    Ok(receiving.age.max(sending.age).codes())
}

/// Translates a key of variable length from one AES key-encrypting key to another.
async fn translate_variable<'a>(
    call: Call<'_, 'a>,
    request: &Request<'a>,
    reply: &mut Reply<'_, '_>,
) -> Verdict {
    let found = KeyField::new(call, request.input_key_token).external_variable()?;
    let token = may_leave(&found, Carrier::Aes)?;
    // The output token is as long as the input token.
    request.output_key_token.holds(token.to_bytes().len())?;
    let (input, output) = (request.input_kek_key_identifier, request.output_kek_key_identifier);
    let (attributes, skeleton) = (token.attributes().clone(), token.without_key());
    let translated = Wrapping::Translated;
    let receiving = call.aes_key_encrypting_key(input, Side::Receiving, translated, &attributes).await?;
    let sending = call.aes_key_encrypting_key(output, Side::Sending, translated, &attributes).await?;
    let renewed = (receiving.renew(call, input)?, sending.renew(call, output)?);
    let key = found.under(&receiving)?.await?;
    let skeleton = skeleton.with_attributes(receiving.imported(&call, attributes, &key.secret)?)?;
    let made = sending.wrap_variable(&call, skeleton, key.secret)?.await?;
    let (input, output) = (renewed.0.token().await?, renewed.1.token().await?);
    reply.write(Answer {
        input_kek_key_identifier: input.as_deref(),
        output_kek_key_identifier: output.as_deref(),
        output_key_token: Some(&made),
    })?;
    Ok(receiving.age.max(sending.age).codes())
}

/// Changes the payload version of an external token; the key-encrypting key stays the same.
async fn reform_outside<'a>(call: Call<'_, 'a>, request: &Request<'a>, reply: &mut Reply<'_, '_>) -> Verdict {
    let field = request.input_key_token;
    if call.is_of_record(field) {
        return Err(code::ACCESS_DENIED.into());
    }
    let found = KeyField::new(call, field).external_variable()?;
    let token = may_come(&found)?;
    let payload = match request.process {
        TranslationProcess::Variable => PayloadVersion::Variable,
        _ => PayloadVersion::Fixed,
    };
    let skeleton = of_version(token, payload)?;
    let (kek, attributes) = (request.input_kek_key_identifier, token.attributes());
    let wrapping = call.aes_key_encrypting_key_of_either_side(kek, Wrapping::Translated, attributes).await?;
    let renewal = wrapping.renew(call, kek)?;
    let key = found.under(&wrapping)?.await?;
    let made = wrapping.wrap_variable(&call, skeleton, key.secret)?.await?;
    let input_kek_key_identifier = renewal.token().await?;
    reply.write(Answer {
        input_kek_key_identifier: input_kek_key_identifier.as_deref(),
        output_key_token: Some(&made),
        ..Answer::default()
    })?;
    Ok(wrapping.age.codes())
}

/// Puts a key under the master key into a token of another form.
async fn reform<'a>(call: Call<'_, 'a>, request: &Request<'a>, reply: &mut Reply<'_, '_>) -> Verdict {
    let field = request.input_key_token;
    if call.is_of_record(field) {
        return Err(code::ACCESS_DENIED.into());
    }
    let (found, skeleton) = match Format::of(field) {
        Format::AesInternal if request.process == TranslationProcess::Reformat => {
            (call.key(field)?.of(Algorithm::Aes)?, Skeleton::Variable(Box::new(cipher(request)?)))
        }
        _ => {
            let found = call.key(field)?.variable()?;
            let token = found.as_variable().ok_or(code::TOKEN_INVALID)?;
            if token.attributes().completeness() != Completeness::Complete {
                return Err(code::KEY_USAGE.into());
            }
            let skeleton = of_variable(call, request, token)?;
            (found, skeleton)
        }
    };
    let key = found.open()?.await?;
    if key.under.is_none() {
        return Err(code::TOKEN_INVALID.into());
    }
    let made = call.make(skeleton, key.secret).await?;
    reply.write(Answer { output_key_token: Some(&made), ..Answer::default() })?;
    Ok(key.age.codes())
}

/// The output token for the key of a token of variable length, without the key.
fn of_variable(
    call: Call<'_, '_>,
    request: &Request<'_>,
    token: &VariableToken,
) -> Result<Skeleton, Refusal> {
    let payload = match request.process {
        TranslationProcess::Variable => PayloadVersion::Variable,
        TranslationProcess::Fixed => PayloadVersion::Fixed,
        _ => {
            call.permit(Point::KeyTranslate2Fixed)?;
            if !is_null(request.output_key_token.start()) {
                return Err(code::TOKEN_INVALID.into());
            }
            if !says_as_little_as_data(token.attributes()) {
                return Err(code::KEY_USAGE.into());
            }
            return Ok(Skeleton::Aes);
        }
    };
    Ok(Skeleton::Variable(Box::new(of_version(token, payload)?)))
}

/// The token without its key, for a payload of this version.
///
/// # Errors
/// 8/39 for keys of types that have one version.
fn of_version(token: &VariableToken, payload: PayloadVersion) -> Result<VariableToken, Refusal> {
    let has_versions = [VariableType::Cipher, VariableType::Exporter, VariableType::Importer];
    if !has_versions.contains(&token.key_type()) {
        return Err(code::KEY_USAGE.into());
    }
    Ok(VariableToken::skeleton(token.origin(), payload, token.attributes().clone())?)
}

/// Whether a key has every use and every way of export that a key in a token of fixed length has.
fn says_as_little_as_data(attributes: &Attributes) -> bool {
    let (usage, [export, ..]) = (attributes.usage(), attributes.management());
    attributes.key_type() == VariableType::Cipher
        && usage[0] == BOTH_DIRECTIONS
        && usage[1] == EVERY_MODE
        && export & (PERMITTED | FORBIDDEN) == PERMITTED
}

/// The CIPHER skeleton in the output field, or one with the defaults if the field is empty.
///
/// # Errors
/// 8/47 for a field that is neither empty nor a CIPHER skeleton.
fn cipher(request: &Request<'_>) -> Result<VariableToken, Refusal> {
    let field = request.output_key_token.start();
    let token = match Format::of(field) {
        Format::VariableInternal => VariableToken::parse(field)?,
        Format::Null => {
            let attributes = Attributes::new(VariableType::Cipher, [], None).map_err(attribute_codes)?;
            VariableToken::skeleton(Origin::Internal, PayloadVersion::Variable, attributes)?
        }
        Format::Label => return Err(code::LABEL_NOT_FOUND.into()),
        _ => return Err(code::TOKEN_INVALID.into()),
    };
    if token.key_type() != VariableType::Cipher || !matches!(token.key(), VariableKey::Absent) {
        return Err(code::TOKEN_INVALID.into());
    }
    let attributes = token.attributes().clone().made(Pedigree::Unknown, Completeness::Complete);
    Ok(token.with_attributes(attributes)?)
}

/// First usage field of a CIPHER key that permits both directions and nothing else.
const BOTH_DIRECTIONS: u16 = 0xC000;
/// Second usage field of a CIPHER key that permits every mode.
const EVERY_MODE: u16 = 0xFF00;
/// The ways of export that tokens of fixed length have, as bits of the first management field: under symmetric keys,
/// and RSA keys of both kinds.
const PERMITTED: u16 = 0xE000;
/// The bits of the first management field that forbid export under keys of DES, AES and RSA.
const FORBIDDEN: u16 = 0x00C8;

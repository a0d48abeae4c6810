//! PKA_Key_Token_Build (CSNDPKB): an external token from the numbers of a key, or a skeleton to generate one from.
//!
//! | keyword | section | structure |
//! |---|---|---|
//! | RSA-PUBL | X'04' | n, e |
//! | RSA-PRIV | X'02', to 1024 bits | n, e, d, or bits and e |
//! | RSA-CRT | X'08' | n, e, p, q, dp, dq, U, or bits and e |
//! | RSA-AESM | X'30' | as RSA-PRIV |
//! | RSA-AESC | X'31' | as RSA-CRT |
//! | ECC-PUBL | X'21' | curve, Q |
//! | ECC-PAIR | X'20' | curve, d, Q, or the curve |
//!
//! QSA-PUBL and QSA-PAIR, for keys that resist quantum computers, are refused with 8/33, and so are RSAMEVAR (section
//! X'09') and RSA-OPT (X'05').
//!
//! Usage: SIG-ONLY (default), KEY-MGMT, KM-ONLY and, of RSA, this system's own TLS-ONLY; translation: XLATE-OK,
//! NO-XLATE (default). A name of 64 bytes is a label. The numbers are copied without a check: numbers that form no key
//! are refused when they are used or imported. With ECC-PAIR, customer data of up to 100 bytes are bound to the private
//! key, and with ECC-VER1 four bytes of key derivation data say which key EC_Diffie-Hellman may derive with it. With
//! other keywords these must be empty (8/21), as must the reserved parameters.

use crate::call::{Call, Reply, Verdict};
use token::pka::ecc::{self, Derivation, EccAttributes, EccKeyValues};
use token::pka::{Attributes, Form, KeyValues, NAME_BYTES, Usage, clear_token, public_token, skeleton_token};
use wire::verb::pka_key_token_build::{Answer, Request};
use wire::verb::{PkaTokenKind, PkaTranslation, PkaUsage};
use wire::{Codes, Label, code};
use zeroize::Zeroizing;

#[derive(Clone, Copy)]
enum Kind {
    Public,
    Private(Form),
    EccPublic,
    EccPair,
}

pub(crate) async fn pka_key_token_build(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let kind = match request.kind {
        PkaTokenKind::Public => Kind::Public,
        PkaTokenKind::Private => Kind::Private(Form::Me1024),
        PkaTokenKind::Crt => Kind::Private(Form::Crt),
        PkaTokenKind::AesPrivate => Kind::Private(Form::MeAes),
        PkaTokenKind::AesCrt => Kind::Private(Form::CrtAes),
        PkaTokenKind::EccPublic => Kind::EccPublic,
        PkaTokenKind::EccPair => Kind::EccPair,
        PkaTokenKind::QuantumPublic
        | PkaTokenKind::QuantumPair
        | PkaTokenKind::Variable
        | PkaTokenKind::Optimized => return Err(code::KEYWORD.into()),
    };
    let usage = match request.usage {
        None => Usage::default(),
        Some(PkaUsage::Signature) => Usage::SignatureOnly,
        Some(PkaUsage::KeyManagement) => Usage::KeyManagement,
        Some(PkaUsage::KeyManagementOnly) => Usage::KeyManagementOnly,
        Some(PkaUsage::TlsOnly) => Usage::TlsOnly,
    };
    let name = name(request.key_name)?;
    if matches!(kind, Kind::Public | Kind::EccPublic) && name.is_some() {
        return Err(code::KEYWORD_COMBINATION.into());
    }
    let translatable = request.translation == Some(PkaTranslation::Allowed);
    let attributes = Attributes { usage, translatable, name };
    let structure = request.key_values_structure;
    let (user_data, derivation) = (request.customer_data, request.key_derivation_data);
    let token = match kind {
        Kind::EccPair => {
            let is_version_1 = request.version.is_some();
            build_pair(structure, ecc_attributes(attributes, is_version_1, user_data, derivation)?)?
        }
        _ if !user_data.is_empty() || !derivation.is_empty() => return Err(code::INVALID_PARAMETER.into()),
        Kind::EccPublic => build_point(structure)?,
        Kind::Public | Kind::Private(_) => build(kind, structure, &attributes)?,
    };
    reply.write(Answer { token: Some(&token) })?;
    Ok(code::OK)
}

fn build(kind: Kind, structure: &[u8], attributes: &Attributes) -> Result<Zeroizing<Vec<u8>>, Codes> {
    let hashes = (engine::sha1, engine::sha256);
    let values = match kind {
        Kind::Private(form) if form.is_crt() => KeyValues::crt(structure),
        _ => KeyValues::modulus_exponent(structure),
    }
    .map_err(|error| error.codes())?;
    match (kind, values) {
        (Kind::Public, KeyValues::Public { n, e }) => public_token(n, e).map(Zeroizing::new),
        (Kind::Private(form), KeyValues::Generate { modulus_bits, e }) => {
            skeleton_token(form, modulus_bits, e, attributes, &hashes).map(Zeroizing::new)
        }
        (Kind::Private(form), KeyValues::Private(key)) => clear_token(form, &key, attributes, &hashes),
        _ => return Err(code::PKA_FIELD),
    }
    .map_err(|error| error.codes())
}

fn ecc_attributes(
    common: Attributes,
    is_version_1: bool,
    user_data: &[u8],
    derivation: &[u8],
) -> Result<EccAttributes, Codes> {
    let derivation = match derivation {
        [] => None,
        _ if !is_version_1 => return Err(code::KEYWORD_COMBINATION),
        given => {
            let given = given.try_into().map_err(|_| code::INVALID_PARAMETER)?;
            Some(Derivation::from_bytes(given).ok_or(code::PKA_FIELD)?)
        }
    };
    if user_data.len() > ecc::USER_DATA_BYTES_MAX {
        return Err(code::INVALID_PARAMETER);
    }
    Ok(EccAttributes { common, is_version_1, user_data: user_data.to_vec(), derivation })
}

fn build_pair(structure: &[u8], attributes: EccAttributes) -> Result<Zeroizing<Vec<u8>>, Codes> {
    match EccKeyValues::pair(structure).map_err(|error| error.codes())? {
        EccKeyValues::Generate { curve } => ecc::skeleton_token(curve, &attributes).map(Zeroizing::new),
        EccKeyValues::Private { curve, value, point } => ecc::clear_token(curve, value, point, &attributes),
        EccKeyValues::Public { .. } => return Err(code::PKA_FIELD),
    }
    .map_err(|error| error.codes())
}

fn build_point(structure: &[u8]) -> Result<Zeroizing<Vec<u8>>, Codes> {
    match EccKeyValues::public(structure).map_err(|error| error.codes())? {
        EccKeyValues::Public { curve, point } => ecc::public_token(curve, point).map(Zeroizing::new),
        EccKeyValues::Generate { .. } | EccKeyValues::Private { .. } => return Err(code::PKA_FIELD),
    }
    .map_err(|error| error.codes())
}

/// The name of a key, if one is given: a label of 64 bytes.
pub(super) fn name(given: &[u8]) -> Result<Option<[u8; NAME_BYTES]>, Codes> {
    if given.is_empty() {
        return Ok(None);
    }
    let name: [u8; NAME_BYTES] = given.try_into().map_err(|_| code::INVALID_PARAMETER)?;
    Label::from_field(&name).map_err(|_| code::LABEL_FORMAT)?;
    Ok(Some(name))
}

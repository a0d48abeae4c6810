//! Restrict_Key_Attribute (CSNBRKA): permanently takes ways of export from a key; no verb gives one back.
//!
//! | token | keywords | what each takes away |
//! |---|---|---|
//! | AES and HMAC, of variable length | NOEX-SYM, NOEXUASY, NOEXAASY, NOEX-RAW, NOEXCPAC | a way that a bit permits |
//! | | NOEX-DES, NOEX-AES, NOEX-RSA | a way that a bit forbids |
//! | DES | CCAXPORT | export (bit 17 of the control vector) |
//! | | NOT31XPT | export in TR-31 blocks (bit 57) |
//! | all | NOEXPORT, and no keyword of these | all ways |
//!
//! NOEXPORT beside others takes all ways away. Type and use of the key stay, and so do the parts that it misses.
//! Refused are an AES token of fixed length, which has no such attributes (8/47), a clear key, whose attributes bind
//! nobody (8/47), and a DES key without a control vector or a part of one (8/39). External tokens are narrowed under
//! the key-encrypting key that wraps them, an EXPORTER key with the usage EXPORT or an IMPORTER key with the usage
//! IMPORT: of DES for DES keys, of AES, which must wrap keys of this algorithm and kind, for those of variable length
//! (8/39, also for one that misses parts); a key that is stronger than what wraps it only in a role that permits it
//! (8/170). A record that is named by its label is not changed (8/30): the caller must read its token and write it
//! back.

use super::key_import::source;
use super::prohibit_export::EXPORT_BIT;
use crate::call::{Call, Reply, Verdict};
use crate::ground::{Algorithm, Refusal};
use crate::key::exchange::{AskedType, side_of};
use crate::key::field::KeyField;
use crate::key::variable_exchange::may_come;
use crate::pass::{Skeleton, Token};
use token::control_vector::bit;
use token::unconfirmed::CONTROL_VECTOR_BIT_NO_TR31;
use token::usage::Wrapping;
use token::variable::Attributes;
use token::{ControlVector, Format};
use wire::verb::restrict_key_attribute::{Answer, Request};
use wire::verb::{Others, RestrictedAlgorithm, SymmetricAlgorithm};
use wire::{Codes, code};

/// Answers with the token.
pub(crate) async fn restrict_key_attribute(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let mut ways = ways(request.attributes, request.algorithm)?;
    if request.extent.is_some() {
        ways.clear();
    }
    let (key, kek) = (request.key_identifier, request.kek_key_identifier);
    let done = restrict(call, request.algorithm, &ways, key, kek).await?;
    reply.write(Answer {
        key_identifier: Some(&done.token),
        kek_key_identifier: done.key_encrypting_key.as_deref(),
    })?;
    Ok(done.codes)
}

/// The keywords that name ways of export.
///
/// # Errors
/// 8/33 for a keyword that the algorithm does not have, 8/34 for one that is given twice.
fn ways(words: Others<'_>, algorithm: RestrictedAlgorithm) -> Result<Vec<&str>, Codes> {
    let known = if algorithm == RestrictedAlgorithm::Des { DES_WAYS } else { VARIABLE_WAYS };
    let mut ways = Vec::new();
    for word in words.iter() {
        // A keyword must be valid text.
        let word = std::str::from_utf8(word).unwrap_or_default().trim_end_matches(' ');
        if !known.contains(&word) {
            return Err(code::KEYWORD);
        }
        if ways.contains(&word) {
            return Err(code::KEYWORD_COMBINATION);
        }
        ways.push(word);
    }
    Ok(ways)
}

/// The outputs for a key with fewer ways of export.
pub(super) struct Restricted {
    pub(super) token: Token,
    /// The renewed token of the key-encrypting key; `None` without renewal.
    pub(super) key_encrypting_key: Option<Token>,
    pub(super) codes: Codes,
}

/// Takes ways of export from a key of this algorithm; if none is named, all.
///
/// # Errors
/// As the head of this file says.
pub(super) async fn restrict<'a>(
    call: Call<'_, 'a>,
    algorithm: RestrictedAlgorithm,
    ways: &[&str],
    field: &'a [u8],
    kek: &'a [u8],
) -> Result<Restricted, Refusal> {
    if call.is_of_record(field) {
        return Err(code::LABEL_NOT_FOUND.into());
    }
    let algorithm = match algorithm {
        RestrictedAlgorithm::Aes => SymmetricAlgorithm::Aes,
        RestrictedAlgorithm::Hmac => SymmetricAlgorithm::Hmac,
        RestrictedAlgorithm::Des if Format::of(field) == Format::DesExternal => {
            return external_des(call, ways, field, kek).await;
        }
        RestrictedAlgorithm::Des => return internal_des(call, ways, field).await,
    };
    if Format::of(field) == Format::VariableExternal {
        return external_variable(call, algorithm, ways, field, kek).await;
    }
    let found = call.key(field)?.of_any_length(algorithm)?;
    let token = found.as_variable().ok_or(code::TOKEN_INVALID)?;
    let attributes = narrowed(token.attributes(), ways)?;
    let skeleton = token.with_attributes(attributes)?;
    let key = found.open()?.await?;
    if key.under.is_none() {
        return Err(code::TOKEN_INVALID.into());
    }
    let token = call.make(Skeleton::Variable(Box::new(skeleton)), key.secret).await?;
    Ok(Restricted { token, key_encrypting_key: None, codes: key.age.codes() })
}

async fn internal_des<'a>(call: Call<'_, 'a>, ways: &[&str], field: &'a [u8]) -> Result<Restricted, Refusal> {
    let found = call.key(field)?.of(Algorithm::Des)?;
    let token = *found.des().ok_or(code::TOKEN_INVALID)?;
    let vector = narrowed_vector(token.control_vector(), ways)?;
    let key = found.open()?.await?;
    let token = call.make(Skeleton::Des(token.with_vector(vector)?), key.secret).await?;
    Ok(Restricted { token, key_encrypting_key: None, codes: key.age.codes() })
}

async fn external_des<'a>(
    call: Call<'_, 'a>,
    ways: &[&str],
    field: &'a [u8],
    kek: &'a [u8],
) -> Result<Restricted, Refusal> {
    let token = source(field, AskedType::Token)?;
    let vector = narrowed_vector(token.control_vector(), ways)?;
    let wrapping = call.key_encrypting_key(kek, side_of(call, kek)?, Wrapping::Keys).await?;
    let renewal = wrapping.renew(call, kek)?;
    let key = KeyField::of_token(call, token).under(&wrapping)?.await?;
    let token = wrapping.wrap(&call, token.with_vector(vector)?, key.secret)?.await?;
    Ok(Restricted { token, key_encrypting_key: renewal.token().await?, codes: wrapping.age.codes() })
}

async fn external_variable<'a>(
    call: Call<'_, 'a>,
    algorithm: SymmetricAlgorithm,
    ways: &[&str],
    field: &'a [u8],
    kek: &'a [u8],
) -> Result<Restricted, Refusal> {
    let found = KeyField::new(call, field).external_variable()?;
    found.check_variable_algorithm(algorithm)?;
    let token = may_come(&found)?;
    let skeleton = token.with_attributes(narrowed(token.attributes(), ways)?)?;
    let wrapping =
        call.aes_key_encrypting_key_of_either_side(kek, Wrapping::Keys, token.attributes()).await?;
    let renewal = wrapping.renew(call, kek)?;
    let key = found.under(&wrapping)?.await?;
    let token = wrapping.wrap_variable(&call, skeleton, key.secret)?.await?;
    Ok(Restricted { token, key_encrypting_key: renewal.token().await?, codes: wrapping.age.codes() })
}

/// Attributes with these ways taken away.
fn narrowed(attributes: &Attributes, ways: &[&str]) -> Result<Attributes, Codes> {
    let ways = if ways.is_empty() { VARIABLE_WAYS } else { ways };
    attributes.clone().restricted(ways.iter().copied()).map_err(|_| code::KEYWORD)
}

/// A control vector with these ways taken away.
///
/// # Errors
/// 8/39 for a part of a key, and for a control vector that is zero.
fn narrowed_vector(vector: ControlVector, ways: &[&str]) -> Result<ControlVector, Codes> {
    let (mut cleared, mut set) = (0, 0);
    for way in if ways.is_empty() { DES_WAYS } else { ways } {
        match *way {
            "CCAXPORT" => cleared |= bit(EXPORT_BIT),
            "NOT31XPT" => set |= bit(CONTROL_VECTOR_BIT_NO_TR31),
            _ => return Err(code::KEYWORD),
        }
    }
    if vector.is_zero() || vector.is_key_part() {
        return Err(code::KEY_USAGE);
    }
    let narrowed = vector.with_bits(cleared, false).and_then(|vector| vector.with_bits(set, true));
    narrowed.map_err(|_| code::KEY_USAGE)
}

/// Every way in which a key in a token of variable length may leave.
const VARIABLE_WAYS: &[&str] =
    &["NOEX-SYM", "NOEXUASY", "NOEXAASY", "NOEX-RAW", "NOEXCPAC", "NOEX-DES", "NOEX-AES", "NOEX-RSA"];
/// Every way in which a DES key may leave.
const DES_WAYS: &[&str] = &["CCAXPORT", "NOT31XPT"];

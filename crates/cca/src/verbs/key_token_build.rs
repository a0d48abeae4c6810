//! Key_Token_Build (CSNBKTB): a token from parts that the caller names: a skeleton, a clear AES key, or
//! an already wrapped DES key.
//!
//! | group | keywords |
//! |---|---|
//! | kind | INTERNAL, EXTERNAL (required) |
//! | algorithm | DES (default), AES |
//! | key | NO-KEY (default), KEY (DES, wrapped), KEY-CLR (AES) |
//! | control vector | by key type and usage keywords (default), CV (the parameter), NO-CV (zero) |
//! | length | KEYLN8, KEYLN16, KEYLN24, KEYLN32, SINGLE, DOUBLE, DOUBLE-O |
//! | wrapping | WRAP-ECB |
//! | usage | those of [`token::KeyType::usage_keyword`] |

use token::control_vector::KeyForm;
use token::des::Origin;
use token::key_type::UsageError;
use token::{AesToken, ControlVector, DesToken, KeyType};
use wire::bounds::KEYWORDS_MAX;
use wire::verb::key_token_build::{
    CONTROL_VECTOR, KEY_TOKEN, KEY_TYPE, KEY_VALUE, MASTER_KEY_VERIFICATION_NUMBER, RULE_ARRAY,
    RULE_ARRAY_COUNT,
};
use wire::{Codes, code};

use crate::call::{Call, Refusal, Reply, Verdict};
use crate::rules::{Rules, Word, word};

/// Answers with the token.
pub(crate) async fn key_token_build(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let mut rules = Rules::read(&call, RULE_ARRAY_COUNT, RULE_ARRAY, 1, KEYWORDS_MAX)?;
    let origin = rules.required(ORIGINS)?;
    let aes = rules.one_or(&[(word("DES"), false), (word("AES"), true)], false)?;
    let content = rules.one_or(CONTENTS, Content::None)?;
    let vector = rules.one_or(VECTORS, Vector::ByType)?;
    let length = rules.optional(LENGTHS)?;
    rules.flag(word("WRAP-ECB"))?;
    let usage = rules.rest()?;
    rules.finish()?;
    let bytes = if aes {
        let plain = origin == Origin::Internal && vector == Vector::ByType;
        if !plain || length == Some(Length::DoubleUnique) {
            return Err(code::KEYWORD_COMBINATION.into());
        }
        if !usage.is_empty() {
            return Err(code::KEYWORD.into());
        }
        aes_token(&call, content, length)?
    } else {
        des_token(&call, origin, content, vector, length, &usage)?
    };
    reply.bytes(KEY_TOKEN, &bytes);
    Ok(code::OK)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    None,
    Wrapped,
    Clear,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vector {
    ByType,
    Given,
    Zero,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Bytes(usize),
    DoubleUnique,
}

fn aes_token(call: &Call<'_, '_>, content: Content, length: Option<Length>) -> Result<[u8; 64], Refusal> {
    if !matches!(call.bytes(KEY_TYPE).trim_ascii_end(), b"DATA" | b"AESDATA") {
        return Err(code::KEYWORD.into());
    }
    let bytes = match length {
        Some(Length::Bytes(bytes @ (16 | 24 | 32))) => bytes,
        None if content == Content::None => 0,
        _ => return Err(code::KEY_LENGTH_KEYWORD.into()),
    };
    let token = match content {
        Content::None => AesToken::skeleton(bytes)?,
        Content::Clear => {
            AesToken::clear(call.bytes(KEY_VALUE).get(..bytes).ok_or(code::INVALID_PARAMETER)?)?
        }
        Content::Wrapped => return Err(code::KEYWORD_COMBINATION.into()),
    };
    Ok(token.to_bytes())
}

fn des_token(
    call: &Call<'_, '_>,
    origin: Origin,
    content: Content,
    source: Vector,
    length: Option<Length>,
    usage: &[String],
) -> Result<[u8; 64], Refusal> {
    let form = length.map(form).transpose()?;
    let vector = match source {
        Vector::ByType => by_type(call, form, usage)?,
        _ if !usage.is_empty() => return Err(code::KEYWORD_COMBINATION.into()),
        Vector::Given => given(call)?,
        Vector::Zero => ControlVector::ZERO,
    };
    let form = match (vector.form(), form) {
        (Some(own), Some(asked)) if own != asked => return Err(code::KEY_LENGTH_KEYWORD.into()),
        (Some(own), _) => own,
        (None, asked) => asked.unwrap_or(KeyForm::Single),
    };
    let skeleton = DesToken::skeleton(origin, form, vector)?;
    let token = match content {
        Content::None => skeleton,
        Content::Clear => return Err(code::KEYWORD_COMBINATION.into()),
        Content::Wrapped => {
            let key = call.bytes(KEY_VALUE).get(..form.key_bytes()).ok_or(code::INVALID_PARAMETER)?;
            let pattern = match call.bytes(MASTER_KEY_VERIFICATION_NUMBER) {
                [] => [0; 8],
                bytes => bytes.try_into().map_err(|_| code::INVALID_PARAMETER)?,
            };
            skeleton.with_key(pattern, key)?
        }
    };
    Ok(token.to_bytes())
}

/// The control vector of the key type, as its usage keywords change it.
fn by_type(call: &Call<'_, '_>, form: Option<KeyForm>, usage: &[String]) -> Result<ControlVector, Codes> {
    let key_type = KeyType::from_name(&call.array::<8>(KEY_TYPE)?).ok_or(code::KEYWORD)?;
    let form = form.unwrap_or(key_type.default_form());
    key_type.vector_with(form, usage.iter().map(String::as_str)).map_err(|error| match error {
        UsageError::Keyword(_) => code::KEYWORD,
        UsageError::Combination(_) | UsageError::UsageMissing => code::KEYWORD_COMBINATION,
        UsageError::Form => code::KEY_LENGTH_KEYWORD,
    })
}

/// The control vector of the parameter: 16 bytes, or the left half alone.
fn given(call: &Call<'_, '_>) -> Result<ControlVector, Codes> {
    let bytes = call.bytes(CONTROL_VECTOR);
    let left = bytes.first_chunk::<8>().ok_or(code::INVALID_PARAMETER)?;
    let vector = match bytes.len() {
        8 => ControlVector::of_left(u64::from_be_bytes(*left)),
        16 => ControlVector::from_bytes(*left, *bytes.last_chunk::<8>().ok_or(code::INVALID_PARAMETER)?),
        _ => return Err(code::INVALID_PARAMETER),
    };
    vector.map_err(|_| code::KEY_USAGE)
}

fn form(length: Length) -> Result<KeyForm, Codes> {
    match length {
        Length::Bytes(8) => Ok(KeyForm::Single),
        Length::Bytes(16) => Ok(KeyForm::Double),
        Length::Bytes(24) => Ok(KeyForm::Triple),
        Length::DoubleUnique => Ok(KeyForm::DoubleUnique),
        Length::Bytes(_) => Err(code::KEY_LENGTH_KEYWORD),
    }
}

const ORIGINS: &[(Word, Origin)] =
    &[(word("INTERNAL"), Origin::Internal), (word("EXTERNAL"), Origin::External)];
const CONTENTS: &[(Word, Content)] =
    &[(word("NO-KEY"), Content::None), (word("KEY"), Content::Wrapped), (word("KEY-CLR"), Content::Clear)];
const VECTORS: &[(Word, Vector)] = &[(word("CV"), Vector::Given), (word("NO-CV"), Vector::Zero)];
const LENGTHS: &[(Word, Length)] = &[
    (word("KEYLN8"), Length::Bytes(8)),
    (word("SINGLE"), Length::Bytes(8)),
    (word("KEYLN16"), Length::Bytes(16)),
    (word("DOUBLE"), Length::Bytes(16)),
    (word("DOUBLE-O"), Length::DoubleUnique),
    (word("KEYLN24"), Length::Bytes(24)),
    (word("KEYLN32"), Length::Bytes(32)),
];

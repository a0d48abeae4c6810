//! Key_Token_Build (CSNBKTB): a token from parts that the caller names: a skeleton, a clear AES key, or
//! an already wrapped DES key.
//!
//! | group | keywords |
//! |---|---|
//! | kind | INTERNAL, EXTERNAL (required) |
//! | algorithm | DES (default), AES |
//! | key | NO-KEY (default), KEY (DES, wrapped), KEY-CLR (AES) |
//! | control vector | by key type and usage keywords (default), CV (the parameter), NO-CV (zero) |
//! | length | KEYLN8, KEYLN16, KEYLN24, KEYLN32, SINGLE, DOUBLE, MIXED, TRIPLE, DOUBLE-O, TRIPLE-O |
//! | wrapping | USECONFG, WRAP-ECB, WRAP-ENH |
//! | usage | those of [`token::KeyType::usage_keyword`], among them ENH-ONLY, which goes with WRAP-ECB no more than a control vector that says so |
//!
//! The key type USE-CV takes the control vector of the parameter, as CV does. MIXED is DOUBLE: both permit equal
//! halves. Not served (8/33): the key types CLRAES and CLRDES, for which DATA with AES and KEY-CLR stands; NOT31XPT,
//! T31XPTOK, COMP-TAG and NOCMPTAG.

use crate::call::{Call, Reply, Verdict};
use crate::ground::Refusal;
use token::control_vector::KeyForm;
use token::des::Origin;
use token::key_type::UsageError;
use token::{AesToken, ControlVector, DesToken, KeyType};
use wire::verb::key_token_build::{Answer, Request};
use wire::verb::{
    Others, TokenAlgorithm, TokenContent, TokenLength, TokenOrigin, TokenVector, TokenWrapping,
};
use wire::{Codes, code};

/// Answers with the token.
pub(crate) async fn key_token_build(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let bytes = match request.algorithm {
        TokenAlgorithm::Aes => aes_token(&request)?,
        TokenAlgorithm::Des => des_token(&request)?,
    };
    reply.write(Answer { key_token: Some(&bytes) })?;
    Ok(code::OK)
}

fn aes_token(request: &Request<'_>) -> Result<[u8; 64], Refusal> {
    if !request.usage.is_empty() || !matches!(request.key_type, Some(b"DATA    " | b"AESDATA ")) {
        return Err(code::KEYWORD.into());
    }
    let bytes = match request.length {
        Some(TokenLength::Bytes16 | TokenLength::Double | TokenLength::Mixed) => 16,
        Some(TokenLength::Bytes24 | TokenLength::Triple) => 24,
        Some(TokenLength::Bytes32) => 32,
        None if request.content == TokenContent::None => 0,
        _ => return Err(code::KEY_LENGTH_KEYWORD.into()),
    };
    let token = match request.content {
        TokenContent::None => AesToken::skeleton(bytes)?,
        TokenContent::Clear => {
            AesToken::clear(request.key_value.get(..bytes).ok_or(code::INVALID_PARAMETER)?)?
        }
        TokenContent::Wrapped => return Err(code::KEYWORD_COMBINATION.into()),
    };
    Ok(token.to_bytes())
}

fn des_token(request: &Request<'_>) -> Result<[u8; 64], Refusal> {
    let form = request.length.map(form).transpose()?;
    let given_vector = request.key_type == Some(b"USE-CV  ");
    let vector = match request.vector {
        None if given_vector => return Err(code::KEYWORD_COMBINATION.into()),
        Some(TokenVector::Zero) if given_vector => return Err(code::KEYWORD_COMBINATION.into()),
        None => vector_of_type(request.key_type.ok_or(code::INVALID_PARAMETER)?, form, request.usage)?,
        _ if !request.usage.is_empty() => return Err(code::KEYWORD_COMBINATION.into()),
        Some(TokenVector::Given) => given(request.control_vector)?,
        Some(TokenVector::Zero) => ControlVector::ZERO,
    };
    let form = match (vector.form(), form) {
        // Keys of some types always have different parts, with or without the keyword.
        (Some(own), Some(asked))
            if own.key_bytes() != asked.key_bytes() || (asked.is_unique() && !own.is_unique()) =>
        {
            return Err(code::KEY_LENGTH_KEYWORD.into());
        }
        (Some(own), _) => own,
        (None, asked) => asked.unwrap_or(KeyForm::Single),
    };
    let origin = match request.origin {
        TokenOrigin::Internal => Origin::Internal,
        TokenOrigin::External => Origin::External,
    };
    if vector.is_enhanced_only() && request.wrapping == Some(TokenWrapping::Ecb) {
        return Err(code::KEYWORD_COMBINATION.into());
    }
    let is_enhanced = request.wrapping == Some(TokenWrapping::Enhanced);
    let skeleton = DesToken::skeleton(origin, form, vector)?.with_enhanced(is_enhanced);
    let token = match request.content {
        TokenContent::None => skeleton,
        TokenContent::Clear => return Err(code::KEYWORD_COMBINATION.into()),
        TokenContent::Wrapped => {
            let key = request.key_value.get(..form.key_bytes()).ok_or(code::INVALID_PARAMETER)?;
            let pattern = match request.master_key_verification_number {
                [] => [0; 8],
                bytes => bytes.try_into().map_err(|_| code::INVALID_PARAMETER)?,
            };
            skeleton.with_key(pattern, key)?
        }
    };
    Ok(token.to_bytes())
}

/// The control vector of the key type, as its usage keywords change it.
///
/// # Errors
/// 8/33 for an unknown type or keyword, 8/34 for keywords that contradict each other or are missing, 8/43 for a length
/// that the type does not have.
pub(super) fn vector_of_type(
    name: &[u8; 8],
    form: Option<KeyForm>,
    usage: Others<'_>,
) -> Result<ControlVector, Codes> {
    let key_type = KeyType::from_name(name).ok_or(code::KEYWORD)?;
    let form = form.unwrap_or(key_type.default_form());
    // A keyword must be valid text.
    let usage = usage.iter().map(|word| std::str::from_utf8(word).unwrap_or_default());
    key_type.vector_with(form, usage.map(|word| word.trim_end_matches(' '))).map_err(|error| match error {
        UsageError::Keyword(_) => code::KEYWORD,
        UsageError::Combination(_) | UsageError::UsageMissing => code::KEYWORD_COMBINATION,
        UsageError::Form => code::KEY_LENGTH_KEYWORD,
    })
}

/// The control vector of the parameter: 16 bytes, or the left half alone.
fn given(bytes: &[u8]) -> Result<ControlVector, Codes> {
    let left = bytes.first_chunk::<8>().ok_or(code::INVALID_PARAMETER)?;
    let vector = match bytes.len() {
        8 => ControlVector::of_left(u64::from_be_bytes(*left)),
        16 => ControlVector::from_bytes(*left, *bytes.last_chunk::<8>().ok_or(code::INVALID_PARAMETER)?),
        _ => return Err(code::INVALID_PARAMETER),
    };
    vector.map_err(|_| code::KEY_USAGE)
}

/// The form of a key of this length.
///
/// # Errors
/// 8/43 for a length that no DES key has.
pub(super) fn form(length: TokenLength) -> Result<KeyForm, Codes> {
    match length {
        TokenLength::Bytes8 | TokenLength::Single => Ok(KeyForm::Single),
        TokenLength::Bytes16 | TokenLength::Double | TokenLength::Mixed => Ok(KeyForm::Double),
        TokenLength::Bytes24 | TokenLength::Triple => Ok(KeyForm::Triple),
        TokenLength::TripleUnique => Ok(KeyForm::TripleUnique),
        TokenLength::DoubleUnique => Ok(KeyForm::DoubleUnique),
        TokenLength::Bytes32 => Err(code::KEY_LENGTH_KEYWORD),
    }
}

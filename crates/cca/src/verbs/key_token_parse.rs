//! Key_Token_Parse (CSNBKTP): parses a DES token of fixed length into the keywords of Key_Token_Build and its fields.
//! No key is opened, and no card needs a master key for it.
//!
//! | group | keywords that are returned |
//! |---|---|
//! | kind | INTERNAL, EXTERNAL |
//! | key | KEY, NO-KEY |
//! | control vector | CV, NO-CV |
//! | wrapping | WRAP-ECB, WRAP-ENH, of a wrapped key in CCA's form |
//! | length | SINGLE, DOUBLE, DOUBLE-O, TRIPLE, TRIPLE-O |
//! | usage | those with which the type makes the control vector |
//!
//! The key value is the first 16 bytes of the wrapped key, zeros in a skeleton. If no keywords make the control vector,
//! the answer has the other keywords and 4/2039; if the rule array has no room, 4/16 and the number of elements. Labels
//! and other tokens are refused with 8/47: those of variable length are for Key_Token_Parse2.

use crate::call::{Call, Reply, Verdict};
use token::control_vector::KeyForm;
use token::des::Origin;
use token::{DesToken, KeyType};
use wire::bounds::KEYWORD_BYTES;
use wire::code;
use wire::control::TokenForm;
use wire::verb::key_token_parse::{Answer, Request};

/// Answers with type, keywords and fields.
pub(crate) async fn key_token_parse(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let token = DesToken::parse(request.key_token)?;
    let (vector, wrapped) = (token.control_vector(), token.wrapped());
    let mut words = vec![
        if token.origin() == Origin::Internal { "INTERNAL" } else { "EXTERNAL" },
        if wrapped.is_some() { "KEY" } else { "NO-KEY" },
        if vector.is_zero() { "NO-CV" } else { "CV" },
    ];
    if wrapped.is_some_and(|wrapped| wrapped.form == TokenForm::Compatible) {
        words.push(if token.is_enhanced() { "WRAP-ENH" } else { "WRAP-ECB" });
    }
    let length = match token.form() {
        KeyForm::Single => "SINGLE",
        KeyForm::Double => "DOUBLE",
        KeyForm::DoubleUnique => "DOUBLE-O",
        KeyForm::Triple => "TRIPLE",
        KeyForm::TripleUnique => "TRIPLE-O",
    };
    words.push(length);
    let key_type = KeyType::of(vector);
    let usage = match key_type {
        Some(_) if vector.is_zero() => Some(Vec::new()),
        Some(key_type) => key_type.keywords_of(vector),
        None => None,
    };
    let is_whole = usage.is_some();
    words.extend(usage.unwrap_or_default());
    let rule_array: Vec<u8> = words.iter().flat_map(|word| padded(word)).collect();
    let mut key_value = [0; 16];
    if let Some(wrapped) = wrapped {
        key_value.copy_from_slice(&wrapped.key[..16]);
    }
    reply.write(Answer {
        key_type: Some(&padded(key_type.map_or("", KeyType::name))),
        rule_array: Some(&rule_array),
        key_value: Some(&key_value),
        control_vector: Some(&vector.to_bytes()),
        master_key_verification_pattern_v00: Some(&wrapped.map_or([0; 8], |wrapped| wrapped.pattern)),
    })?;
    Ok(if is_whole { code::OK } else { code::VECTOR_NOT_PARSED })
}

/// A keyword padded with blanks to the width of a rule-array element.
pub(super) fn padded(word: &str) -> [u8; KEYWORD_BYTES] {
    let mut bytes = [b' '; KEYWORD_BYTES];
    bytes.iter_mut().zip(word.bytes()).for_each(|(byte, letter)| *byte = letter);
    bytes
}

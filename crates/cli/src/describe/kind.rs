//! The kind of the key of a token in one word, and whether the key is whole.

use super::describe;
use facility::keys::NamedKind;
use token::aes::AesToken;
use token::variable::Completeness;
use token::{DesToken, KeyType, VariableToken};

/// The kind of the key of a token, by its name where the token tells all of it: one of variable length hides how long
/// its key is.
pub fn kind_of(token: &[u8]) -> String {
    if token.is_empty() {
        return "none".to_owned();
    }
    if let Ok(read) = DesToken::parse(token) {
        let vector = read.control_vector();
        let key_type = if vector.is_zero() { Some(KeyType::Data) } else { KeyType::of(vector) };
        return match key_type {
            Some(key_type) => NamedKind::Des(read.form(), key_type).name(),
            None => "DES of an unknown type".to_owned(),
        };
    }
    if let Ok(read) = AesToken::parse(token) {
        return NamedKind::AesData(8 * read.key_bytes()).name();
    }
    if let Ok(read) = VariableToken::parse(token) {
        return match read.key_type().is_aes() {
            true => format!("aes-{}", read.key_type().name().to_ascii_lowercase()),
            false => "hmac".to_owned(),
        };
    }
    let fields = describe(token).fields;
    let field =
        |wanted: &str| fields.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.as_str());
    let kind = field("kind").map_or("unknown", |kind| kind.split(',').next().unwrap_or(kind));
    let more = ["curve", "modulus", "usage"].into_iter().filter_map(field);
    [kind].into_iter().chain(more).collect::<Vec<_>>().join(" ")
}

/// Whether parts of the key of a token are missing.
pub fn is_incomplete(token: &[u8]) -> bool {
    DesToken::parse(token).is_ok_and(|read| read.control_vector().is_key_part())
        || VariableToken::parse(token)
            .is_ok_and(|read| read.attributes().completeness() != Completeness::Complete)
}

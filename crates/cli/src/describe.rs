//! A key token as fields for people.

use crate::prompt::to_hexadecimal;
use token::aes::{AesKey, AesToken};
use token::des::{DesToken, Origin};
use token::pka::ecc::{EccToken, EccValue, is_ecc};
use token::pka::{self, PkaToken, Usage};
use wire::control::TokenForm;

/// The fields of a token; for an invalid one, a single field that says so.
pub fn describe(token: &[u8]) -> Vec<(&'static str, String)> {
    let fields = match (token.first(), token.get(4)) {
        (None | Some(0), _) => return vec![("kind", "no key".to_owned())],
        (Some(&(pka::EXTERNAL | pka::INTERNAL)), _) if is_ecc(token) => ecc(token),
        (Some(&(pka::EXTERNAL | pka::INTERNAL)), _) => rsa(token),
        (Some(1), Some(4)) => aes(token),
        _ => des(token),
    };
    fields.unwrap_or_else(|error| vec![("kind", format!("not a valid token: {error}"))])
}

fn des(token: &[u8]) -> Result<Vec<(&'static str, String)>, String> {
    let token = DesToken::parse(token).map_err(|error| error.to_string())?;
    let origin = if token.origin() == Origin::Internal { "internal" } else { "external" };
    let vector = token.control_vector().to_bytes();
    let mut fields = vec![
        ("kind", format!("DES, {origin}")),
        ("length", format!("{} bytes", token.form().key_bytes())),
        ("control vector", format!("{} {}", to_hexadecimal(&vector[..8]), to_hexadecimal(&vector[8..]))),
        ("export", if token.export_prohibited() { "prohibited" } else { "allowed" }.to_owned()),
    ];
    match token.wrapped() {
        Some(wrapped) => {
            fields.push(("master-key pattern", to_hexadecimal(&wrapped.pattern)));
            if token.origin() == Origin::Internal {
                fields.push(("wrapping", wrapping(wrapped.form)));
            }
        }
        None => fields.push(("key", "absent: a skeleton".to_owned())),
    }
    Ok(fields)
}

fn aes(token: &[u8]) -> Result<Vec<(&'static str, String)>, String> {
    let token = AesToken::parse(token).map_err(|error| error.to_string())?;
    let mut fields =
        vec![("kind", "AES, internal".to_owned()), ("length", format!("{} bytes", token.key_bytes()))];
    match token.key() {
        AesKey::Wrapped { pattern, form, .. } => {
            fields.push(("master-key pattern", to_hexadecimal(pattern)));
            fields.push(("wrapping", wrapping(*form)));
        }
        AesKey::Clear(_) => fields.push(("key", "clear".to_owned())),
        AesKey::Absent => fields.push(("key", "absent: a skeleton".to_owned())),
    }
    Ok(fields)
}

fn wrapping(form: TokenForm) -> String {
    match form {
        TokenForm::Authenticated => "authenticated",
        TokenForm::Compatible => "compatible",
    }
    .to_owned()
}

fn rsa(token: &[u8]) -> Result<Vec<(&'static str, String)>, String> {
    let token = PkaToken::parse(token, &(engine::sha1, engine::sha256)).map_err(|error| error.to_string())?;
    let origin = if token.origin() == pka::Origin::Internal { "internal" } else { "external" };
    let mut fields = vec![
        ("kind", format!("RSA, {origin}")),
        ("modulus", format!("{} bits", token.modulus_bits())),
        ("exponent", to_hexadecimal(token.exponent())),
    ];
    if let Some(private) = token.private() {
        fields.push(("private form", format!("{:?}", private.form)));
        fields.push(("usage", usage(private.usage)));
    }
    Ok(fields)
}

fn usage(usage: Usage) -> String {
    match usage {
        Usage::SignatureOnly => "SIG-ONLY",
        Usage::KeyManagement => "KEY-MGMT",
        Usage::KeyManagementOnly => "KM-ONLY",
    }
    .to_owned()
}

fn ecc(token: &[u8]) -> Result<Vec<(&'static str, String)>, String> {
    let token = EccToken::parse(token).map_err(|error| error.to_string())?;
    let origin = if token.origin() == pka::Origin::Internal { "internal" } else { "external" };
    let mut fields = vec![("kind", format!("ECC, {origin}")), ("curve", token.curve().name().to_owned())];
    if !token.point().is_empty() {
        fields.push(("public key", to_hexadecimal(token.point())));
    }
    let Some(private) = token.private() else { return Ok(fields) };
    fields.push(("usage", usage(private.usage)));
    match private.value {
        EccValue::Wrapped(wrapped) => fields.push(("master-key pattern", to_hexadecimal(wrapped.pattern))),
        EccValue::Transported(wrapped) => {
            fields.push(("transport-key pattern", to_hexadecimal(wrapped.pattern)));
        }
        EccValue::Clear(_) => fields.push(("key", "clear".to_owned())),
        EccValue::Skeleton => fields.push(("key", "absent: a skeleton".to_owned())),
    }
    Ok(fields)
}

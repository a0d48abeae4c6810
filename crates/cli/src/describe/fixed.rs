//! Symmetric tokens of fixed length.

use super::{Field, absent, clear, listed, under_master, under_transport_key, wrapping};
use crate::prompt::to_hexadecimal;
use token::aes::{AesKey, AesToken};
use token::control_vector::KeyForm;
use token::derivation::Deriving;
use token::des::{DesToken, Origin};
use token::{ControlVector, KeyType};
use wire::control::Register;

pub fn des(bytes: &[u8]) -> Result<Vec<Field>, String> {
    let token = DesToken::parse(bytes).map_err(|error| error.to_string())?;
    let is_internal = token.origin() == Origin::Internal;
    let vector = token.control_vector();
    let mut fields = vec![
        ("kind", format!("DES, {}", if is_internal { "internal" } else { "external" })),
        ("version", format!("X'{:02X}'", bytes.get(4).copied().unwrap_or(0))),
    ];
    fields.extend(of_vector(vector));
    fields.push((
        "length",
        format!("{} bytes, {}", token.form().key_bytes(), parts(token.form(), token.control_vector())),
    ));
    let [left, right] = [vector.left(), vector.right()].map(|half| to_hexadecimal(&half.to_be_bytes()));
    fields.push(("control vector", format!("{left} {right}")));
    let export = match (token.export_prohibited(), vector.is_zero() || vector.bit(EXPORT)) {
        (true, _) => "prohibited, by a flag of the token",
        (false, false) => "prohibited, by the control vector (NO-XPORT)",
        (false, true) if token.leaves_in_blocks_alone() => {
            "in key blocks alone, and with exportability E, as the key came"
        }
        (false, true) => "allowed",
    };
    fields.push(("export", export.to_owned()));
    if token.transports_without_vector() {
        fields.push(("wraps keys", "without their control vectors (NOCV), which is not served".to_owned()));
    }
    match token.wrapped() {
        Some(wrapped) => {
            if is_internal {
                fields.extend(under_master(Register::Sym, Some(&wrapped.pattern)));
            } else {
                fields.push(under_transport_key());
            }
            fields.push(("wrapping", wrapping(wrapped.form, wrapped.check.is_some(), token.is_enhanced())));
        }
        None => fields.push(absent()),
    }
    Ok(fields)
}

/// Bit of a control vector that allows export.
const EXPORT: u32 = 17;

/// Type and usage keywords.
fn of_vector(vector: ControlVector) -> Vec<Field> {
    if vector.is_zero() {
        return vec![("type", "DATA, of a control vector of zeros".to_owned())];
    }
    let Some(key_type) = KeyType::of(vector) else {
        let (main, sub) = vector.type_bits();
        return vec![("type", format!("none that is known: main type {main:04b}, subtype {sub:03b}"))];
    };
    let usage = match key_type.keywords_of(vector) {
        Some(words) => listed(&words),
        None => {
            let bits = (vector.left() >> USAGE_SHIFT) & 0x1F;
            format!("what no keywords say: method {:04b}, bits 18-22 {bits:05b}", vector.method_bits())
        }
    };
    let mut fields = vec![("type", key_type.name().to_owned()), ("usage", usage)];
    if vector.is_key_part() {
        fields.push(("complete", "no: some parts of a key, which nothing uses".to_owned()));
    }
    fields
}

/// Below bits 18 to 22 of a half.
const USAGE_SHIFT: u32 = 63 - 22;

/// How many parts the key has, and whether they may be equal: in a key that wraps keys they are not, and in one that
/// derives others where the home permits weak algorithms alone.
fn parts(form: KeyForm, vector: ControlVector) -> &'static str {
    let wraps = vector.is_transport();
    match form {
        KeyForm::Single => "one part",
        KeyForm::Double if wraps => "two parts, which differ",
        KeyForm::Double if Deriving::of(vector).is_some() => {
            "two parts, which differ unless the home permits weak algorithms"
        }
        KeyForm::Triple if wraps => "three parts, which differ",
        KeyForm::Double => "two parts, which may be equal",
        KeyForm::DoubleUnique => "two parts, which differ",
        KeyForm::Triple => "three parts, which may be equal",
        KeyForm::TripleUnique => "three parts, which differ",
    }
}

pub fn aes(bytes: &[u8]) -> Result<Vec<Field>, String> {
    let token = AesToken::parse(bytes).map_err(|error| error.to_string())?;
    let length = match token.key_bytes() {
        0 => "not said".to_owned(),
        bytes => format!("{bytes} bytes"),
    };
    let mut fields = vec![
        ("kind", "AES, internal".to_owned()),
        ("version", "X'04'".to_owned()),
        ("type", "DATA".to_owned()),
        ("length", length),
    ];
    match token.key() {
        AesKey::Wrapped { pattern, form, check, .. } => {
            fields.extend(under_master(Register::Aes, Some(&pattern[..])));
            fields.push(("wrapping", wrapping(*form, check.is_some(), false)));
        }
        AesKey::Clear(_) => fields.push(clear()),
        AesKey::Absent => fields.push(absent()),
    }
    Ok(fields)
}

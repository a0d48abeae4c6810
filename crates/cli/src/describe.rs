//! A key token as fields for people: what it is for, in CCA's keywords, and what it is wrapped under. No clear key is
//! shown.
//!
//! | tokens | module |
//! |---|---|
//! | symmetric of fixed length: DES, and AES of version X'04' | [`fixed`] |
//! | symmetric of variable length: AES and HMAC, version X'05' | [`variable`] |
//! | RSA and elliptic curves | [`pka`] |
//! | TR-31 key blocks, their headers alone | [`tr31`] |
//!
//! [`kind_of`] says of any of them what kind of key it holds.

mod fixed;
mod kind;
mod pka;
pub mod tr31;
mod variable;

use crate::prompt::to_hexadecimal;
pub use kind::{is_incomplete, kind_of};
use token::{Format, Holds, Under};
use wire::bounds::LABEL_BYTES;
use wire::control::{Register, TokenForm};

/// A field: its name and its value.
pub type Field = (&'static str, String);

/// Description of the bytes: a token, a label or a TR-31 block.
pub struct Description {
    /// The fields in display order.
    pub fields: Vec<Field>,
    /// Why the fields end early: the token's defect, or the part of it that is not supported.
    pub problem: Option<String>,
}

/// Describes a token, a label or a TR-31 block.
pub fn describe(bytes: &[u8]) -> Description {
    match read(bytes) {
        Ok(fields) => Description { fields, problem: None },
        Err(problem) => Description { fields: outline(bytes), problem: Some(problem) },
    }
}

fn read(bytes: &[u8]) -> Result<Vec<Field>, String> {
    let format = Format::of(bytes);
    let length = token::describe(bytes).map(|found| found.bytes).map_err(|error| error.to_string());
    let own = |length: usize| bytes.get(..length).unwrap_or(bytes);
    let mut fields = match format {
        Format::Null => vec![("kind", "NULL token: no key".to_owned())],
        Format::DesInternal | Format::DesExternal => fixed::des(own(length.clone()?))?,
        Format::AesInternal => fixed::aes(own(length.clone()?))?,
        Format::VariableInternal | Format::VariableExternal => variable::fields(bytes)?,
        Format::PkaInternal | Format::PkaExternal => pka::fields(bytes)?,
        Format::KeyBlock => return tr31::fields(bytes),
        // A key block shorter than its header, or with blanks in it, is classified as a label.
        Format::Label if token::tr31::begins(bytes) && bytes.len() != LABEL_BYTES => {
            return tr31::fields(bytes);
        }
        Format::Label => {
            let length = length.clone().map_err(|_| {
                "text, and neither a token in hexadecimal or in base64 nor a label, which has 64 bytes"
                    .to_owned()
            })?;
            vec![
                ("kind", "label: the key is in the key store under it".to_owned()),
                ("label", String::from_utf8_lossy(own(length)).trim_end().to_owned()),
            ]
        }
        Format::Unknown => return Err(unknown(bytes)),
    };
    let length = length?;
    fields.push(("token", format!("{length} bytes")));
    if bytes.len() > length {
        fields.push(("after the token", format!("{} bytes that are none of its own", bytes.len() - length)));
    }
    Ok(fields)
}

fn unknown(bytes: &[u8]) -> String {
    let first = bytes.first().copied().unwrap_or(0);
    format!("byte 0 is X'{first:02X}', with which no token and no label begins")
}

/// The header's fields of a token that cannot be read whole; empty if its header is unknown.
fn outline(bytes: &[u8]) -> Vec<Field> {
    let Ok(found) = token::describe(bytes) else { return Vec::new() };
    let kind = match found.format {
        Format::DesInternal => "DES, internal",
        Format::DesExternal => "DES, external",
        Format::AesInternal => "AES, internal",
        Format::VariableInternal => "symmetric of variable length, internal",
        Format::VariableExternal => "symmetric of variable length, external",
        Format::PkaInternal => "PKA, internal",
        Format::PkaExternal => "PKA, external",
        Format::KeyBlock => "key block of TR-31",
        Format::Null | Format::Label | Format::Unknown => return Vec::new(),
    };
    let mut fields = vec![("kind", kind.to_owned())];
    match found.holds {
        Holds::Nothing => fields.push(absent()),
        Holds::Public => fields.push(("key", "public alone".to_owned())),
        Holds::Clear => fields.push(clear()),
        Holds::Wrapped(Under::Master { register, pattern }) => {
            fields.extend(under_master(register, pattern.as_ref().map(|pattern| &pattern[..])))
        }
        Holds::Wrapped(Under::Key) => fields.push(under_transport_key()),
        Holds::Wrapped(Under::Rsa) => fields.push(under_rsa()),
        Holds::Named => {}
    }
    if matches!(found.format, Format::PkaInternal | Format::PkaExternal) {
        fields.push(("sections", pka::sections(bytes)));
    }
    fields.push(("token", format!("{} bytes", found.bytes)));
    fields
}

/// A key that a master key wraps.
fn under_master(register: Register, pattern: Option<&[u8]>) -> Vec<Field> {
    let name = register.name();
    let mut fields = vec![("key", format!("wrapped under the {name} master key"))];
    if let Some(pattern) = pattern {
        fields.push(("master-key pattern", to_hexadecimal(pattern)));
    }
    fields
}

fn under_transport_key() -> Field {
    ("key", "wrapped under a key-encrypting key that is shared with another system".to_owned())
}

fn under_rsa() -> Field {
    ("key", "wrapped under an RSA key".to_owned())
}

fn clear() -> Field {
    ("key", "CLEAR: whoever has the token has it (not shown)".to_owned())
}

fn absent() -> Field {
    ("key", "none: a skeleton".to_owned())
}

fn wrapping(form: TokenForm, is_checked: bool, is_enhanced: bool) -> String {
    match (form, is_enhanced) {
        (TokenForm::Authenticated, _) if is_checked => "authenticated: this system's own",
        (TokenForm::Authenticated, _) => {
            "authenticated by an earlier method of this system (cryptand key renew puts it into the present one)"
        }
        (TokenForm::Compatible, false) => "compatible: CCA's original method (WRAP-ECB)",
        (TokenForm::Compatible, true) => "compatible: CCA's enhanced method (WRAP-ENH)",
    }
    .to_owned()
}

/// The keywords, separated by blanks; `none` for an empty list.
fn listed(words: &[&str]) -> String {
    if words.is_empty() { "none".to_owned() } else { words.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_described(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..600),
            first in prop::sample::select(vec![0x00u8, 0x01, 0x02, 0x1E, 0x1F, 0x20, b'A', b'D', 0xFF]),
            version in 0u8..7,
            section in prop::sample::select(vec![0x02u8, 0x04, 0x08, 0x20, 0x21, 0x23, 0x30, 0x31]),
            is_sealed in any::<bool>(),
        ) {
            if let Some(start) = bytes.first_chunk_mut::<9>() {
                (start[0], start[4], start[8]) = (first, version, section);
            }
            if let (true, Some(fixed)) = (is_sealed, bytes.first_chunk_mut::<64>()) {
                token::tvv::seal(fixed);
            }
            let found = describe(&bytes);
            prop_assert!(found.problem.is_some() || !found.fields.is_empty());
        }
    }
}

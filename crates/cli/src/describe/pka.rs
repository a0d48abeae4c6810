//! Tokens of RSA and elliptic-curve keys.

use super::{Field, absent, clear, under_master, under_transport_key};
use crate::prompt::to_hexadecimal;
use token::pka::ecc::{DerivedAlgorithm, DerivedType, EccToken, EccValue, is_ecc};
use token::pka::{Form, Origin, PkaToken, PrivateValues, Source, Usage};
use wire::control::Register;

pub fn fields(token: &[u8]) -> Result<Vec<Field>, String> {
    let mut fields = if is_ecc(token) { ecc(token)? } else { rsa(token)? };
    fields.push(("sections", sections(token)));
    Ok(fields)
}

fn rsa(token: &[u8]) -> Result<Vec<Field>, String> {
    let token = PkaToken::parse(token, &(engine::sha1, engine::sha256)).map_err(|error| error.to_string())?;
    let mut fields = vec![
        ("kind", format!("RSA, {}", origin(token.origin()))),
        ("modulus", format!("{} bits", token.modulus_bits())),
        ("exponent", to_hexadecimal(token.exponent())),
    ];
    if !token.modulus().is_empty() {
        fields.push(("public key", to_hexadecimal(token.modulus())));
    }
    if let Some(name) = token.name() {
        fields.push(("name", String::from_utf8_lossy(name).trim_end().to_owned()));
    }
    let Some(private) = token.private() else {
        fields.push(("key", "public alone".to_owned()));
        return Ok(fields);
    };
    fields.push(("private key", form(private.form).to_owned()));
    fields.push(("usage", usage(private.usage)));
    fields.push(("translation", translation(private.translatable)));
    fields.extend(private.source.map(source));
    match private.values {
        PrivateValues::Wrapped(wrapped) => {
            fields.extend(under_master(Register::Apka, Some(&wrapped.pattern[..])))
        }
        PrivateValues::Asym(wrapped) => {
            fields.extend(under_master(Register::Asym, Some(&wrapped.pattern[..])))
        }
        PrivateValues::Transported(_) => fields.push(under_transport_key()),
        PrivateValues::TransportedAes(wrapped) => {
            fields.push(under_transport_key());
            fields.push(("transport-key pattern", to_hexadecimal(wrapped.pattern)));
        }
        PrivateValues::ClearMe { .. } | PrivateValues::ClearCrt(_) => fields.push(clear()),
        PrivateValues::Skeleton => fields.push(absent()),
    }
    Ok(fields)
}

fn ecc(token: &[u8]) -> Result<Vec<Field>, String> {
    let token = EccToken::parse(token).map_err(|error| error.to_string())?;
    let mut fields = vec![
        ("kind", format!("ECC, {}", origin(token.origin()))),
        ("curve", token.curve().name().to_owned()),
    ];
    if !token.point().is_empty() {
        fields.push(("public key", to_hexadecimal(token.point())));
    }
    if let Some(derivation) = token.derivation() {
        let algorithm = match derivation.algorithm {
            DerivedAlgorithm::Des => "DES",
            DerivedAlgorithm::Aes => "AES",
        };
        let key_type = match derivation.key_type {
            DerivedType::Data => "DATA",
            DerivedType::Exporter => "EXPORTER",
            DerivedType::Importer => "IMPORTER",
            DerivedType::Cipher => "CIPHER",
        };
        fields.push(("derives", format!("{algorithm} {key_type} keys of {} bits", derivation.bits)));
    }
    let Some(private) = token.private() else {
        fields.push(("key", "public alone".to_owned()));
        return Ok(fields);
    };
    fields.push(("usage", usage(private.usage)));
    fields.push(("translation", translation(private.translatable)));
    fields.extend(private.source.map(source));
    if let Some(name) = private.name {
        fields.push(("name", String::from_utf8_lossy(name).trim_end().to_owned()));
    }
    if !private.user_data.is_empty() {
        fields.push(("owner's data", to_hexadecimal(private.user_data)));
    }
    match private.value {
        EccValue::Wrapped(wrapped) => fields.extend(under_master(Register::Apka, Some(&wrapped.pattern[..]))),
        EccValue::Transported(wrapped) => {
            fields.push(under_transport_key());
            fields.push(("transport-key pattern", to_hexadecimal(wrapped.pattern)));
        }
        EccValue::Clear(_) => fields.push(clear()),
        EccValue::Skeleton => fields.push(absent()),
    }
    Ok(fields)
}

fn origin(origin: Origin) -> &'static str {
    if origin == Origin::Internal { "internal" } else { "external" }
}

fn usage(usage: Usage) -> String {
    match usage {
        Usage::SignatureOnly => "SIG-ONLY",
        Usage::KeyManagement => "KEY-MGMT",
        Usage::KeyManagementOnly => "KM-ONLY",
        Usage::TlsOnly => "TLS-ONLY",
    }
    .to_owned()
}

fn translation(is_allowed: bool) -> String {
    if is_allowed { "XLATE-OK" } else { "NO-XLATE" }.to_owned()
}

fn source(source: Source) -> Field {
    let text = match source {
        Source::ExternalClear => "a clear token",
        Source::ExternalEncrypted => "a wrapped token",
        Source::RegenerationData => "regeneration data",
        Source::Random => "random numbers",
    };
    ("came from", text.to_owned())
}

fn form(form: Form) -> &'static str {
    match form {
        Form::Me1024 => "X'02': modulus and exponent, to 1024 bits",
        Form::Crt => "X'08': primes (CRT)",
        Form::MeAes => "X'30': modulus and exponent",
        Form::CrtAes => "X'31': primes (CRT)",
    }
}

/// The sections of a token: their number, what they hold, and their length.
pub fn sections(token: &[u8]) -> String {
    let shown = token::pka::sections(token).map(|section| {
        let what = match section.id {
            0x02 | 0x05 | 0x06 | 0x08 | 0x30 | 0x31 => "RSA private key",
            0x04 => "RSA public key",
            0x10 => "name",
            0x20 => "ECC private key",
            0x21 => "ECC public key",
            0x23 => "what is derived",
            _ => "unknown",
        };
        format!("X'{:02X}' {what} ({} bytes)", section.id, section.bytes)
    });
    shown.collect::<Vec<_>>().join(", ")
}

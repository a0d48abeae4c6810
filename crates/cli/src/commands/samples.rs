//! The sample keys of a development home, reproducible from its seed; listed in docs/officers.md.

use crate::failure::Failure;
use facility::Facility;
use pkcs1::RsaPrivateKey;
use pkcs1::der::{Decode, SecretDocument};
use token::pka::{self, Attributes, ClearKey, CrtComponents, Form, Usage};
use wire::control::Store;
use wire::frame::Arguments;
use wire::verb::{Verb, clear_key_import_multiple as ckm, pka_key_import as pki};
use wire::{Codes, Label};
use zeroize::Zeroizing;

/// A symmetric sample key: label, store, algorithm keyword, length in bytes.
const SYMMETRIC: &[(&str, Store, &[u8; 8], usize)] = &[
    ("DEV.DES.DATA", Store::Des, b"DES     ", 8),
    ("DEV.TDES.DATA", Store::Des, b"DES     ", 16),
    ("DEV.AES128.DATA", Store::Aes, b"AES     ", 16),
    ("DEV.AES192.DATA", Store::Aes, b"AES     ", 24),
    ("DEV.AES256.DATA", Store::Aes, b"AES     ", 32),
];
const RSA_LABEL: &str = "DEV.RSA2048.KEY";
/// The key under [`RSA_LABEL`], as an RSAPrivateKey (RFC 8017, appendix A.1.2). Anyone has it.
const RSA_KEY: &str = include_str!("../../data/dev-rsa2048.pem");
const TOKEN_BYTES: usize = 64;

/// How many of the sample keys have no record.
pub fn missing(facility: &Facility) -> Result<usize, Failure> {
    let labels = SYMMETRIC.iter().map(|(label, ..)| *label).chain([RSA_LABEL]);
    labels.map(|label| Ok(usize::from(!is_there(facility, label)?))).sum()
}

fn is_there(facility: &Facility, label: &str) -> Result<bool, Failure> {
    Ok(!facility.records(None, label)?.is_empty())
}

/// Makes the sample keys in a card and records them; those that have a record stay.
pub fn record(facility: &Facility, seed: u64) -> Result<(), Failure> {
    for (label, store, algorithm, length) in SYMMETRIC {
        if is_there(facility, label)? {
            continue;
        }
        let key = clear_value(label, seed, *length, *store == Store::Des);
        let mut arguments = Arguments::new(Verb::ClearKeyImportMultiple);
        arguments
            .set_integer(ckm::RULE_ARRAY_COUNT, 1)
            .set_bytes(ckm::RULE_ARRAY, &algorithm[..])
            .set_integer(ckm::CLEAR_KEY_LENGTH, *length as i64)
            .set_bytes(ckm::CLEAR_KEY, &key)
            .set_bytes(ckm::TARGET_KEY_IDENTIFIER, &[0; TOKEN_BYTES]);
        let reply = facility.call(0, &arguments)?;
        complete("clear-key-import-multiple", reply.codes())?;
        let token = reply.arguments().bytes(ckm::TARGET_KEY_IDENTIFIER).to_vec();
        store_token(facility, *store, label, token)?;
    }
    if is_there(facility, RSA_LABEL)? {
        return Ok(());
    }
    let source = rsa_token()?;
    let mut arguments = Arguments::new(Verb::PkaKeyImport);
    arguments
        .set_integer(pki::SOURCE_KEY_TOKEN_LENGTH, source.len() as i64)
        .set_bytes(pki::SOURCE_KEY_TOKEN, &source)
        .set_bytes(pki::IMPORTER_KEY_IDENTIFIER, &[0; TOKEN_BYTES])
        .set_integer(pki::TARGET_KEY_IDENTIFIER_LENGTH, wire::bounds::PKA_TOKEN_BYTES_MAX as i64);
    let reply = facility.call(0, &arguments)?;
    complete("pka-key-import", reply.codes())?;
    let token = reply.arguments().bytes(pki::TARGET_KEY_IDENTIFIER).to_vec();
    store_token(facility, Store::Pka, RSA_LABEL, token)
}

/// The sample RSA key, as a clear external token for signatures and data.
fn rsa_token() -> Result<Zeroizing<Vec<u8>>, Failure> {
    let unreadable = |_| Failure::Unexpected("the sample RSA key");
    let (_, der) = SecretDocument::from_pem(RSA_KEY).map_err(unreadable)?;
    let key = RsaPrivateKey::from_der(der.as_bytes()).map_err(unreadable)?;
    let components = CrtComponents {
        p: key.prime1.as_bytes(),
        q: key.prime2.as_bytes(),
        dp: key.exponent1.as_bytes(),
        dq: key.exponent2.as_bytes(),
        u: key.coefficient.as_bytes(),
    };
    let clear = ClearKey::Crt { n: key.modulus.as_bytes(), e: key.public_exponent.as_bytes(), components };
    let attributes = Attributes { usage: Usage::KeyManagement, ..Attributes::default() };
    pka::clear_token(Form::Crt, &clear, &attributes, &(engine::sha1, engine::sha256))
        .map_err(|_| Failure::Unexpected("the sample RSA key"))
}

fn store_token(facility: &Facility, store: Store, label: &str, token: Vec<u8>) -> Result<(), Failure> {
    let label = Label::new(label).map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(facility.record_create(store, &label, &token)?)
}

fn complete(verb: &'static str, codes: Codes) -> Result<(), Failure> {
    if codes.is_ok() { Ok(()) } else { Err(Failure::Verb { verb, codes }) }
}

/// The clear value of a symmetric sample key, as docs/officers.md defines it.
fn clear_value(label: &str, seed: u64, length: usize, is_des: bool) -> Vec<u8> {
    let text = format!("cryptand sample key {label} {seed}");
    let digest = engine::sha256(text.as_bytes());
    let mut key = digest[..length].to_vec();
    if is_des {
        for byte in &mut key {
            // Odd parity in the lowest bit of each byte (FIPS 46-3).
            *byte = *byte & 0xFE | u8::from((*byte >> 1).count_ones().is_multiple_of(2));
        }
    }
    key
}

//! The sample keys of a development home, reproducible from its seed; listed in docs/howto/officers.md.

use super::key::{complete, imported};
use crate::failure::Failure;
use facility::Facility;
use pkcs1::RsaPrivateKey;
use pkcs1::der::{Decode, SecretDocument};
use token::pka::{self, Attributes, ClearKey, CrtComponents, Form, Usage};
use wire::Label;
use wire::control::Store;
use wire::verb::{KeyAlgorithm, clear_key_import_multiple as ckm};
use zeroize::Zeroizing;

/// A symmetric sample key: label, store, algorithm, length in bytes.
const SYMMETRIC: &[(&str, Store, KeyAlgorithm, usize)] = &[
    ("DEV.DES.DATA", Store::Des, KeyAlgorithm::Des, 8),
    ("DEV.TDES.DATA", Store::Des, KeyAlgorithm::Des, 16),
    ("DEV.AES128.DATA", Store::Aes, KeyAlgorithm::Aes, 16),
    ("DEV.AES192.DATA", Store::Aes, KeyAlgorithm::Aes, 24),
    ("DEV.AES256.DATA", Store::Aes, KeyAlgorithm::Aes, 32),
];
const RSA_LABEL: &str = "DEV.RSA2048.KEY";
/// The key under [`RSA_LABEL`], as an RSAPrivateKey (RFC 8017, appendix A.1.2). Anyone has it.
const RSA_KEY: &str = include_str!("../../data/dev-rsa2048.pem");

/// How many of the sample keys have no record.
pub fn missing(facility: &Facility) -> Result<usize, Failure> {
    let labels = SYMMETRIC.iter().map(|(label, ..)| *label).chain([RSA_LABEL]);
    labels.map(|label| Ok(usize::from(!is_there(facility, label)?))).sum()
}

fn is_there(facility: &Facility, label: &str) -> Result<bool, Failure> {
    Ok(!facility.records(None, label)?.is_empty())
}

/// Makes the sample keys in a card and records them; existing records are kept.
pub fn record(facility: &Facility, seed: u64) -> Result<(), Failure> {
    for (label, store, algorithm, length) in SYMMETRIC {
        if is_there(facility, label)? {
            continue;
        }
        let key = clear_value(label, seed, *length, *store == Store::Des);
        let ask = ckm::Ask { algorithm: Some(*algorithm), clear_key: &key, ..ckm::Ask::new() };
        let answered = facility.ask(0, &ask)?;
        complete("clear-key-import-multiple", answered.codes())?;
        store_token(facility, *store, label, answered.got().target_key_identifier)?;
    }
    if is_there(facility, RSA_LABEL)? {
        return Ok(());
    }
    store_token(facility, Store::Pka, RSA_LABEL, &imported(facility, 0, None, &rsa_token()?)?)
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

fn store_token(facility: &Facility, store: Store, label: &str, token: &[u8]) -> Result<(), Failure> {
    let label = Label::new(label).map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(facility.record_create(store, &label, token)?)
}

/// The clear value of a symmetric sample key, as docs/howto/officers.md defines it.
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

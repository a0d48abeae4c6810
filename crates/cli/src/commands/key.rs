//! `cryptand key`: key records and the keys behind them.
//!
//! | need | module |
//! |---|---|
//! | check that a partner holds the same key | [`check`] |
//! | enter a key in clear parts | [`part`] |
//! | exchange public keys with programs that do not know tokens | [`public`] |

mod check;
mod part;
mod public;

use super::{print, print_json, reencipher, renew, table};
use crate::args::{Key, KeyType, StoreName};
use crate::describe::describe;
use crate::failure::Failure;
use crate::prompt;
use crate::session;
use check::Given;
use facility::Facility;
use std::io::Read;
use std::path::Path;
use wire::bounds::{PKA_TOKEN_BYTES_MAX, TOKEN_BYTES_MAX};
use wire::control::Store;
use wire::frame::Arguments;
use wire::verb::{Verb, key_generate as kgn, pka_key_generate as pkg, pka_key_token_build as pkb};
use wire::{Codes, Label};

const TOKEN_BYTES: usize = 64;
const EMPTY_TOKEN: [u8; TOKEN_BYTES] = [0; TOKEN_BYTES];

/// `cryptand key`.
pub fn run(asked: Option<&Path>, key: &Key) -> Result<(), Failure> {
    let facility = session::connect(asked)?;
    match key {
        Key::List { pattern, store, json } => list(&facility, pattern, store.map(Store::from), *json),
        Key::Generate { label, key_type, domain } => generate(&facility, &parse(label)?, *key_type, *domain),
        Key::Part { label, step, key_type, usage, domain } => {
            let begun = part::Begun { key_type: key_type.as_deref(), usage };
            part::run(&facility, &parse(label)?, *domain, *step, &begun)
        }
        Key::Write { label, token, replace } => write(&facility, &parse(label)?, token, *replace),
        Key::Show { label, raw, json } => show(&facility, &parse(label)?, *raw, *json),
        Key::PublicKey { label, domain, pem } => public::show(&facility, &parse(label)?, *domain, *pem),
        Key::ImportPublic { label, file } => public::import(&facility, &parse(label)?, file),
        Key::Test { label, domain, check_value, random, pattern, json } => {
            let given = Given::read(check_value.as_deref(), random.as_deref(), pattern.as_deref())?;
            check::run(&facility, &parse(label)?, *domain, &given, *json)
        }
        Key::Reencipher { pattern, dry_run, json } => reencipher::run(&facility, pattern, *dry_run, *json),
        Key::Renew { pattern, dry_run, json } => renew::run(&facility, pattern, *dry_run, *json),
        Key::Delete { label, token_only, yes } => delete(&facility, &parse(label)?, *token_only, *yes),
    }
}

fn parse(label: &str) -> Result<Label, Failure> {
    Label::new(label).map_err(|error| Failure::Usage(format!("{label}: {error}")))
}

fn list(facility: &Facility, pattern: &str, store: Option<Store>, json: bool) -> Result<(), Failure> {
    let rows = facility.records(store, pattern)?;
    if json {
        return print_json(&rows);
    }
    let rows = rows.iter().map(|row| {
        let token =
            if row.token_bytes == 0 { "none".to_owned() } else { format!("{} bytes", row.token_bytes) };
        vec![row.label.to_string(), store_name(row.store).to_owned(), token]
    });
    print(&table(&["label", "store", "token"], rows))
}

fn generate(facility: &Facility, label: &Label, key_type: KeyType, domain: u16) -> Result<(), Failure> {
    let (store, token) = match key_type {
        KeyType::TdesData => (Store::Des, symmetric(facility, domain, b"DOUBLE  ", b"DATA    ")?),
        KeyType::TdesMac => (Store::Des, symmetric(facility, domain, b"DOUBLE  ", b"MAC     ")?),
        KeyType::TdesMacver => (Store::Des, symmetric(facility, domain, b"DOUBLE  ", b"MACVER  ")?),
        KeyType::TdesCipher => (Store::Des, symmetric(facility, domain, b"DOUBLE  ", b"CIPHER  ")?),
        KeyType::DesData => (Store::Des, symmetric(facility, domain, b"SINGLE  ", b"DATA    ")?),
        KeyType::Aes128 => (Store::Aes, symmetric(facility, domain, b"KEYLN16 ", b"AESDATA ")?),
        KeyType::Aes192 => (Store::Aes, symmetric(facility, domain, b"KEYLN24 ", b"AESDATA ")?),
        KeyType::Aes256 => (Store::Aes, symmetric(facility, domain, b"KEYLN32 ", b"AESDATA ")?),
        KeyType::Rsa2048Sign => (Store::Pka, rsa(facility, domain, 2048, b"SIG-ONLY")?),
        KeyType::Rsa2048Keymgmt => (Store::Pka, rsa(facility, domain, 2048, b"KEY-MGMT")?),
        KeyType::Rsa2048Transport => (Store::Pka, rsa(facility, domain, 2048, b"KM-ONLY ")?),
        KeyType::Rsa3072Sign => (Store::Pka, rsa(facility, domain, 3072, b"SIG-ONLY")?),
        KeyType::Rsa4096Sign => (Store::Pka, rsa(facility, domain, 4096, b"SIG-ONLY")?),
    };
    facility.record_create(store, label, &token)?;
    eprintln!("{label}: generated and recorded");
    Ok(())
}

/// Makes sure that there is an RSA key under a label: an existing one stays, otherwise one of this type is made.
pub fn rsa_where_missing(
    facility: &Facility,
    label: &Label,
    key_type: KeyType,
    domain: u16,
) -> Result<(), Failure> {
    let rows = facility.records(Some(Store::Pka), label.as_str())?;
    if rows.iter().any(|row| row.label == *label) {
        return Ok(());
    }
    generate(facility, label, key_type, domain)
}

fn symmetric(
    facility: &Facility,
    domain: u16,
    length: &[u8; 8],
    key_type: &[u8; 8],
) -> Result<Vec<u8>, Failure> {
    let mut arguments = Arguments::new(Verb::KeyGenerate);
    arguments
        .set_bytes(kgn::KEY_FORM, b"OP  ")
        .set_bytes(kgn::KEY_LENGTH, length)
        .set_bytes(kgn::KEY_TYPE_1, key_type)
        .set_bytes(kgn::KEY_TYPE_2, b"        ")
        .set_bytes(kgn::KEK_KEY_IDENTIFIER_1, &EMPTY_TOKEN)
        .set_bytes(kgn::KEK_KEY_IDENTIFIER_2, &EMPTY_TOKEN)
        .set_bytes(kgn::GENERATED_KEY_IDENTIFIER_1, &EMPTY_TOKEN)
        .set_bytes(kgn::GENERATED_KEY_IDENTIFIER_2, &EMPTY_TOKEN);
    let reply = facility.call(domain, &arguments)?;
    complete("key-generate", reply.codes())?;
    Ok(reply.arguments().bytes(kgn::GENERATED_KEY_IDENTIFIER_1).to_vec())
}

fn rsa(facility: &Facility, domain: u16, bits: u16, usage: &[u8; 8]) -> Result<Vec<u8>, Failure> {
    // Key values of a skeleton (RSA-AESC): modulus bits, modulus length, exponent length, reserved,
    // five empty private lengths, then the exponent.
    let exponent = [1, 0, 1];
    let mut values = Vec::new();
    for field in [bits, 0, exponent.len() as u16, 0, 0, 0, 0, 0, 0] {
        values.extend_from_slice(&field.to_be_bytes());
    }
    values.extend_from_slice(&exponent);
    let rules = [*b"RSA-AESC", *usage].concat();
    let mut arguments = Arguments::new(Verb::PkaKeyTokenBuild);
    arguments
        .set_integer(pkb::RULE_ARRAY_COUNT, 2)
        .set_bytes(pkb::RULE_ARRAY, &rules)
        .set_integer(pkb::KEY_VALUES_STRUCTURE_LENGTH, values.len() as i64)
        .set_bytes(pkb::KEY_VALUES_STRUCTURE, &values)
        .set_integer(pkb::TOKEN_LENGTH, PKA_TOKEN_BYTES_MAX as i64);
    let reply = facility.call(domain, &arguments)?;
    complete("pka-key-token-build", reply.codes())?;
    let skeleton = reply.arguments().bytes(pkb::TOKEN).to_vec();

    let mut arguments = Arguments::new(Verb::PkaKeyGenerate);
    arguments
        .set_integer(pkg::RULE_ARRAY_COUNT, 1)
        .set_bytes(pkg::RULE_ARRAY, b"MASTER  ")
        .set_integer(pkg::SKELETON_KEY_TOKEN_LENGTH, skeleton.len() as i64)
        .set_bytes(pkg::SKELETON_KEY_TOKEN, &skeleton)
        .set_bytes(pkg::TRANSPORT_KEY_IDENTIFIER, &EMPTY_TOKEN)
        .set_integer(pkg::GENERATED_KEY_IDENTIFIER_LENGTH, PKA_TOKEN_BYTES_MAX as i64);
    let reply = facility.call(domain, &arguments)?;
    complete("pka-key-generate", reply.codes())?;
    Ok(reply.arguments().bytes(pkg::GENERATED_KEY_IDENTIFIER).to_vec())
}

fn write(facility: &Facility, label: &Label, path: &Path, replace: bool) -> Result<(), Failure> {
    let mut token = Vec::new();
    // In hexadecimal a token is twice as long, behind `hex:` and before a line feed.
    let limit = 2 * TOKEN_BYTES_MAX as u64 + 16;
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(limit).read_to_end(&mut token)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(limit).read_to_end(&mut token))
    };
    read.map_err(Failure::io(format!("read {}", path.display())))?;
    // As `cryptand verb` and `key public-key` print it.
    if let Some(bytes) = from_text(&token) {
        token = bytes;
    }
    if token.len() > TOKEN_BYTES_MAX {
        return Err(Failure::Usage(format!("{}: too long for a key token", path.display())));
    }
    let store = store_of(&token).ok_or_else(|| {
        Failure::Usage(format!("{}: not a key token, as bytes or in hexadecimal", path.display()))
    })?;
    if replace {
        facility.record_write(store, label, &token)?
    } else {
        facility.record_create(store, label, &token)?
    }
    eprintln!("{label}: recorded");
    Ok(())
}

/// A token that was written in hexadecimal, with or without `hex:` or quotation marks around it; no token begins like that.
fn from_text(token: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(token).ok()?.trim().trim_matches('"');
    let digits = text.strip_prefix("hex:").unwrap_or(text);
    if digits.is_empty() { None } else { prompt::hexadecimal(digits).ok().map(|bytes| bytes.to_vec()) }
}

/// The store that a token belongs to: PKA by its header, AES by version 04 or 05, else DES.
fn store_of(token: &[u8]) -> Option<Store> {
    match (token.first()?, token.get(4)?) {
        (0x1E | 0x1F, _) => Some(Store::Pka),
        (0x01, 0x04 | 0x05) => Some(Store::Aes),
        (0x01, _) => Some(Store::Des),
        _ => None,
    }
}

fn find(facility: &Facility, label: &Label) -> Result<(Store, Vec<u8>), Failure> {
    let rows = facility.records(None, label.as_str())?;
    let row = rows.iter().find(|row| row.label == *label);
    let row = row.ok_or_else(|| Failure::NoRecord(label.clone()))?;
    Ok((row.store, facility.record_read(row.store, label)?))
}

fn show(facility: &Facility, label: &Label, raw: bool, json: bool) -> Result<(), Failure> {
    let (store, bytes) = find(facility, label)?;
    if raw {
        use std::io::Write;
        return std::io::stdout().lock().write_all(&bytes).map_err(Failure::io("write to standard output"));
    }
    let fields = describe(&bytes);
    if json {
        let fields: serde_json::Map<_, _> =
            fields.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
        return print_json(&serde_json::json!({
            "label": label.as_str(), "store": store_name(store), "token": prompt::to_hexadecimal(&bytes), "fields": fields,
        }));
    }
    let mut rows = vec![
        vec!["label".to_owned(), label.to_string()],
        vec!["store".to_owned(), store_name(store).to_owned()],
    ];
    rows.extend(fields.into_iter().map(|(name, value)| vec![name.to_owned(), value]));
    rows.push(vec!["token".to_owned(), prompt::to_hexadecimal(&bytes)]);
    print(&table(&["field", "value"], rows))
}

fn delete(facility: &Facility, label: &Label, token_only: bool, yes: bool) -> Result<(), Failure> {
    let (store, _) = find(facility, label)?;
    let what = if token_only { "the token" } else { "the record" };
    prompt::confirm(&format!("Delete {what} of {label}? What it enciphers may be lost."), yes)?;
    Ok(facility.record_delete(store, label, token_only)?)
}

fn complete(verb: &'static str, codes: Codes) -> Result<(), Failure> {
    if codes.is_ok() { Ok(()) } else { Err(Failure::Verb { verb, codes }) }
}

fn store_name(store: Store) -> &'static str {
    match store {
        Store::Des => "des",
        Store::Aes => "aes",
        Store::Pka => "pka",
    }
}

impl From<StoreName> for Store {
    fn from(name: StoreName) -> Self {
        match name {
            StoreName::Des => Self::Des,
            StoreName::Aes => Self::Aes,
            StoreName::Pka => Self::Pka,
        }
    }
}

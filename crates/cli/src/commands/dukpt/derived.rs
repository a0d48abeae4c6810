//! `cryptand dukpt initial` and `derive`: by Unique_Key_Derive, into key blocks and tokens.

use crate::args::dukpt::{BaseKind, Derive, Initial, Of, TerminalDoes};
use crate::args::payment::WorkingKey;
use crate::commands::key;
use crate::commands::payment::call::{Call, Reading};
use crate::commands::payment::fields::{Serial, USAGE_PIN, derivation_data, given, label};
use crate::commands::payment::{self, Order};
use crate::failure::Failure;
use crate::output::write_new;
use crate::prompt::hexadecimal;
use crate::session;
use facility::keys::{NamedKind, Usage};
use std::path::Path;
use token::KeyType;
use token::control_vector::KeyForm;
use token::variable::VariableType;
use wire::bounds::TOKEN_BYTES_MAX;
use wire::verb::Verb;
use wire::verb::unique_key_derive::*;

/// Usage of initial keys in derivation data. For MAC and data keys see the usages below; for them the terminal's side
/// is added.
const USAGE_INITIAL: u16 = 0x8001;
const USAGE_MAC: u16 = 0x2000;
const USAGE_DATA: u16 = 0x3000;

/// `cryptand dukpt initial`: derives initial keys into key blocks, which are printed or written into a new file.
pub fn initial(asked: Option<&Path>, typed: &Initial) -> Result<(), Failure> {
    let Some(path) = &typed.out else { return payment::run(asked, typed, &typed.many) };
    let answer = payment::answered(asked, typed, typed.many.domain)?;
    write_new(path, format!("{}\n", answer.text()).as_bytes())
}

/// `cryptand dukpt derive`: derives a key of a transaction; its token is recorded, written into a file, or printed.
pub fn derive(asked: Option<&Path>, typed: &Derive) -> Result<(), Failure> {
    if typed.label.is_none() && typed.out.is_none() {
        return payment::run(asked, typed, &typed.many);
    }
    let new = typed.label.as_ref().map(|text| label("--label", Some(text))).transpose()?;
    let kind = kind(typed)?;
    let facility = session::connect(asked)?;
    let call = typed.call()?;
    let reply = facility.call(typed.many.domain, &call.arguments())?;
    let answer = call.answer(&reply).map_err(|failure| call.with_near(&facility, failure))?;
    let token = hexadecimal(answer.text())?;
    if let Some(path) = &typed.out {
        return write_new(path, &token);
    }
    if let Some(new) = new {
        key::record(&facility, kind.store(), &new, &token)?;
        eprintln!("{new}: derived and recorded");
    }
    Ok(())
}

impl Of {
    /// Adds the base key to a request; returns the request and the serial number.
    fn put(&self, call: Call) -> Result<(Call, Serial), Failure> {
        let base = label("--base", self.base.as_ref())?;
        given("--ksn", self.ksn.as_ref())?;
        let serial = Serial::of("--ksn", self.ksn.as_ref())?;
        let serial = serial.ok_or_else(|| Failure::Usage("--ksn is missing".to_owned()))?;
        Ok((call.key(BASE_DERIVATION_KEY_IDENTIFIER, &base, ("--base", serial.base_key())), serial))
    }
}

impl Order for Initial {
    fn call(&self) -> Result<Call, Failure> {
        let call = Call::new(Verb::UniqueKeyDerive, Reading::Digits("block", GENERATED_KEY_IDENTIFIER3));
        let (call, serial) = self.of.put(call)?;
        let under = label("--under", self.under.as_ref())?;
        let (words, data, taken): (&[&str], _, _) = match serial {
            Serial::Tdes(_) if self.kind.is_some_and(|kind| kind != BaseKind::Tdes) => {
                return Err(Failure::Usage("--kind: a KSN of 20 digits is of TDES DUKPT".to_owned()));
            }
            Serial::Tdes(serial) => {
                (&["K3IPEK", "TR31-TOK"], serial.to_vec(), "a DES EXPORTER key (--type tdes-exporter)")
            }
            Serial::Aes(mut serial) => {
                let key = match self.kind.unwrap_or(BaseKind::Aes128) {
                    BaseKind::Tdes => {
                        return Err(Failure::Usage("--kind: a KSN of 24 digits is of AES DUKPT".to_owned()));
                    }
                    BaseKind::Aes128 => WorkingKey::Aes128,
                    BaseKind::Aes192 => WorkingKey::Aes192,
                    BaseKind::Aes256 => WorkingKey::Aes256,
                };
                // An initial key is derived before any counter.
                serial[8..].fill(0);
                (
                    &["A-DUKPT", "K3IPEK", "TR31-TOK"],
                    derivation_data(USAGE_INITIAL, key, &serial),
                    "an AES EXPORTER key for key blocks that is as long as the base key (--type aes256-exporter --usage \
                     EXPORT,WR-TR31,WRDERIVE)",
                )
            }
        };
        Ok(call
            .keywords(RULE_ARRAY, words)
            .bytes(DERIVATION_DATA, data)
            .key(TRANSPORT_KEY_IDENTIFIER, &under, ("--under", taken))
            .integer(GENERATED_KEY_IDENTIFIER3_LENGTH, TOKEN_BYTES_MAX as i64))
    }
}

/// Mode keywords of AES CIPHER keys. A data key that names none of them gets CBC.
const MODES: &[&str] = &["CBC", "ECB", "CFB", "OFB", "GCM", "XTS", "FF1", "FF2", "FF2.1", "ANY-MODE"];

/// The field of a working key in a request: its keyword, the positions of its length and of itself, and its usage
/// in derivation data.
struct WorkingKeyField {
    word: &'static str,
    length: usize,
    position: usize,
    usage: u16,
}

const DATA: WorkingKeyField = WorkingKeyField {
    word: "K1DATA",
    length: GENERATED_KEY_IDENTIFIER1_LENGTH,
    position: GENERATED_KEY_IDENTIFIER1,
    usage: USAGE_DATA,
};
const MAC: WorkingKeyField = WorkingKeyField {
    word: "K2MAC",
    length: GENERATED_KEY_IDENTIFIER2_LENGTH,
    position: GENERATED_KEY_IDENTIFIER2,
    usage: USAGE_MAC,
};
const PIN: WorkingKeyField = WorkingKeyField {
    word: "K3PIN",
    length: GENERATED_KEY_IDENTIFIER3_LENGTH,
    position: GENERATED_KEY_IDENTIFIER3,
    usage: USAGE_PIN,
};

/// The field for a kind's transaction key, and the working key to derive; an error for other kinds.
fn field(kind: NamedKind) -> Result<(WorkingKeyField, WorkingKey), Failure> {
    use {KeyType as D, VariableType as A};
    let key = match kind {
        NamedKind::Des(KeyForm::Double | KeyForm::DoubleUnique, _) => WorkingKey::Tdes2,
        NamedKind::Aes(128, _) => WorkingKey::Aes128,
        NamedKind::Aes(192, _) => WorkingKey::Aes192,
        NamedKind::Aes(256, _) => WorkingKey::Aes256,
        _ => return Err(no_transaction_key(kind)),
    };
    match kind {
        NamedKind::Des(_, D::Cipher | D::Encipher | D::Decipher) | NamedKind::Aes(_, A::Cipher) => {
            Ok((DATA, key))
        }
        NamedKind::Des(_, D::Mac | D::MacVer) | NamedKind::Aes(_, A::Mac) => Ok((MAC, key)),
        NamedKind::Des(_, D::IPinEnc | D::OPinEnc) | NamedKind::Aes(_, A::PinProt) => Ok((PIN, key)),
        _ => Err(no_transaction_key(kind)),
    }
}

fn no_transaction_key(kind: NamedKind) -> Failure {
    Failure::Usage(format!(
        "--type {}: no key of a transaction; there are tdes- with cipher, encipher, decipher, mac, macver, ipinenc and opinenc, and \
         of AES DUKPT also aes128-, aes192- and aes256- with cipher, mac and pinprot",
        kind.name()
    ))
}

fn kind(typed: &Derive) -> Result<NamedKind, Failure> {
    typed
        .kind
        .ok_or_else(|| Failure::Usage("--type is missing: the kind of the key, such as tdes-mac".to_owned()))
}

impl Order for Derive {
    fn call(&self) -> Result<Call, Failure> {
        let kind = kind(self)?;
        let (field, key) = field(kind)?;
        let mut usage = self.usage.clone();
        let has_mode = usage.iter().any(|word| MODES.iter().any(|mode| mode.eq_ignore_ascii_case(word)));
        if matches!(kind, NamedKind::Aes(_, VariableType::Cipher)) && !has_mode {
            usage.push("CBC".to_owned());
        }
        let skeleton = kind.skeleton(&Usage::new(&usage, &[]), None)?;
        let call = Call::new(Verb::UniqueKeyDerive, Reading::Bytes("token", field.position));
        let (call, serial) = self.of.put(call)?;
        let call = match serial {
            Serial::Tdes(_) if key != WorkingKey::Tdes2 => {
                return Err(Failure::Usage(format!(
                    "--type {}: TDES DUKPT derives keys of TDES alone, such as tdes-mac",
                    kind.name()
                )));
            }
            Serial::Tdes(_) if self.terminal.is_some() => {
                return Err(Failure::Usage(
                    "--terminal: keys of TDES DUKPT are those of both sides".to_owned(),
                ));
            }
            Serial::Tdes(serial) => call.keywords(RULE_ARRAY, &[field.word]).bytes(DERIVATION_DATA, serial),
            Serial::Aes(serial) => {
                let side = match (field.usage, self.terminal.unwrap_or(TerminalDoes::Both)) {
                    (USAGE_PIN, TerminalDoes::Both) | (_, TerminalDoes::Makes) => 0,
                    (USAGE_PIN, TerminalDoes::Takes) => {
                        return Err(Failure::Usage("--terminal: terminals make PIN blocks".to_owned()));
                    }
                    (_, TerminalDoes::Takes) => 1,
                    (_, TerminalDoes::Both) => 2,
                };
                call.keywords(RULE_ARRAY, &["A-DUKPT", field.word])
                    .bytes(DERIVATION_DATA, derivation_data(field.usage + side, key, &serial))
            }
        };
        Ok(call
            .takes((
                "--type",
                "one that does no more than the terminal leaves to it, and leaves in no more ways than the base key; of pinprot one \
                 with DECRYPT or ENCRYPT, ISO-4, and PINXLATE or REFORMAT",
            ))
            .bytes(field.position, skeleton)
            .integer(field.length, TOKEN_BYTES_MAX as i64))
    }
}

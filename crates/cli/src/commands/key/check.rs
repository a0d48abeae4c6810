//! Checks that a partner holds the same key, by values that reveal nothing of it.
//!
//! | value | of | made by |
//! |---|---|---|
//! | check value (KCV) | DES, TDES, AES | Key_Test with ENC-ZERO: the first bytes of a block of zeros enciphered |
//! | random number and pattern | DES, TDES of two parts | Key_Test |
//! | pattern | AES | Key_Test: of SHA-256 of the key |

use super::find;
use crate::commands::{print, print_json};
use crate::failure::Failure;
use crate::prompt;
use facility::Facility;
use serde_json::json;
use wire::control::Store;
use wire::frame::Arguments;
use wire::verb::{Verb, key_test as kyt};
use wire::{Label, code};

const NAME: &str = "key-test";
/// Length of a check value as it is printed, and of the longest one that is compared, in bytes.
const SHOWN_BYTES: usize = 3;
const CHECK_BYTES: usize = 4;

/// What a partner gave.
pub enum Given {
    Nothing,
    CheckValue(Vec<u8>),
    Pattern { random: [u8; 8], pattern: [u8; 8] },
}

impl Given {
    /// What was typed, in hexadecimal.
    pub fn read(
        check_value: Option<&str>,
        random: Option<&str>,
        pattern: Option<&str>,
    ) -> Result<Self, Failure> {
        let bytes = |name: &str, text: &str| {
            prompt::hexadecimal(text).map_err(|error| Failure::Usage(format!("{name}: {error}")))
        };
        let whole = |name: &str, text: Option<&str>| -> Result<[u8; 8], Failure> {
            let Some(text) = text else { return Ok([0; 8]) };
            let bytes = bytes(name, text)?;
            <[u8; 8]>::try_from(&bytes[..]).map_err(|_| {
                Failure::Usage(format!("{name}: 8 bytes are expected, and {} are given", bytes.len()))
            })
        };
        match (check_value, pattern) {
            (Some(text), _) => {
                let value = bytes("--check-value", text)?;
                if !(SHOWN_BYTES..=CHECK_BYTES).contains(&value.len()) {
                    let text =
                        format!("--check-value: 3 or 4 bytes are expected, and {} are given", value.len());
                    return Err(Failure::Usage(text));
                }
                Ok(Self::CheckValue(value.to_vec()))
            }
            (None, Some(_)) => Ok(Self::Pattern {
                random: whole("--random", random)?,
                pattern: whole("--pattern", pattern)?,
            }),
            (None, None) => Ok(Self::Nothing),
        }
    }
}

/// Prints the values of a key, or compares them with what a partner gave.
pub fn run(
    facility: &Facility,
    label: &Label,
    domain: u16,
    given: &Given,
    json: bool,
) -> Result<(), Failure> {
    let (store, _) = find(facility, label)?;
    if store == Store::Pka {
        let text = format!(
            "{label}: an RSA key has no verification pattern; `cryptand key public-key {label}` shows it"
        );
        return Err(Failure::Usage(text));
    }
    let key = Key { facility, label, domain };
    match given {
        Given::Nothing => key.show(store, json),
        Given::CheckValue(value) => {
            let found = key.check_value()?;
            key.tell(found.starts_with(value), json)
        }
        Given::Pattern { random, pattern } => match key.test(&["VERIFY"], random, pattern) {
            Ok(_) => key.tell(true, json),
            Err(Failure::Verb { codes: code::VERIFICATION_FAILED, .. }) => key.tell(false, json),
            Err(failure) => Err(failure),
        },
    }
}

struct Key<'a> {
    facility: &'a Facility,
    label: &'a Label,
    domain: u16,
}

impl Key<'_> {
    fn show(&self, store: Store, json: bool) -> Result<(), Failure> {
        let check = prompt::to_hexadecimal(&self.check_value()?[..SHOWN_BYTES]);
        // A DES key of three parts has a check value alone.
        let values = match self.test(&["GENERATE"], &[0; 8], &[0; 8]) {
            Ok(values) => Some(values),
            Err(Failure::Verb { .. }) => None,
            Err(failure) => return Err(failure),
        };
        // The pattern of a DES key is taken over a random number; that of an AES key over the key alone.
        let random =
            values.filter(|_| store == Store::Des).map(|(random, _)| prompt::to_hexadecimal(&random));
        let pattern = values.map(|(_, pattern)| prompt::to_hexadecimal(&pattern));
        if json {
            return print_json(&json!({
                "label": self.label.as_str(), "check_value": check, "random": random, "pattern": pattern,
            }));
        }
        let mut text = format!("check value {check}\n");
        if let Some(random) = random {
            text += &format!("random {random}\n");
        }
        if let Some(pattern) = pattern {
            text += &format!("pattern {pattern}\n");
        }
        print(&text)
    }

    fn tell(&self, is_same: bool, json: bool) -> Result<(), Failure> {
        if json {
            print_json(&json!({ "label": self.label.as_str(), "same": is_same }))?;
        }
        if is_same {
            if json { Ok(()) } else { print(&format!("{}: the same key\n", self.label)) }
        } else {
            Err(Failure::Verb { verb: NAME, codes: code::VERIFICATION_FAILED })
        }
    }

    fn check_value(&self) -> Result<[u8; CHECK_BYTES], Failure> {
        let (_, value) = self.test(&["GENERATE", "ENC-ZERO"], &[0; 8], &[0; 8])?;
        Ok(value.first_chunk().copied().unwrap_or_default())
    }

    fn test(
        &self,
        rules: &[&str],
        value_1: &[u8; 8],
        value_2: &[u8; 8],
    ) -> Result<([u8; 8], [u8; 8]), Failure> {
        let field = self.label.to_field();
        let array: String = rules.iter().map(|rule| format!("{rule:<8}")).collect();
        let mut arguments = Arguments::new(Verb::KeyTest);
        arguments
            .set_integer(kyt::RULE_ARRAY_COUNT, rules.len() as i64)
            .set_bytes(kyt::RULE_ARRAY, array.as_bytes())
            .set_bytes(kyt::KEY_IDENTIFIER, &field)
            .set_bytes(kyt::VALUE_1, value_1)
            .set_bytes(kyt::VALUE_2, value_2);
        let reply = self.facility.call(self.domain, &arguments)?;
        if !reply.codes().is_ok() {
            return Err(Failure::Verb { verb: NAME, codes: reply.codes() });
        }
        let value =
            |position| -> [u8; 8] { reply.arguments().bytes(position).try_into().unwrap_or_default() };
        Ok((value(kyt::VALUE_1), value(kyt::VALUE_2)))
    }
}

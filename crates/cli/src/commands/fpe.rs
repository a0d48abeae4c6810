//! `cryptand fpe`: texts enciphered into texts of the same format, by Format_Preserving_Encipher and
//! Format_Preserving_Decipher.

use super::payment::call::{Call, Reading, Taken};
use super::payment::fields::{given, label};
use super::payment::{Order, run as run_order};
use crate::args::fpe::{Fpe, Typed};
use crate::failure::Failure;
use serde::{Deserialize, Serialize};
use std::path::Path;
use wire::verb::{Verb, format_preserving_decipher as fpd, format_preserving_encipher as fpe};

const KEY: Taken = ("--key", "an AES CIPHER key with FF1 (--type aes256-cipher --usage FF1)");

/// Runs the subcommands of `cryptand fpe`.
pub fn run(asked: Option<&Path>, order: &Fpe) -> Result<(), Failure> {
    match order {
        Fpe::Encipher(typed) => run_order(asked, &Encipher((**typed).clone()), &typed.many),
        Fpe::Decipher(typed) => run_order(asked, &Decipher((**typed).clone()), &typed.many),
    }
}

/// What is typed, to be enciphered.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
struct Encipher(Typed);

/// What is typed, to be deciphered.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
struct Decipher(Typed);

/// Positions of the parameters that both verbs have.
struct Places {
    rules: usize,
    key: usize,
    text: usize,
    tweak: usize,
    alphabet: usize,
    tweak_alphabet: usize,
}

impl Typed {
    fn put(&self, call: Call, at: &Places) -> Result<Call, Failure> {
        let key = label("--key", self.key.as_ref())?;
        let text = characters("--text", given("--text", self.text.as_ref())?)?;
        let maybe = |option, value: &Option<String>| {
            value.as_deref().map(|value| characters(option, value)).transpose()
        };
        let base = if self.alphabet.is_some() { "CUSTOM" } else { "BASE10" };
        Ok(call
            .keywords(at.rules, &["FF1", "AES", base])
            .key(at.key, &key, KEY)
            .bytes(at.text, text)
            .maybe(at.tweak, maybe("--tweak", &self.tweak)?)
            .maybe(at.alphabet, maybe("--alphabet", &self.alphabet)?)
            .maybe(at.tweak_alphabet, maybe("--tweak-alphabet", &self.tweak_alphabet)?))
    }
}

impl Order for Encipher {
    fn call(&self) -> Result<Call, Failure> {
        let at = Places {
            rules: fpe::RULE_ARRAY,
            key: fpe::KEY_IDENTIFIER,
            text: fpe::PLAINTEXT,
            tweak: fpe::TWEAK,
            alphabet: fpe::ALPHABET,
            tweak_alphabet: fpe::TWEAK_ALPHABET,
        };
        let reading = Reading::Characters("text", fpe::CIPHERTEXT);
        self.0.put(Call::new(Verb::FormatPreservingEncipher, reading), &at)
    }
}

impl Order for Decipher {
    fn call(&self) -> Result<Call, Failure> {
        let at = Places {
            rules: fpd::RULE_ARRAY,
            key: fpd::KEY_IDENTIFIER,
            text: fpd::CIPHERTEXT,
            tweak: fpd::TWEAK,
            alphabet: fpd::ALPHABET,
            tweak_alphabet: fpd::TWEAK_ALPHABET,
        };
        let reading = Reading::Characters("text", fpd::PLAINTEXT);
        self.0.put(Call::new(Verb::FormatPreservingDecipher, reading), &at)
    }
}

/// Characters as the verbs take them: of ISO 8859-1, one byte each. Fails for others.
fn characters(option: &str, text: &str) -> Result<Vec<u8>, Failure> {
    let byte = |letter: char| {
        u8::try_from(letter).map_err(|_| {
            Failure::Usage(format!(
                "{option}: {letter:?} is no character of ISO 8859-1, of which each is one byte"
            ))
        })
    };
    text.chars().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_have_one_byte() {
        assert_eq!(characters("--text", "0é").unwrap(), [b'0', 0xE9]);
        let error = characters("--text", "0€").unwrap_err().to_string();
        assert!(error.contains("--text: '€' is no character of ISO 8859-1"), "{error}");
    }
}

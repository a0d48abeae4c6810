//! DES tokens and AES tokens of fixed length.

use crate::Given::{Bytes, Counted, Rules};
use crate::{Maker, hexadecimal};
use serde_json::{Value, json};
use wire::Verb;
use wire::control::TokenForm;
use wire::verb::{
    clear_key_import_multiple as ckm, key_export as kex, key_part_import as kpi, key_token_build as ktb,
};

/// Types of keys of double length that are entered in parts.
const TYPES: &[&str] = &[
    "DATA", "CIPHER", "ENCIPHER", "DECIPHER", "MAC", "MACVER", "IPINENC", "OPINENC", "PINGEN", "PINVER",
    "EXPORTER", "IMPORTER",
];

/// Every byte odd in its lowest bit.
fn odd(key: &[u8]) -> Vec<u8> {
    key.iter().map(|byte| byte ^ u8::from(byte.count_ones().is_multiple_of(2))).collect()
}

impl Maker {
    fn some_form(&mut self) -> &'static str {
        let (form, name) =
            self.random.pick(&[(TokenForm::Authenticated, "own"), (TokenForm::Compatible, "compatible")]);
        self.form(form);
        name
    }

    fn imported(&mut self, algorithm: &str, key: &[u8]) -> Vec<u8> {
        let given = [
            Rules(&[algorithm]),
            Counted(ckm::CLEAR_KEY_LENGTH, ckm::CLEAR_KEY, key),
            Bytes(ckm::TARGET_KEY_IDENTIFIER, &[0; 64]),
        ];
        self.call(Verb::ClearKeyImportMultiple, &given, ckm::TARGET_KEY_IDENTIFIER)
    }

    /// A DES key of a type, entered in two parts or three, and its value.
    fn entered(&mut self, key_type: &str, words: &[&str]) -> (Vec<u8>, Vec<u8>) {
        let name = format!("{key_type:8}");
        let rules = [&["INTERNAL", "DOUBLE"], words].concat();
        let given = [Bytes(ktb::KEY_TYPE, name.as_bytes()), Rules(&rules)];
        let mut token = self.call(Verb::KeyTokenBuild, &given, ktb::KEY_TOKEN);
        let count = 2 + self.random.below(2);
        let mut value = vec![0; 16];
        for at in 0..count {
            let part = odd(&self.random.bytes(16));
            value.iter_mut().zip(&part).for_each(|(byte, part)| *byte ^= part);
            let step = if at == 0 {
                "FIRST"
            } else if at + 1 == count {
                "LAST"
            } else {
                "MIDDLE"
            };
            let given = [Rules(&[step]), Bytes(kpi::KEY_PART, &part), Bytes(kpi::KEY_IDENTIFIER, &token)];
            token = self.call(Verb::KeyPartImport, &given, kpi::KEY_IDENTIFIER);
        }
        (token, odd(&value))
    }

    /// An EXPORTER and its value.
    pub(crate) fn exporter(&mut self) -> (Vec<u8>, Vec<u8>) {
        self.entered("EXPORTER", &["EXPORT", "OPEX", "IMEX"])
    }

    /// A DES token of any kind.
    pub(crate) fn des(&mut self) -> (Vec<u8>, Value) {
        let form = self.some_form();
        match self.random.below(3) {
            0 => {
                let bytes = self.random.pick(&[8, 16, 24]);
                let key = odd(&self.random.bytes(bytes));
                let token = self.imported("DES", &key);
                let bound = form == "own";
                (token, json!({ "bits": 8 * bytes, "form": form, "key": hexadecimal(&key), "bound": bound }))
            }
            1 => {
                let key_type = self.random.pick(TYPES);
                let (token, key) = self.entered(key_type, &[]);
                let is_transport = matches!(key_type, "EXPORTER" | "IMPORTER");
                let form = if is_transport { "own" } else { form };
                let expected =
                    json!({ "bits": 128, "form": form, "key": hexadecimal(&key), "internal": true });
                (token, expected)
            }
            _ => {
                let key = odd(&self.random.bytes(16));
                let source = self.imported("DES", &key);
                let exporter = self.exporter.clone();
                let given = [
                    Bytes(kex::KEY_TYPE, b"TOKEN   "),
                    Bytes(kex::SOURCE_KEY_IDENTIFIER, &source),
                    Bytes(kex::EXPORTER_KEY_IDENTIFIER, &exporter),
                ];
                let token = self.call(Verb::KeyExport, &given, kex::TARGET_KEY_TOKEN);
                (token, json!({ "bits": 128, "internal": false, "key": hexadecimal(&key) }))
            }
        }
    }

    /// An AES token of fixed length.
    pub(crate) fn aes(&mut self) -> (Vec<u8>, Value) {
        let form = self.some_form();
        let bytes = self.random.pick(&[16, 24, 32]);
        let key = self.random.bytes(bytes);
        let mut expected = json!({ "bits": 8 * bytes, "key": hexadecimal(&key) });
        if self.random.below(4) == 0 {
            let length = format!("KEYLN{bytes}");
            let rules = ["INTERNAL", "AES", "KEY-CLR", &length];
            let given = [Bytes(ktb::KEY_TYPE, b"DATA    "), Rules(&rules), Bytes(ktb::KEY_VALUE, &key)];
            return (self.call(Verb::KeyTokenBuild, &given, ktb::KEY_TOKEN), expected);
        }
        expected["form"] = json!(form);
        expected["bound"] = json!(form == "own");
        (self.imported("AES", &key), expected)
    }
}

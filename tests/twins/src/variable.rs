//! Tokens of variable length.

use crate::Given::{Bytes, Counted, Integer, Rules};
use crate::{Maker, ROOM, hexadecimal, name_field};
use serde_json::{Value, json};
use wire::Verb;
use wire::verb::{key_part_import2 as kpi2, key_token_build2 as ktb2};

/// Types, what the reader calls them, and usages that they need.
const TYPES: &[(&str, &str, &str, &[&str])] = &[
    ("AES", "CIPHER", "CIPHER", &[]),
    ("AES", "CIPHER", "CIPHER", &["ANY-MODE", "NOEX-SYM", "NOEX-RAW"]),
    ("AES", "MAC", "MAC", &["GENERATE", "CMAC"]),
    ("AES", "EXPORTER", "EXPORTER", &[]),
    ("AES", "IMPORTER", "IMPORTER", &[]),
    ("AES", "PINPROT", "PINPROT", &["ENCRYPT", "CBC", "ISO-4"]),
    ("AES", "PINPRW", "PINPRW", &["VERIFY"]),
    ("AES", "DKYGENKY", "DKYGENKY", &["D-ALL"]),
    ("AES", "SECMSG", "SECMSG", &[]),
    ("HMAC", "MAC", "HMAC", &["GENERATE"]),
    ("HMAC", "MAC", "HMAC", &["VERIFY", "SHA-256"]),
];

impl Maker {
    /// A token of variable length, with its key in one part or of more, complete or not.
    pub(crate) fn variable(&mut self) -> (Vec<u8>, Value) {
        let (algorithm, key_type, name, usage) = self.random.pick(TYPES);
        let label = self.name();
        let bytes = self.random.below(20);
        let user_data = self.random.bytes(bytes);
        let rules = [&["INTERNAL", algorithm, key_type], usage].concat();
        let field = name_field(label.as_deref());
        let given = [
            Rules(&rules),
            Counted(ktb2::KEY_NAME_LENGTH, ktb2::KEY_NAME, &field),
            Counted(ktb2::USER_ASSOCIATED_DATA_LENGTH, ktb2::USER_ASSOCIATED_DATA, &user_data),
            Integer(ktb2::TARGET_KEY_TOKEN_LENGTH, ROOM),
        ];
        let skeleton = self.call(Verb::KeyTokenBuild2, &given, ktb2::TARGET_KEY_TOKEN);
        let bytes =
            if algorithm == "AES" { self.random.pick(&[16, 24, 32]) } else { 10 + self.random.below(247) };
        let mut key = self.random.bytes(bytes);
        let parts = self.random.below(4);
        let least = ["MIN1PART", "MIN1PART", "MIN2PART", "MIN3PART"][parts];
        let mut token = self.part(algorithm, &["FIRST", least], &key, &skeleton);
        // Of a key that needs three parts, one or two are there.
        let missing = if parts == 3 { 1 + self.random.below(2) } else { 0 };
        for _ in 0..parts.saturating_sub(1 + missing) {
            let part = self.random.bytes(bytes);
            key.iter_mut().zip(&part).for_each(|(byte, part)| *byte ^= part);
            token = self.part(algorithm, &["ADD-PART"], &part, &token);
        }
        if missing == 0 {
            token = self.part(algorithm, &["COMPLETE"], &[], &token);
        }
        let expected = json!({
            "internal": true,
            "type": name,
            "name": label.unwrap_or_default(),
            "user_data": hexadecimal(&user_data),
            "parts_missing": missing,
            "complete": missing == 0,
            "key": hexadecimal(&key),
            "bound": true,
        });
        (token, expected)
    }

    fn part(&mut self, algorithm: &str, words: &[&str], part: &[u8], token: &[u8]) -> Vec<u8> {
        let given = [
            Rules(&[&[algorithm], words].concat()),
            Integer(kpi2::CLEAR_KEY_PART_LENGTH, 8 * part.len() as i64),
            Bytes(kpi2::CLEAR_KEY_PART, part),
            Integer(kpi2::KEY_IDENTIFIER_LENGTH, ROOM),
            Bytes(kpi2::KEY_IDENTIFIER, token),
        ];
        self.call(Verb::KeyPartImport2, &given, kpi2::KEY_IDENTIFIER)
    }
}

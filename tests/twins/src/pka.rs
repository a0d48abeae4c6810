//! Tokens of RSA and elliptic-curve keys.

use crate::Given::{Bytes, Counted, Integer, Rules};
use crate::{Maker, ROOM, hexadecimal, name_field};
use serde_json::{Value, json};
use wire::Verb;
use wire::control::TokenForm;
use wire::verb::{
    pka_key_generate as pkg, pka_key_import as pki, pka_key_token_build as pkb, pka_public_key_extract as pkx,
};

const USAGES: &[&str] = &["SIG-ONLY", "KEY-MGMT", "KM-ONLY"];
/// Curve type, and length of the prime in bits.
const CURVES: &[(u8, u16)] =
    &[(0, 224), (0, 256), (0, 384), (0, 521), (1, 256), (1, 384), (3, 256), (2, 255)];

impl Maker {
    /// Clear tokens of RSA keys in every form, each usage and with a name or without.
    pub(crate) fn rsa_keys(&mut self) -> Vec<Vec<u8>> {
        let mut tokens = Vec::new();
        for (at, kind) in
            ["RSA-PRIV", "RSA-CRT", "RSA-AESM", "RSA-AESC"].into_iter().cycle().take(12).enumerate()
        {
            let bits: u16 = if at < 8 { 512 } else { 1024 };
            // Bits and lengths; then the exponent.
            let values: &[u8] = if matches!(kind, "RSA-PRIV" | "RSA-AESM") {
                &[0, 0, 0, 3, 0, 0, 1, 0, 1]
            } else {
                &[0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1]
            };
            let structure = [&bits.to_be_bytes()[..], values].concat();
            let usage = USAGES[at % 3];
            let name = self.name();
            let skeleton = self.built(&[kind, usage], &structure, name.as_deref(), &[], &[]);
            tokens.push(self.generated(&skeleton, "CLEAR"));
        }
        tokens
    }

    fn built(
        &mut self,
        words: &[&str],
        structure: &[u8],
        name: Option<&str>,
        user_data: &[u8],
        derivation: &[u8],
    ) -> Vec<u8> {
        let field = name_field(name);
        let given = [
            Rules(words),
            Counted(pkb::KEY_VALUES_STRUCTURE_LENGTH, pkb::KEY_VALUES_STRUCTURE, structure),
            Counted(pkb::KEY_NAME_LN, pkb::KEY_NAME, &field),
            Counted(pkb::CUSTOMER_DATA_LENGTH, pkb::CUSTOMER_DATA, user_data),
            Counted(pkb::KEY_DERIVATION_DATA_LENGTH, pkb::KEY_DERIVATION_DATA, derivation),
            Integer(pkb::TOKEN_LENGTH, ROOM),
        ];
        self.call(Verb::PkaKeyTokenBuild, &given, pkb::TOKEN)
    }

    fn generated(&mut self, skeleton: &[u8], output: &str) -> Vec<u8> {
        let given = [
            Rules(&[output]),
            Counted(pkg::SKELETON_KEY_TOKEN_LENGTH, pkg::SKELETON_KEY_TOKEN, skeleton),
            Bytes(pkg::TRANSPORT_KEY_IDENTIFIER, &[0; 64]),
            Integer(pkg::GENERATED_KEY_IDENTIFIER_LENGTH, ROOM),
        ];
        self.call(Verb::PkaKeyGenerate, &given, pkg::GENERATED_KEY_IDENTIFIER)
    }

    fn internal(&mut self, clear: &[u8]) -> Vec<u8> {
        let given = [
            Counted(pki::SOURCE_KEY_TOKEN_LENGTH, pki::SOURCE_KEY_TOKEN, clear),
            Bytes(pki::IMPORTER_KEY_IDENTIFIER, &[0; 64]),
            Integer(pki::TARGET_KEY_IDENTIFIER_LENGTH, ROOM),
        ];
        self.call(Verb::PkaKeyImport, &given, pki::TARGET_KEY_IDENTIFIER)
    }

    fn public(&mut self, token: &[u8]) -> Vec<u8> {
        let given = [
            Counted(pkx::SOURCE_KEY_IDENTIFIER_LENGTH, pkx::SOURCE_KEY_IDENTIFIER, token),
            Integer(pkx::TARGET_KEY_TOKEN_LENGTH, ROOM),
        ];
        self.call(Verb::PkaPublicKeyExtract, &given, pkx::TARGET_KEY_TOKEN)
    }

    /// A token of an RSA key: internal, mostly; else clear or public.
    pub(crate) fn rsa_token(&mut self) -> (Vec<u8>, Value) {
        let at = self.random.below(self.rsa.len());
        let clear = self.rsa[at].clone();
        let (clear_section, section) = [("02", "30"), ("08", "31"), ("30", "30"), ("31", "31")][at % 4];
        let usage = USAGES[at % 3];
        match self.random.below(8) {
            0 => (clear, json!({ "section": clear_section, "usage": usage, "internal": false })),
            1 => (self.public(&clear), json!({ "section": "04", "internal": false, "e": "010001" })),
            _ => {
                let is_compatible = self.random.below(2) == 0;
                self.form(if is_compatible { TokenForm::Compatible } else { TokenForm::Authenticated });
                let token = self.internal(&clear);
                let section = if is_compatible && clear_section == "08" { "08" } else { section };
                let expected = json!({
                    "section": section, "usage": usage, "internal": true, "source": 0x21, "e": "010001",
                });
                (token, expected)
            }
        }
    }

    /// A token of an elliptic-curve key: generated or imported, clear, or public.
    pub(crate) fn curve(&mut self) -> (Vec<u8>, Value) {
        let (kind, bits) = self.random.pick(CURVES);
        let usage = self.random.pick(USAGES);
        let version = self.random.below(2);
        let derives = version == 1 && self.random.below(2) == 0;
        let derivation: &[u8] = if derives { &[2, 1, 1, 0] } else { &[] };
        let bytes = if version == 1 { self.random.below(50) } else { 0 };
        let user_data = self.random.bytes(bytes);
        let name = self.name();
        let [high, low] = bits.to_be_bytes();
        let words = [&["ECC-PAIR", usage][..], &["ECC-VER1"][..version]].concat();
        let structure = [kind, 0, high, low, 0, 0, 0, 0];
        let skeleton = self.built(&words, &structure, name.as_deref(), &user_data, derivation);
        let mut expected = json!({
            "curve": [kind, bits],
            "usage": usage,
            "version": version,
            "name": name.unwrap_or_default(),
            "user_data": hexadecimal(&user_data),
        });
        if derives {
            expected["derivation"] = json!(hexadecimal(derivation));
        }
        match self.random.below(5) {
            0 => (self.generated(&skeleton, "CLEAR"), expected),
            1 => {
                let clear = self.generated(&skeleton, "CLEAR");
                let token = self.internal(&clear);
                expected["source"] = json!(0x21);
                expected["bound"] = json!(true);
                (token, expected)
            }
            2 => {
                let clear = self.generated(&skeleton, "CLEAR");
                (self.public(&clear), json!({ "curve": [kind, bits], "internal": false }))
            }
            _ => {
                expected["source"] = json!(0x24);
                expected["bound"] = json!(true);
                (self.generated(&skeleton, "MASTER"), expected)
            }
        }
    }
}

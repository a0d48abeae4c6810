//! The requests: how each verb is asked so that all but the key that is tried is right.

use token::control_vector::KeyForm;
use token::des::Origin;
use token::variable::{PayloadVersion, VariableKey, VariableType};
use token::{ControlVector, DesToken, VariableToken, variable};
use wire::point::PointSet;
use wire::verb::{
    Direction, Entry, Kind, Length, Parameter, Verb, cipher_text_translate2, clear_key_import,
    clear_key_import_multiple, cryptographic_variable_encipher, data_key_export, data_key_import, decipher,
    digital_signature_generate, digital_signature_verify, ec_diffie_hellman, encipher,
    key_encryption_translate, key_export, key_generate, key_generate2, key_import, key_test_extended,
    key_test2, key_translate, key_translate2, pka_decrypt, pka_encrypt, pka_key_generate, pka_key_import,
    pka_key_translate, pka_public_key_extract, prohibit_export_extended, prohibit_export2,
    restrict_key_attribute, symmetric_algorithm_decipher, symmetric_algorithm_encipher, symmetric_key_export,
    symmetric_key_generate, symmetric_key_import, symmetric_key_import2, tls_premaster,
};

pub use super::others::Others;
use super::others::digest_info;
use crate::book::foreign_ecc;
use crate::format_preserving;
pub use crate::keys::*;
pub use crate::pairs::*;
use crate::support::{Request, aes_key, generate, mac, part, verify};
use crate::wrapped::{made, unwrapped};

const CAPACITY: i64 = 2500;
const TEXT: [u8; 16] = *b"sixteen bytes...";

impl Others {
    /// Requests that use this key in this place, everything else being right: one for each way in which keys of
    /// different algorithms and lengths are asked for.
    pub fn ways(&self, verb: Verb, position: usize, key: &[u8]) -> Vec<Request> {
        let base = Request::new(verb);
        let requests = match verb {
            Verb::KeyGenerate if position == key_generate::GENERATED_KEY_IDENTIFIER_2 => {
                let pair = generate("MAC", "DOUBLE").bytes(key_generate::KEY_FORM, "OPOP");
                vec![pair.bytes(key_generate::KEY_TYPE_2, "MACVER  ")]
            }
            Verb::KeyGenerate
                if matches!(
                    position,
                    key_generate::KEK_KEY_IDENTIFIER_1 | key_generate::KEK_KEY_IDENTIFIER_2
                ) =>
            {
                let pair = |form: &str| {
                    let pair = generate("MAC", "DOUBLE").bytes(key_generate::KEY_FORM, form);
                    let pair = pair.bytes(key_generate::KEY_TYPE_2, "MACVER  ");
                    let pair = pair.bytes(key_generate::KEK_KEY_IDENTIFIER_1, &self.importer);
                    pair.bytes(key_generate::KEK_KEY_IDENTIFIER_2, &self.exporter)
                };
                if position == key_generate::KEK_KEY_IDENTIFIER_1 {
                    vec![pair("IMEX"), generate("MAC", "DOUBLE").bytes(key_generate::KEY_FORM, "EX  ")]
                } else {
                    vec![pair("OPIM"), pair("OPEX")]
                }
            }
            Verb::KeyGenerate => {
                vec![generate("TOKEN", ""), generate("AESTOKEN", ""), generate("MAC", "DOUBLE")]
            }
            Verb::KeyGenerate2 if position == key_generate2::KEK_KEY_IDENTIFIER_1 => {
                ["IM", "EX"].map(|form| generate2("AES", 128, "CIPHER", &[]).rules(&["AES", form])).to_vec()
            }
            Verb::KeyGenerate2 if position == key_generate2::KEK_KEY_IDENTIFIER_2 => ["OPIM", "OPEX"]
                .map(|form| {
                    generate2("AES", 128, "CIPHER", &[])
                        .rules(&["AES", form])
                        .bytes(key_generate2::KEY_TYPE_2, "CIPHER  ")
                        .integer(key_generate2::GENERATED_KEY_IDENTIFIER_2_LENGTH, CAPACITY)
                })
                .to_vec(),
            Verb::KeyGenerate2 if position == key_generate2::GENERATED_KEY_IDENTIFIER_2 => {
                let pair = |algorithm: &str, bits| {
                    generate2(algorithm, bits, "TOKEN", &self.variable)
                        .rules(&[algorithm, "OPOP"])
                        .bytes(key_generate2::KEY_TYPE_2, "TOKEN   ")
                        .integer(key_generate2::GENERATED_KEY_IDENTIFIER_2_LENGTH, CAPACITY)
                };
                vec![pair("AES", 128)]
            }
            Verb::KeyGenerate2 => {
                let empty = if position == key_generate2::GENERATED_KEY_IDENTIFIER_1 {
                    Vec::new()
                } else {
                    vec![generate2("AES", 256, "CIPHER", &[])]
                };
                let tokens = [("AES", 128), ("HMAC", 160)]
                    .map(|(algorithm, bits)| generate2(algorithm, bits, "TOKEN", &self.variable));
                [empty, tokens.to_vec()].concat()
            }
            Verb::EncryptedPinTranslate
            | Verb::EncryptedPinTranslate2
            | Verb::EncryptedPinVerify
            | Verb::EncryptedPinVerify2
            | Verb::RecoverPinFromOffset
            | Verb::ClearPinGenerate
            | Verb::ClearPinGenerateAlternate
            | Verb::EncryptedPinGenerate
            | Verb::ClearPinEncrypt
            | Verb::CvvGenerate
            | Verb::CvvVerify
            | Verb::TransactionValidation => self.pins.ways(verb, position, key),
            Verb::DiversifiedKeyGenerate
            | Verb::DiversifiedKeyGenerate2
            | Verb::EmvTransaction
            | Verb::DeriveIccMk
            | Verb::PinChangeUnblock
            | Verb::SecureMessagingForKeys
            | Verb::SecureMessagingForPins => self.chips.ways(verb, position, key, &self.exporter),
            Verb::Tr31KeyExport
            | Verb::Tr31KeyImport
            | Verb::Tr31KeyTokenParse
            | Verb::Tr31OptionalDataRead
            | Verb::CvvKeyCombine => self.ways_of_blocks(verb, position, key),
            Verb::UniqueKeyDerive => self.unique.ways(position),
            Verb::FormatPreservingEncipher => {
                vec![format_preserving::encipher(key, ("BASE10", b"", b"", b""), b"4012345678909123")]
            }
            Verb::FormatPreservingDecipher => {
                vec![format_preserving::decipher(key, ("BASE10", b"", b"", b""), b"4012345678909123")]
            }
            Verb::FormatPreservingTranslate => {
                let digits = ("BASE10", &b""[..], &b""[..], &b""[..]);
                [&self.variable_key, &self.only_translating]
                    .map(|other| {
                        let keys = (&other[..], &other[..]);
                        format_preserving::translate(keys, (digits, digits), b"4012345678909123")
                    })
                    .to_vec()
            }
            Verb::KeyPartImport2 => {
                ["HMAC", "AES"].map(|algorithm| part2(algorithm, &["FIRST"], &[1; 16], &[])).to_vec()
            }
            Verb::KeyTokenChange2 => {
                ["HMAC", "AES"].map(|algorithm| base.clone().rules(&["RTCMK", algorithm])).to_vec()
            }
            Verb::KeyTest2 if position == key_test2::KEK_KEY_IDENTIFIER => {
                let base = base.counted(
                    key_test2::KEY_IDENTIFIER_LENGTH,
                    key_test2::KEY_IDENTIFIER,
                    &self.external_mac,
                );
                let base = base.integer(key_test2::VERIFICATION_PATTERN_LENGTH, 16);
                let outside = base.clone().rules(&["AES", "GENERATE"]).counted(
                    key_test2::KEY_IDENTIFIER_LENGTH,
                    key_test2::KEY_IDENTIFIER,
                    self.under(key),
                );
                vec![outside, base.rules(&["DES", "GENERATE"])]
            }
            Verb::KeyTest2 => ["AES", "DES", "HMAC"]
                .map(|algorithm| {
                    base.clone()
                        .rules(&[algorithm, "GENERATE"])
                        .integer(key_test2::VERIFICATION_PATTERN_LENGTH, 16)
                        .counted(
                            key_test2::KEK_KEY_IDENTIFIER_LENGTH,
                            key_test2::KEK_KEY_IDENTIFIER,
                            &self.importer,
                        )
                })
                .to_vec(),
            Verb::RestrictKeyAttribute if position == restrict_key_attribute::KEK_KEY_IDENTIFIER => {
                use restrict_key_attribute::{KEY_IDENTIFIER, KEY_IDENTIFIER_LENGTH};
                let of = |algorithm: &str, token: &[u8]| {
                    base.clone().rules(&[algorithm]).counted(KEY_IDENTIFIER_LENGTH, KEY_IDENTIFIER, token)
                };
                vec![of("AES", &self.under(key)), of("DES", &self.external_mac)]
            }
            Verb::ProhibitExport2 if position == prohibit_export2::KEK_KEY_IDENTIFIER => {
                use prohibit_export2::{KEY_IDENTIFIER, KEY_IDENTIFIER_LENGTH};
                let of = |algorithm: &str, token: &[u8]| {
                    base.clone().rules(&[algorithm]).counted(KEY_IDENTIFIER_LENGTH, KEY_IDENTIFIER, token)
                };
                vec![of("AES", &self.under(key)), of("DES", &self.external_mac)]
            }
            Verb::RestrictKeyAttribute => ["AES", "DES", "HMAC"]
                .map(|algorithm| {
                    use restrict_key_attribute::{KEK_KEY_IDENTIFIER, KEK_KEY_IDENTIFIER_LENGTH};
                    let base = base.clone().rules(&[algorithm]);
                    base.counted(KEK_KEY_IDENTIFIER_LENGTH, KEK_KEY_IDENTIFIER, &self.importer)
                })
                .to_vec(),
            Verb::ProhibitExport2 => ["AES", "DES", "HMAC"]
                .map(|algorithm| {
                    use prohibit_export2::{KEK_KEY_IDENTIFIER, KEK_KEY_IDENTIFIER_LENGTH};
                    let base = base.clone().rules(&[algorithm]);
                    base.counted(KEK_KEY_IDENTIFIER_LENGTH, KEK_KEY_IDENTIFIER, &self.importer)
                })
                .to_vec(),
            Verb::KeyTranslate2 => {
                use key_translate2::*;
                let base = base.integer(OUTPUT_KEY_TOKEN_LENGTH, CAPACITY);
                let translated = base
                    .clone()
                    .counted(INPUT_KEY_TOKEN_LENGTH, INPUT_KEY_TOKEN, &self.external_mac)
                    .counted(INPUT_KEK_KEY_IDENTIFIER_LENGTH, INPUT_KEK_KEY_IDENTIFIER, &self.importer)
                    .counted(OUTPUT_KEK_KEY_IDENTIFIER_LENGTH, OUTPUT_KEK_KEY_IDENTIFIER, &self.exporter);
                match position {
                    INPUT_KEY_TOKEN => vec![
                        translated.clone(),
                        translated.clone().rules(&["REFORMAT"]),
                        translated.rules(&["V1PYLD"]),
                    ],
                    OUTPUT_KEY_TOKEN => {
                        let base = base.rules(&["AES", "REFORMAT"]);
                        vec![base.counted(INPUT_KEY_TOKEN_LENGTH, INPUT_KEY_TOKEN, &self.aes)]
                    }
                    INPUT_KEK_KEY_IDENTIFIER => {
                        let base = base.counted(INPUT_KEY_TOKEN_LENGTH, INPUT_KEY_TOKEN, self.under(key));
                        vec![base.rules(&["AES", "V1PYLD"]), translated]
                    }
                    OUTPUT_KEK_KEY_IDENTIFIER => {
                        let base =
                            base.counted(INPUT_KEY_TOKEN_LENGTH, INPUT_KEY_TOKEN, &self.external_variable);
                        let importer = &self.aes_importer;
                        vec![
                            translated,
                            base.counted(INPUT_KEK_KEY_IDENTIFIER_LENGTH, INPUT_KEK_KEY_IDENTIFIER, importer),
                        ]
                    }
                    _ => vec![translated],
                }
            }
            Verb::KeyTokenChange | Verb::PkaKeyTokenChange => vec![base.rules(&["RTCMK"])],
            Verb::KeyTest => vec![base.clone().rules(&["GENERATE"]), base.rules(&["GENERATE", "ENC-ZERO"])],
            Verb::KeyTestExtended => {
                let base = base.rules(&["GENERATE", "ENC-ZERO"]);
                let base = base.bytes(key_test_extended::KEY_IDENTIFIER, &self.external_mac);
                vec![base.bytes(key_test_extended::KEK_KEY_IDENTIFIER, &self.importer)]
            }
            Verb::KeyPartImport => {
                vec![
                    part(&[], "FIRST", &[1; 16]),
                    part(&[], "ADD-PART", &[2; 16]),
                    part(&[], "COMPLETE", &[]),
                ]
            }
            Verb::KeyImport => {
                let base = base.bytes(key_import::KEY_TYPE, "TOKEN   ");
                let base = base.bytes(key_import::SOURCE_KEY_TOKEN, &self.external_mac);
                let base = base.bytes(key_import::IMPORTER_KEY_IDENTIFIER, &self.importer);
                vec![base.bytes(key_import::TARGET_KEY_IDENTIFIER, [0; 64])]
            }
            Verb::DataKeyImport => {
                let base = base.bytes(data_key_import::SOURCE_KEY_TOKEN, &self.external_data);
                let base = base.bytes(data_key_import::IMPORTER_KEY_IDENTIFIER, &self.importer);
                vec![base.bytes(data_key_import::TARGET_KEY_IDENTIFIER, [0; 64])]
            }
            Verb::KeyExport => {
                let base = base.bytes(key_export::KEY_TYPE, "TOKEN   ");
                let base = base.bytes(key_export::SOURCE_KEY_IDENTIFIER, &self.data);
                vec![base.bytes(key_export::EXPORTER_KEY_IDENTIFIER, &self.exporter)]
            }
            Verb::DataKeyExport => {
                let base = base.bytes(data_key_export::SOURCE_KEY_IDENTIFIER, &self.data);
                vec![base.bytes(data_key_export::EXPORTER_KEY_IDENTIFIER, &self.exporter)]
            }
            Verb::KeyTranslate => {
                let base = base.bytes(key_translate::INPUT_KEY_TOKEN, &self.external_mac);
                let base = base.bytes(key_translate::INPUT_KEK_KEY_IDENTIFIER, &self.importer);
                vec![base.bytes(key_translate::OUTPUT_KEK_KEY_IDENTIFIER, &self.exporter)]
            }
            Verb::ProhibitExport => vec![base],
            Verb::ProhibitExportExtended => {
                let base = base.bytes(prohibit_export_extended::SOURCE_KEY_TOKEN, &self.external_mac);
                vec![base.bytes(prohibit_export_extended::KEK_KEY_IDENTIFIER, &self.exporter)]
            }
            Verb::ClearKeyImport => vec![base.bytes(clear_key_import::CLEAR_KEY, [1; 8])],
            Verb::ClearKeyImportMultiple => ["DES", "AES"]
                .map(|algorithm| {
                    use clear_key_import_multiple::{CLEAR_KEY, CLEAR_KEY_LENGTH};
                    base.clone().rules(&[algorithm]).counted(CLEAR_KEY_LENGTH, CLEAR_KEY, [1; 16])
                })
                .to_vec(),
            Verb::Encipher => {
                let base = base.counted(encipher::TEXT_LENGTH, encipher::PLAINTEXT, TEXT);
                vec![base.bytes(encipher::INITIALIZATION_VECTOR, [0; 8]).integer(encipher::PAD_CHARACTER, 0)]
            }
            Verb::Decipher => {
                let base = base.counted(decipher::TEXT_LENGTH, decipher::CIPHERTEXT, TEXT);
                vec![base.bytes(decipher::INITIALIZATION_VECTOR, [0; 8])]
            }
            Verb::SymmetricAlgorithmEncipher => {
                use symmetric_algorithm_encipher::{
                    BLOCK_SIZE, CIPHER_TEXT_LENGTH, CLEAR_TEXT, CLEAR_TEXT_LENGTH,
                };
                let base = base.rules(&["AES", "ECB", "KEYIDENT"]).integer(BLOCK_SIZE, 16);
                vec![base.counted(CLEAR_TEXT_LENGTH, CLEAR_TEXT, TEXT).integer(CIPHER_TEXT_LENGTH, 16)]
            }
            Verb::SymmetricAlgorithmDecipher => {
                use symmetric_algorithm_decipher::{
                    BLOCK_SIZE, CIPHER_TEXT, CIPHER_TEXT_LENGTH, CLEAR_TEXT_LENGTH,
                };
                let base = base.rules(&["AES", "ECB", "KEYIDENT"]).integer(BLOCK_SIZE, 16);
                vec![base.counted(CIPHER_TEXT_LENGTH, CIPHER_TEXT, TEXT).integer(CLEAR_TEXT_LENGTH, 16)]
            }
            Verb::MacGenerate => {
                ["X9.9-1", "CMAC", "X9.19OPT"].map(|method| mac(&[], &[method], &TEXT)).to_vec()
            }
            Verb::MacGenerate2 => [&["AES"][..], &["HMAC", "SHA-256"], &["HMAC", "SHA-512"]]
                .map(|keywords| mac2(&[], keywords, &TEXT))
                .to_vec(),
            Verb::MacVerify2 => [&["AES"][..], &["HMAC", "SHA-256"], &["HMAC", "SHA-512"]]
                .map(|keywords| verify_mac2(&[], keywords, &TEXT, &[0; 16]))
                .to_vec(),
            Verb::CipherTextTranslate2 => {
                let is_input = position == cipher_text_translate2::KEY_IDENTIFIER_IN;
                let algorithms = [("DES", "CBC"), ("AES", "CBC"), ("AES", "ECB")];
                let partners = [&self.data, &self.translating];
                let ways = algorithms.into_iter().flat_map(|(algorithm, method)| {
                    partners.map(|partner| {
                        let vector = vec![0; if algorithm == "DES" { 8 } else { 16 }];
                        let (key, method) = if is_input {
                            (format!("IKEY-{algorithm}"), format!("I-{method}"))
                        } else {
                            (format!("OKEY-{algorithm}"), format!("O-{method}"))
                        };
                        let partner = (&partner[..], &[0; 8][..]);
                        if is_input {
                            let words = [&key, &method, "OKEY-DES", "O-CBC"];
                            translate(&words, (&[], &vector), partner, &TEXT)
                        } else {
                            let words = [&key, &method, "IKEY-DES", "I-CBC"];
                            translate(&words, partner, (&[], &vector), &TEXT)
                        }
                    })
                });
                ways.collect()
            }
            Verb::CryptographicVariableEncipher => {
                use cryptographic_variable_encipher::{INIT_VECTOR, PLAIN_TEXT, TEXT_LENGTH};
                vec![base.counted(TEXT_LENGTH, PLAIN_TEXT, TEXT).bytes(INIT_VECTOR, [0; 8])]
            }
            Verb::KeyEncryptionTranslate => {
                use key_encryption_translate::{KEY_IN, KEY_IN_LENGTH, KEY_OUT_LENGTH};
                let skeleton =
                    DesToken::skeleton(Origin::External, KeyForm::Double, ControlVector::ZERO).unwrap();
                let token = skeleton.with_key([0; 8], &[7; 16]).unwrap().to_bytes();
                let base = base.integer(KEY_OUT_LENGTH, 64);
                let token = base.clone().rules(&["ECBTOCBC"]).counted(KEY_IN_LENGTH, KEY_IN, token);
                vec![base.rules(&["CBCTOECB"]).counted(KEY_IN_LENGTH, KEY_IN, TEXT), token]
            }
            Verb::HmacGenerate => ["SHA-256", "SHA-512"].map(|method| hmac(&[], &[method], &TEXT)).to_vec(),
            Verb::HmacVerify => {
                let ways = [("SHA-256", 32), ("SHA-512", 64)];
                ways.map(|(method, bytes)| verify_hmac(&[], &[method], &TEXT, &vec![0; bytes])).to_vec()
            }
            Verb::MacVerify => {
                let ways = ["X9.9-1", "CMAC", "X9.19OPT"];
                ways.map(|method| verify(&[], &[method, "MACLEN8"], &TEXT, &[0; 8])).to_vec()
            }
            Verb::PkaKeyGenerate if position == pka_key_generate::TRANSPORT_KEY_IDENTIFIER => {
                vec![generate_under(&self.curve_skeleton, &[]), generate_under(&self.crt_skeleton, &[])]
            }
            Verb::PkaKeyGenerate => {
                use pka_key_generate::{
                    GENERATED_KEY_IDENTIFIER_LENGTH, SKELETON_KEY_TOKEN, SKELETON_KEY_TOKEN_LENGTH,
                    TRANSPORT_KEY_IDENTIFIER,
                };
                let base = base.counted(SKELETON_KEY_TOKEN_LENGTH, SKELETON_KEY_TOKEN, &self.skeleton);
                let base = base.integer(GENERATED_KEY_IDENTIFIER_LENGTH, CAPACITY);
                vec![base.bytes(TRANSPORT_KEY_IDENTIFIER, [0; 64])]
            }
            Verb::PkaKeyImport if position == pka_key_import::IMPORTER_KEY_IDENTIFIER => {
                vec![import_under(&self.curve_under(key), &[]), import_under(&self.external_rsa, &[])]
            }
            Verb::PkaKeyImport => {
                use pka_key_import::{
                    IMPORTER_KEY_IDENTIFIER, SOURCE_KEY_TOKEN, SOURCE_KEY_TOKEN_LENGTH,
                    TARGET_KEY_IDENTIFIER_LENGTH,
                };
                let base = base.counted(SOURCE_KEY_TOKEN_LENGTH, SOURCE_KEY_TOKEN, &self.clear);
                let base = base.integer(TARGET_KEY_IDENTIFIER_LENGTH, CAPACITY);
                vec![base.bytes(IMPORTER_KEY_IDENTIFIER, [0; 64])]
            }
            Verb::PkaKeyTranslate => {
                let (from, to) = (&self.private_importer, &self.aes_exporter);
                let outside = translate_pka("EXTDWAKW", &self.translatable_rsa, from, to);
                match position {
                    pka_key_translate::SOURCE_KEY_IDENTIFIER => {
                        vec![outside, translate_pka("INTDWAKW", &[], &[], &[])]
                    }
                    _ => vec![outside],
                }
            }
            Verb::PkaPublicKeyExtract => {
                vec![base.integer(pka_public_key_extract::TARGET_KEY_TOKEN_LENGTH, CAPACITY)]
            }
            Verb::PkaEncrypt => {
                let base = base.rules(&["PKCS-1.2"]).integer(pka_encrypt::RSA_ENCIPHER_LENGTH, CAPACITY);
                vec![base.counted(pka_encrypt::KEY_VALUE_LENGTH, pka_encrypt::KEY_VALUE, TEXT)]
            }
            Verb::PkaDecrypt => {
                use pka_decrypt::{ENCIPHERED_KEY, ENCIPHERED_KEY_LENGTH};
                let base = base.rules(&["PKCS-1.2"]).integer(pka_decrypt::KEY_VALUE_LENGTH, CAPACITY);
                vec![base.counted(ENCIPHERED_KEY_LENGTH, ENCIPHERED_KEY, &self.enciphered_text)]
            }
            Verb::TlsPremaster => {
                let position = tls_premaster::ENCRYPTED_PREMASTER;
                vec![base.counted(tls_premaster::ENCRYPTED_PREMASTER_LENGTH, position, &self.enciphered_text)]
            }
            Verb::DigitalSignatureGenerate => {
                use digital_signature_generate::{HASH, HASH_LENGTH, SIGNATURE_FIELD_LENGTH};
                let base = base.integer(SIGNATURE_FIELD_LENGTH, CAPACITY);
                let curve = base.clone().rules(&["ECDSA"]).counted(HASH_LENGTH, HASH, [7; 32]);
                vec![curve, base.rules(&["PKCS-1.1"]).counted(HASH_LENGTH, HASH, digest_info())]
            }
            Verb::DigitalSignatureVerify => {
                use digital_signature_verify::{HASH, HASH_LENGTH, SIGNATURE_FIELD, SIGNATURE_FIELD_LENGTH};
                let curve = base.clone().rules(&["ECDSA"]).counted(HASH_LENGTH, HASH, [7; 32]);
                let curve = curve.counted(SIGNATURE_FIELD_LENGTH, SIGNATURE_FIELD, [1; 64]);
                let base = base.rules(&["PKCS-1.1"]).counted(HASH_LENGTH, HASH, digest_info());
                vec![curve, base.counted(SIGNATURE_FIELD_LENGTH, SIGNATURE_FIELD, &self.signature)]
            }
            Verb::EcDiffieHellman => {
                use ec_diffie_hellman::*;
                let agreed = |private: &[u8], output: &[u8]| {
                    base.clone()
                        .rules(&["DERIV02", "SHA-256"])
                        .counted(PRIVATE_KEY_IDENTIFIER_LENGTH, PRIVATE_KEY_IDENTIFIER, private)
                        .counted(PUBLIC_KEY_IDENTIFIER_LENGTH, PUBLIC_KEY_IDENTIFIER, &self.deriving[0])
                        .integer(KEY_BIT_LENGTH, 128)
                        .integer(OUTPUT_KEY_IDENTIFIER_LENGTH, CAPACITY)
                        .bytes(OUTPUT_KEY_IDENTIFIER, output)
                };
                match position {
                    PRIVATE_KEK_KEY_IDENTIFIER => {
                        let passing = agreed(&self.curve_under(key), &[]).rules(&["PASSTHRU"]);
                        vec![passing.points(&PointSet::EVERYTHING), agreed(&self.deriving_outside, &[])]
                    }
                    OUTPUT_KEK_KEY_IDENTIFIER => vec![
                        agreed(&self.deriving[1], &self.external_variable),
                        agreed(&self.deriving[2], &self.external_data),
                    ],
                    _ => self.deriving.iter().map(|private| agreed(private, &[])).collect(),
                }
            }
            Verb::SymmetricKeyExport => {
                use symmetric_key_export::{
                    RSA_ENCIPHERED_KEY_LENGTH, RSA_PUBLIC_KEY_IDENTIFIER, RSA_PUBLIC_KEY_IDENTIFIER_LEN,
                    SOURCE_KEY_IDENTIFIER, SOURCE_KEY_IDENTIFIER_LENGTH,
                };
                let blocks = ["DES", "AES"].map(|algorithm| {
                    let base = base.clone().rules(&[algorithm, "PKCS-1.2"]);
                    let base = base.integer(RSA_ENCIPHERED_KEY_LENGTH, CAPACITY);
                    base.counted(RSA_PUBLIC_KEY_IDENTIFIER_LEN, RSA_PUBLIC_KEY_IDENTIFIER, &self.public)
                        .counted(SOURCE_KEY_IDENTIFIER_LENGTH, SOURCE_KEY_IDENTIFIER, &self.data)
                });
                let tokens = ["AES", "HMAC"]
                    .map(|algorithm| export2(algorithm, &self.variable_key, &self.aes_exporter));
                [blocks, tokens].concat()
            }
            Verb::SymmetricKeyImport2 => {
                // Under the key that is tried, where that is one: no other opens it.
                let source = if position == symmetric_key_import2::RSA_PRIVATE_KEY_IDENTIFIER {
                    self.under(key)
                } else {
                    self.external_variable.clone()
                };
                let under_rsa = import2("HMAC", &self.external_hmac, &self.transport);
                vec![under_rsa.rules(&["HMAC", "PKOAEP2"]), import2("AES", &source, &self.aes_importer)]
            }
            Verb::SymmetricKeyImport => {
                use symmetric_key_import::{
                    RSA_ENCIPHERED_KEY, RSA_ENCIPHERED_KEY_LENGTH, RSA_PRIVATE_KEY_IDENTIFIER,
                    RSA_PRIVATE_KEY_IDENTIFIER_LEN, TARGET_KEY_IDENTIFIER_LENGTH,
                };
                let base = base.rules(&["DES", "PKCS-1.2"]).integer(TARGET_KEY_IDENTIFIER_LENGTH, 64);
                let base = base.counted(RSA_ENCIPHERED_KEY_LENGTH, RSA_ENCIPHERED_KEY, &self.enciphered_key);
                vec![base.counted(
                    RSA_PRIVATE_KEY_IDENTIFIER_LEN,
                    RSA_PRIVATE_KEY_IDENTIFIER,
                    &self.transport,
                )]
            }
            Verb::SymmetricKeyGenerate if position == symmetric_key_generate::KEY_ENCRYPTING_KEY => {
                ["EX", "IM"].map(|form| generate_for(&["PKCS-1.2", form], &self.public)).to_vec()
            }
            Verb::SymmetricKeyGenerate => vec![generate_for(&["PKCS-1.2"], &self.public)],
            other => panic!("{other:?} takes a key: say here how it is asked"),
        };
        let parameter = &verb.entry().parameters[position];
        requests
            .into_iter()
            .map(|request| with_key(request, verb.entry(), position, parameter, key))
            .collect()
    }

    /// A CIPHER key under the key of a token of variable length; under the key-encrypting keys where that is none.
    pub fn under(&self, token: &[u8]) -> Vec<u8> {
        let wraps = |token: &VariableToken| matches!(token.key(), VariableKey::Wrapped { .. });
        let kek = VariableToken::parse(token).ok().filter(wraps);
        match kek.and_then(|_| unwrapped(&aes_key(false), token)) {
            Some(kek) => {
                let attributes = variable::Attributes::new(VariableType::Cipher, [], None).unwrap();
                made(&kek, &attributes, PayloadVersion::Variable, &TEXT)
            }
            None => self.external_variable.clone(),
        }
    }

    /// A key of a curve under the key of a token of variable length; the RSA key under the key-encrypting key of DES
    /// where that is none.
    fn curve_under(&self, token: &[u8]) -> Vec<u8> {
        let wraps = |token: &VariableToken| matches!(token.key(), VariableKey::Wrapped { .. });
        let kek = VariableToken::parse(token).ok().filter(wraps);
        match kek.and_then(|_| unwrapped(&aes_key(false), token)) {
            Some(kek) => foreign_ecc(&kek, None),
            None => self.external_rsa.clone(),
        }
    }

    /// What became of a key in one place: the best of the ways.
    pub fn cell(&mut self, verb: Verb, position: usize, key: &[u8]) -> (u32, u32) {
        let mut best = (u32::MAX, 0);
        for request in self.ways(verb, position, key) {
            let codes = request.run(&mut self.processor).codes;
            let found =
                (u32::try_from(codes.return_code).unwrap(), u32::try_from(codes.reason_code).unwrap());
            // A value that does not verify was verified.
            best = best.min(if found.0 < 8 { (0, 0) } else { found });
        }
        best
    }
}

/// Puts a key into a place, as long as the place is or as long as the key is.
fn with_key(request: Request, entry: &Entry, position: usize, parameter: &Parameter, key: &[u8]) -> Request {
    match parameter.kind {
        Kind::Key { length: Length::By(by), .. } if entry.parameters[by].direction == Direction::In => {
            request.counted(by, position, key)
        }
        Kind::Key { length: Length::Fixed(bytes), .. } => {
            let mut field = key.to_vec();
            field.resize(bytes, 0);
            request.bytes(position, field)
        }
        _ => request.bytes(position, key),
    }
}

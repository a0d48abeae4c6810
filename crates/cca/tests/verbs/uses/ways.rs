//! The requests: how each verb is asked so that all but the key that is tried is right.

use cca::Processor;
use openssl::hash::{MessageDigest, hash};
use token::control_vector::KeyForm;
use token::des::Origin;
use token::pka::{Form, KeyValues, Usage};
use token::variable::{self, PayloadVersion, VariableKey, VariableType};
use token::{ControlVector, DesToken, VariableToken};
use wire::point::PointSet;
use wire::verb::{
    Direction, Entry, Kind, Length, Parameter, Verb, cipher_text_translate2, clear_key_import,
    clear_key_import_multiple, cryptographic_variable_encipher, data_key_export, data_key_import, decipher,
    digital_signature_generate, digital_signature_verify, ec_diffie_hellman, encipher, hmac_generate,
    hmac_verify, key_encryption_translate, key_export, key_generate, key_generate2, key_import,
    key_part_import2, key_test_extended, key_translate, mac_generate2, mac_verify2, pka_decrypt, pka_encrypt,
    pka_key_generate, pka_key_import, pka_key_token_build, pka_public_key_extract, prohibit_export_extended,
    symmetric_algorithm_decipher, symmetric_algorithm_encipher, symmetric_key_export, symmetric_key_generate,
    symmetric_key_import, symmetric_key_import2, tls_premaster,
};
use wire::verb::{key_test2, key_translate2, pka_key_translate, prohibit_export2, restrict_key_attribute};

use super::pins::PinKeys;
use super::wrapped::{made, unwrapped};
use crate::chip::Chips;
use crate::format_preserving;
use crate::pka_transport_aes::book::foreign_ecc;
use crate::support::{Request, aes_key, entered, generate, imported, mac, part, processor, verify};
use crate::unique::Tried;

const RSA_BITS: usize = 1024;
const CAPACITY: i64 = 2500;
const TEXT: [u8; 16] = *b"sixteen bytes...";

/// What requests need beside the key that is tried: all of one RSA key.
pub struct Others {
    pub processor: Processor,
    /// A clear private key that may sign and decipher.
    pub clear: Vec<u8>,
    /// Its public part.
    pub public: Vec<u8>,
    /// The same key under the master key, for signatures and data.
    pub management: Vec<u8>,
    /// The same key under the master key, for keys.
    pub transport: Vec<u8>,
    /// The same key under the master key, for TLS.
    pub tls: Vec<u8>,
    /// What asks for a key like it.
    pub skeleton: Vec<u8>,
    enciphered_text: Vec<u8>,
    enciphered_key: Vec<u8>,
    signature: Vec<u8>,
    /// A DATA key of DES, of double length.
    pub data: Vec<u8>,
    /// Key-encrypting keys of one value, for every use of their side.
    pub importer: Vec<u8>,
    pub exporter: Vec<u8>,
    /// A MAC key and a DATA key under that value.
    pub external_mac: Vec<u8>,
    pub external_data: Vec<u8>,
    /// What asks for an RSA key under a transport key, and such a key under that value.
    crt_skeleton: Vec<u8>,
    external_rsa: Vec<u8>,
    pub translatable_rsa: Vec<u8>,
    private_importer: Vec<u8>,
    /// A CIPHER skeleton of variable length.
    pub variable: Vec<u8>,
    /// Keys of a curve that DATA keys of AES, CIPHER keys of AES, and DATA keys of DES of 128 bits are derived with.
    pub deriving: [Vec<u8>; 3],
    /// AES key-encrypting keys of one value, for every use of their side.
    curve_skeleton: Vec<u8>,
    deriving_outside: Vec<u8>,
    pub aes_importer: Vec<u8>,
    pub aes_exporter: Vec<u8>,
    /// A CIPHER key, and the same under that value.
    pub variable_key: Vec<u8>,
    /// A CIPHER key that only translates.
    only_translating: Vec<u8>,
    pub external_variable: Vec<u8>,
    /// An HMAC key under the RSA key.
    external_hmac: Vec<u8>,
    /// A key that translates texts, both ways.
    pub translating: Vec<u8>,
    /// A DATA key of AES.
    pub aes: Vec<u8>,
    /// Keys of PINs and of card verification values.
    pub pins: PinKeys,
    /// Keys of chip cards.
    pub chips: Chips,
    /// Base keys of transactions, and what they are tried with.
    pub unique: Tried,
    /// AES keys of that value that protect key blocks: EXPORTER, IMPORTER.
    pub aes_protecting: [Vec<u8>; 2],
    /// Key B of a pair for card verification values, of another value than key A.
    pub other_cvv_b: Vec<u8>,
}

/// A request for one key of variable length.
pub fn generate2(algorithm: &str, bits: i64, key_type: &str, target: &[u8]) -> Request {
    Request::new(Verb::KeyGenerate2)
        .rules(&[algorithm, "OP"])
        .integer(key_generate2::CLEAR_KEY_BIT_LENGTH, bits)
        .bytes(key_generate2::KEY_TYPE_1, format!("{key_type:8}"))
        .bytes(key_generate2::KEY_TYPE_2, "        ")
        .integer(key_generate2::GENERATED_KEY_IDENTIFIER_1_LENGTH, CAPACITY)
        .bytes(key_generate2::GENERATED_KEY_IDENTIFIER_1, target)
}

/// The value of the key-encrypting keys.
pub const TRANSPORT: [u8; 16] =
    [0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF, 0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE];

/// The value of the AES key-encrypting keys.
pub const AES_TRANSPORT: [u8; 32] = *b"what keys travel under, for all.";

fn digest_info() -> Vec<u8> {
    let digest = hash(MessageDigest::sha256(), &TEXT).unwrap();
    [&[0x30, 0x31, 0x30, 0x0D, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1, 5, 0, 4, 0x20][..], &digest[..]]
        .concat()
}

impl Others {
    /// Makes all of it.
    pub fn new() -> Self {
        let mut processor = processor();
        // Bits, lengths of n, e and d, then e: what asks for a key with exponent 65537.
        let structure = [&(RSA_BITS as u16).to_be_bytes()[..], &[0, 0, 0, 3, 0, 0, 1, 0, 1]].concat();
        assert!(matches!(KeyValues::modulus_exponent(&structure), Ok(KeyValues::Generate { .. })));
        let skeleton = Request::new(Verb::PkaKeyTokenBuild)
            .rules(&["RSA-AESM", "KEY-MGMT"])
            .counted(
                pka_key_token_build::KEY_VALUES_STRUCTURE_LENGTH,
                pka_key_token_build::KEY_VALUES_STRUCTURE,
                structure,
            )
            .integer(pka_key_token_build::TOKEN_LENGTH, CAPACITY)
            .ok(&mut processor)
            .bytes(pka_key_token_build::TOKEN);
        let clear = Request::new(Verb::PkaKeyGenerate)
            .rules(&["CLEAR"])
            .counted(
                pka_key_generate::SKELETON_KEY_TOKEN_LENGTH,
                pka_key_generate::SKELETON_KEY_TOKEN,
                &skeleton,
            )
            .bytes(pka_key_generate::TRANSPORT_KEY_IDENTIFIER, [0; 64])
            .integer(pka_key_generate::GENERATED_KEY_IDENTIFIER_LENGTH, CAPACITY)
            .ok(&mut processor)
            .bytes(pka_key_generate::GENERATED_KEY_IDENTIFIER);
        let public = public_part(&mut processor, &clear);
        let management = internal(&mut processor, &clear, Usage::KeyManagement);
        let transport = internal(&mut processor, &clear, Usage::KeyManagementOnly);
        let tls = internal(&mut processor, &clear, Usage::TlsOnly);
        let data = generate("DATA", "DOUBLE").ok(&mut processor);
        let data = data.bytes(key_generate::GENERATED_KEY_IDENTIFIER_1);
        let importer =
            entered(&mut processor, "IMPORTER", &["OPIM", "IMEX", "IMIM", "IMPORT", "XLATE"], &TRANSPORT);
        let exporter =
            entered(&mut processor, "EXPORTER", &["OPEX", "IMEX", "EXEX", "EXPORT", "XLATE"], &TRANSPORT);
        let exported = |processor: &mut Processor, token: &[u8]| {
            Request::new(Verb::KeyExport)
                .bytes(key_export::KEY_TYPE, "TOKEN   ")
                .bytes(key_export::SOURCE_KEY_IDENTIFIER, token)
                .bytes(key_export::EXPORTER_KEY_IDENTIFIER, &exporter)
                .ok(processor)
                .bytes(key_export::TARGET_KEY_TOKEN)
        };
        let mac_key = generate("MAC", "DOUBLE").ok(&mut processor);
        let mac_key = mac_key.bytes(key_generate::GENERATED_KEY_IDENTIFIER_1);
        let external_mac = exported(&mut processor, &mac_key);
        let external_data = exported(&mut processor, &data);
        let deriving = [[2, 1], [2, 4], [1, 1]]
            .map(|[algorithm, key_type]| derives(&mut processor, algorithm, key_type));
        let translating = generate("CIPHERXL", "DOUBLE").ok(&mut processor);
        let translating = translating.bytes(key_generate::GENERATED_KEY_IDENTIFIER_1);
        let aes = imported(&mut processor, "AES", &TEXT);
        let crt_skeleton = rsa_skeleton(&mut processor, "RSA-CRT", 512);
        let translatable = Request::new(Verb::PkaKeyTokenBuild)
            .rules(&["RSA-CRT", "KEY-MGMT", "XLATE-OK"])
            .counted(
                pka_key_token_build::KEY_VALUES_STRUCTURE_LENGTH,
                pka_key_token_build::KEY_VALUES_STRUCTURE,
                rsa_structure("RSA-CRT", 512),
            )
            .integer(pka_key_token_build::TOKEN_LENGTH, CAPACITY)
            .ok(&mut processor)
            .bytes(pka_key_token_build::TOKEN);
        let private_importer = entered(&mut processor, "IMP-PKA", &[], &TRANSPORT);
        let translatable_rsa = generate_under(&translatable, &private_importer)
            .ok(&mut processor)
            .bytes(pka_key_generate::GENERATED_KEY_IDENTIFIER);
        let external_rsa = generate_under(&crt_skeleton, &exporter).ok(&mut processor);
        let external_rsa = external_rsa.bytes(pka_key_generate::GENERATED_KEY_IDENTIFIER);
        let mut others = Self {
            curve_skeleton: curve_token(&mut processor, "KEY-MGMT", None),
            deriving_outside: Vec::new(),
            crt_skeleton,
            external_rsa,
            translatable_rsa,
            private_importer,
            pins: PinKeys::new(&mut processor),
            chips: Chips::new(&mut processor),
            unique: Tried::new(),
            other_cvv_b: entered(&mut processor, "MAC", &["SINGLE", "CVVKEY-B"], &crate::pin::OTHER),
            aes_protecting: [VariableType::Exporter, VariableType::Importer]
                .map(|key_type| entered2(&mut processor, key_type, &["WR-TR31"], &AES_TRANSPORT)),
            processor,
            aes,
            clear,
            public,
            management,
            tls,
            transport,
            skeleton,
            enciphered_text: Vec::new(),
            enciphered_key: Vec::new(),
            signature: Vec::new(),
            data,
            importer,
            exporter,
            external_mac,
            external_data,
            variable: skeleton_of(VariableType::Cipher, &["ANY-MODE"]),
            deriving,
            aes_importer: Vec::new(),
            aes_exporter: Vec::new(),
            variable_key: Vec::new(),
            only_translating: Vec::new(),
            external_variable: Vec::new(),
            external_hmac: Vec::new(),
            translating,
        };
        let processor = &mut others.processor;
        others.aes_importer = entered2(processor, VariableType::Importer, &[], &AES_TRANSPORT);
        others.aes_exporter = entered2(processor, VariableType::Exporter, &[], &AES_TRANSPORT);
        let key = generate2("AES", 128, "TOKEN", &others.variable).ok(processor);
        others.variable_key = key.bytes(key_generate2::GENERATED_KEY_IDENTIFIER_1);
        let words = ["FF1", "ENCRYPT", "DECRYPT", "C-XLATE"];
        others.only_translating = entered2(processor, VariableType::Cipher, &words, &AES_TRANSPORT[..16]);
        let exported = export2("AES", &others.variable_key, &others.aes_exporter).ok(processor);
        others.external_variable = exported.bytes(symmetric_key_export::RSA_ENCIPHERED_KEY);
        // Not stronger than the RSA key.
        let skeleton = skeleton_of(VariableType::Hmac, &["GENERATE"]);
        let key = generate2("HMAC", 80, "TOKEN", &skeleton).ok(processor);
        let key = key.bytes(key_generate2::GENERATED_KEY_IDENTIFIER_1);
        let exported =
            export2("HMAC", &key, &others.public).rules(&["HMAC", "PKOAEP2", "SHA-256"]).ok(processor);
        others.external_hmac = exported.bytes(symmetric_key_export::RSA_ENCIPHERED_KEY);
        let skeleton = deriving_skeleton(processor, 2, 4);
        let outside = generate_under(&skeleton, &others.aes_importer).ok(processor);
        others.deriving_outside = outside.bytes(pka_key_generate::GENERATED_KEY_IDENTIFIER);
        let public = others.public.clone();
        let request = others.ways(Verb::PkaEncrypt, pka_encrypt::RSA_PUBLIC_KEY, &public).remove(0);
        others.enciphered_text = request.ok(&mut others.processor).bytes(pka_encrypt::RSA_ENCIPHER);
        let data = others.data.clone();
        let position = symmetric_key_export::SOURCE_KEY_IDENTIFIER;
        let request = others.ways(Verb::SymmetricKeyExport, position, &data).remove(0);
        let exported = request.ok(&mut others.processor);
        others.enciphered_key = exported.bytes(symmetric_key_export::RSA_ENCIPHERED_KEY);
        let management = others.management.clone();
        let position = digital_signature_generate::PKA_PRIVATE_KEY_ID;
        let request = others.ways(Verb::DigitalSignatureGenerate, position, &management).pop().unwrap();
        let signed = request.ok(&mut others.processor);
        others.signature = signed.bytes(digital_signature_generate::SIGNATURE_FIELD);
        others
    }

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
            | Verb::CvvVerify => self.pins.ways(verb, position, key),
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
                ["X9.9-1", "CMAC", "X9.19OPT"].map(|method| verify(&[], &[method], &TEXT, &[0; 4])).to_vec()
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

    /// A key of a curve under the key of a token of variable length; the RSA key under the key-encrypting key of DES where that is none.
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

/// A skeleton of this kind.
pub fn rsa_skeleton(processor: &mut Processor, kind: &str, bits: u16) -> Vec<u8> {
    let structure = rsa_structure(kind, bits);
    Request::new(Verb::PkaKeyTokenBuild)
        .rules(&[kind, "KEY-MGMT"])
        .counted(
            pka_key_token_build::KEY_VALUES_STRUCTURE_LENGTH,
            pka_key_token_build::KEY_VALUES_STRUCTURE,
            structure,
        )
        .integer(pka_key_token_build::TOKEN_LENGTH, CAPACITY)
        .ok(processor)
        .bytes(pka_key_token_build::TOKEN)
}

/// The key-value structure of a key of this kind and length that is to be generated, with the exponent 65537.
fn rsa_structure(kind: &str, bits: u16) -> Vec<u8> {
    let mut structure = [&bits.to_be_bytes()[..], &[0, 0, 0, 3, 0, 0]].concat();
    if matches!(kind, "RSA-CRT" | "RSA-AESC") {
        structure.resize(18, 0);
    }
    structure.extend_from_slice(&[1, 0, 1]);
    structure
}

/// A request for a key under a transport key.
pub fn generate_under(skeleton: &[u8], transport: &[u8]) -> Request {
    Request::new(Verb::PkaKeyGenerate)
        .rules(&["XPORT"])
        .counted(pka_key_generate::SKELETON_KEY_TOKEN_LENGTH, pka_key_generate::SKELETON_KEY_TOKEN, skeleton)
        .bytes(pka_key_generate::TRANSPORT_KEY_IDENTIFIER, transport)
        .integer(pka_key_generate::GENERATED_KEY_IDENTIFIER_LENGTH, CAPACITY)
}

/// A request to import a key.
pub fn import_under(source: &[u8], importer: &[u8]) -> Request {
    Request::new(Verb::PkaKeyImport)
        .counted(pka_key_import::SOURCE_KEY_TOKEN_LENGTH, pka_key_import::SOURCE_KEY_TOKEN, source)
        .bytes(pka_key_import::IMPORTER_KEY_IDENTIFIER, importer)
        .integer(pka_key_import::TARGET_KEY_IDENTIFIER_LENGTH, CAPACITY)
}

/// A request to translate a private key.
pub fn translate_pka(keyword: &str, source: &[u8], from: &[u8], to: &[u8]) -> Request {
    use pka_key_translate::{
        SOURCE_KEY_IDENTIFIER, SOURCE_KEY_IDENTIFIER_LENGTH, SOURCE_TRANSPORT_KEY_IDENTIFIER,
        SOURCE_TRANSPORT_KEY_IDENTIFIER_LENGTH, TARGET_KEY_TOKEN_LENGTH, TARGET_TRANSPORT_KEY_IDENTIFIER,
        TARGET_TRANSPORT_KEY_IDENTIFIER_LENGTH,
    };
    Request::new(Verb::PkaKeyTranslate)
        .rules(&[keyword])
        .counted(SOURCE_KEY_IDENTIFIER_LENGTH, SOURCE_KEY_IDENTIFIER, source)
        .counted(SOURCE_TRANSPORT_KEY_IDENTIFIER_LENGTH, SOURCE_TRANSPORT_KEY_IDENTIFIER, from)
        .counted(TARGET_TRANSPORT_KEY_IDENTIFIER_LENGTH, TARGET_TRANSPORT_KEY_IDENTIFIER, to)
        .integer(TARGET_KEY_TOKEN_LENGTH, CAPACITY)
}

/// A request for a key under this RSA key.
pub fn generate_for(words: &[&str], rsa: &[u8]) -> Request {
    Request::new(Verb::SymmetricKeyGenerate)
        .rules(words)
        .bytes(symmetric_key_generate::KEY_ENCRYPTING_KEY, [0; 64])
        .counted(symmetric_key_generate::RSAPUB_KEY_LENGTH, symmetric_key_generate::RSAPUB_KEY, rsa)
        .integer(symmetric_key_generate::LOCENC_KEY_LENGTH, 64)
        .bytes(symmetric_key_generate::LOCENC_KEY, [0; 64])
        .integer(symmetric_key_generate::RSAENC_KEY_LENGTH, 512)
}

/// A request to import a part of a key.
pub fn part2(algorithm: &str, keywords: &[&str], value: &[u8], token: &[u8]) -> Request {
    Request::new(Verb::KeyPartImport2)
        .rules(&[&[algorithm], keywords].concat())
        .integer(key_part_import2::CLEAR_KEY_PART_LENGTH, 8 * value.len() as i64)
        .bytes(key_part_import2::CLEAR_KEY_PART, value)
        .integer(key_part_import2::KEY_IDENTIFIER_LENGTH, CAPACITY)
        .bytes(key_part_import2::KEY_IDENTIFIER, token)
}

/// The token of a key of a known value, entered in one part.
pub fn entered2(
    processor: &mut Processor,
    key_type: VariableType,
    keywords: &[&str],
    value: &[u8],
) -> Vec<u8> {
    let algorithm = if key_type.is_aes() { "AES" } else { "HMAC" };
    let first = part2(algorithm, &["FIRST", "MIN1PART"], value, &skeleton_of(key_type, keywords));
    let token = first.ok(processor).bytes(key_part_import2::KEY_IDENTIFIER);
    part2(algorithm, &["COMPLETE"], &[], &token).ok(processor).bytes(key_part_import2::KEY_IDENTIFIER)
}

/// A request to export a key of variable length under an AES key.
pub fn export2(algorithm: &str, source: &[u8], kek: &[u8]) -> Request {
    use symmetric_key_export::{
        RSA_ENCIPHERED_KEY_LENGTH, RSA_PUBLIC_KEY_IDENTIFIER, RSA_PUBLIC_KEY_IDENTIFIER_LEN,
        SOURCE_KEY_IDENTIFIER, SOURCE_KEY_IDENTIFIER_LENGTH,
    };
    Request::new(Verb::SymmetricKeyExport)
        .rules(&[algorithm, "AESKW"])
        .counted(SOURCE_KEY_IDENTIFIER_LENGTH, SOURCE_KEY_IDENTIFIER, source)
        .counted(RSA_PUBLIC_KEY_IDENTIFIER_LEN, RSA_PUBLIC_KEY_IDENTIFIER, kek)
        .integer(RSA_ENCIPHERED_KEY_LENGTH, CAPACITY)
}

/// A request to import the key of an external token under an AES key.
pub fn import2(algorithm: &str, source: &[u8], kek: &[u8]) -> Request {
    use symmetric_key_import2::{
        RSA_ENCIPHERED_KEY, RSA_ENCIPHERED_KEY_LENGTH, RSA_PRIVATE_KEY_IDENTIFIER,
        RSA_PRIVATE_KEY_IDENTIFIER_LENGTH, TARGET_KEY_IDENTIFIER_LENGTH,
    };
    Request::new(Verb::SymmetricKeyImport2)
        .rules(&[algorithm, "AESKW"])
        .counted(RSA_ENCIPHERED_KEY_LENGTH, RSA_ENCIPHERED_KEY, source)
        .counted(RSA_PRIVATE_KEY_IDENTIFIER_LENGTH, RSA_PRIVATE_KEY_IDENTIFIER, kek)
        .integer(TARGET_KEY_IDENTIFIER_LENGTH, CAPACITY)
}

/// A request for an HMAC, with room for the longest.
pub fn hmac(token: &[u8], keywords: &[&str], text: &[u8]) -> Request {
    Request::new(Verb::HmacGenerate)
        .rules(&[&["HMAC"], keywords].concat())
        .counted(hmac_generate::KEY_IDENTIFIER_LENGTH, hmac_generate::KEY_IDENTIFIER, token)
        .counted(hmac_generate::MESSAGE_TEXT_LENGTH, hmac_generate::MESSAGE_TEXT, text)
        .counted(hmac_generate::CHAINING_VECTOR_LENGTH, hmac_generate::CHAINING_VECTOR, [0; 128])
        .integer(hmac_generate::MAC_LENGTH, 64)
}

/// A request to verify an HMAC.
pub fn verify_hmac(token: &[u8], keywords: &[&str], text: &[u8], mac: &[u8]) -> Request {
    Request::new(Verb::HmacVerify)
        .rules(&[&["HMAC"], keywords].concat())
        .counted(hmac_verify::KEY_IDENTIFIER_LENGTH, hmac_verify::KEY_IDENTIFIER, token)
        .counted(hmac_verify::MESSAGE_TEXT_LENGTH, hmac_verify::MESSAGE_TEXT, text)
        .counted(hmac_verify::CHAINING_VECTOR_LENGTH, hmac_verify::CHAINING_VECTOR, [0; 128])
        .counted(hmac_verify::MAC_LENGTH, hmac_verify::MAC_TEXT, mac)
}

/// A request for a MAC by MAC_Generate2, with room for the longest.
pub fn mac2(token: &[u8], keywords: &[&str], text: &[u8]) -> Request {
    Request::new(Verb::MacGenerate2)
        .rules(keywords)
        .counted(mac_generate2::KEY_IDENTIFIER_LENGTH, mac_generate2::KEY_IDENTIFIER, token)
        .counted(mac_generate2::MESSAGE_TEXT_LENGTH, mac_generate2::MESSAGE_TEXT, text)
        .counted(mac_generate2::CHAINING_VECTOR_LENGTH, mac_generate2::CHAINING_VECTOR, [0; 128])
        .integer(mac_generate2::MAC_LENGTH, 64)
}

/// A request to verify one.
pub fn verify_mac2(token: &[u8], keywords: &[&str], text: &[u8], mac: &[u8]) -> Request {
    Request::new(Verb::MacVerify2)
        .rules(keywords)
        .counted(mac_verify2::KEY_IDENTIFIER_LENGTH, mac_verify2::KEY_IDENTIFIER, token)
        .counted(mac_verify2::MESSAGE_TEXT_LENGTH, mac_verify2::MESSAGE_TEXT, text)
        .counted(mac_verify2::CHAINING_VECTOR_LENGTH, mac_verify2::CHAINING_VECTOR, [0; 128])
        .counted(mac_verify2::MAC_LENGTH, mac_verify2::MAC_TEXT, mac)
}

/// A request to put a text from under one key, with its vector, under another.
pub fn translate(keywords: &[&str], from: (&[u8], &[u8]), to: (&[u8], &[u8]), text: &[u8]) -> Request {
    use cipher_text_translate2::{
        CIPHER_TEXT_IN, CIPHER_TEXT_IN_LENGTH, CIPHER_TEXT_OUT_LENGTH, INIT_VECTOR_IN, INIT_VECTOR_IN_LENGTH,
        INIT_VECTOR_OUT, INIT_VECTOR_OUT_LENGTH, KEY_IDENTIFIER_IN, KEY_IDENTIFIER_IN_LENGTH,
        KEY_IDENTIFIER_OUT, KEY_IDENTIFIER_OUT_LENGTH,
    };
    Request::new(Verb::CipherTextTranslate2)
        .rules(keywords)
        .counted(KEY_IDENTIFIER_IN_LENGTH, KEY_IDENTIFIER_IN, from.0)
        .counted(INIT_VECTOR_IN_LENGTH, INIT_VECTOR_IN, from.1)
        .counted(CIPHER_TEXT_IN_LENGTH, CIPHER_TEXT_IN, text)
        .counted(KEY_IDENTIFIER_OUT_LENGTH, KEY_IDENTIFIER_OUT, to.0)
        .counted(INIT_VECTOR_OUT_LENGTH, INIT_VECTOR_OUT, to.1)
        .integer(CIPHER_TEXT_OUT_LENGTH, CAPACITY)
}

/// A skeleton of variable length.
pub fn skeleton_of(key_type: VariableType, keywords: &[&str]) -> Vec<u8> {
    let attributes = variable::Attributes::new(key_type, keywords.iter().copied(), None).unwrap();
    let payload = VariableToken::default_payload(key_type);
    VariableToken::skeleton(Origin::Internal, payload, attributes).unwrap().to_bytes().to_vec()
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

/// A P-256 key with which keys of 128 bits of this algorithm and type are derived.
fn derives(processor: &mut Processor, algorithm: u8, key_type: u8) -> Vec<u8> {
    let skeleton = deriving_skeleton(processor, algorithm, key_type);
    curve_key(processor, &skeleton, "MASTER")
}

/// What asks for a P-256 key that derives keys of 128 bits of this algorithm and type.
pub fn deriving_skeleton(processor: &mut Processor, algorithm: u8, key_type: u8) -> Vec<u8> {
    use pka_key_token_build::{KEY_DERIVATION_DATA, KEY_DERIVATION_DATA_LENGTH};
    curve_skeleton("KM-ONLY")
        .rules(&["ECC-PAIR", "KM-ONLY", "ECC-VER1"])
        .counted(KEY_DERIVATION_DATA_LENGTH, KEY_DERIVATION_DATA, [algorithm, key_type, 0, 128])
        .ok(processor)
        .bytes(pka_key_token_build::TOKEN)
}

/// A P-256 key of this usage, or what asks for one.
pub fn curve_token(processor: &mut Processor, usage: &str, output: Option<&str>) -> Vec<u8> {
    let skeleton = curve_skeleton(usage).ok(processor).bytes(pka_key_token_build::TOKEN);
    match output {
        Some(output) => curve_key(processor, &skeleton, output),
        None => skeleton,
    }
}

/// A request for what asks for a P-256 key of this usage.
fn curve_skeleton(usage: &str) -> Request {
    use pka_key_token_build::{KEY_VALUES_STRUCTURE, KEY_VALUES_STRUCTURE_LENGTH, TOKEN_LENGTH};
    Request::new(Verb::PkaKeyTokenBuild)
        .rules(&["ECC-PAIR", usage])
        .counted(KEY_VALUES_STRUCTURE_LENGTH, KEY_VALUES_STRUCTURE, [0, 0, 1, 0, 0, 0, 0, 0])
        .integer(TOKEN_LENGTH, CAPACITY)
}

/// A key that a token asks for.
fn curve_key(processor: &mut Processor, skeleton: &[u8], output: &str) -> Vec<u8> {
    use pka_key_generate::{
        GENERATED_KEY_IDENTIFIER, GENERATED_KEY_IDENTIFIER_LENGTH, SKELETON_KEY_TOKEN,
        SKELETON_KEY_TOKEN_LENGTH, TRANSPORT_KEY_IDENTIFIER,
    };
    Request::new(Verb::PkaKeyGenerate)
        .rules(&[output])
        .counted(SKELETON_KEY_TOKEN_LENGTH, SKELETON_KEY_TOKEN, skeleton)
        .bytes(TRANSPORT_KEY_IDENTIFIER, [0; 64])
        .integer(GENERATED_KEY_IDENTIFIER_LENGTH, CAPACITY)
        .ok(processor)
        .bytes(GENERATED_KEY_IDENTIFIER)
}

/// The public token of any.
pub fn public_part(processor: &mut Processor, token: &[u8]) -> Vec<u8> {
    use pka_public_key_extract::{
        SOURCE_KEY_IDENTIFIER, SOURCE_KEY_IDENTIFIER_LENGTH, TARGET_KEY_TOKEN, TARGET_KEY_TOKEN_LENGTH,
    };
    Request::new(Verb::PkaPublicKeyExtract)
        .counted(SOURCE_KEY_IDENTIFIER_LENGTH, SOURCE_KEY_IDENTIFIER, token)
        .integer(TARGET_KEY_TOKEN_LENGTH, CAPACITY)
        .ok(processor)
        .bytes(TARGET_KEY_TOKEN)
}

/// The internal token of a clear one, with this usage.
pub fn internal(processor: &mut Processor, clear: &[u8], usage: Usage) -> Vec<u8> {
    Request::new(Verb::PkaKeyImport)
        .counted(
            pka_key_import::SOURCE_KEY_TOKEN_LENGTH,
            pka_key_import::SOURCE_KEY_TOKEN,
            with_usage(clear, usage),
        )
        .bytes(pka_key_import::IMPORTER_KEY_IDENTIFIER, [0; 64])
        .integer(pka_key_import::TARGET_KEY_IDENTIFIER_LENGTH, CAPACITY)
        .ok(processor)
        .bytes(pka_key_import::TARGET_KEY_IDENTIFIER)
}

/// A clear X'30' token with this usage: no hash in it covers the byte.
fn with_usage(clear: &[u8], usage: Usage) -> Vec<u8> {
    assert_eq!(clear[8], Form::MeAes as u8);
    let mut token = clear.to_vec();
    token[8 + 50] = match usage {
        Usage::SignatureOnly => 0x00,
        Usage::KeyManagement => 0x80,
        Usage::KeyManagementOnly => 0xC0,
        Usage::TlsOnly => 0xA0,
    };
    token
}

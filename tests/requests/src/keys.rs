//! Requests of single verbs, for keys of any value.

use crate::support::Request;
use cca::Processor;
use token::des::Origin;
use token::variable::VariableType;
use token::{VariableToken, variable};
use wire::verb::{
    Verb, cipher_text_translate2, hmac_generate, hmac_verify, key_generate2, key_part_import2, mac_generate2,
    mac_verify2, pka_key_generate, pka_key_import, pka_key_translate, symmetric_key_export,
    symmetric_key_generate, symmetric_key_import2,
};

const CAPACITY: i64 = 2500;

/// The value of the key-encrypting keys.
pub const TRANSPORT: [u8; 16] =
    [0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF, 0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE];

/// The value of the AES key-encrypting keys.
pub const AES_TRANSPORT: [u8; 32] = *b"what keys travel under, for all.";

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

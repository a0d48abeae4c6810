//! Key pairs of RSA and of elliptic curves, and what asks for them.

use crate::support::Request;
use cca::Processor;
use token::pka::{Form, Usage};
use wire::verb::{Verb, pka_key_generate, pka_key_import, pka_key_token_build, pka_public_key_extract};

const CAPACITY: i64 = 2500;

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
pub fn rsa_structure(kind: &str, bits: u16) -> Vec<u8> {
    let mut structure = [&bits.to_be_bytes()[..], &[0, 0, 0, 3, 0, 0]].concat();
    if matches!(kind, "RSA-CRT" | "RSA-AESC") {
        structure.resize(18, 0);
    }
    structure.extend_from_slice(&[1, 0, 1]);
    structure
}

/// A P-256 key with which keys of 128 bits of this algorithm and type are derived.
pub fn derives(processor: &mut Processor, algorithm: u8, key_type: u8) -> Vec<u8> {
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
pub fn curve_skeleton(usage: &str) -> Request {
    use pka_key_token_build::{KEY_VALUES_STRUCTURE, KEY_VALUES_STRUCTURE_LENGTH, TOKEN_LENGTH};
    Request::new(Verb::PkaKeyTokenBuild)
        .rules(&["ECC-PAIR", usage])
        .counted(KEY_VALUES_STRUCTURE_LENGTH, KEY_VALUES_STRUCTURE, [0, 0, 1, 0, 0, 0, 0, 0])
        .integer(TOKEN_LENGTH, CAPACITY)
}

/// A key that a token asks for.
pub fn curve_key(processor: &mut Processor, skeleton: &[u8], output: &str) -> Vec<u8> {
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
pub fn with_usage(clear: &[u8], usage: Usage) -> Vec<u8> {
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

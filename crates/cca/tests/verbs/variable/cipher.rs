//! CIPHER keys of variable length in Symmetric_Algorithm_Encipher and _Decipher.

use super::{generated2, parsed, skeleton2};
use cca::Processor;
use openssl::symm::{Cipher, Crypter, Mode};
use token::VariableToken;
use token::variable::{CipherMode, VariableUse};
use verb_requests::support::{Request, processor};
use wire::verb::{Verb, symmetric_algorithm_decipher as sad, symmetric_algorithm_encipher as sae};
use wire::{Codes, code};

const TEXT: [u8; 32] = *b"two blocks of text, 32 bytes....";
const MODES: [(&str, CipherMode); 4] = [
    ("CBC", CipherMode::Cbc),
    ("PKCS-PAD", CipherMode::Cbc),
    ("ECB", CipherMode::Ecb),
    ("GCM", CipherMode::Gcm),
];

pub fn encipher(token: &[u8], method: &str) -> Request {
    Request::new(Verb::SymmetricAlgorithmEncipher)
        .rules(&["AES", method, "KEYIDENT", "ONLY"])
        .counted(sae::KEY_LENGTH, sae::KEY_IDENTIFIER, token)
        .integer(sae::KEY_PARMS_LENGTH, 16)
        .integer(sae::BLOCK_SIZE, 16)
        .counted(sae::INITIALIZATION_VECTOR_LENGTH, sae::INITIALIZATION_VECTOR, [3; 16])
        .counted(sae::CLEAR_TEXT_LENGTH, sae::CLEAR_TEXT, TEXT)
        .integer(sae::CIPHER_TEXT_LENGTH, 64)
}

fn decipher(token: &[u8], method: &str, text: &[u8], tag: &[u8]) -> Request {
    let request = Request::new(Verb::SymmetricAlgorithmDecipher)
        .rules(&["AES", method, "KEYIDENT", "ONLY"])
        .counted(sad::KEY_LENGTH, sad::KEY_IDENTIFIER, token)
        .integer(sad::BLOCK_SIZE, 16)
        .counted(sad::INITIALIZATION_VECTOR_LENGTH, sad::INITIALIZATION_VECTOR, [3; 16])
        .counted(sad::CIPHER_TEXT_LENGTH, sad::CIPHER_TEXT, text)
        .integer(sad::CLEAR_TEXT_LENGTH, 64);
    if tag.is_empty() { request } else { request.counted(sad::KEY_PARMS_LENGTH, sad::KEY_PARMS, tag) }
}

fn codes(processor: &mut Processor, request: &Request) -> Codes {
    request.run(processor).codes
}

#[test]
fn what_one_enciphers_the_other_deciphers_under_keys_of_all_lengths() {
    let mut processor = processor();
    for bits in [128, 192, 256] {
        for payload in ["V0PYLD", "V1PYLD"] {
            let token = generated2(&mut processor, "AES", bits, &["CIPHER", "ANY-MODE", payload]);
            for (method, _) in MODES {
                let reply = encipher(&token, method).ok(&mut processor);
                let (text, tag) = (reply.bytes(sae::CIPHER_TEXT), reply.bytes(sae::KEY_PARMS));
                assert_ne!(text[..32], TEXT);
                let back = decipher(&token, method, &text, &tag).ok(&mut processor);
                assert_eq!(back.bytes(sad::CLEAR_TEXT), TEXT, "{bits} {payload} {method}");
            }
        }
    }
}

/// A key whose value is known: a clear token, which is used as its attributes say.
#[test]
fn a_clear_key_enciphers_as_another_library_does() {
    let mut processor = processor();
    for key_bytes in [16, 24, 32] {
        let key: Vec<u8> = (1..=key_bytes).collect();
        let skeleton = parsed(&skeleton2(&mut processor, &["INTERNAL", "AES", "CIPHER", "ECB", "ENCRYPT"]));
        let token = skeleton.with_clear_key(&key).unwrap().to_bytes();
        let found = encipher(&token, "ECB").ok(&mut processor).bytes(sae::CIPHER_TEXT);
        let cipher = match key_bytes {
            16 => Cipher::aes_128_ecb(),
            24 => Cipher::aes_192_ecb(),
            _ => Cipher::aes_256_ecb(),
        };
        let mut crypter = Crypter::new(cipher, Mode::Encrypt, &key, None).unwrap();
        crypter.pad(false);
        let mut expected = vec![0; 48];
        let bytes = crypter.update(&TEXT, &mut expected).unwrap();
        assert_eq!(found, expected[..bytes]);
        encipher(&token, "CBC").refused(&mut processor, code::KEY_USAGE);
        decipher(&token, "ECB", &found, &[]).refused(&mut processor, code::KEY_USAGE);
    }
}

#[test]
fn a_key_does_what_its_usage_fields_say_and_nothing_else() {
    let mut processor = processor();
    let uses = [&[][..], &["ENCRYPT"], &["DECRYPT"], &["ENCRYPT", "DECRYPT"], &["C-XLATE"], &["UDX-ONLY"]];
    for usage in uses {
        for mode in ["CBC", "ECB", "CFB", "OFB", "GCM", "XTS", "FF1", "FF2", "FF2.1", "ANY-MODE"] {
            let token = generated2(&mut processor, "AES", 128, &[&["CIPHER", mode], usage].concat());
            let may = |usage| VariableToken::parse(&token).unwrap().may(usage);
            for (method, cipher_mode) in MODES {
                let found = codes(&mut processor, &encipher(&token, method));
                let expected =
                    if may(VariableUse::Encipher(cipher_mode)) { code::OK } else { code::KEY_USAGE };
                assert_eq!(found, expected, "{usage:?} {mode} {method}");
                let found = codes(&mut processor, &decipher(&token, method, &TEXT, &[0; 16]));
                let may = may(VariableUse::Decipher(cipher_mode));
                assert_eq!(found != code::KEY_USAGE, may, "{usage:?} {mode} {method}: {found}");
            }
        }
    }
    let mac = generated2(&mut processor, "AES", 128, &["MAC", "GENERATE"]);
    let hmac = generated2(&mut processor, "HMAC", 256, &["MAC", "GENERATE"]);
    let exporter = generated2(&mut processor, "AES", 256, &["EXPORTER"]);
    for token in [mac, hmac, exporter] {
        encipher(&token, "CBC").refused(&mut processor, code::KEY_USAGE);
    }
}

#[test]
fn a_token_may_stand_in_a_longer_field() {
    let mut processor = processor();
    let token = generated2(&mut processor, "AES", 128, &["CIPHER", "ECB"]);
    let mut field = token.clone();
    field.resize(2500, 0xAA);
    let found = encipher(&field, "ECB").ok(&mut processor).bytes(sae::CIPHER_TEXT);
    assert_eq!(found, encipher(&token, "ECB").ok(&mut processor).bytes(sae::CIPHER_TEXT));
}

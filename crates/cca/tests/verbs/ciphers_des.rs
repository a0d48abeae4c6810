//! Encipher and Decipher.

use verb_requests::peer;
use verb_requests::support::{Reply, Request, generated, imported, processor, processor_with, text};
use wire::code;
use wire::verb::{Verb, decipher, encipher};

const IV: [u8; 8] = [0x1F, 0x2E, 0x3D, 0x4C, 0x5B, 0x6A, 0x79, 0x88];

fn enc(token: &[u8], keywords: &[&str], text: &[u8]) -> Request {
    Request::new(Verb::Encipher)
        .bytes(encipher::KEY_IDENTIFIER, token)
        .counted(encipher::TEXT_LENGTH, encipher::PLAINTEXT, text)
        .bytes(encipher::INITIALIZATION_VECTOR, IV)
        .rules(keywords)
        .bytes(encipher::CHAINING_VECTOR, [0; 18])
}

fn dec(token: &[u8], keywords: &[&str], text: &[u8]) -> Request {
    Request::new(Verb::Decipher)
        .bytes(decipher::KEY_IDENTIFIER, token)
        .counted(decipher::TEXT_LENGTH, decipher::CIPHERTEXT, text)
        .bytes(decipher::INITIALIZATION_VECTOR, IV)
        .rules(keywords)
        .bytes(decipher::CHAINING_VECTOR, [0; 18])
}

fn ciphertext(reply: &Reply) -> Vec<u8> {
    let bytes = reply.bytes(encipher::CIPHERTEXT);
    assert_eq!(reply.integer(encipher::TEXT_LENGTH), bytes.len() as i64);
    bytes
}

fn plaintext(reply: &Reply) -> Vec<u8> {
    let bytes = reply.bytes(decipher::PLAINTEXT);
    assert_eq!(reply.integer(decipher::TEXT_LENGTH), bytes.len() as i64);
    bytes
}

/// Ciphertext and output chaining value of a method, from single blocks.
fn expected(key: &[u8], method: &str, message: &[u8]) -> (Vec<u8>, Vec<u8>) {
    if method == "X9.23" {
        let added = 8 - message.len() % 8;
        let padded = [message, &vec![0; added - 1], &[added as u8]].concat();
        let out = peer::des_cbc(key, &IV, &padded);
        let chain = out[out.len() - 8..].to_vec();
        return (out, chain);
    }
    let whole = message.len() - message.len() % 8;
    let mut out = peer::des_cbc(key, &IV, &message[..whole]);
    let last = [IV.as_slice(), &out].concat()[whole..].to_vec();
    let again = peer::des(key, true, &last);
    out.extend(peer::xor(&message[whole..], &again));
    let chain = match method {
        "CUSP" => again,
        _ => [IV.as_slice(), &out].concat()[message.len()..].to_vec(),
    };
    (out, chain)
}

#[test]
fn every_method_agrees_with_openssl_at_every_length() {
    let mut processor = processor();
    for key_bytes in [8, 16, 24] {
        let key = text(key_bytes);
        let token = imported(&mut processor, "DES", &key);
        for method in ["CBC", "X9.23", "CUSP", "IPS"] {
            for length in 0..=33 {
                let message = text(length);
                let request = enc(&token, &[method], &message);
                if (method == "CBC" && length % 8 != 0) || (length == 0 && method != "X9.23") {
                    request.refused(&mut processor, code::TEXT_LENGTH);
                    continue;
                }
                let reply = request.ok(&mut processor);
                let (out, chain) = expected(&key, method, &message);
                assert_eq!(ciphertext(&reply), out, "{method} {length}");
                assert_eq!(reply.bytes(encipher::CHAINING_VECTOR), [chain.as_slice(), &[0; 10]].concat());
                let back = dec(&token, &[method], &out).ok(&mut processor);
                assert_eq!(plaintext(&back), message, "{method} {length}");
                assert_eq!(back.bytes(decipher::CHAINING_VECTOR), [chain.as_slice(), &[0; 10]].concat());
            }
        }
    }
}

#[test]
fn a_text_in_two_calls_is_the_text_in_one() {
    let mut processor = processor();
    let token = imported(&mut processor, "DES", &text(16));
    let message = text(64);
    let whole = ciphertext(&enc(&token, &[], &message).ok(&mut processor));
    let first = enc(&token, &["CBC", "INITIAL", "TOKEN"], &message[..24]).ok(&mut processor);
    let second = enc(&token, &["CONTINUE"], &message[24..])
        .bytes(encipher::CHAINING_VECTOR, first.bytes(encipher::CHAINING_VECTOR))
        .bytes(encipher::INITIALIZATION_VECTOR, []);
    assert_eq!([ciphertext(&first), ciphertext(&second.ok(&mut processor))].concat(), whole);
    let first = dec(&token, &["CBC"], &whole[..40]).ok(&mut processor);
    let second = dec(&token, &["CONTINUE", "DES"], &whole[40..])
        .bytes(decipher::CHAINING_VECTOR, first.bytes(decipher::CHAINING_VECTOR));
    assert_eq!([plaintext(&first), plaintext(&second.ok(&mut processor))].concat(), message);
}

#[test]
fn bad_padding_is_refused() {
    let mut processor = processor();
    let token = imported(&mut processor, "DES", &text(16));
    for (last, good) in [(0, false), (1, true), (8, true), (9, false), (255, false)] {
        let sealed = ciphertext(&enc(&token, &[], &[1, 2, 3, 4, 5, 6, 7, last]).ok(&mut processor));
        let request = dec(&token, &["X9.23"], &sealed);
        if good {
            assert_eq!(plaintext(&request.ok(&mut processor)).len(), 8 - usize::from(last));
        } else {
            request.refused(&mut processor, code::RSA_BLOCK);
        }
    }
    dec(&token, &["X9.23"], &[]).refused(&mut processor, code::TEXT_LENGTH);
    dec(&token, &["X9.23"], &[0; 9]).refused(&mut processor, code::TEXT_LENGTH);
}

#[test]
fn keys_are_used_as_their_control_vectors_say() {
    let mut processor = processor();
    for (key_type, enciphers, deciphers) in [
        ("DATA", true, true),
        ("CIPHER", true, true),
        ("ENCIPHER", true, false),
        ("DECIPHER", false, true),
        ("MAC", false, false),
        ("MACVER", false, false),
    ] {
        let token = generated(&mut processor, key_type, "DOUBLE");
        let codes = |allowed: bool| if allowed { code::OK } else { code::KEY_USAGE };
        enc(&token, &["DES"], &text(8)).answers(&mut processor, codes(enciphers));
        dec(&token, &["TOKEN", "INITIAL"], &text(8)).answers(&mut processor, codes(deciphers));
    }
    for key_type in ["IPINENC", "EXPORTER", "DATAM", "CIPHERXO", "DKYGENKY"] {
        let token = generated(&mut processor, key_type, "");
        enc(&token, &[], &text(8)).refused(&mut processor, code::KEY_USAGE);
        dec(&token, &[], &text(8)).refused(&mut processor, code::KEY_USAGE);
    }
}

#[test]
fn single_des_needs_the_setting() {
    let mut processor = processor_with(false);
    let single = imported(&mut processor, "DES", &text(8));
    let double = imported(&mut processor, "DES", &text(16));
    for method in ["CBC", "X9.23", "CUSP", "IPS"] {
        for length in [8, 16] {
            enc(&single, &[method], &text(length)).refused(&mut processor, code::WEAK_ALGORITHM);
            dec(&single, &[method], &text(length)).refused(&mut processor, code::WEAK_ALGORITHM);
            enc(&double, &[method], &text(length)).ok(&mut processor);
        }
    }
    enc(&single, &["CUSP"], &text(3)).refused(&mut processor, code::WEAK_ALGORITHM);
}

#[test]
fn bad_calls_are_refused_by_name() {
    let mut processor = processor();
    let token = imported(&mut processor, "DES", &text(16));
    enc(&token, &["ECB"], &text(8)).refused(&mut processor, code::KEYWORD);
    enc(&token, &["CBC", "IPS"], &text(8)).refused(&mut processor, code::KEYWORD_COMBINATION);
    enc(&token, &["CBC", "INITIAL", "DES", "TOKEN"], &text(8)).refused(&mut processor, code::KEYWORD_COUNT);
    enc(&token, &[], &text(8)).integer(encipher::TEXT_LENGTH, 16).refused(&mut processor, code::TEXT_LENGTH);
    enc(&token, &[], &text(8))
        .bytes(encipher::INITIALIZATION_VECTOR, [0; 7])
        .refused(&mut processor, code::INVALID_PARAMETER);
    enc(&token, &["CONTINUE"], &text(8))
        .bytes(encipher::CHAINING_VECTOR, [0; 8])
        .refused(&mut processor, code::INVALID_PARAMETER);
    enc(&token, &[], &text(8))
        .integer(encipher::PAD_CHARACTER, 256)
        .refused(&mut processor, code::INVALID_PARAMETER);
    let aes = imported(&mut processor, "AES", &text(16));
    enc(&aes, &[], &text(8)).refused(&mut processor, code::TOKEN_INVALID);
}

//! Symmetric_Algorithm_Encipher and Symmetric_Algorithm_Decipher.

use openssl::symm::{Cipher, encrypt_aead};
use verb_requests::peer;
use verb_requests::support::{Reply, Request, imported, processor, skeleton, text};
use wire::code;
use wire::verb::Verb;
use wire::verb::symmetric_algorithm_encipher as at;

const IV: [u8; 16] = [7; 16];

/// Both verbs have their parameters in the same places.
fn request(verb: Verb, key: &[u8], keywords: &[&str], text: &[u8]) -> Request {
    Request::new(verb)
        .rules(keywords)
        .counted(at::KEY_LENGTH, at::KEY_IDENTIFIER, key)
        .integer(at::BLOCK_SIZE, 16)
        .counted(at::INITIALIZATION_VECTOR_LENGTH, at::INITIALIZATION_VECTOR, IV)
        .counted(at::CHAIN_DATA_LENGTH, at::CHAIN_DATA, [0; 32])
        .counted(at::CLEAR_TEXT_LENGTH, at::CLEAR_TEXT, text)
        .integer(at::CIPHER_TEXT_LENGTH, text.len() as i64 + 16)
}

fn enc(key: &[u8], keywords: &[&str], text: &[u8]) -> Request {
    request(Verb::SymmetricAlgorithmEncipher, key, keywords, text)
}

fn dec(key: &[u8], keywords: &[&str], text: &[u8]) -> Request {
    request(Verb::SymmetricAlgorithmDecipher, key, keywords, text)
}

fn output(reply: &Reply) -> Vec<u8> {
    let bytes = reply.bytes(at::CIPHER_TEXT);
    assert_eq!(reply.integer(at::CIPHER_TEXT_LENGTH), bytes.len() as i64);
    bytes
}

#[test]
fn block_modes_agree_with_openssl() {
    let mut processor = processor();
    for key_bytes in [16, 24, 32] {
        let key = text(key_bytes);
        let token = imported(&mut processor, "AES", &key);
        for length in 0..=50 {
            let message = text(length);
            let added = 16 - length % 16;
            let padded = [message.as_slice(), &vec![added as u8; added]].concat();
            let cases: [(&str, Option<Vec<u8>>); 3] = [
                ("CBC", (length > 0 && length % 16 == 0).then(|| peer::aes_cbc(&key, &IV, true, &message))),
                ("ECB", (length > 0 && length % 16 == 0).then(|| peer::aes_ecb(&key, true, &message))),
                ("PKCS-PAD", Some(peer::aes_cbc(&key, &IV, true, &padded))),
            ];
            for (method, expected) in cases {
                for (field, rule) in [(&token, "KEYIDENT"), (&key, "KEY-CLR")] {
                    let request = enc(field, &["AES", method, rule], &message);
                    let Some(expected) = &expected else {
                        request.refused(&mut processor, code::TEXT_LENGTH);
                        continue;
                    };
                    let reply = request.ok(&mut processor);
                    assert_eq!(&output(&reply), expected, "{method} {length} {rule}");
                    let back = dec(field, &["AES", method, rule], expected).ok(&mut processor);
                    assert_eq!(output(&back), message);
                    if method != "ECB" {
                        let chain = [&expected[expected.len() - 16..], &[0; 16]].concat();
                        assert_eq!(reply.bytes(at::CHAIN_DATA), chain);
                        assert_eq!(back.bytes(at::CHAIN_DATA), chain);
                    }
                }
            }
        }
    }
}

#[test]
fn a_text_in_segments_is_the_text_in_one() {
    let mut processor = processor();
    let token = imported(&mut processor, "AES", &text(32));
    let message = text(96);
    let whole = output(&enc(&token, &["AES", "KEYIDENT", "ONLY"], &message).ok(&mut processor));
    for direction in [true, false] {
        let (input, expected) = if direction { (&message, &whole) } else { (&whole, &message) };
        let verb =
            if direction { Verb::SymmetricAlgorithmEncipher } else { Verb::SymmetricAlgorithmDecipher };
        let mut chain = vec![0; 32];
        let mut out = Vec::new();
        for (keyword, range) in [("INITIAL", 0..32), ("CONTINUE", 32..48), ("FINAL", 48..96)] {
            let reply = request(verb, &token, &["AES", keyword, "CBC", "KEYIDENT"], &input[range])
                .counted(at::CHAIN_DATA_LENGTH, at::CHAIN_DATA, &chain)
                .ok(&mut processor);
            out.extend(output(&reply));
            chain = reply.bytes(at::CHAIN_DATA);
            assert_eq!(chain.is_empty(), keyword == "FINAL");
        }
        assert_eq!(&out, expected);
    }
}

#[test]
fn gcm_agrees_with_openssl() {
    let mut processor = processor();
    for (key_bytes, cipher) in
        [(16, Cipher::aes_128_gcm()), (24, Cipher::aes_192_gcm()), (32, Cipher::aes_256_gcm())]
    {
        let key = text(key_bytes);
        let token = imported(&mut processor, "AES", &key);
        for (length, aad) in [(0, 0), (1, 20), (16, 0), (100, 33)] {
            let (message, aad, nonce) = (text(length), text(aad), &IV[..12]);
            let mut tag = [0; 16];
            let expected = encrypt_aead(cipher, &key, Some(nonce), &aad, &message, &mut tag).unwrap();
            for tag_bytes in [4usize, 8, 12, 13, 14, 15, 16] {
                let reply = enc(&token, &["AES", "GCM", "KEYIDENT", "ONLY"], &message)
                    .counted(at::INITIALIZATION_VECTOR_LENGTH, at::INITIALIZATION_VECTOR, nonce)
                    .counted(at::KEY_PARMS_LENGTH, at::KEY_PARMS, vec![0; tag_bytes])
                    .counted(at::OPTIONAL_DATA_LENGTH, at::OPTIONAL_DATA, &aad)
                    .ok(&mut processor);
                assert_eq!(output(&reply), expected);
                assert_eq!(reply.bytes(at::KEY_PARMS), tag[..tag_bytes]);
                let open = dec(&token, &["AES", "GCM", "KEYIDENT"], &expected)
                    .counted(at::INITIALIZATION_VECTOR_LENGTH, at::INITIALIZATION_VECTOR, nonce)
                    .counted(at::KEY_PARMS_LENGTH, at::KEY_PARMS, &tag[..tag_bytes])
                    .counted(at::OPTIONAL_DATA_LENGTH, at::OPTIONAL_DATA, &aad);
                assert_eq!(output(&open.ok(&mut processor)), message);
                let mut wrong = tag[..tag_bytes].to_vec();
                wrong[tag_bytes - 1] ^= 1;
                open.clone().bytes(at::KEY_PARMS, wrong).refused(&mut processor, code::GCM_TAG);
                let other = [aad.as_slice(), &[1]].concat();
                open.counted(at::OPTIONAL_DATA_LENGTH, at::OPTIONAL_DATA, other)
                    .refused(&mut processor, code::GCM_TAG);
            }
        }
        let base = enc(&token, &["AES", "GCM", "KEYIDENT"], &text(5));
        for tag_bytes in [0, 3, 5, 11, 17] {
            let request = base.clone().counted(at::KEY_PARMS_LENGTH, at::KEY_PARMS, vec![0; tag_bytes]);
            request.refused(&mut processor, code::INVALID_PARAMETER);
        }
        base.counted(at::KEY_PARMS_LENGTH, at::KEY_PARMS, [0; 16])
            .counted(at::INITIALIZATION_VECTOR_LENGTH, at::INITIALIZATION_VECTOR, [])
            .refused(&mut processor, code::INVALID_PARAMETER);
    }
}

#[test]
fn short_outputs_say_what_is_needed() {
    let mut processor = processor();
    let token = imported(&mut processor, "AES", &text(16));
    let short = |method: &str, length: i64| {
        enc(&token, &["AES", "KEYIDENT", method], &text(32)).integer(at::CIPHER_TEXT_LENGTH, length)
    };
    for (method, needed) in [("CBC", 32), ("ECB", 32), ("PKCS-PAD", 48)] {
        let reply = short(method, needed - 1).run(&mut processor);
        assert_eq!((reply.codes, reply.integer(at::CIPHER_TEXT_LENGTH)), (code::BUFFER_TOO_SMALL, needed));
        short(method, needed).ok(&mut processor);
        short(method, -1).refused(&mut processor, code::BUFFER_TOO_SMALL);
    }
    let padded = output(&short("PKCS-PAD", 48).ok(&mut processor));
    let back = dec(&token, &["AES", "KEYIDENT", "PKCS-PAD"], &padded).integer(at::CIPHER_TEXT_LENGTH, 31);
    let reply = back.run(&mut processor);
    assert_eq!((reply.codes, reply.integer(at::CIPHER_TEXT_LENGTH)), (code::BUFFER_TOO_SMALL, 32));
    let chain =
        enc(&token, &["AES", "KEYIDENT"], &text(32)).counted(at::CHAIN_DATA_LENGTH, at::CHAIN_DATA, [0; 31]);
    let reply = chain.run(&mut processor);
    assert_eq!((reply.codes, reply.integer(at::CHAIN_DATA_LENGTH)), (code::BUFFER_TOO_SMALL, 32));
}

#[test]
fn clear_tokens_serve_and_skeletons_do_not() {
    let mut processor = processor();
    let clear = token::AesToken::clear(&text(24)).unwrap().to_bytes();
    let expected = peer::aes_ecb(&text(24), true, &text(16));
    assert_eq!(output(&enc(&clear, &["AES", "KEYIDENT", "ECB"], &text(16)).ok(&mut processor)), expected);
    let bare = skeleton(&mut processor, "DATA", &["AES", "KEYLN16"]);
    enc(&bare, &["AES", "KEYIDENT"], &text(16)).refused(&mut processor, code::TOKEN_INVALID);
}

#[test]
fn bad_calls_are_refused_by_name() {
    let mut processor = processor();
    let token = imported(&mut processor, "AES", &text(16));
    let run = |keywords: &[&str]| enc(&token, keywords, &text(16));
    run(&["CBC", "KEYIDENT"]).refused(&mut processor, code::KEYWORD_COMBINATION);
    run(&["DES", "KEYIDENT"]).refused(&mut processor, code::KEYWORD);
    run(&["AES", "KEYIDENT", "CTR"]).refused(&mut processor, code::KEYWORD);
    run(&["AES", "KEYIDENT", "GCM", "INITIAL"]).refused(&mut processor, code::KEYWORD_COMBINATION);
    run(&["AES", "KEYIDENT"]).integer(at::BLOCK_SIZE, 8).refused(&mut processor, code::INVALID_PARAMETER);
    run(&["AES", "KEYIDENT"]).integer(at::KEY_LENGTH, 63).refused(&mut processor, code::KEY_LENGTH_KEYWORD);
    run(&["AES"]).refused(&mut processor, code::KEY_LENGTH_KEYWORD);
    run(&["AES", "KEYIDENT", "CONTINUE"])
        .counted(at::CHAIN_DATA_LENGTH, at::CHAIN_DATA, [0; 15])
        .refused(&mut processor, code::INVALID_PARAMETER);
    let des = imported(&mut processor, "DES", &text(16));
    enc(&des, &["AES", "KEYIDENT"], &text(16)).refused(&mut processor, code::TOKEN_INVALID);
    dec(&token, &["AES", "KEYIDENT", "PKCS-PAD"], &text(16)).refused(&mut processor, code::RSA_BLOCK);
}

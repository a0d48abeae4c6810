//! MAC_Generate2 and MAC_Verify2: CMACs against OpenSSL and SP 800-38B, HMACs against HMAC_Generate.

use super::{generate2, generated2, skeleton2};
use cca::Processor;
use openssl::pkey::PKey;
use openssl::sign::Signer;
use openssl::symm::Cipher;
use verb_requests::support::{DOMAIN, OLDER_DOMAIN, Request, processor, text};
use verb_requests::uses::ways::{hmac, mac2, part2, verify_mac2};
use wire::code;
use wire::point::{Point, PointSet};
use wire::role::BUILT_IN;
use wire::verb::{Verb, hmac_generate, key_generate2, key_part_import2, mac_generate2, mac_verify2};

fn theirs(key: &[u8], text: &[u8]) -> Vec<u8> {
    let cipher = match key.len() {
        16 => Cipher::aes_128_cbc(),
        24 => Cipher::aes_192_cbc(),
        _ => Cipher::aes_256_cbc(),
    };
    let key = PKey::cmac(&cipher, key).unwrap();
    Signer::new_without_digest(&key).unwrap().sign_oneshot_to_vec(text).unwrap()
}

/// A MAC key of this value, for these uses.
pub fn key(processor: &mut Processor, usage: &[&str], value: &[u8]) -> Vec<u8> {
    let skeleton = skeleton2(processor, &[&["INTERNAL", "AES", "MAC"], usage].concat());
    let first = part2("AES", &["FIRST", "MIN1PART"], value, &skeleton).ok(processor);
    let part = first.bytes(key_part_import2::KEY_IDENTIFIER);
    part2("AES", &["COMPLETE"], &[], &part).ok(processor).bytes(key_part_import2::KEY_IDENTIFIER)
}

/// A MAC key under the old master key.
fn older(processor: &mut Processor) -> Vec<u8> {
    let skeleton = skeleton2(processor, &["INTERNAL", "AES", "MAC", "GENERATE"]);
    let reply = generate2("AES", 256, "TOKEN", &skeleton).domain(OLDER_DOMAIN).ok(processor);
    reply.bytes(key_generate2::GENERATED_KEY_IDENTIFIER_1)
}

fn made(processor: &mut Processor, request: &Request) -> Vec<u8> {
    request.ok(processor).bytes(mac_generate2::MAC_TEXT)
}

#[test]
fn published_cmacs() {
    let mut processor = processor();
    let value = 0x2B7E1516_28AED2A6_ABF71588_09CF4F3C_u128.to_be_bytes();
    let token = key(&mut processor, &["GENERATE"], &value);
    let text = 0x6BC1BEE2_2E409F96_E93D7E11_7393172A_u128.to_be_bytes();
    // SP 800-38B, D.1: the messages of 0 and 128 bits.
    for (length, expected) in
        [(0, 0xBB1D6929_E9593728_7FA37D12_9B756746_u128), (16, 0x070A16B4_6B4D4144_F79BDD9D_D04A287C)]
    {
        let found = made(&mut processor, &mac2(&token, &["AES"], &text[..length]));
        assert_eq!(found, expected.to_be_bytes());
    }
}

#[test]
fn cmacs_are_those_of_another_library_whole_and_in_segments() {
    let mut processor = processor();
    for bytes in [16, 24, 32] {
        let value = text(bytes);
        let token = key(&mut processor, &["GENERATE"], &value);
        for length in [0, 1, 15, 16, 17, 32, 33, 64, 100, 1024] {
            let message = text(length);
            let expected = theirs(&value, &message);
            assert_eq!(made(&mut processor, &mac2(&token, &["AES", "ONLY"], &message)), expected);
            verify_mac2(&token, &["AES"], &message, &expected).ok(&mut processor);
            if length < 17 {
                continue;
            }
            let (mut making, mut verifying) = (vec![0; 128], vec![0; 128]);
            let whole = (length - 1) / 16 * 16;
            for (at, part) in message[..whole].chunks(16).enumerate() {
                let segment = if at == 0 { "FIRST" } else { "MIDDLE" };
                let request = mac2(&token, &["AES", segment], part);
                let reply = request.bytes(mac_generate2::CHAINING_VECTOR, &making).ok(&mut processor);
                assert!(reply.bytes(mac_generate2::MAC_TEXT).is_empty());
                making = reply.bytes(mac_generate2::CHAINING_VECTOR);
                let request = verify_mac2(&token, &["AES", segment], part, &[]);
                let reply = request.bytes(mac_verify2::CHAINING_VECTOR, &verifying).ok(&mut processor);
                verifying = reply.bytes(mac_verify2::CHAINING_VECTOR);
            }
            let last = mac2(&token, &["AES", "LAST"], &message[whole..]);
            let last = last.bytes(mac_generate2::CHAINING_VECTOR, &making);
            assert_eq!(made(&mut processor, &last), expected, "{bytes} {length}");
            let last = verify_mac2(&token, &["AES", "LAST"], &message[whole..], &expected);
            last.bytes(mac_verify2::CHAINING_VECTOR, &verifying).ok(&mut processor);
        }
    }
}

#[test]
fn hmacs_are_those_of_the_older_verb() {
    let mut processor = processor();
    let token = generated2(&mut processor, "HMAC", 256, &["MAC", "GENERATE"]);
    for hash in ["SHA-1", "SHA-224", "SHA-256", "SHA-384", "SHA-512"] {
        let message = text(300);
        let expected = hmac(&token, &[hash], &message).ok(&mut processor).bytes(hmac_generate::MAC_TEXT);
        assert_eq!(made(&mut processor, &mac2(&token, &["HMAC", hash], &message)), expected);
        verify_mac2(&token, &["HMAC", hash, "ONLY"], &message, &expected).ok(&mut processor);
        let first = mac2(&token, &["HMAC", hash, "FIRST"], &message[..256]).ok(&mut processor);
        let last = mac2(&token, &["HMAC", hash, "LAST"], &message[256..]);
        let vector = first.bytes(mac_generate2::CHAINING_VECTOR);
        assert_eq!(made(&mut processor, &last.bytes(mac_generate2::CHAINING_VECTOR, &vector)), expected);
        // A vector of one verb is none of the other's, though key, hash and text are the same.
        let crossed =
            hmac(&token, &[hash, "LAST"], &message[256..]).bytes(hmac_generate::CHAINING_VECTOR, &vector);
        crossed.refused(&mut processor, code::CHAINING_VECTOR);
    }
    mac2(&token, &["HMAC"], b"text").refused(&mut processor, code::KEYWORD_COMBINATION);
    mac2(&token, &["AES", "SHA-256"], b"text").refused(&mut processor, code::KEYWORD_COMBINATION);
    mac2(&token, &["AES"], b"text").refused(&mut processor, code::KEY_USAGE);
}

#[test]
fn a_key_does_what_its_usage_fields_say() {
    let mut processor = processor();
    for (usage, generates, verifies) in [
        (&["GENERATE"][..], true, true),
        (&["GENONLY"], true, false),
        (&["VERIFY"], false, true),
        (&["GENONLY", "DKPINOP"], false, false),
        (&["GENERATE", "UDX-ONLY"], false, false),
    ] {
        let token = generated2(&mut processor, "AES", 256, &[&["MAC"], usage].concat());
        let codes = |may, good| if may { good } else { code::KEY_USAGE };
        let found = mac2(&token, &["AES"], b"text").run(&mut processor).codes;
        assert_eq!(found, codes(generates, code::OK), "{usage:?}");
        let found = verify_mac2(&token, &["AES"], b"text", &[0; 16]).run(&mut processor).codes;
        assert_eq!(found, codes(verifies, code::VERIFICATION_FAILED), "{usage:?}");
    }
    for (algorithm, keywords) in [("AES", &["CIPHER"][..]), ("HMAC", &["MAC", "GENERATE"])] {
        let token = generated2(&mut processor, algorithm, 256, keywords);
        mac2(&token, &["AES"], b"text").refused(&mut processor, code::KEY_USAGE);
    }
    mac2(&[0; 64], &["AES"], b"text").refused(&mut processor, code::TOKEN_INVALID);
}

/// The chaining vector of a verify-only key is no MAC, goes on nowhere else, and a short MAC that verifies leads to no
/// longer one.
#[test]
fn who_may_only_verify_makes_no_cmac() {
    let mut processor = processor();
    let value = text(32);
    let verifying = key(&mut processor, &["VERIFY"], &value);
    let making = key(&mut processor, &["GENERATE"], &value);
    let block = text(16);
    let first = verify_mac2(&verifying, &["AES", "FIRST"], &block, &[]).ok(&mut processor);
    let vector = first.bytes(mac_verify2::CHAINING_VECTOR);
    // Where it shows the value of CBC, that is the MAC of a text that it does not know.
    let shown = verb_requests::peer::aes_cbc(&value, &[0; 16], true, &block);
    assert!(!vector.windows(8).any(|window| shown.windows(8).any(|other| window == other)));
    assert_ne!(vector[..16], theirs(&value, &block)[..]);
    let last = |token: &[u8], domain, vector: &[u8]| {
        let request = verify_mac2(token, &["AES", "LAST"], b"end", &[0; 16]).domain(domain);
        request.bytes(mac_verify2::CHAINING_VECTOR, vector)
    };
    let ended = last(&verifying, DOMAIN, &vector).run(&mut processor).codes;
    assert_eq!(ended, code::VERIFICATION_FAILED);
    for index in 0..vector.len() {
        let mut changed = vector.clone();
        changed[index] ^= 1;
        last(&verifying, DOMAIN, &changed).refused(&mut processor, code::CHAINING_VECTOR);
    }
    last(&verifying, DOMAIN, &[0; 128]).refused(&mut processor, code::CHAINING_VECTOR);
    // To the verb that makes MACs, and to another key and domain.
    let crossed = mac2(&making, &["AES", "LAST"], b"end").bytes(mac_generate2::CHAINING_VECTOR, &vector);
    crossed.refused(&mut processor, code::CHAINING_VECTOR);
    let other = generated2(&mut processor, "AES", 256, &["MAC", "VERIFY"]);
    last(&other, DOMAIN, &vector).refused(&mut processor, code::CHAINING_VECTOR);
    let other = older(&mut processor);
    last(&other, OLDER_DOMAIN, &vector).refused(&mut processor, code::CHAINING_VECTOR);

    for bytes in [0, 1, 4, 7] {
        let short = verify_mac2(&making, &["AES"], b"text", &vec![0; bytes]);
        short.refused(&mut processor, code::INVALID_PARAMETER);
        let short = mac2(&making, &["AES"], b"text").integer(mac_generate2::MAC_LENGTH, bytes as i64);
        short.refused(&mut processor, code::BUFFER_TOO_SMALL);
    }
    verify_mac2(&making, &["AES"], b"text", &[0; 17]).refused(&mut processor, code::INVALID_PARAMETER);
    let mac = made(&mut processor, &mac2(&making, &["AES"], b"text"));
    for wrong in 0..mac.len() {
        let mut changed = mac.clone();
        changed[wrong] ^= 1;
        let request = verify_mac2(&making, &["AES"], b"text", &changed);
        request.answers(&mut processor, code::VERIFICATION_FAILED);
    }
    for bytes in [8, 9, 15] {
        verify_mac2(&making, &["AES"], b"text", &mac[..bytes]).ok(&mut processor);
    }
}

#[test]
fn lengths_old_master_keys_and_points() {
    let mut processor = processor();
    let token = generated2(&mut processor, "AES", 128, &["MAC", "GENERATE"]);
    for length in [1, 15, 17] {
        for segment in ["FIRST", "MIDDLE"] {
            mac2(&token, &["AES", segment], &text(length)).refused(&mut processor, code::TEXT_LENGTH);
        }
    }
    // What ends a text decides how its last block is taken: LAST needs one.
    let first = mac2(&token, &["AES", "FIRST"], &text(16)).ok(&mut processor);
    let last = mac2(&token, &["AES", "LAST"], &[]);
    let vector = first.bytes(mac_generate2::CHAINING_VECTOR);
    last.bytes(mac_generate2::CHAINING_VECTOR, vector).refused(&mut processor, code::TEXT_LENGTH);
    let first = mac2(&token, &["AES", "FIRST"], &text(16));
    let short = first.integer(mac_generate2::CHAINING_VECTOR_LENGTH, 127);
    short.refused(&mut processor, code::BUFFER_TOO_SMALL);

    let old = older(&mut processor);
    let expected = made(&mut processor, &mac2(&old, &["AES"], b"text").domain(OLDER_DOMAIN));
    let reply = mac2(&old, &["AES"], b"text").run(&mut processor);
    assert_eq!((reply.codes, reply.bytes(mac_generate2::MAC_TEXT)), (code::OLD_MASTER_KEY, expected.clone()));
    let renewed = reply.bytes(mac_generate2::KEY_IDENTIFIER);
    assert_eq!(made(&mut processor, &mac2(&renewed, &["AES"], b"text")), expected);

    let without = |point| -> &'static PointSet {
        let mut points = BUILT_IN[0].points;
        points.deny(point);
        Box::leak(Box::new(points))
    };
    let keyed = generated2(&mut processor, "HMAC", 256, &["MAC", "GENERATE"]);
    for (point, verb, token, keywords) in [
        (Point::MacGenerate2Cmac, Verb::MacGenerate2, &token, &["AES"][..]),
        (Point::MacVerify2Cmac, Verb::MacVerify2, &token, &["AES"]),
        (Point::HmacGenerateSha256, Verb::MacGenerate2, &keyed, &["HMAC", "SHA-256"]),
        (Point::HmacVerifySha512, Verb::MacVerify2, &keyed, &["HMAC", "SHA-512"]),
    ] {
        let request = match verb {
            Verb::MacGenerate2 => mac2(token, keywords, b"text"),
            _ => verify_mac2(token, keywords, b"text", &[0; 16]),
        };
        assert!(request.run(&mut processor).codes.has_output());
        request.points(without(point)).refused(&mut processor, code::ACCESS_DENIED);
    }
}

//! Key_Test2: patterns by another library, of every algorithm and length; what is refused.

use crate::exchange::Keks;
use crate::variable::{generated2, parsed, skeleton2};
use cca::Processor;
use openssl::cipher::Cipher;
use openssl::hash::{MessageDigest, hash};
use openssl::pkey::PKey;
use openssl::sign::Signer;
use openssl::symm;
use verb_requests::support::*;
use verb_requests::uses::ways::{TRANSPORT, part2};
use wire::verb::{Verb, key_export, key_part_import2, key_test2};
use wire::{Codes, code};

/// A request for, or to verify, the pattern of the key in a token.
pub fn test2(token: &[u8], keywords: &[&str]) -> Request {
    Request::new(Verb::KeyTest2)
        .rules(keywords)
        .counted(key_test2::KEY_IDENTIFIER_LENGTH, key_test2::KEY_IDENTIFIER, token)
        .integer(key_test2::VERIFICATION_PATTERN_LENGTH, 16)
}

pub fn pattern(processor: &mut Processor, token: &[u8], keywords: &[&str]) -> Vec<u8> {
    let reply = test2(token, keywords).ok(processor);
    let pattern = reply.bytes(key_test2::VERIFICATION_PATTERN);
    assert_eq!(reply.integer(key_test2::VERIFICATION_PATTERN_LENGTH), pattern.len() as i64);
    pattern
}

fn verify2(token: &[u8], keywords: &[&str], pattern: &[u8]) -> Request {
    let (length, position) = (key_test2::VERIFICATION_PATTERN_LENGTH, key_test2::VERIFICATION_PATTERN);
    test2(token, keywords).counted(length, position, pattern)
}

/// A token of variable length of this key.
pub fn known2(processor: &mut Processor, algorithm: &str, keywords: &[&str], key: &[u8]) -> Vec<u8> {
    let keywords = [&["INTERNAL", algorithm], keywords].concat();
    let mut token = skeleton2(processor, &keywords);
    for (step, value) in [(&["FIRST", "MIN1PART"][..], key), (&["COMPLETE"], &[])] {
        let reply = part2(algorithm, step, value, &token).ok(processor);
        token = reply.bytes(key_part_import2::KEY_IDENTIFIER);
    }
    token
}

fn sha256(parts: &[&[u8]]) -> Vec<u8> {
    hash(MessageDigest::sha256(), &parts.concat()).unwrap().to_vec()
}

fn cmac_zero(cipher: &openssl::cipher::CipherRef, key: &[u8], block: usize) -> Vec<u8> {
    let mut context = openssl::pkey_ctx::PkeyCtx::new_id(openssl::pkey::Id::CMAC).unwrap();
    context.keygen_init().unwrap();
    context.set_keygen_cipher(cipher).unwrap();
    context.set_keygen_mac_key(key).unwrap();
    let key: PKey<openssl::pkey::Private> = context.keygen().unwrap();
    Signer::new_without_digest(&key).unwrap().sign_oneshot_to_vec(&vec![0; block]).unwrap()
}

fn ecb_zero(cipher: symm::Cipher, key: &[u8], block: usize) -> Vec<u8> {
    let mut crypter = symm::Crypter::new(cipher, symm::Mode::Encrypt, key, None).unwrap();
    crypter.pad(false);
    let mut out = vec![0; 2 * block];
    crypter.update(&vec![0; block], &mut out).unwrap();
    out
}

/// Makes, verifies, and does not verify with any bit of the pattern changed, or cut by one byte.
fn check(processor: &mut Processor, token: &[u8], keywords: &[&str], expected: &[u8]) {
    let with = |process: &'static str| [keywords, &[process]].concat();
    assert_eq!(pattern(processor, token, &with("GENERATE")), expected, "{keywords:?}");
    verify2(token, &with("VERIFY"), expected).ok(processor);
    let longer = [expected, &[9; 3]].concat();
    verify2(token, &with("VERIFY"), &longer).ok(processor);
    for bit in 0..8 * expected.len() {
        let mut wrong = expected.to_vec();
        wrong[bit / 8] ^= 1 << (bit % 8);
        let reply = verify2(token, &with("VERIFY"), &wrong).told(processor);
        assert_eq!(reply.codes, code::VERIFICATION_FAILED, "{keywords:?}");
        assert!(reply.bytes(key_test2::VERIFICATION_PATTERN).is_empty(), "the right one is not shown");
    }
    let short = &expected[..expected.len() - 1];
    verify2(token, &with("VERIFY"), short).refused(processor, code::INVALID_PARAMETER);
    let room =
        test2(token, &with("GENERATE")).integer(key_test2::VERIFICATION_PATTERN_LENGTH, short.len() as i64);
    room.refused(processor, code::BUFFER_TOO_SMALL);
    let said = room.told(processor).integer(key_test2::VERIFICATION_PATTERN_LENGTH);
    assert_eq!(said, expected.len() as i64);
}

#[test]
fn patterns_of_aes_keys_are_those_of_another_library() {
    let mut processor = processor();
    for length in [16, 24, 32] {
        let key = text(length);
        let (block, cmac) = match length {
            16 => (symm::Cipher::aes_128_ecb(), Cipher::aes_128_cbc()),
            24 => (symm::Cipher::aes_192_ecb(), Cipher::aes_192_cbc()),
            _ => (symm::Cipher::aes_256_ecb(), Cipher::aes_256_cbc()),
        };
        let fixed = imported(&mut processor, "AES", &key);
        let variable = known2(&mut processor, "AES", &["CIPHER"], &key);
        let long = known2(&mut processor, "AES", &["CIPHER", "V1PYLD"], &key);
        for token in [&fixed, &variable, &long] {
            let sha = sha256(&[&[1], &key]);
            check(&mut processor, token, &["AES"], &sha[..8]);
            check(&mut processor, token, &["AES", "SHA-256"], &sha[..8]);
            check(&mut processor, token, &["AES", "IKEK-AES"], &sha[..8]);
            check(&mut processor, token, &["AES", "ENC-ZERO"], &ecb_zero(block, &key, 16)[..4]);
            check(&mut processor, token, &["AES", "CMACZERO"], &cmac_zero(cmac, &key, 16)[..5]);
        }
    }
}

#[test]
fn patterns_of_des_keys_are_those_of_another_library_inside_and_outside() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    for length in [8, 16, 24] {
        let key: Vec<u8> = (0..length as u8)
            .map(|at| (2 * (at ^ 0x35)) | u8::from((at ^ 0x35).count_ones() % 2 == 0))
            .collect();
        let long: Vec<u8> = key.iter().copied().cycle().take(24).collect();
        let zero = ecb_zero(symm::Cipher::des_ede3(), &long, 8);
        let cmac = cmac_zero(Cipher::des_ede3_cbc(), &long, 8);
        let token = imported(&mut processor, "DES", &key);
        check(&mut processor, &token, &["DES"], &zero[..4]);
        check(&mut processor, &token, &["DES", "ENC-ZERO"], &zero[..4]);
        check(&mut processor, &token, &["DES", "CMACZERO"], &cmac[..5]);
        if length == 24 {
            continue;
        }
        let external = keks.export("TOKEN", &token).ok(&mut processor).bytes(key_export::TARGET_KEY_TOKEN);
        for kek in [&keks.importer, &keks.exporter] {
            let request = test2(&external, &["DES", "GENERATE", "IKEK-DES"]).counted(
                key_test2::KEK_KEY_IDENTIFIER_LENGTH,
                key_test2::KEK_KEY_IDENTIFIER,
                kek,
            );
            let found = request.ok(&mut processor).bytes(key_test2::VERIFICATION_PATTERN);
            assert_eq!(found, zero[..4]);
        }
        // What wraps a key is no key for texts, nor missing.
        test2(&external, &["DES", "GENERATE"]).refused(&mut processor, code::TOKEN_INVALID);
        let request = test2(&external, &["DES", "GENERATE"]).counted(
            key_test2::KEK_KEY_IDENTIFIER_LENGTH,
            key_test2::KEK_KEY_IDENTIFIER,
            &token,
        );
        request.refused(&mut processor, code::KEY_USAGE);
    }
}

#[test]
fn patterns_of_hmac_keys_say_algorithm_type_and_length() {
    let mut processor = processor();
    for length in [10, 20, 64, 256] {
        let key = text(length);
        let token = known2(&mut processor, "HMAC", &["MAC", "GENERATE"], &key);
        let bits = (8 * length as u16).to_be_bytes();
        let expected = sha256(&[&[3, 0, 2], &bits, &key]);
        check(&mut processor, &token, &["HMAC"], &expected[..16]);
        check(&mut processor, &token, &["HMAC", "SHA2VP1"], &expected[..16]);
        test2(&token, &["AES", "GENERATE"]).refused(&mut processor, code::TOKEN_INVALID);
        test2(&token, &["HMAC", "GENERATE", "ENC-ZERO"]).refused(&mut processor, code::KEYWORD_COMBINATION);
    }
}

#[test]
fn patterns_of_master_keys_are_those_of_their_registers() {
    let mut processor = processor();
    for (digest, word, key) in [
        (MessageDigest::sha256(), "AES-MK", aes_key(false)),
        (MessageDigest::sha1(), "SYM-MK", sym_key(false)),
        (MessageDigest::sha1(), "ASYM-MK", vec![3; 24]),
        (MessageDigest::sha256(), "APKA-MK", vec![4; 32]),
    ] {
        let expected = hash(digest, &[&[1], &key[..]].concat()).unwrap()[..8].to_vec();
        let request = Request::new(Verb::KeyTest2).rules(&["GENERATE", word, "KEY-KM"]);
        let request = request.integer(key_test2::VERIFICATION_PATTERN_LENGTH, 8);
        assert_eq!(request.ok(&mut processor).bytes(key_test2::VERIFICATION_PATTERN), expected);
        request.domain(EMPTY_DOMAIN).refused(&mut processor, code::MASTER_KEY_NOT_LOADED);
    }
    let old = Request::new(Verb::KeyTest2)
        .rules(&["GENERATE", "AES-MK", "KEY-OKM", "SHA-256"])
        .integer(key_test2::VERIFICATION_PATTERN_LENGTH, 8);
    let expected = sha256(&[&[1], &aes_key(true)]);
    assert_eq!(old.ok(&mut processor).bytes(key_test2::VERIFICATION_PATTERN), expected[..8]);
    let old = Request::new(Verb::KeyTest2).rules(&["VERIFY", "SYM-MK", "KEY-OKM", "SHA-1"]).counted(
        key_test2::VERIFICATION_PATTERN_LENGTH,
        key_test2::VERIFICATION_PATTERN,
        &hash(MessageDigest::sha1(), &[&[1], &sym_key(true)[..]].concat()).unwrap()[..8],
    );
    old.ok(&mut processor);
    let refused = |keywords: &[&str], codes: Codes, processor: &mut Processor| {
        let request = Request::new(Verb::KeyTest2).rules(keywords);
        request.integer(key_test2::VERIFICATION_PATTERN_LENGTH, 8).refused(processor, codes);
    };
    refused(&["GENERATE", "AES-MK"], code::KEYWORD_COMBINATION, &mut processor);
    refused(&["GENERATE", "AES-MK", "KEY-NKM"], code::KEYWORD, &mut processor);
    refused(&["GENERATE", "AES-MK", "KEY-KM", "SHA-1"], code::KEYWORD_COMBINATION, &mut processor);
    refused(&["GENERATE", "AES-MK", "KEY-KM", "AES"], code::KEYWORD_COMBINATION, &mut processor);
    refused(&["GENERATE"], code::KEYWORD_COUNT, &mut processor);
    refused(&["GENERATE", "ENC-ZERO"], code::KEYWORD_COMBINATION, &mut processor);
    refused(&["KEY-LEN", "AES"], code::KEYWORD, &mut processor);
    refused(&["GENERATE", "AES", "IKEK-PKA"], code::KEYWORD, &mut processor);
    refused(&["GENERATE", "AES", "IKEK-DES"], code::KEYWORD_COMBINATION, &mut processor);
    refused(&["GENERATE", "DES", "SHA-256"], code::KEYWORD_COMBINATION, &mut processor);
}

#[test]
fn clear_keys_and_skeletons_are_refused_and_parts_are_tested() {
    let mut processor = processor();
    let skeleton = skeleton2(&mut processor, &["INTERNAL", "AES", "CIPHER"]);
    test2(&skeleton, &["AES", "GENERATE"]).refused(&mut processor, code::TOKEN_INVALID);
    let clear = parsed(&skeleton).with_clear_key(&[5; 16]).unwrap().to_bytes();
    test2(&clear, &["AES", "GENERATE"]).refused(&mut processor, code::TOKEN_INVALID);
    let clear = token::AesToken::clear(&[5; 16]).unwrap().to_bytes();
    test2(&clear, &["AES", "GENERATE"]).refused(&mut processor, code::TOKEN_INVALID);
    // What two people entered each sees of the other's part.
    let first = part2("AES", &["FIRST"], &[7; 16], &skeleton).ok(&mut processor);
    let first = first.bytes(key_part_import2::KEY_IDENTIFIER);
    check(&mut processor, &first, &["AES"], &sha256(&[&[1], &[7; 16]])[..8]);
    let token = verb_requests::support::skeleton(&mut processor, "MAC", &["DOUBLE", "KEY-PART"]);
    let des = part(&token, "FIRST", &TRANSPORT).ok(&mut processor);
    let des = des.bytes(wire::verb::key_part_import::KEY_IDENTIFIER);
    let long = [&TRANSPORT[..], &TRANSPORT[..8]].concat();
    check(&mut processor, &des, &["DES"], &ecb_zero(symm::Cipher::des_ede3(), &long, 8)[..4]);
}

#[test]
fn old_and_foreign_master_keys_and_changed_tokens() {
    let mut processor = processor();
    let made = verb_requests::uses::ways::generate2("AES", 256, "CIPHER", &[])
        .domain(OLDER_DOMAIN)
        .ok(&mut processor);
    let token = made.bytes(wire::verb::key_generate2::GENERATED_KEY_IDENTIFIER_1);
    let reply = test2(&token, &["AES", "GENERATE"]).told(&mut processor);
    assert_eq!(reply.codes, code::OLD_MASTER_KEY);
    let renewed = reply.bytes(key_test2::KEY_IDENTIFIER);
    let found = reply.bytes(key_test2::VERIFICATION_PATTERN);
    let reply = verify2(&renewed, &["AES", "VERIFY"], &found).ok(&mut processor);
    assert!(reply.bytes(key_test2::KEY_IDENTIFIER).is_empty());
    let reply = verify2(&token, &["AES", "VERIFY"], &found).told(&mut processor);
    assert_eq!(
        (reply.codes, reply.bytes(key_test2::KEY_IDENTIFIER).len()),
        (code::OLD_MASTER_KEY, token.len())
    );
    let foreign = test2(&renewed, &["AES", "GENERATE"]).domain(OLDER_DOMAIN);
    foreign.refused(&mut processor, code::MASTER_KEY_MISMATCH);
    for algorithm in ["AES", "HMAC"] {
        let keywords: &[&str] = if algorithm == "AES" { &["CIPHER"] } else { &["MAC", "GENERATE"] };
        let token = generated2(&mut processor, algorithm, 256, keywords);
        for at in 0..token.len() {
            let mut changed = token.clone();
            changed[at] ^= 0x10;
            let codes = test2(&changed, &[algorithm, "GENERATE"]).told(&mut processor).codes;
            assert_eq!(codes.return_code, 8, "{algorithm} byte {at}");
        }
    }
}

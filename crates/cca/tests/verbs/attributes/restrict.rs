//! Restrict_Key_Attribute and Prohibit_Export2: what they take away stays away, and nothing else changes.

use super::key_test2::pattern;
use crate::exchange::Keks;
use crate::variable::{generated2, parsed, skeleton2};
use cca::Processor;
use token::DesToken;
use token::variable::Attributes;
use verb_requests::support::*;
use verb_requests::uses::ways::part2;
use wire::code;
use wire::point::{Point, PointSet};
use wire::role::BUILT_IN;
use wire::verb::{
    Verb, key_export, key_part_import2, prohibit_export2, restrict_key_attribute as rka,
    symmetric_algorithm_encipher as sae,
};

fn restrict(token: &[u8], keywords: &[&str]) -> Request {
    Request::new(Verb::RestrictKeyAttribute).rules(keywords).counted(
        rka::KEY_IDENTIFIER_LENGTH,
        rka::KEY_IDENTIFIER,
        token,
    )
}

fn prohibit(token: &[u8], keywords: &[&str]) -> Request {
    Request::new(Verb::ProhibitExport2).rules(keywords).counted(
        prohibit_export2::KEY_IDENTIFIER_LENGTH,
        prohibit_export2::KEY_IDENTIFIER,
        token,
    )
}

fn restricted(processor: &mut Processor, token: &[u8], keywords: &[&str]) -> Vec<u8> {
    restrict(token, keywords).ok(processor).bytes(rka::KEY_IDENTIFIER)
}

/// Each way with the bit of the first management field, and whether that permits.
const WAYS: [(&str, u16, bool); 8] = [
    ("NOEX-SYM", 0x8000, true),
    ("NOEXUASY", 0x4000, true),
    ("NOEXAASY", 0x2000, true),
    ("NOEX-RAW", 0x1000, true),
    ("NOEXCPAC", 0x0800, true),
    ("NOEX-DES", 0x0080, false),
    ("NOEX-AES", 0x0040, false),
    ("NOEX-RSA", 0x0008, false),
];
const ALL: &[&str] = &["XPRT-SYM", "XPRTUASY", "XPRTAASY", "XPRT-RAW", "XPRTCPAC"];
const EVERYTHING: u16 = 0xF800;
const NOTHING: u16 = 0x00C8;

fn without(before: u16, ways: &[(&str, u16, bool)]) -> u16 {
    ways.iter().fold(before, |field, (_, bit, permits)| if *permits { field & !bit } else { field | bit })
}

/// All but the first management field.
fn rest(attributes: &Attributes) -> impl PartialEq + std::fmt::Debug {
    let [_, second, third] = attributes.management();
    (attributes.key_type(), attributes.usage().to_vec(), second, third, attributes.user_data().to_vec())
}

#[test]
fn each_keyword_takes_one_way_away_and_leaves_the_rest_and_the_key() {
    let mut processor = processor();
    for (algorithm, bits, keywords) in [
        ("AES", 256, &["CIPHER", "ANY-MODE"][..]),
        ("AES", 128, &["EXPORTER"]),
        ("AES", 192, &["MAC", "GENERATE"]),
        ("HMAC", 160, &["MAC", "GENERATE"]),
    ] {
        let token = generated2(&mut processor, algorithm, bits, &[keywords, ALL].concat());
        let before = parsed(&token).attributes().clone();
        assert_eq!(before.management()[0], EVERYTHING);
        let name = pattern(&mut processor, &token, &[algorithm, "GENERATE"]);
        let mut narrowed = token.clone();
        for at in 0..WAYS.len() {
            let alone = restricted(&mut processor, &token, &[algorithm, WAYS[at].0]);
            assert_eq!(parsed(&alone).attributes().management()[0], without(EVERYTHING, &WAYS[at..=at]));
            narrowed = restricted(&mut processor, &narrowed, &[algorithm, WAYS[at].0]);
            let after = parsed(&narrowed);
            assert_eq!(after.attributes().management()[0], without(EVERYTHING, &WAYS[..=at]));
            assert_eq!(rest(after.attributes()), rest(&before));
            assert_eq!(pattern(&mut processor, &narrowed, &[algorithm, "GENERATE"]), name);
        }
        assert_eq!(parsed(&narrowed).attributes().management()[0], NOTHING);
        // As zkey asks for it, in one call; and without naming a way.
        let words: Vec<&str> = [algorithm].into_iter().chain(WAYS.map(|way| way.0)).collect();
        let alone = [algorithm];
        let beside = [algorithm, "NOEXPORT", "NOEX-SYM"];
        for words in [&words[..], &alone, &[algorithm, "NOEXPORT"], &beside] {
            let after = restricted(&mut processor, &token, words);
            assert_eq!(parsed(&after).attributes().management()[0], NOTHING, "{words:?}");
        }
        let after = prohibit(&token, &[algorithm]).ok(&mut processor).bytes(prohibit_export2::KEY_IDENTIFIER);
        assert_eq!(parsed(&after).attributes().management()[0], NOTHING);
    }
}

/// From every state of the export field, every keyword goes to one that permits no more.
#[test]
fn no_keyword_and_no_order_of_them_gives_a_way_back() {
    let mut processor = processor();
    let permits = |field: u16| (field & EVERYTHING) | (!field & NOTHING);
    for first in WAYS {
        for second in WAYS {
            let words = ["AES", first.0, second.0];
            let token =
                generated2(&mut processor, "AES", 128, &["CIPHER", "XPRT-SYM", "XPRT-RAW", "NOEX-AES"]);
            let mut field = parsed(&token).attributes().management()[0];
            let mut token = token;
            for word in &words[1..] {
                token = restricted(&mut processor, &token, &["AES", word]);
                let after = parsed(&token).attributes().management()[0];
                assert_eq!(permits(after) & !permits(field), 0, "{words:?} widens");
                field = after;
            }
        }
    }
    let token = generated2(&mut processor, "AES", 128, &["CIPHER", "NOEX-SYM"]);
    for word in
        ["XPRT-SYM", "XPRTUASY", "XPRTAASY", "XPRT-RAW", "XPRTCPAC", "XPRT-DES", "XPRT-AES", "XPRT-RSA"]
    {
        restrict(&token, &["AES", word]).refused(&mut processor, code::KEYWORD);
    }
    for word in ["CIPHER", "ENCRYPT", "ANY-MODE", "NOEX", "NOEX-T31", "CCAXPORT", "NOT31XPT", "noex-sym"] {
        restrict(&token, &["AES", word]).refused(&mut processor, code::KEYWORD);
    }
    restrict(&token, &["AES", "NOEX-SYM", "NOEX-SYM"]).refused(&mut processor, code::KEYWORD_COMBINATION);
    let label = wire::Label::new("A.KEY").unwrap().to_field();
    for request in [restrict, prohibit] {
        request(&token, &["AES", "IKEK-AES"]).ok(&mut processor);
        request(&token, &["AES", "IKEK-DES"]).refused(&mut processor, code::KEYWORD_COMBINATION);
        request(&token, &["AES", "IKEK-PKA"]).refused(&mut processor, code::KEYWORD);
        request(&label, &["AES"]).refused(&mut processor, code::LABEL_NOT_FOUND);
        request(&label, &["DES"]).refused(&mut processor, code::LABEL_NOT_FOUND);
    }
}

/// Whoever has a token from before holds it still; the narrowed one cannot be turned into it.
#[test]
fn a_narrowed_token_with_bytes_of_the_wide_one_does_not_open() {
    let mut processor = processor();
    let wide = generated2(&mut processor, "AES", 256, &["CIPHER", "ECB", "V1PYLD", "XPRT-RAW"]);
    let narrow = restricted(&mut processor, &wide, &["AES"]);
    assert_eq!(wide.len(), narrow.len());
    let payload = wide.len() - 80;
    assert_ne!(wide[payload..], narrow[payload..]);
    for at in 0..payload {
        if wide[at] == narrow[at] {
            continue;
        }
        let mut mixed = narrow.clone();
        mixed[at] = wide[at];
        let codes = crate::variable::encipher(&mixed, "ECB").told(&mut processor).codes;
        assert_eq!(codes, code::TOKEN_INVALID, "byte {at}");
        restrict(&mixed, &["AES"]).refused(&mut processor, code::TOKEN_INVALID);
    }
    let shown = |processor: &mut Processor, token: &[u8]| {
        crate::variable::encipher(token, "ECB").ok(processor).bytes(sae::CIPHER_TEXT)
    };
    assert_eq!(shown(&mut processor, &wide), shown(&mut processor, &narrow));
}

#[test]
fn keys_that_miss_parts_are_narrowed_and_stay_incomplete() {
    let mut processor = processor();
    let skeleton = skeleton2(&mut processor, &["INTERNAL", "AES", "CIPHER"]);
    let first = part2("AES", &["FIRST"], &[7; 16], &skeleton).ok(&mut processor);
    let first = first.bytes(key_part_import2::KEY_IDENTIFIER);
    let narrow = restricted(&mut processor, &first, &["AES"]);
    assert_eq!(parsed(&narrow).attributes().completeness(), parsed(&first).attributes().completeness());
    crate::variable::encipher(&narrow, "CBC").refused(&mut processor, code::KEY_USAGE);
    for token in [skeleton.clone(), parsed(&skeleton).with_clear_key(&[5; 16]).unwrap().to_bytes().to_vec()] {
        restrict(&token, &["AES"]).refused(&mut processor, code::TOKEN_INVALID);
        prohibit(&token, &["AES"]).refused(&mut processor, code::TOKEN_INVALID);
    }
    let fixed = imported(&mut processor, "AES", &[5; 16]);
    restrict(&fixed, &["AES"]).refused(&mut processor, code::TOKEN_INVALID);
    restrict(&fixed, &["HMAC"]).refused(&mut processor, code::TOKEN_INVALID);
    restrict(&fixed, &["DES"]).refused(&mut processor, code::TOKEN_INVALID);
}

#[test]
fn des_keys_lose_their_bits_and_do_not_leave() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    let token = generated(&mut processor, "MAC", "DOUBLE");
    let vector = |token: &[u8]| DesToken::parse(token).unwrap().control_vector();
    let name = pattern(&mut processor, &token, &["DES", "GENERATE"]);
    assert!(vector(&token).bit(17) && !vector(&token).bit(57));
    for (words, export, blocks) in [
        (&["DES"][..], false, false),
        (&["DES", "NOEXPORT"], false, false),
        (&["DES", "NOEXPORT", "NOT31XPT"], false, false),
        (&["DES", "CCAXPORT"], false, true),
        (&["DES", "NOT31XPT"], true, false),
        (&["DES", "NOT31XPT", "CCAXPORT"], false, false),
    ] {
        let narrow = restricted(&mut processor, &token, words);
        assert_eq!((vector(&narrow).bit(17), !vector(&narrow).bit(57)), (export, blocks), "{words:?}");
        assert_eq!(pattern(&mut processor, &narrow, &["DES", "GENERATE"]), name);
        let leaves = keks.export("TOKEN", &narrow).told(&mut processor).codes;
        assert_eq!(leaves, if export { code::OK } else { code::KEY_USAGE }, "{words:?}");
        mac(&narrow, &["X9.19OPT"], &text(16)).ok(&mut processor);
        // Once more changes nothing, and nothing comes back.
        let again = restricted(&mut processor, &narrow, &["DES", "NOT31XPT"]);
        assert!(vector(&again).bit(57) && vector(&again).bit(17) == export);
    }
    let narrow = prohibit(&token, &["DES"]).ok(&mut processor).bytes(prohibit_export2::KEY_IDENTIFIER);
    assert!(!vector(&narrow).bit(17) && vector(&narrow).bit(57));
    restrict(&token, &["DES", "NOEX-SYM"]).refused(&mut processor, code::KEYWORD);
    // Without a control vector there is nothing to say it in; a part is none yet.
    let zero = imported(&mut processor, "DES", &[0x13; 8]);
    let zero_codes = restrict(&zero, &["DES"]).told(&mut processor).codes;
    let expected = if vector(&zero).is_zero() { code::KEY_USAGE } else { code::OK };
    assert_eq!(zero_codes, expected);
    let part_token = skeleton(&mut processor, "MAC", &["DOUBLE", "KEY-PART"]);
    let first = part(&part_token, "FIRST", &[0x13; 16]).ok(&mut processor);
    let first = first.bytes(wire::verb::key_part_import::KEY_IDENTIFIER);
    restrict(&first, &["DES"]).refused(&mut processor, code::KEY_USAGE);
}

#[test]
fn external_des_keys_are_narrowed_under_what_wraps_them_and_come_in_narrow() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    let token = generated(&mut processor, "MAC", "DOUBLE");
    let external = keks.export("TOKEN", &token).ok(&mut processor).bytes(key_export::TARGET_KEY_TOKEN);
    let name = pattern(&mut processor, &token, &["DES", "GENERATE"]);
    for kek in [&keks.exporter, &keks.importer] {
        for verb in [Verb::RestrictKeyAttribute, Verb::ProhibitExport2] {
            let (request, at) = match verb {
                Verb::ProhibitExport2 => (
                    prohibit(&external, &["DES", "IKEK-DES"]).counted(
                        prohibit_export2::KEK_KEY_IDENTIFIER_LENGTH,
                        prohibit_export2::KEK_KEY_IDENTIFIER,
                        kek,
                    ),
                    prohibit_export2::KEY_IDENTIFIER,
                ),
                _ => (
                    restrict(&external, &["DES", "IKEK-DES"]).counted(
                        rka::KEK_KEY_IDENTIFIER_LENGTH,
                        rka::KEK_KEY_IDENTIFIER,
                        kek,
                    ),
                    rka::KEY_IDENTIFIER,
                ),
            };
            let narrow = request.ok(&mut processor).bytes(at);
            let back = keks.imported(&mut processor, &narrow);
            assert_eq!(pattern(&mut processor, &back, &["DES", "GENERATE"]), name);
            keks.export("TOKEN", &back).refused(&mut processor, code::KEY_USAGE);
            // The vector of the wide token over the narrow key is another key.
            let mut mixed = narrow.clone();
            mixed[32..48].copy_from_slice(&external[32..48]);
            let mut mixed: [u8; 64] = mixed.try_into().unwrap();
            token::tvv::seal(&mut mixed);
            let other = keks.imported(&mut processor, &mixed);
            assert_ne!(pattern(&mut processor, &other, &["DES", "GENERATE"]), name);
        }
    }
    restrict(&external, &["DES"]).refused(&mut processor, code::TOKEN_INVALID);
}

#[test]
fn each_algorithm_has_a_point_of_its_own() {
    let mut processor = processor();
    let des = generated(&mut processor, "MAC", "DOUBLE");
    let aes = generated2(&mut processor, "AES", 128, &["CIPHER"]);
    for (point, word, token) in [(Point::RestrictVariable, "AES", &aes), (Point::RestrictDes, "DES", &des)] {
        let mut points: PointSet = BUILT_IN[0].points;
        points.deny(point);
        let points: &'static PointSet = Box::leak(Box::new(points));
        restrict(token, &[word]).points(points).refused(&mut processor, code::ACCESS_DENIED);
        let (other, other_token) = if word == "AES" { ("DES", &des) } else { ("AES", &aes) };
        restrict(other_token, &[other]).points(points).ok(&mut processor);
    }
}

#[test]
fn tokens_under_old_master_keys_come_back_narrow_under_the_current_one() {
    let mut processor = processor();
    let made = verb_requests::uses::ways::generate2("AES", 256, "CIPHER", &[])
        .domain(OLDER_DOMAIN)
        .ok(&mut processor);
    let token = made.bytes(wire::verb::key_generate2::GENERATED_KEY_IDENTIFIER_1);
    let reply = restrict(&token, &["AES"]).told(&mut processor);
    assert_eq!(reply.codes, code::OLD_MASTER_KEY);
    let narrow = reply.bytes(rka::KEY_IDENTIFIER);
    assert_eq!(parsed(&narrow).attributes().management()[0], NOTHING);
    crate::variable::encipher(&narrow, "CBC").ok(&mut processor);
    restrict(&narrow, &["AES"]).domain(OLDER_DOMAIN).refused(&mut processor, code::MASTER_KEY_MISMATCH);
}

//! Key_Translate2: forms of tokens, and that none of them gives a key a use, or a way out, that it did not have.

use super::ROOM;
use super::key_test2::{known2, pattern};
use crate::exchange::Keks;
use crate::variable::{encipher, generated2, parsed, skeleton2};
use cca::Processor;
use token::AesToken;
use token::variable::{Completeness, PayloadVersion};
use verb_requests::support::*;
use verb_requests::uses::ways::part2;
use wire::code;
use wire::point::{Point, PointSet};
use wire::role::BUILT_IN;
use wire::verb::{
    Verb, key_export, key_part_import2, key_translate, key_translate2 as ktr2,
    symmetric_algorithm_encipher as sae,
};

/// In a role that also permits the one conversion that has to be named.
fn reform(keywords: &[&str], token: &[u8], output: &[u8]) -> Request {
    Request::new(Verb::KeyTranslate2)
        .points(&PointSet::EVERYTHING)
        .rules(keywords)
        .counted(ktr2::INPUT_KEY_TOKEN_LENGTH, ktr2::INPUT_KEY_TOKEN, token)
        .integer(ktr2::OUTPUT_KEY_TOKEN_LENGTH, ROOM)
        .bytes(ktr2::OUTPUT_KEY_TOKEN, output)
}

fn reformed(processor: &mut Processor, keywords: &[&str], token: &[u8], output: &[u8]) -> Vec<u8> {
    let reply = reform(keywords, token, output).ok(processor);
    let made = reply.bytes(ktr2::OUTPUT_KEY_TOKEN);
    assert_eq!(reply.integer(ktr2::OUTPUT_KEY_TOKEN_LENGTH), made.len() as i64);
    made
}

const ANY: &[&str] = &["CIPHER", "ANY-MODE"];

#[test]
fn a_key_of_fixed_length_takes_the_attributes_of_the_skeleton_as_zkey_asks() {
    let mut processor = processor();
    for length in [16, 24, 32] {
        let key = text(length);
        let data = imported(&mut processor, "AES", &key);
        let name = pattern(&mut processor, &data, &["AES", "GENERATE"]);
        let skeleton = skeleton2(&mut processor, &["INTERNAL", "AES", "XPRTCPAC", "CIPHER"]);
        let made = reformed(&mut processor, &["AES", "REFORMAT"], &data, &skeleton);
        let (asked, found) = (parsed(&skeleton), parsed(&made));
        assert_eq!(found.attributes(), asked.attributes());
        assert_eq!(found.attributes().management()[0], 0xE800);
        assert_eq!(made.len(), [120, 128, 136][length / 8 - 2]);
        assert_eq!(pattern(&mut processor, &made, &["AES", "GENERATE"]), name);
        encipher(&made, "CBC").ok(&mut processor);
        encipher(&made, "ECB").refused(&mut processor, code::KEY_USAGE);
        // Without a skeleton it is the default.
        for empty in [&[][..], &[0; 64]] {
            let default = reformed(&mut processor, &["REFORMAT"], &data, empty);
            let expected = skeleton2(&mut processor, &["INTERNAL", "AES", "CIPHER"]);
            assert_eq!(parsed(&default).attributes(), parsed(&expected).attributes());
        }
        let room = reform(&["REFORMAT"], &data, &skeleton)
            .integer(ktr2::OUTPUT_KEY_TOKEN_LENGTH, made.len() as i64 - 1);
        room.refused(&mut processor, code::BUFFER_TOO_SMALL);
    }
}

/// A skeleton is the caller's to write: it may not say that the key misses parts, for these could be added by exclusive
/// or.
#[test]
fn a_skeleton_does_not_make_a_whole_key_a_part() {
    let mut processor = processor();
    let data = imported(&mut processor, "AES", &[7; 16]);
    let skeleton = skeleton2(&mut processor, &["INTERNAL", "AES", "CIPHER", "ANY-MODE"]);
    for state in [0x40, 0x80, 0xC0] {
        let mut lying = skeleton.clone();
        lying[52] = state;
        assert_ne!(parsed(&lying).attributes().completeness(), Completeness::Complete);
        let made = reformed(&mut processor, &["AES", "REFORMAT"], &data, &lying);
        assert_eq!(parsed(&made).attributes().completeness(), Completeness::Complete);
        let add = part2("AES", &["ADD-PART"], &[1; 16], &made);
        add.refused(&mut processor, code::KEY_COMPLETE);
        let mut claiming = made.clone();
        claiming[52] = state;
        let codes = part2("AES", &["ADD-PART"], &[1; 16], &claiming).told(&mut processor).codes;
        assert_eq!(codes, code::TOKEN_INVALID);
    }
}

#[test]
fn only_wrapped_data_keys_go_into_cipher_tokens_alone() {
    let mut processor = processor();
    let data = imported(&mut processor, "AES", &[7; 16]);
    // A wrapped token of a clear key would be an import that the role need not permit.
    let clear = AesToken::clear(&[7; 16]).unwrap().to_bytes();
    let skeleton = AesToken::skeleton(16).unwrap().to_bytes();
    for token in [&clear[..], &skeleton, &[0; 64]] {
        reform(&["AES", "REFORMAT"], token, &[]).refused(&mut processor, code::TOKEN_INVALID);
    }
    for keywords in
        [&["EXPORTER"][..], &["IMPORTER"], &["MAC", "GENERATE"], &["DKYGENKY", "D-ALL"], &["SECMSG"]]
    {
        let target = skeleton2(&mut processor, &[&["INTERNAL", "AES"], keywords].concat());
        reform(&["AES", "REFORMAT"], &data, &target).refused(&mut processor, code::TOKEN_INVALID);
    }
    let hmac = skeleton2(&mut processor, &["INTERNAL", "HMAC", "MAC", "GENERATE"]);
    let external = skeleton2(&mut processor, &["EXTERNAL", "AES", "CIPHER"]);
    let full = generated2(&mut processor, "AES", 128, ANY);
    for target in [&hmac, &external, &full, &data] {
        reform(&["AES", "REFORMAT"], &data, target).refused(&mut processor, code::TOKEN_INVALID);
    }
    let label = wire::Label::new("A.KEY").unwrap().to_field();
    reform(&["AES", "REFORMAT"], &data, &label).refused(&mut processor, code::LABEL_NOT_FOUND);
    reform(&["AES", "REFORMAT"], &label, &[]).refused(&mut processor, code::LABEL_NOT_FOUND);
    for word in ["COMP-CHK", "COMP-TAG"] {
        reform(&[word], &data, &[]).refused(&mut processor, code::KEYWORD);
    }
    reform(&["DES", "REFORMAT"], &data, &[]).refused(&mut processor, code::TOKEN_INVALID);
    let des = generated(&mut processor, "DATA", "DOUBLE");
    reform(&["DES", "REFORMAT"], &des, &[]).refused(&mut processor, code::TOKEN_VERSION);
    for at in 0..60 {
        let mut changed: [u8; 64] = data.clone().try_into().unwrap();
        changed[at] ^= 4;
        token::tvv::seal(&mut changed);
        let codes = reform(&["AES", "REFORMAT"], &changed, &[]).told(&mut processor).codes;
        assert_eq!(codes.return_code, 8, "byte {at}");
    }
}

/// A token of fixed length permits every use and export: only a key that has all of them goes into one.
#[test]
fn a_narrow_key_does_not_become_a_wide_one() {
    let mut processor = processor();
    let wide = known2(&mut processor, "AES", ANY, &[9; 32]);
    let data = reformed(&mut processor, &["AES", "REFORMAT"], &wide, &[]);
    assert_eq!(AesToken::parse(&data).unwrap().key_bytes(), 32);
    let name = pattern(&mut processor, &wide, &["AES", "GENERATE"]);
    assert_eq!(pattern(&mut processor, &data, &["AES", "GENERATE"]), name);
    let shown = |processor: &mut Processor, token: &[u8]| {
        encipher(token, "ECB").ok(processor).bytes(sae::CIPHER_TEXT)
    };
    assert_eq!(shown(&mut processor, &data), shown(&mut processor, &wide));
    // And back.
    let skeleton = skeleton2(&mut processor, &["INTERNAL", "AES", "CIPHER", "ANY-MODE"]);
    let back = reformed(&mut processor, &["AES", "REFORMAT"], &data, &skeleton);
    assert_eq!(pattern(&mut processor, &back, &["AES", "GENERATE"]), name);
    for narrower in [
        "ENCRYPT", "DECRYPT", "C-XLATE", "UDX-ONLY", "UDX-001", "NOEX-SYM", "NOEXUASY", "NOEXAASY",
        "NOEX-DES", "NOEX-AES", "NOEX-RSA",
    ] {
        let token = known2(&mut processor, "AES", &[ANY, &[narrower]].concat(), &[9; 32]);
        reform(&["AES", "REFORMAT"], &token, &[]).refused(&mut processor, code::KEY_USAGE);
    }
    for mode in ["CBC", "ECB", "GCM", "CFB", "XTS"] {
        let token = known2(&mut processor, "AES", &["CIPHER", mode], &[9; 32]);
        reform(&["AES", "REFORMAT"], &token, &[]).refused(&mut processor, code::KEY_USAGE);
    }
    for keywords in
        [&["EXPORTER"][..], &["IMPORTER"], &["MAC", "GENERATE"], &["PINPROT", "ENCRYPT"], &["SECMSG"]]
    {
        let token = known2(&mut processor, "AES", keywords, &[9; 32]);
        reform(&["AES", "REFORMAT"], &token, &[]).refused(&mut processor, code::KEY_USAGE);
    }
    let hmac = known2(&mut processor, "HMAC", &["MAC", "GENERATE"], &[9; 32]);
    reform(&["REFORMAT"], &hmac, &[]).refused(&mut processor, code::KEY_USAGE);
    let skeleton = skeleton2(&mut processor, &["INTERNAL", "AES", "CIPHER", "ANY-MODE"]);
    let first = part2("AES", &["FIRST"], &[7; 16], &skeleton).ok(&mut processor);
    let first = first.bytes(key_part_import2::KEY_IDENTIFIER);
    for words in [&["AES", "REFORMAT"][..], &["V1PYLD"], &["V0PYLD"]] {
        reform(words, &first, &[]).refused(&mut processor, code::KEY_USAGE);
    }
    let clear = parsed(&skeleton).with_clear_key(&[5; 16]).unwrap().to_bytes();
    for words in [&["AES", "REFORMAT"][..], &["V1PYLD"], &["V0PYLD"]] {
        reform(words, &clear, &[]).refused(&mut processor, code::TOKEN_INVALID);
    }
}

/// Narrowed, then reformed: by two verbs in a row no way comes back.
#[test]
fn what_was_restricted_is_not_reformed_into_what_may_leave() {
    use wire::verb::restrict_key_attribute as rka;
    let mut processor = processor();
    let wide = known2(&mut processor, "AES", ANY, &[9; 32]);
    for way in ["NOEX-SYM", "NOEXUASY", "NOEXAASY", "NOEX-DES", "NOEX-AES", "NOEX-RSA", "NOEXPORT"] {
        let narrow = Request::new(Verb::RestrictKeyAttribute)
            .rules(&["AES", way])
            .counted(rka::KEY_IDENTIFIER_LENGTH, rka::KEY_IDENTIFIER, &wide)
            .ok(&mut processor)
            .bytes(rka::KEY_IDENTIFIER);
        reform(&["AES", "REFORMAT"], &narrow, &[]).refused(&mut processor, code::KEY_USAGE);
        let fixed = reformed(&mut processor, &["V1PYLD"], &narrow, &[]);
        assert_eq!(parsed(&fixed).attributes(), parsed(&narrow).attributes());
        reform(&["AES", "REFORMAT"], &fixed, &[]).refused(&mut processor, code::KEY_USAGE);
    }
}

#[test]
fn payloads_change_their_version_and_nothing_else() {
    let mut processor = processor();
    for keywords in [ANY, &["EXPORTER", "NOEX-SYM"], &["IMPORTER"]] {
        for bits in [128, 192, 256] {
            let token = generated2(&mut processor, "AES", bits, &[keywords, &["V0PYLD"]].concat());
            let name = pattern(&mut processor, &token, &["AES", "GENERATE"]);
            let mut before = token;
            for (word, version) in [
                ("V1PYLD", PayloadVersion::Fixed),
                ("V1PYLD", PayloadVersion::Fixed),
                ("V0PYLD", PayloadVersion::Variable),
            ] {
                let made = reformed(&mut processor, &["AES", word], &before, &[]);
                assert_eq!(parsed(&made).payload_version(), version);
                assert_eq!(parsed(&made).attributes(), parsed(&before).attributes());
                assert_eq!(pattern(&mut processor, &made, &["AES", "GENERATE"]), name);
                before = made;
            }
        }
    }
    let mac = generated2(&mut processor, "AES", 128, &["MAC", "GENERATE"]);
    reform(&["V0PYLD"], &mac, &[]).refused(&mut processor, code::KEY_USAGE);
    let data = imported(&mut processor, "AES", &[7; 16]);
    reform(&["V1PYLD"], &data, &[]).refused(&mut processor, code::TOKEN_INVALID);
}

#[test]
fn des_keys_are_translated_as_key_translate_does() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    let translate = |token: &[u8], keywords: &[&str]| {
        reform(keywords, token, &[])
            .counted(ktr2::INPUT_KEK_KEY_IDENTIFIER_LENGTH, ktr2::INPUT_KEK_KEY_IDENTIFIER, &keks.importer)
            .counted(ktr2::OUTPUT_KEK_KEY_IDENTIFIER_LENGTH, ktr2::OUTPUT_KEK_KEY_IDENTIFIER, &keks.exporter)
    };
    let token = generated(&mut processor, "MAC", "DOUBLE");
    let external = keks.export("TOKEN", &token).ok(&mut processor).bytes(key_export::TARGET_KEY_TOKEN);
    let by_other = Request::new(Verb::KeyTranslate)
        .bytes(key_translate::INPUT_KEY_TOKEN, &external)
        .bytes(key_translate::INPUT_KEK_KEY_IDENTIFIER, &keks.importer)
        .bytes(key_translate::OUTPUT_KEK_KEY_IDENTIFIER, &keks.exporter)
        .ok(&mut processor)
        .bytes(key_translate::OUTPUT_KEY_TOKEN);
    for keywords in [&[][..], &["TRANSLAT"], &["DES"], &["DES", "TRANSLAT", "WRAP-ECB"], &["USECONFG"]] {
        let made = translate(&external, keywords).ok(&mut processor).bytes(ktr2::OUTPUT_KEY_TOKEN);
        assert_eq!(made, by_other, "{keywords:?}");
    }
    translate(&external, &["AES"]).refused(&mut processor, code::TOKEN_INVALID);
    translate(&token, &[]).refused(&mut processor, code::TOKEN_INVALID);
    let kept = skeleton(&mut processor, "MAC", &["DOUBLE", "NO-XPORT"]);
    let kept = token::DesToken::parse(&kept).unwrap().moved_to(token::des::Origin::External).unwrap();
    let kept = kept.with_key([0; 8], &[7; 16]).unwrap().to_bytes();
    translate(&kept, &[]).refused(&mut processor, code::KEY_USAGE);
    let swapped = translate(&external, &[]).counted(
        ktr2::INPUT_KEK_KEY_IDENTIFIER_LENGTH,
        ktr2::INPUT_KEK_KEY_IDENTIFIER,
        &keks.exporter,
    );
    swapped.refused(&mut processor, code::KEY_USAGE);
}

#[test]
fn each_conversion_has_a_point_of_its_own() {
    let mut processor = processor();
    let wide = known2(&mut processor, "AES", ANY, &[9; 32]);
    let data = imported(&mut processor, "AES", &[7; 16]);
    let without = |point: Point| -> &'static PointSet {
        let mut points = PointSet::EVERYTHING;
        points.deny(point);
        Box::leak(Box::new(points))
    };
    let (translate, reformat) = (Point::KeyTranslate2Translate, Point::KeyTranslate2Reformat);
    let (to_fixed, to_cipher) = (reform(&["REFORMAT"], &wide, &[]), reform(&["REFORMAT"], &data, &[]));
    let payload = reform(&["V1PYLD"], &wide, &[]);
    for (point, refused, served) in [
        (translate, &[&payload][..], &[&to_fixed, &to_cipher][..]),
        (reformat, &[&to_fixed, &to_cipher], &[&payload]),
        (Point::KeyTranslate2Fixed, &[&to_fixed], &[&to_cipher, &payload]),
    ] {
        for request in refused {
            (*request).clone().points(without(point)).refused(&mut processor, code::ACCESS_DENIED);
        }
        for request in served {
            (*request).clone().points(without(point)).ok(&mut processor);
        }
    }
    // Nobody puts keys into tokens that say less whose role does not name it.
    for role in &BUILT_IN {
        assert!(!role.points.permits(Point::KeyTranslate2Fixed), "{}", role.name);
    }
}

#[test]
fn tokens_under_old_and_foreign_master_keys() {
    let mut processor = processor();
    let data = import("AES", &[7; 16]).domain(OLDER_DOMAIN).ok(&mut processor);
    let data = data.bytes(wire::verb::clear_key_import_multiple::TARGET_KEY_IDENTIFIER);
    let reply = reform(&["AES", "REFORMAT"], &data, &[]).told(&mut processor);
    assert_eq!(reply.codes, code::OLD_MASTER_KEY);
    let made = reply.bytes(ktr2::OUTPUT_KEY_TOKEN);
    encipher(&made, "CBC").ok(&mut processor);
    let foreign = reform(&["V1PYLD"], &made, &[]).domain(OLDER_DOMAIN);
    foreign.refused(&mut processor, code::MASTER_KEY_MISMATCH);
    let empty = reform(&["AES", "REFORMAT"], &data, &[]).domain(EMPTY_DOMAIN);
    empty.refused(&mut processor, code::MASTER_KEY_NOT_LOADED);
}

//! Key_Part_Import2 and Key_Token_Change2: keys that come in parts, and tokens under old master keys.

use super::cipher::encipher;
use super::{generate2, generated2, parsed, skeleton2};
use cca::Processor;
use token::variable::Completeness;
use verb_requests::support::{OLDER_DOMAIN, Request, processor, text};
use verb_requests::uses::ways::{hmac, part2};
use wire::point::{Point, PointSet};
use wire::role::BUILT_IN;
use wire::verb::{
    Verb, hmac_generate, key_generate2, key_part_import2, key_token_change2,
    symmetric_algorithm_encipher as sae,
};
use wire::{Codes, code};

const CIPHER: &[&str] = &["INTERNAL", "AES", "CIPHER", "ECB", "NOEX-SYM"];

fn token(reply: &verb_requests::support::Reply) -> Vec<u8> {
    reply.bytes(key_part_import2::KEY_IDENTIFIER)
}

/// What comes out of these steps, from a skeleton on.
fn steps(
    processor: &mut Processor,
    algorithm: &str,
    skeleton: &[u8],
    steps: &[(&[&str], &[u8])],
) -> Result<Vec<u8>, Codes> {
    steps.iter().try_fold(skeleton.to_vec(), |before, (keywords, value)| {
        let reply = part2(algorithm, keywords, value, &before).told(processor);
        if reply.codes == code::OK { Ok(token(&reply)) } else { Err(reply.codes) }
    })
}

/// A clear token of this key: its enciphered text is the key's name.
fn shown(processor: &mut Processor, token: &[u8]) -> Vec<u8> {
    encipher(token, "ECB").ok(processor).bytes(sae::CIPHER_TEXT)
}

fn shown_clear(processor: &mut Processor, key: &[u8]) -> Vec<u8> {
    let skeleton = parsed(&skeleton2(processor, CIPHER));
    let clear = skeleton.with_clear_key(key).unwrap().to_bytes();
    shown(processor, &clear)
}

#[test]
fn parts_make_the_key_that_they_are_over_each_other() {
    let mut processor = processor();
    let skeleton = skeleton2(&mut processor, CIPHER);
    let (one, two, three) = (text(32), vec![0x5A; 32], text(40)[8..].to_vec());
    let whole: Vec<u8> = (0..32).map(|at| one[at] ^ two[at] ^ three[at]).collect();
    let made = steps(
        &mut processor,
        "AES",
        &skeleton,
        &[
            (&["FIRST", "MIN3PART"], &one),
            (&["ADD-PART"], &two),
            (&["ADD-PART"], &three),
            (&["COMPLETE"], &[]),
        ],
    )
    .unwrap();
    assert_eq!(shown(&mut processor, &made), shown_clear(&mut processor, &whole));
    let (built, found) = (parsed(&skeleton), parsed(&made));
    assert_eq!(found.attributes().usage(), built.attributes().usage());
    assert_eq!(found.attributes().management(), [built.attributes().management()[0], 0, 0x0404]);
    // As the Linux kernel imports a clear key: a mask, the key, the mask again.
    let imported = steps(
        &mut processor,
        "AES",
        &skeleton,
        &[(&["FIRST", "MIN3PART"], &two), (&["ADD-PART"], &one), (&["ADD-PART"], &two), (&["COMPLETE"], &[])],
    );
    assert_eq!(shown(&mut processor, &imported.unwrap()), shown_clear(&mut processor, &one));
    // As openCryptoki imports one, also of HMAC.
    let one_step =
        steps(&mut processor, "AES", &skeleton, &[(&["FIRST", "MIN1PART"], &one), (&["COMPLETE"], &[])]);
    assert_eq!(shown(&mut processor, &one_step.unwrap()), shown_clear(&mut processor, &one));
    let skeleton = skeleton2(&mut processor, &["INTERNAL", "NO-KEY", "HMAC", "MAC", "GENERATE"]);
    let made = steps(
        &mut processor,
        "HMAC",
        &skeleton,
        &[(&["FIRST", "MIN1PART"], &[0x0B; 20]), (&["COMPLETE"], &[])],
    );
    let mac =
        hmac(&made.unwrap(), &["SHA-256"], b"Hi There").ok(&mut processor).bytes(hmac_generate::MAC_TEXT);
    assert_eq!(mac[..4], [0xB0, 0x34, 0x4C, 0x61], "RFC 4231, test case 1");
}

#[test]
fn a_step_that_does_not_follow_is_refused() {
    let mut processor = processor();
    let skeleton = skeleton2(&mut processor, CIPHER);
    let mut after = |done: &[(&[&str], &[u8])], keywords: &[&str], value: &[u8]| {
        let token = steps(&mut processor, "AES", &skeleton, done).unwrap();
        part2("AES", keywords, value, &token).told(&mut processor).codes
    };
    let key = [7; 16];
    let first = |least: &'static [&'static str]| (least, &key[..]);
    let three: &[&str] = &["FIRST"];
    let add: (&[&str], &[u8]) = (&["ADD-PART"], &key);
    let one: &[&str] = &["FIRST", "MIN1PART"];
    let done: (&[&str], &[u8]) = (&["COMPLETE"], &[]);
    assert_eq!(after(&[first(three)], &["COMPLETE"], &[]), code::PARTS_MISSING);
    assert_eq!(after(&[first(three), add], &["COMPLETE"], &[]), code::PARTS_MISSING);
    assert_eq!(after(&[first(&["FIRST", "MIN2PART"])], &["COMPLETE"], &[]), code::PARTS_MISSING);
    assert_eq!(after(&[first(one)], &["FIRST"], &key), code::KEY_PRESENT);
    assert_eq!(after(&[first(one), done], &["FIRST"], &key), code::KEY_PRESENT);
    assert_eq!(after(&[first(one), done], &["ADD-PART"], &key), code::KEY_COMPLETE);
    assert_eq!(after(&[first(one), done], &["COMPLETE"], &[]), code::KEY_COMPLETE);
    assert_eq!(after(&[], &["ADD-PART"], &key), code::TOKEN_INVALID);
    assert_eq!(after(&[], &["COMPLETE"], &[]), code::TOKEN_INVALID);
    assert_eq!(after(&[first(one)], &["COMPLETE"], &key), code::KEY_BITS);
    for length in [0, 15, 17, 24, 32] {
        assert_eq!(after(&[first(one)], &["ADD-PART"], &vec![7; length]), code::KEY_BITS);
    }
    for length in [0, 15, 17, 33] {
        assert_eq!(after(&[], &["FIRST"], &vec![7; length]), code::KEY_BITS);
    }
    assert_eq!(after(&[first(one)], &["ADD-PART", "MIN1PART"], &key), code::KEYWORD_COMBINATION);
    let generated = generated2(&mut processor, "AES", 128, &["CIPHER"]);
    part2("AES", &["ADD-PART"], &key, &generated).refused(&mut processor, code::KEY_COMPLETE);
    part2("AES", &["FIRST"], &key, &generated).refused(&mut processor, code::KEY_PRESENT);
    part2("HMAC", &["FIRST"], &key, &skeleton).refused(&mut processor, code::TOKEN_INVALID);
    let short =
        part2("AES", &["FIRST"], &key, &skeleton).integer(key_part_import2::KEY_IDENTIFIER_LENGTH, 119);
    short.refused(&mut processor, code::BUFFER_TOO_SMALL);
}

/// Who changes what is missing in a token, or says it of a clear key, gains nothing; no part is used.
#[test]
fn no_part_is_used_and_none_is_called_complete_by_its_holder() {
    let mut processor = processor();
    let skeleton = skeleton2(&mut processor, &["INTERNAL", "AES", "CIPHER", "ANY-MODE"]);
    for least in ["MIN1PART", "MIN2PART", "MIN3PART"] {
        let token = steps(&mut processor, "AES", &skeleton, &[(&["FIRST", least], &[7; 16])]).unwrap();
        assert_ne!(parsed(&token).attributes().completeness(), Completeness::Complete);
        for method in ["CBC", "ECB", "GCM"] {
            encipher(&token, method).refused(&mut processor, code::KEY_USAGE);
        }
        for state in [0x00, 0x40, 0x80, 0xC0] {
            let mut changed = token.clone();
            // The high byte of the second management field.
            assert_eq!(changed[52] & 0x3F, 0);
            changed[52] = state;
            if changed == token {
                continue;
            }
            assert_eq!(encipher(&changed, "CBC").run(&mut processor).codes.return_code, 8);
            for keywords in [&["ADD-PART"][..], &["COMPLETE"]] {
                let value: &[u8] = if keywords == ["COMPLETE"] { &[] } else { &[1; 16] };
                let codes = part2("AES", keywords, value, &changed).run(&mut processor).codes;
                assert_eq!(codes.return_code, 8, "{least} {state:02X} {keywords:?}");
            }
        }
    }
    // A clear key that calls itself a part would be imported without a first step.
    let mut clear = parsed(&skeleton).with_clear_key(&[7; 16]).unwrap().to_bytes().to_vec();
    clear[52] = 0x40;
    part2("AES", &["COMPLETE"], &[], &clear).refused(&mut processor, code::TOKEN_INVALID);
    part2("AES", &["ADD-PART"], &[1; 16], &clear).refused(&mut processor, code::TOKEN_INVALID);
}

#[test]
fn every_step_has_a_point_of_its_own() {
    let mut processor = processor();
    let skeleton = skeleton2(&mut processor, CIPHER);
    let all = BUILT_IN[0].points;
    let key: &[u8] = &[7; 16];
    let mut denied = |point: Point, done: &[(&[&str], &[u8])], keywords: &[&str], value: &[u8]| {
        let token = steps(&mut processor, "AES", &skeleton, done).unwrap();
        let mut points: PointSet = all;
        points.deny(point);
        let points: &'static PointSet = Box::leak(Box::new(points));
        let request = part2("AES", keywords, value, &token);
        request.clone().points(points).refused(&mut processor, code::ACCESS_DENIED);
        request.ok(&mut processor);
    };
    denied(Point::KeyPartFirst3, &[], &["FIRST"], key);
    denied(Point::KeyPartFirst3, &[], &["FIRST", "MIN3PART"], key);
    denied(Point::KeyPartFirst2, &[], &["FIRST", "MIN2PART"], key);
    denied(Point::KeyPartFirst1, &[], &["FIRST", "MIN1PART"], key);
    denied(Point::KeyPartSecond, &[(&["FIRST"], key)], &["ADD-PART"], key);
    denied(Point::KeyPartLast, &[(&["FIRST", "MIN2PART"], key)], &["ADD-PART"], key);
    denied(Point::KeyPartOptional, &[(&["FIRST", "MIN1PART"], key)], &["ADD-PART"], key);
    denied(Point::KeyPartComplete2, &[(&["FIRST", "MIN1PART"], key)], &["COMPLETE"], &[]);
}

fn change(token: &[u8], algorithm: &str) -> Request {
    Request::new(Verb::KeyTokenChange2).rules(&["RTCMK", algorithm]).counted(
        key_token_change2::KEY_IDENTIFIER_LENGTH,
        key_token_change2::KEY_IDENTIFIER,
        token,
    )
}

#[test]
fn tokens_and_parts_under_the_old_key_come_back_under_the_current_one() {
    let mut processor = processor();
    let made = generate2("HMAC", 160, "MAC", &[]).domain(OLDER_DOMAIN).ok(&mut processor);
    let old = made.bytes(key_generate2::GENERATED_KEY_IDENTIFIER_1);
    let value = |processor: &mut Processor, token: &[u8], domain| {
        hmac(token, &["SHA-256"], b"text").domain(domain).run(processor).bytes(hmac_generate::MAC_TEXT)
    };
    let expected = value(&mut processor, &old, OLDER_DOMAIN);
    change(&old, "HMAC").rules(&["RTNMK", "HMAC"]).refused(&mut processor, code::REGISTER_STATE);
    let changed = change(&old, "HMAC").ok(&mut processor).bytes(key_token_change2::KEY_IDENTIFIER);
    assert_eq!(value(&mut processor, &changed, 0), expected);
    assert_eq!(parsed(&changed).attributes(), parsed(&old).attributes());
    let again = change(&changed, "HMAC").ok(&mut processor);
    assert!(again.bytes(key_token_change2::KEY_IDENTIFIER).is_empty(), "it is under the current key already");
    change(&old, "AES").refused(&mut processor, code::TOKEN_INVALID);
    change(&changed, "HMAC").domain(OLDER_DOMAIN).refused(&mut processor, code::MASTER_KEY_MISMATCH);

    let skeleton = skeleton2(&mut processor, CIPHER);
    let first = part2("AES", &["FIRST"], &[7; 16], &skeleton).domain(OLDER_DOMAIN).ok(&mut processor);
    let first = token(&first);
    let changed = change(&first, "AES").ok(&mut processor).bytes(key_token_change2::KEY_IDENTIFIER);
    assert_eq!(parsed(&changed).attributes().completeness(), Completeness::TwoMissing);
    // A part under the old key is gone on with, and said so.
    let reply = part2("AES", &["ADD-PART"], &[1; 16], &first).run(&mut processor);
    assert_eq!(reply.codes, code::OLD_MASTER_KEY);
    let rest: &[(&[&str], &[u8])] = &[(&["ADD-PART"], &[2; 16]), (&["COMPLETE"], &[])];
    let made = steps(&mut processor, "AES", &token(&reply), rest).unwrap();
    assert_eq!(shown(&mut processor, &made), shown_clear(&mut processor, &[7 ^ 1 ^ 2; 16]));
    change(&skeleton, "AES").refused(&mut processor, code::TOKEN_INVALID);
}

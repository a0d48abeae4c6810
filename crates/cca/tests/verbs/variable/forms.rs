//! The forms of Key_Generate2 under AES key-encrypting keys: which types go together, which use of a key-encrypting key
//! each form needs, and what comes out, opened by OpenSSL.

use super::exchange::{Keks, imported};
use super::{ROOM, generate2, generated2, parsed};
use cca::Processor;
use token::VariableToken;
use token::des::Origin;
use token::variable::{Attributes, PayloadVersion, VariableType, Wrapper};
use verb_requests::support::{OLDER_DOMAIN, Request, aes_key, processor, text};
use verb_requests::uses::ways::{AES_TRANSPORT, entered2, import2, skeleton_of};
use verb_requests::wrapped::{plain, unwrapped};
use wire::code;
use wire::point::{Point, PointSet};
use wire::role::BUILT_IN;
use wire::verb::key_generate2::{
    GENERATED_KEY_IDENTIFIER_1, GENERATED_KEY_IDENTIFIER_1_LENGTH, GENERATED_KEY_IDENTIFIER_2,
    GENERATED_KEY_IDENTIFIER_2_LENGTH, KEK_KEY_IDENTIFIER_1, KEK_KEY_IDENTIFIER_1_LENGTH,
    KEK_KEY_IDENTIFIER_2, KEK_KEY_IDENTIFIER_2_LENGTH, KEY_TYPE_2,
};

/// What a token of a pair may be of: its name below, its type, and what it is built from.
const KEYS: &[(&str, VariableType, &[&str])] = &[
    ("CIPHER", VariableType::Cipher, &[]),
    ("CIPHER E", VariableType::Cipher, &["ENCRYPT"]),
    ("CIPHER D", VariableType::Cipher, &["DECRYPT"]),
    ("MAC", VariableType::Mac, &["GENERATE"]),
    ("MAC G", VariableType::Mac, &["GENONLY"]),
    ("MAC V", VariableType::Mac, &["VERIFY"]),
    ("HMAC", VariableType::Hmac, &["GENERATE", "VERIFY"]),
    ("HMAC G", VariableType::Hmac, &["GENERATE"]),
    ("HMAC V", VariableType::Hmac, &["VERIFY"]),
    ("EXPORTER", VariableType::Exporter, &[]),
    ("IMPORTER", VariableType::Importer, &[]),
    ("PINPROT E", VariableType::PinProt, &["ENCRYPT"]),
    ("PINPROT D", VariableType::PinProt, &["DECRYPT"]),
    ("PINCALC", VariableType::PinCalc, &[]),
    ("PINPRW G", VariableType::PinPrw, &["GENONLY"]),
    ("PINPRW V", VariableType::PinPrw, &["VERIFY"]),
    ("SECMSG", VariableType::SecMsg, &[]),
    ("D-ALL", VariableType::DkyGenKy, &["D-ALL"]),
    ("D-CIPHER", VariableType::DkyGenKy, &["D-CIPHER"]),
    ("D-MAC", VariableType::DkyGenKy, &["D-MAC"]),
    ("D-EXP", VariableType::DkyGenKy, &["D-EXP"]),
    ("D-IMP", VariableType::DkyGenKy, &["D-IMP"]),
    ("D-PPROT", VariableType::DkyGenKy, &["D-PPROT"]),
    ("D-PCALC", VariableType::DkyGenKy, &["D-PCALC"]),
    ("D-PPRW", VariableType::DkyGenKy, &["D-PPRW"]),
    ("D-SECMSG", VariableType::DkyGenKy, &["D-SECMSG"]),
];

/// Pairs that go together in every form, in either order.
const EVERYWHERE: &[[&str; 2]] = &[
    ["CIPHER", "CIPHER"],
    ["CIPHER", "CIPHER E"],
    ["CIPHER", "CIPHER D"],
    ["CIPHER E", "CIPHER D"],
    ["MAC", "MAC"],
    ["MAC", "MAC V"],
    ["MAC G", "MAC V"],
    ["HMAC", "HMAC"],
    ["HMAC", "HMAC G"],
    ["HMAC G", "HMAC G"],
    ["HMAC", "HMAC V"],
    ["HMAC G", "HMAC V"],
    ["D-CIPHER", "D-CIPHER"],
    ["D-MAC", "D-MAC"],
];
/// Those that go together where the second token is for another system, and in other forms in roles with the extended
/// set.
const EXTENDED: &[[&str; 2]] = &[["PINPROT E", "PINPROT D"]];
/// Those that go together where the second token is for another system.
const AWAY: &[[&str; 2]] = &[
    ["EXPORTER", "IMPORTER"],
    ["PINPRW G", "PINPRW V"],
    ["D-ALL", "D-ALL"],
    ["D-EXP", "D-IMP"],
    ["D-PPROT", "D-PPROT"],
    ["D-PCALC", "D-PCALC"],
    ["D-PPRW", "D-PPRW"],
    ["D-SECMSG", "D-SECMSG"],
];
/// Single keys for another place.
const ALONE: &[&str] = &["CIPHER", "MAC", "HMAC", "HMAC G", "PINCALC", "D-ALL", "D-CIPHER", "D-MAC"];

/// Two-token forms, and the role of each token.
const PAIRS: &[&str] = &["OPOP", "OPIM", "OPEX", "IMIM", "IMEX", "EXEX"];

/// A skeleton of a key for one of the places of a form, or more than one.
fn skeleton(place: &str, key: &(&str, VariableType, &[&str])) -> Vec<u8> {
    let (_, key_type, keywords) = key;
    let derived = match keywords.first().copied() {
        Some("D-CIPHER") => Some(Attributes::new(VariableType::Cipher, [], None)),
        Some("D-MAC") => Some(Attributes::new(VariableType::Mac, ["GENERATE"], None)),
        Some("D-EXP") => Some(Attributes::new(VariableType::Exporter, [], None)),
        Some("D-IMP") => Some(Attributes::new(VariableType::Importer, [], None)),
        Some("D-PPROT") => Some(Attributes::new(VariableType::PinProt, ["ENCRYPT"], None)),
        Some("D-PCALC") => Some(Attributes::new(VariableType::PinCalc, [], None)),
        Some("D-PPRW") => Some(Attributes::new(VariableType::PinPrw, ["GENONLY"], None)),
        Some("D-SECMSG") => Some(Attributes::new(VariableType::SecMsg, [], None)),
        _ => None,
    };
    let derived = derived.map(Result::unwrap);
    let attributes = Attributes::new(*key_type, keywords.iter().copied(), derived.as_ref()).unwrap();
    let origin = if place == "OP" { Origin::Internal } else { Origin::External };
    let payload = VariableToken::default_payload(*key_type);
    VariableToken::skeleton(origin, payload, attributes).unwrap().to_bytes().to_vec()
}

fn algorithm(key_type: VariableType) -> &'static str {
    if key_type.is_aes() { "AES" } else { "HMAC" }
}

/// A request for one key by its token.
fn single(form: &str, algorithm: &str, target: &[u8], kek: &[u8]) -> Request {
    let request = generate2(algorithm, 128, "TOKEN", target).rules(&[algorithm, form]);
    request.counted(KEK_KEY_IDENTIFIER_1_LENGTH, KEK_KEY_IDENTIFIER_1, kek)
}

/// A request for two by theirs.
fn pair(form: &str, algorithm: &str, [one, two]: [&[u8]; 2], [kek_1, kek_2]: [&[u8]; 2]) -> Request {
    single(form, algorithm, one, kek_1)
        .bytes(KEY_TYPE_2, "TOKEN   ")
        .counted(KEK_KEY_IDENTIFIER_2_LENGTH, KEK_KEY_IDENTIFIER_2, kek_2)
        .integer(GENERATED_KEY_IDENTIFIER_2_LENGTH, ROOM)
        .bytes(GENERATED_KEY_IDENTIFIER_2, two)
}

/// What wraps the token of a place.
fn kek<'k>(keks: &'k Keks, place: &str) -> &'k [u8] {
    match place {
        "IM" => &keks.importer,
        "EX" => &keks.exporter,
        _ => &[],
    }
}

/// The request for this form, with the right key-encrypting keys.
fn asked(keks: &Keks, form: &str, algorithm: &str, tokens: [&[u8]; 2]) -> Request {
    pair(form, algorithm, tokens, [kek(keks, &form[..2]), kek(keks, &form[2..])])
}

/// The key in a token, whatever it is under.
fn key_of(token: &[u8]) -> Option<Vec<u8>> {
    match token[0] {
        1 => unwrapped(&aes_key(false), token),
        _ => plain(&AES_TRANSPORT, token, 30),
    }
}

/// The owner of a home, without or with one point.
fn role(change: impl Fn(&mut PointSet)) -> &'static PointSet {
    let mut points = BUILT_IN[0].points;
    change(&mut points);
    Box::leak(Box::new(points))
}

#[test]
fn every_pair_of_types_in_every_form() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor, &AES_TRANSPORT);
    let usual = role(|points| points.deny(Point::KeyGenerate2SetExtended));
    let mut made = 0;
    for one in KEYS {
        for two in KEYS {
            let stands =
                |pairs: &[[&str; 2]]| pairs.contains(&[one.0, two.0]) || pairs.contains(&[two.0, one.0]);
            for form in PAIRS {
                let is_away = form.ends_with("EX");
                let of = |points| {
                    let is_permitted = stands(EVERYWHERE)
                        || (is_away && (stands(AWAY) || stands(EXTENDED)))
                        || (stands(EXTENDED) && points);
                    let denied = stands(EXTENDED) && !is_away && !points;
                    match (is_permitted, denied) {
                        (true, _) => code::OK,
                        (_, true) => code::ACCESS_DENIED,
                        _ if one.1.is_aes() != two.1.is_aes() => code::TOKEN_INVALID,
                        _ => code::KEYWORD_COMBINATION,
                    }
                };
                let what = format!("{form} of {} and {}", one.0, two.0);
                let tokens = [skeleton(&form[..2], one), skeleton(&form[2..], two)];
                let request = asked(&keks, form, algorithm(one.1), [&tokens[0], &tokens[1]]);
                let found = request.clone().points(usual).run(&mut processor).codes;
                assert_eq!(found, of(false), "{what}, with the usual set");
                let reply = request.run(&mut processor);
                assert_eq!(reply.codes, of(true), "{what}");
                let outputs =
                    [GENERATED_KEY_IDENTIFIER_1, GENERATED_KEY_IDENTIFIER_2].map(|at| reply.bytes(at));
                if reply.codes != code::OK {
                    assert!(outputs.iter().all(Vec::is_empty), "{what}");
                    continue;
                }
                made += 1;
                // One key, in two tokens that say of it what was asked for.
                let [first, second] = outputs.each_ref().map(|token| key_of(token).expect("a key"));
                assert_eq!((first.len(), &first), (16, &second), "{what}");
                for (token, skeleton) in outputs.iter().zip(&tokens) {
                    let (token, skeleton) = (parsed(token), parsed(skeleton));
                    assert_eq!(token.origin(), skeleton.origin(), "{what}");
                    assert_eq!(token.attributes().usage(), skeleton.attributes().usage(), "{what}");
                    assert_eq!(token.attributes().management(), [0xE000, 0, 0x0202], "{what}");
                }
            }
        }
    }
    assert_eq!(made, 6 * 22 + 6 * 2 + 3 * 11);
}

#[test]
fn every_type_of_a_single_key_in_every_form() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor, &AES_TRANSPORT);
    for key in KEYS {
        for form in ["OP", "IM", "EX"] {
            let request = single(form, algorithm(key.1), &skeleton(form, key), kek(&keks, form));
            if form != "OP" && !ALONE.contains(&key.0) {
                request.refused(&mut processor, code::KEYWORD_COMBINATION);
                continue;
            }
            let reply = request.ok(&mut processor);
            let token = reply.bytes(GENERATED_KEY_IDENTIFIER_1);
            assert_eq!(key_of(&token).map(|key| key.len()), Some(16), "{form} {}", key.0);
            assert_eq!(parsed(&token).origin(), parsed(&skeleton(form, key)).origin());
            assert_eq!(reply.integer(GENERATED_KEY_IDENTIFIER_1_LENGTH), token.len() as i64);
        }
    }
}

#[test]
fn types_by_their_names_in_other_places() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor, &AES_TRANSPORT);
    for (algorithm, form, one, two) in [
        ("AES", "OPEX", "EXPORTER", "IMPORTER"),
        ("AES", "IMEX", "IMPORTER", "EXPORTER"),
        ("AES", "EXEX", "CIPHER", "CIPHER"),
        ("AES", "IMIM", "CIPHER", "CIPHER"),
        ("AES", "OPIM", "CIPHER", "CIPHER"),
        ("HMAC", "OPEX", "MAC", "MACVER"),
    ] {
        let request = asked(&keks, form, algorithm, [&[], &[]]);
        let request = request.bytes(wire::verb::key_generate2::KEY_TYPE_1, format!("{one:8}"));
        let reply = request.bytes(KEY_TYPE_2, format!("{two:8}")).ok(&mut processor);
        let tokens = [GENERATED_KEY_IDENTIFIER_1, GENERATED_KEY_IDENTIFIER_2].map(|at| reply.bytes(at));
        assert_eq!(key_of(&tokens[0]), key_of(&tokens[1]));
        for (token, place) in tokens.iter().zip([&form[..2], &form[2..]]) {
            let expected = if place == "OP" { Origin::Internal } else { Origin::External };
            assert_eq!(
                (parsed(token).origin(), parsed(token).payload_version()),
                (expected, PayloadVersion::Variable)
            );
        }
    }
    for (form, kek) in [("EX", &keks.exporter), ("IM", &keks.importer)] {
        let request = generate2("AES", 256, "CIPHER", &[]).rules(&["AES", form]);
        let request = request.counted(KEK_KEY_IDENTIFIER_1_LENGTH, KEK_KEY_IDENTIFIER_1, kek);
        let token = request.ok(&mut processor).bytes(GENERATED_KEY_IDENTIFIER_1);
        assert_eq!(key_of(&token).map(|key| key.len()), Some(32));
        // A second type belongs to forms with a second token.
        request.bytes(KEY_TYPE_2, "CIPHER  ").refused(&mut processor, code::KEYWORD_COMBINATION);
    }
}

/// Which use of the key-encrypting keys each form needs, and no other.
#[test]
fn each_form_has_its_use_of_a_key_encrypting_key() {
    let mut processor = processor();
    let full = Keks::new(&mut processor, &AES_TRANSPORT);
    let every = |side: &str| match side {
        "IM" => ["IMPORT", "TRANSLAT", "GEN-OPIM", "GEN-IMEX", "GEN-IMIM", "GEN-PUB"],
        _ => ["EXPORT", "TRANSLAT", "GEN-OPEX", "GEN-IMEX", "GEN-EXEX", "GEN-PUB"],
    };
    let typed = |side: &str| if side == "IM" { VariableType::Importer } else { VariableType::Exporter };
    let cipher = &KEYS[0];
    for (form, place, needed) in [
        ("IM", 0, "GEN-IMEX"),
        ("EX", 0, "GEN-EXEX"),
        ("OPIM", 1, "GEN-OPIM"),
        ("OPEX", 1, "GEN-OPEX"),
        ("IMIM", 0, "GEN-IMIM"),
        ("IMIM", 1, "GEN-IMIM"),
        ("IMEX", 0, "GEN-IMEX"),
        ("IMEX", 1, "GEN-IMEX"),
        ("EXEX", 0, "GEN-EXEX"),
        ("EXEX", 1, "GEN-EXEX"),
    ] {
        let side = &form[2 * place..][..2];
        let with = |kek: &[u8]| {
            let (at_length, at) = if place == 0 {
                (KEK_KEY_IDENTIFIER_1_LENGTH, KEK_KEY_IDENTIFIER_1)
            } else {
                (KEK_KEY_IDENTIFIER_2_LENGTH, KEK_KEY_IDENTIFIER_2)
            };
            let request = if form.len() == 2 {
                single(form, "AES", &skeleton(form, cipher), kek)
            } else {
                let tokens = [skeleton(&form[..2], cipher), skeleton(&form[2..], cipher)];
                asked(&full, form, "AES", [&tokens[0], &tokens[1]])
            };
            request.counted(at_length, at, kek)
        };
        for word in every(side) {
            let kek = entered2(&mut processor, typed(side), &[word], &AES_TRANSPORT);
            if word == needed {
                with(&kek).ok(&mut processor);
            } else {
                with(&kek).refused(&mut processor, code::KEY_USAGE);
            }
            let others: Vec<&str> = every(side).into_iter().filter(|other| *other != word).collect();
            let kek = entered2(&mut processor, typed(side), &others, &AES_TRANSPORT);
            let expected = if word == needed { code::KEY_USAGE } else { code::OK };
            assert_eq!(with(&kek).run(&mut processor).codes, expected, "{form} without {word}");
        }
        // One of the other side, one that wraps other keys, one with parts missing, and what is no such key.
        let other = if side == "IM" { &full.exporter } else { &full.importer };
        with(other).refused(&mut processor, code::KEY_USAGE);
        let of_pins = entered2(&mut processor, typed(side), &["WR-AES", "WR-PIN"], &AES_TRANSPORT);
        with(&of_pins).refused(&mut processor, code::KEY_USAGE);
        let of_hmac = entered2(&mut processor, typed(side), &["WR-HMAC", "WR-DATA"], &AES_TRANSPORT);
        with(&of_hmac).refused(&mut processor, code::KEY_USAGE);
        let part = verb_requests::uses::ways::part2(
            "AES",
            &["FIRST"],
            &AES_TRANSPORT,
            &skeleton_of(typed(side), &[]),
        );
        let part = part.ok(&mut processor).bytes(wire::verb::key_part_import2::KEY_IDENTIFIER);
        with(&part).refused(&mut processor, code::KEY_USAGE);
        let label = wire::Label::new("A.KEY").unwrap().to_field();
        with(&label).refused(&mut processor, code::LABEL_NOT_FOUND);
        for wrong in [&[][..], &[0; 64], &skeleton_of(typed(side), &[])] {
            with(wrong).refused(&mut processor, code::TOKEN_INVALID);
        }
        let external = VariableToken::skeleton(
            Origin::External,
            PayloadVersion::Variable,
            Attributes::new(typed(side), [], None).unwrap(),
        );
        let external = external.unwrap().with_payload(Wrapper::Key([7; 16]), vec![7; 80]).unwrap();
        with(&external.to_bytes()).refused(&mut processor, code::TOKEN_INVALID);
    }
}

#[test]
fn a_token_is_for_the_place_that_the_form_has() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor, &AES_TRANSPORT);
    let cipher = &KEYS[0];
    let (here, away) = (skeleton("OP", cipher), skeleton("EX", cipher));
    for form in ["IM", "EX"] {
        single(form, "AES", &here, kek(&keks, form)).refused(&mut processor, code::TOKEN_INVALID);
    }
    single("OP", "AES", &away, &[]).refused(&mut processor, code::TOKEN_INVALID);
    for (form, tokens) in [
        ("OPEX", [&here, &here]),
        ("OPEX", [&away, &away]),
        ("OPIM", [&away, &here]),
        ("IMEX", [&here, &away]),
        ("EXEX", [&away, &here]),
        ("IMIM", [&here, &here]),
        ("OPOP", [&here, &away]),
    ] {
        let request = asked(&keks, form, "AES", [tokens[0], tokens[1]]);
        request.refused(&mut processor, code::TOKEN_INVALID);
    }
    // A key that is in the token is replaced, also in one for another system.
    let reply = asked(&keks, "OPEX", "AES", [&here, &away]).ok(&mut processor);
    let tokens = [GENERATED_KEY_IDENTIFIER_1, GENERATED_KEY_IDENTIFIER_2].map(|at| reply.bytes(at));
    let again = asked(&keks, "OPEX", "AES", [&tokens[0], &tokens[1]]).ok(&mut processor);
    let again = [GENERATED_KEY_IDENTIFIER_1, GENERATED_KEY_IDENTIFIER_2].map(|at| again.bytes(at));
    assert_eq!(key_of(&again[0]), key_of(&again[1]));
    assert_ne!(key_of(&again[0]), key_of(&tokens[0]));
    // What the partner imports is the key that is here.
    let back = imported(&import2("AES", &again[1], &keks.importer).ok(&mut processor));
    assert_eq!(key_of(&back), key_of(&again[0]));
}

#[test]
fn points_and_strength_of_transported_forms() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor, &AES_TRANSPORT);
    let cipher = &KEYS[0];
    let request = |keks: &Keks, form: &str| {
        let tokens = [skeleton(&form[..2], cipher), skeleton(form.get(2..4).unwrap_or("OP"), cipher)];
        if form.len() == 2 {
            single(form, "AES", &tokens[0], kek(keks, form))
        } else {
            asked(keks, form, "AES", [&tokens[0], &tokens[1]])
        }
    };
    let forms = ["OP", "IM", "EX"].iter().chain(PAIRS);
    for form in forms.copied() {
        for (point, is_asked) in [
            (Point::KeyGenerate2One, form.len() == 2),
            (Point::KeyGenerate2Set, form.len() == 4),
            (Point::KeyGenerate2Transported, !matches!(form, "OP" | "OPOP")),
            (Point::KeyGenerate2SetExtended, false),
        ] {
            let codes =
                request(&keks, form).points(role(|points| points.deny(point))).run(&mut processor).codes;
            assert_eq!(codes, if is_asked { code::ACCESS_DENIED } else { code::OK }, "{form} {point}");
        }
    }
    // A key that is stronger than the one that wraps it.
    let weak = Keks::new(&mut processor, &AES_TRANSPORT[..16]);
    let permitted = role(|points| points.allow(Point::WeakTransport));
    for form in ["EX", "IM", "OPEX", "OPIM", "IMEX", "IMIM", "EXEX"] {
        let request = request(&weak, form).integer(wire::verb::key_generate2::CLEAR_KEY_BIT_LENGTH, 192);
        request.refused(&mut processor, code::STRENGTH);
        let reply = request.points(permitted).ok(&mut processor);
        let token =
            if form.starts_with("OP") { GENERATED_KEY_IDENTIFIER_2 } else { GENERATED_KEY_IDENTIFIER_1 };
        assert_eq!(parsed(&reply.bytes(token)).attributes().management()[1], 4);
    }
}

#[test]
fn key_encrypting_keys_under_the_old_master_key_are_renewed() {
    let mut processor = processor();
    let old = |processor: &mut Processor, name: &str| {
        let made = generate2("AES", 256, name, &[]).domain(OLDER_DOMAIN).ok(processor);
        made.bytes(GENERATED_KEY_IDENTIFIER_1)
    };
    let keks = Keks { importer: old(&mut processor, "IMPORTER"), exporter: old(&mut processor, "EXPORTER") };
    let cipher = &KEYS[0];
    let tokens = [skeleton("IM", cipher), skeleton("EX", cipher)];
    let reply = asked(&keks, "IMEX", "AES", [&tokens[0], &tokens[1]]).run(&mut processor);
    assert_eq!(reply.codes, code::OLD_MASTER_KEY);
    let ends = [
        (KEK_KEY_IDENTIFIER_1, &keks.importer, GENERATED_KEY_IDENTIFIER_1),
        (KEK_KEY_IDENTIFIER_2, &keks.exporter, GENERATED_KEY_IDENTIFIER_2),
    ];
    let mut keys = Vec::new();
    for (at, old, token) in ends {
        let value = unwrapped(&aes_key(true), old).unwrap();
        assert_eq!(unwrapped(&aes_key(false), &reply.bytes(at)), Some(value.clone()));
        keys.push(plain(&value, &reply.bytes(token), 30).unwrap());
    }
    assert_eq!(keys[0], keys[1]);
    // Of a form that has one, the other field is not looked at.
    let reply = asked(&keks, "OPEX", "AES", [&skeleton("OP", cipher), &tokens[1]]);
    let reply = reply.counted(KEK_KEY_IDENTIFIER_1_LENGTH, KEK_KEY_IDENTIFIER_1, text(9)).run(&mut processor);
    assert_eq!(reply.codes, code::OLD_MASTER_KEY);
    assert!(reply.bytes(KEK_KEY_IDENTIFIER_1).is_empty());
    let other = generated2(&mut processor, "AES", 256, &["EXPORTER"]);
    let reply =
        asked(&Keks { importer: Vec::new(), exporter: other }, "EXEX", "AES", [&tokens[1], &tokens[1]]);
    reply.clone().domain(OLDER_DOMAIN).refused(&mut processor, code::MASTER_KEY_MISMATCH);
    reply.ok(&mut processor);
}

//! Keys under key-encrypting keys: what was learnt of them when they had halves that could be cut and types that could
//! be cast (Bond, Attacks on Cryptoprocessor Transaction Sets, 2001).

use crate::exchange::Keks;
use token::control_vector::KeyForm;
use token::des::Origin;
use token::{ControlVector, DesToken, KeyType};
use verb_requests::peer;
use verb_requests::support::{
    Request, compatible_processor, entered, generate, generated, mac, part, processor, skeleton, sym_key,
    text,
};
use verb_requests::uses::ways::TRANSPORT;
use wire::code;
use wire::point::Point;
use wire::role::{BUILT_IN, BuiltIn};
use wire::verb::{
    Verb, key_generate as kgn, key_import as kim, key_part_import as kpi, key_token_change as ktc,
};

/// Two internal tokens, the left half of the first with the right half of the second.
fn spliced(left: &[u8], right: &[u8]) -> Vec<u8> {
    let mut token = left.to_vec();
    token[24..32].copy_from_slice(&right[24..32]);
    token::tvv::seal((&mut token[..]).try_into().unwrap());
    token
}

/// A compatible internal token of a key, as a home of compatible tokens would wrap it.
fn compatible(key_type: KeyType, key: &[u8; 16]) -> Vec<u8> {
    let vector = key_type.default_vector(KeyForm::Double).unwrap();
    let halves = [vector.left(), vector.right(), vector.left()].map(u64::to_be_bytes);
    let digest = openssl::sha::sha1(&[&[1], sym_key(false).as_slice()].concat());
    let skeleton = DesToken::skeleton(Origin::Internal, KeyForm::Double, vector).unwrap();
    let wrapped = peer::wrap_des(&sym_key(false), halves, key);
    skeleton.with_key(digest[..8].try_into().unwrap(), &wrapped).unwrap().to_bytes().to_vec()
}

#[test]
fn halves_of_two_key_encrypting_keys_make_no_third() {
    let mut processor = compatible_processor();
    let mac_key = generated(&mut processor, "MAC", "DOUBLE");
    // MAC keys of compatible tokens are spliced, and the result is a key of known halves if those are known.
    let (one, two) =
        (compatible(KeyType::Mac, &[0x13; 16]), compatible(KeyType::Mac, &text(16).try_into().unwrap()));
    mac(&spliced(&one, &two), &["X9.19OPT"], &text(16)).ok(&mut processor);
    // Key-encrypting keys are not taken in such tokens at all, whatever the home permits.
    let keks = Keks { exporter: compatible(KeyType::Exporter, &TRANSPORT), importer: Vec::new() };
    keks.export("TOKEN", &mac_key).refused(&mut processor, code::TOKEN_VERSION);
    // Nor are they made to authenticated ones by the verb that renews tokens.
    let renew = Request::new(Verb::KeyTokenChange).rules(&["RTCMK"]);
    renew.bytes(ktc::KEY_IDENTIFIER, &keks.exporter).refused(&mut processor, code::TOKEN_VERSION);
    // And of authenticated ones no half fits another.
    let keys = [[7; 16], [9; 16]].map(|mut value| {
        value[..8].fill(0x31);
        entered(&mut processor, "EXPORTER", &[], &value)
    });
    for token in [spliced(&keys[0], &keys[1]), spliced(&keys[1], &keys[0])] {
        let keks = Keks { exporter: token, importer: Vec::new() };
        keks.export("TOKEN", &mac_key).refused(&mut processor, code::TOKEN_INVALID);
    }
}

#[test]
fn no_key_encrypting_key_with_equal_halves_is_made_or_taken_in() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    // 2^16 of them are searched for as fast as one.
    for key_type in ["EXPORTER", "IMPORTER", "OKEYXLAT", "IKEYXLAT", "IMP-PKA"] {
        generate(key_type, "SINGLE-R").refused(&mut processor, code::KEY_LENGTH_KEYWORD);
    }
    let pair = generate("EXPORTER", "SINGLE-R")
        .bytes(kgn::KEY_FORM, "OPEX")
        .bytes(kgn::KEY_TYPE_2, "IMPORTER")
        .bytes(kgn::GENERATED_KEY_IDENTIFIER_2, [0; 64])
        .bytes(kgn::KEK_KEY_IDENTIFIER_2, &keks.exporter);
    pair.refused(&mut processor, code::KEY_LENGTH_KEYWORD);
    let empty = skeleton(&mut processor, "IMPORTER", &[]);
    let first = part(&empty, "FIRST", &[0x13; 16]).ok(&mut processor).bytes(kpi::KEY_IDENTIFIER);
    part(&first, "COMPLETE", &[]).refused(&mut processor, code::KEY_REPLICATED);
    let external = |key_type: KeyType, key: &[u8; 16]| {
        let vector = key_type.default_vector(KeyForm::Double).unwrap();
        let halves = [vector.left(), vector.right(), vector.left()].map(u64::to_be_bytes);
        let skeleton = DesToken::skeleton(Origin::External, KeyForm::Double, vector).unwrap();
        skeleton.with_key([0; 8], &peer::wrap_des(&TRANSPORT, halves, key)).unwrap().to_bytes()
    };
    let token = external(KeyType::Exporter, &[0x13; 16]);
    keks.import("TOKEN", &token).refused(&mut processor, code::KEY_REPLICATED);
    keks.import("TOKEN", &external(KeyType::Exporter, &TRANSPORT)).ok(&mut processor);
    keks.import("TOKEN", &external(KeyType::Mac, &[0x13; 16])).ok(&mut processor);
}

/// An external token of one type said to be of another: opened under another variant, it is a key that nobody knows.
#[test]
fn a_type_cannot_be_cast_by_changing_the_control_vector() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    let exporter = generated(&mut processor, "EXPORTER", "");
    let external = keks.exported(&mut processor, &exporter);
    let as_data = |vector: ControlVector| {
        let token = DesToken::parse(&external).unwrap();
        let wrapped = token.wrapped().unwrap().key;
        let skeleton = DesToken::skeleton(Origin::External, KeyForm::Double, vector).unwrap();
        skeleton.with_key([0; 8], &wrapped[..16]).unwrap().to_bytes()
    };
    let vectors = [KeyType::Data.default_vector(KeyForm::Double).unwrap(), ControlVector::ZERO];
    for vector in vectors {
        let token = keks.import("TOKEN", &as_data(vector)).ok(&mut processor);
        let key = peer::unwrap_token(&sym_key(false), &token.bytes(kim::TARGET_KEY_IDENTIFIER));
        assert_ne!(key, peer::unwrap_token(&sym_key(false), &exporter));
    }
}

/// Whoever enters the last part of an IMPORTER adds the difference of two control vectors to it: what was wrapped as
/// one type opens as the other. It works where one person does both; the points of the two steps are apart.
#[test]
fn the_difference_of_two_control_vectors_needs_a_part_and_an_import() {
    let mut processor = processor();
    let pin = KeyType::PinGen.default_vector(KeyForm::Double).unwrap();
    let data = KeyType::Data.default_vector(KeyForm::Double).unwrap();
    let difference = peer::xor(&pin.left().to_be_bytes(), &data.left().to_be_bytes());
    let cast: Vec<u8> = TRANSPORT.chunks(8).flat_map(|half| peer::xor(half, &difference)).collect();
    let importer = entered(&mut processor, "IMPORTER", &[], &cast);
    let keks = Keks::new(&mut processor);
    let pin_key = generated(&mut processor, "PINGEN", "");
    let external = keks.exported(&mut processor, &pin_key);
    let token = DesToken::parse(&external).unwrap();
    let wrapped = token.wrapped().unwrap().key;
    let skeleton = DesToken::skeleton(Origin::External, KeyForm::Double, data).unwrap();
    let as_data = skeleton.with_key([0; 8], &wrapped[..16]).unwrap().to_bytes();
    let request = Request::new(Verb::KeyImport)
        .bytes(kim::KEY_TYPE, "DATA    ")
        .bytes(kim::SOURCE_KEY_TOKEN, as_data)
        .bytes(kim::IMPORTER_KEY_IDENTIFIER, &importer)
        .bytes(kim::TARGET_KEY_IDENTIFIER, [0; 64]);
    let token = request.ok(&mut processor).bytes(kim::TARGET_KEY_IDENTIFIER);
    let (cast, own) =
        (peer::unwrap_token(&sym_key(false), &token), peer::unwrap_token(&sym_key(false), &pin_key));
    assert_eq!(cast, own, "the attack is known to bite");
    // No tenant by default may do either.
    static ROLES: &[BuiltIn] = &BUILT_IN;
    let guest = ROLES.iter().find(|role| role.name == "guest").unwrap();
    for point in [Point::KeyImport, Point::KeyPartImport] {
        assert!(!guest.points.permits(point), "{point}");
    }
    for (keyword, bytes) in [("FIRST", 16), ("ADD-PART", 16), ("MIDDLE", 16), ("LAST", 16), ("COMPLETE", 0)] {
        let request = part(&importer, keyword, &TRANSPORT[..bytes]).points(&guest.points);
        request.refused(&mut processor, code::ACCESS_DENIED);
    }
}

#[test]
fn what_may_not_leave_leaves_by_no_sequence_of_two() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    let kept = skeleton(&mut processor, "MAC", &["DOUBLE", "NO-XPORT"]);
    let kept = generate("TOKEN", "").bytes(kgn::GENERATED_KEY_IDENTIFIER_1, kept).ok(&mut processor);
    let kept = kept.bytes(kgn::GENERATED_KEY_IDENTIFIER_1);
    keks.export("MAC", &kept).refused(&mut processor, code::KEY_USAGE);
    // As a target of an import, as a skeleton, and with its control vector changed.
    let external = {
        let other = generated(&mut processor, "MAC", "DOUBLE");
        keks.exported(&mut processor, &other)
    };
    keks.import("MAC", &external)
        .bytes(kim::TARGET_KEY_IDENTIFIER, &kept)
        .refused(&mut processor, code::TYPE_AND_VECTOR);
    let mut changed = kept.clone();
    let vector = KeyType::Mac.default_vector(KeyForm::Double).unwrap();
    changed[32..48].copy_from_slice(&vector.to_bytes());
    token::tvv::seal((&mut changed[..]).try_into().unwrap());
    keks.export("MAC", &changed).refused(&mut processor, code::TOKEN_INVALID);
    part(&kept, "ADD-PART", &[0; 16]).refused(&mut processor, code::KEY_COMPLETE);
    // Under a key that is shorter than it is.
    let triple = generated(&mut processor, "DATA", "KEYLN24");
    keks.export("DATA", &triple).refused(&mut processor, code::STRENGTH);
}

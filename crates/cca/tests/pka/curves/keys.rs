//! Keys built, generated, imported, extracted and put under another master key.

use super::peer::*;
use openssl::bn::BigNum;
use token::pka::ecc::{Derivation, EccCurve, EccToken, EccValue};
use token::pka::{Origin, Source, Usage};
use verb_requests::pka::*;
use wire::point::{Point, PointSet};
use wire::verb::{Filled, Key, PkaOutput, Room, TypedAsk, pka_key_generate as pkg};
use wire::{Codes, code};

#[test]
fn generated_keys_are_keys_and_sign() {
    let mut processor = processor();
    for curve in EccCurve::ALL {
        let skeleton = skeleton(&mut processor, curve, &["SIG-ONLY"]);
        let mut points = Vec::new();
        for output in ["MASTER", "CLEAR", "MASTER"] {
            let token = key_generate(&mut processor, &[output], &skeleton).unwrap();
            let view = EccToken::parse(&token).unwrap();
            assert_eq!((view.curve(), view.private().unwrap().usage), (curve, Usage::SignatureOnly));
            let point = view.point().to_vec();
            assert_eq!(extracted(&mut processor, &token).unwrap(), point);
            let (words, data) = method(curve);
            let signature = sign(&mut processor, words, &token, &data).unwrap();
            assert!(verifies(curve, &point, &data, &signature), "{curve:?} {output}");
            match view.private().unwrap().value {
                EccValue::Clear(value) if curve != EccCurve::Ed25519 => {
                    assert_eq!(Peer::of(curve, &BigNum::from_slice(value).unwrap()).point, point);
                }
                EccValue::Clear(value) => assert_eq!(value.len(), 32),
                EccValue::Wrapped(_) => {
                    assert_eq!(view.origin(), Origin::Internal);
                    assert_eq!(view.private().unwrap().source, Some(Source::Random));
                }
                EccValue::Skeleton | EccValue::Transported(_) => panic!("{curve:?} {output}"),
            }
            points.push(point);
        }
        points.dedup();
        assert_eq!(points.len(), 3, "{curve:?}: keys repeat");
    }
}

#[test]
fn imported_keys_are_those_of_the_other_side() {
    let mut processor = processor();
    for curve in EccCurve::ALL {
        let peer = Peer::new(curve);
        let internal = peer.internal(&mut processor, &["KEY-MGMT"]);
        let view = EccToken::parse(&internal).unwrap();
        assert_eq!(view.private().unwrap().source, Some(Source::ExternalClear));
        let public = peer.public(&mut processor);
        assert_eq!(public_key_extract(&mut processor, &internal, CAPACITY).unwrap(), public);
        assert_eq!(public_key_extract(&mut processor, &public, CAPACITY).unwrap(), public);
        let (words, data) = method(curve);
        let signature = sign(&mut processor, words, &internal, &data).unwrap();
        assert!(verifies(curve, &peer.point, &data, &signature), "{curve:?}");
        for token in [&public, &internal, &peer.clear(&mut processor, &[])] {
            assert_eq!(verify(&mut processor, words, token, &data, &peer.sign(&data)), code::OK, "{curve:?}");
        }
        // Two wrappings of one key share no byte of its payload's semiblocks, which a key of its own wraps.
        let again = peer.internal(&mut processor, &["KEY-MGMT"]);
        assert_ne!(internal, again);
    }
}

#[test]
fn tokens_keep_what_they_say() {
    let mut processor = processor();
    let words = ["KEY-MGMT", "XLATE-OK", "ECC-VER1"];
    let peer = Peer::new(EccCurve::P384);
    let (user_data, derivation) = (b"bound to the key".to_vec(), [2, 1, 1, 0]);
    let clear = build_full(&mut processor, &peer.pair(), &words, &user_data, &derivation).unwrap();
    let imported = key_import(&mut processor, &clear).unwrap();
    let structure = pair(EccCurve::P384, &[], &[]);
    let skeleton = build_full(&mut processor, &structure, &words, &user_data, &derivation).unwrap();
    let generated = key_generate(&mut processor, &[], &skeleton).unwrap();
    let generated_clear = key_generate(&mut processor, &["CLEAR"], &skeleton).unwrap();
    for token in [clear, imported, skeleton, generated, generated_clear] {
        let view = EccToken::parse(&token).unwrap();
        let attributes = view.attributes();
        assert_eq!(attributes.common.usage, Usage::KeyManagement);
        assert!(attributes.common.translatable && attributes.is_version_1);
        assert_eq!(attributes.common.name.unwrap()[..7], *b"MY.KEY ");
        assert_eq!(
            (attributes.user_data, attributes.derivation),
            (user_data.clone(), Derivation::from_bytes(derivation))
        );
    }
    let mut check = |words: &[&str], user_data: &[u8], derivation: &[u8], codes: Codes| {
        let refused = build_full(&mut processor, &structure, words, user_data, derivation);
        assert_eq!(refused.unwrap_err(), codes, "{words:?} {derivation:?}");
    };
    check(&["KEY-MGMT"], &[], &[2, 1, 1, 0], code::KEYWORD_COMBINATION);
    check(&["ECC-VER1"], &[], &[2, 1, 1], code::INVALID_PARAMETER);
    check(&["ECC-VER1"], &[], &[2, 1, 1, 0, 0], code::INVALID_PARAMETER);
    check(&["ECC-VER1"], &[], &[2, 1, 0, 64], code::PKA_FIELD);
    check(&["ECC-VER1"], &[7; 101], &[], code::INVALID_PARAMETER);
}

#[test]
fn structures_are_refused_by_name() {
    let mut processor = processor();
    let mut check = |words: &[&str], structure: &[u8], codes: Codes| {
        assert_eq!(token_build(&mut processor, words, structure, &[]).unwrap_err(), codes, "{words:?}");
    };
    for (kind, bits) in [(0u8, 192u16), (1, 160), (1, 192), (1, 224), (1, 320), (1, 512), (2, 448)] {
        let [high, low] = bits.to_be_bytes();
        check(&["ECC-PAIR"], &[kind, 0, high, low, 0, 0, 0, 0], code::CURVE);
        check(&["ECC-PUBL"], &[kind, 0, high, low, 0, 1, 4], code::CURVE);
    }
    check(&["ECC-PAIR"], &[0, 0, 0, 255, 0, 0, 0, 0], code::PKA_FIELD);
    check(&["ECC-PAIR"], &[4, 0, 1, 0, 0, 0, 0, 0], code::PKA_FIELD);
    check(&["ECC-PAIR"], &[0, 0, 1, 0, 0, 0, 0], code::OUT_OF_AREA);
    check(&["ECC-PAIR"], &pair(EccCurve::P256, &[1; 33], &[4; 65]), code::PKA_FIELD);
    check(&["ECC-PAIR"], &pair(EccCurve::P256, &[1; 32], &[4; 64]), code::PKA_FIELD);
    check(&["ECC-PAIR"], &pair(EccCurve::P256, &[1; 32], &[2; 33]), code::PKA_FIELD);
    check(&["ECC-PUBL"], &[0, 0, 1, 0, 0, 0], code::PKA_FIELD);
    check(&["ECC-PUBL", "KEY-MGMT"], &[0, 0, 1, 0, 0, 0], code::KEYWORD_COMBINATION);
    check(&["ECC-PUBL", "ECC-VER1"], &[0, 0, 1, 0, 0, 0], code::KEYWORD_COMBINATION);
    // A client of a little-endian machine, and a buffer longer than the structure.
    let mut exchanged = vec![0, 0, 0x09, 0x02];
    exchanged.resize(2500, 0);
    let token = token_build(&mut processor, &["ECC-PAIR"], &exchanged, &[]).unwrap();
    assert_eq!(EccToken::parse(&token).unwrap().curve(), EccCurve::P521);
}

#[test]
fn generation_is_refused_before_it_begins() {
    let mut processor = processor();
    let skeleton = skeleton(&mut processor, EccCurve::P256, &[]);
    let short = key_generate_into(&mut processor, &["MASTER"], &skeleton, 10);
    assert_eq!(short.unwrap_err(), code::BUFFER_TOO_SMALL);
    let whole = key_generate(&mut processor, &["MASTER"], &skeleton).unwrap();
    assert_eq!(key_generate(&mut processor, &["MASTER"], &whole).unwrap_err(), code::TOKEN_INVALID);
    let mut empty = with_keys(true, &[1, 2, 3, 0], &[0; 4]);
    assert_eq!(key_generate(&mut empty, &["MASTER"], &skeleton).unwrap_err(), code::MASTER_KEY_NOT_LOADED);
    assert!(key_generate(&mut empty, &["CLEAR"], &skeleton).is_ok());
    assert_eq!(key_import(&mut processor, &skeleton).unwrap_err(), code::TOKEN_INVALID);
    assert_eq!(key_import(&mut processor, &whole).unwrap_err(), code::TOKEN_INVALID);
    assert_eq!(extracted(&mut processor, &skeleton).unwrap_err(), code::TOKEN_INVALID);
}

/// A role without this point.
const fn without(point: Point) -> PointSet {
    let mut points = PointSet::EVERYTHING;
    points.deny(point);
    points
}

#[test]
fn clear_keys_and_signatures_have_points() {
    use wire::frame::Arguments;
    static NO_CLEAR: PointSet = without(Point::PkaKeyGenerateClear);
    static NO_ECDSA: PointSet = without(Point::SignEcdsa);
    static NO_EDDSA: PointSet = without(Point::SignEddsa);
    let mut processor = processor();
    let codes = |processor: &mut cca::Processor, arguments: &Arguments<'_>, points| {
        let mut payload = Vec::new();
        arguments.write_request(&mut payload).unwrap();
        let mut batch = cca::Batch::new();
        let request = cca::Incoming { verb: arguments.verb(), domain: 0, points, payload: &payload };
        batch.push(&request).unwrap();
        processor.run(&mut batch);
        batch.answers()[0].codes
    };
    let skeleton = skeleton(&mut processor, EccCurve::P256, &[]);
    for (output, denied) in [(PkaOutput::Clear, code::ACCESS_DENIED), (PkaOutput::Master, code::OK)] {
        let request = pkg::Ask {
            output: Some(output),
            skeleton_key_token: (&skeleton).into(),
            transport_key_identifier: Key::Bytes(&[0; 64]),
            generated_key_identifier: Room::of(CAPACITY as usize),
            ..pkg::Ask::new()
        };
        let mut filled = Filled::default();
        let arguments = request.arguments(&mut filled);
        assert_eq!(codes(&mut processor, &arguments, &NO_CLEAR), denied, "{output:?}");
        assert_eq!(codes(&mut processor, &arguments, OWNER), code::OK, "{output:?}");
    }
    for curve in [EccCurve::P256, EccCurve::Ed25519] {
        let token = Peer::new(curve).internal(&mut processor, &[]);
        let (words, data) = method(curve);
        let rules = keywords(words);
        let arguments = sign_arguments(words.len(), &rules, &token, &data);
        let (own, other) =
            if curve == EccCurve::Ed25519 { (&NO_EDDSA, &NO_ECDSA) } else { (&NO_ECDSA, &NO_EDDSA) };
        assert_eq!(codes(&mut processor, &arguments, own), code::ACCESS_DENIED);
        assert_eq!(codes(&mut processor, &arguments, other), code::OK);
    }
}

#[test]
fn tokens_are_put_under_another_master_key() {
    use wire::verb::digital_signature_generate::SIGNATURE_FIELD;
    for curve in [EccCurve::P521, EccCurve::Ed25519, EccCurve::Secp256k1] {
        let mut processor = processor();
        let peer = Peer::new(curve);
        let words = ["SIG-ONLY", "ECC-VER1"];
        let clear = build_full(&mut processor, &peer.pair(), &words, b"user", &[2, 1, 0, 128]).unwrap();
        let token = key_import(&mut processor, &clear).unwrap();
        let attributes = EccToken::parse(&token).unwrap().attributes();
        assert_eq!(
            change(&mut processor, &["RTCMK", "ECC"], &token),
            (code::OK, Vec::new()),
            "current already"
        );
        for words in [&["RTNMK", "ECC"][..], &["RTNMK"], &["RTNMK", "RSA"]] {
            assert_eq!(change(&mut processor, words, &token), (code::REGISTER_STATE, Vec::new()));
        }

        processor.load(&handout(0, &[1, 2, 3, 9], &[0, 0, 0, 4])).unwrap();
        let (words, data) = method(curve);
        let rules = keywords(words);
        for _ in 0..2 {
            let arguments = sign_arguments(words.len(), &rules, &token, &data);
            let (codes, signature) = ask(&mut processor, &arguments, SIGNATURE_FIELD);
            assert_eq!(codes, code::OLD_MASTER_KEY);
            assert!(verifies(curve, &peer.point, &data, &signature));
        }
        assert_eq!(change(&mut processor, &["RTCMK", "RSA"], &token).0, code::TOKEN_INVALID);
        for words in [&["RTCMK", "ECC"][..], &["RTCMK"]] {
            let (codes, changed) = change(&mut processor, words, &token);
            assert_eq!(codes, code::OK);
            assert_ne!(changed, token);
            let view = EccToken::parse(&changed).unwrap();
            assert_eq!((view.attributes(), view.point()), (attributes.clone(), &peer.point[..]));
            assert_eq!(view.private().unwrap().source, Some(Source::ExternalClear));
            let (words, data) = method(curve);
            let signature = sign(&mut processor, words, &changed, &data).unwrap();
            assert!(verifies(curve, &peer.point, &data, &signature));
        }
        processor.load(&handout(0, &[1, 2, 3, 9], &[0; 4])).unwrap();
        assert_eq!(sign(&mut processor, words, &token, &data).unwrap_err(), code::MASTER_KEY_MISMATCH);
        assert_eq!(change(&mut processor, &["RTCMK"], &token).0, code::MASTER_KEY_MISMATCH);
        for other in [&clear, &peer.public(&mut processor)] {
            assert_eq!(change(&mut processor, &["RTCMK"], other).0, code::TOKEN_INVALID);
        }
    }
    let mut processor = processor();
    let rsa = internal_token(&mut processor, "RSA-AESM", "SIG-ONLY", openssl_key(1024));
    assert_eq!(change(&mut processor, &["RTCMK", "ECC"], &rsa).0, code::TOKEN_INVALID);
    assert_eq!(change(&mut processor, &["RTCMK", "RSA"], &rsa).0, code::OK);
}

#[test]
fn prepared_keys_share_the_bound_of_rsa() {
    const BYTES: usize = 256 << 10;
    let mut processor = processor();
    processor.set_prepared_bytes(BYTES);
    let rsa = internal_token(&mut processor, "RSA-AESM", "SIG-ONLY", openssl_key(1024));
    sign(&mut processor, &["ZERO-PAD"], &rsa, b"text").unwrap();
    let token = Peer::new(EccCurve::P256).internal(&mut processor, &[]);
    let before = processor.contexts(0).unwrap();
    for _ in 0..3 {
        sign(&mut processor, &["ECDSA"], &token, &[7; 32]).unwrap();
        assert_eq!(processor.contexts(0), Some(before + 1), "prepared once");
    }
    for number in 1..500_u32 {
        let peer = Peer::of(EccCurve::P256, &BigNum::from_u32(number).unwrap());
        let clear = peer.clear(&mut processor, &[]);
        sign(&mut processor, &["ECDSA"], &clear, &[7; 32]).unwrap();
        verify(&mut processor, &["ECDSA"], &clear, &[7; 32], &[1; 64]);
        assert!(processor.prepared_bytes() <= BYTES);
    }
    assert!(sign(&mut processor, &["ECDSA"], &token, &[7; 32]).is_ok(), "the first gave way, and works");
    processor.forget_contexts();
    assert_eq!(processor.contexts(0), Some(0));
}

//! Tokens and points that somebody else wrote, or put together from those of others.

use super::peer::*;
use cca::Processor;
use openssl::bn::BigNum;
use token::pka::ecc::{EccCurve, EccToken};
use verb_requests::pka::*;
use wire::{Codes, code};

/// What each verb that takes a key with its public part has for a token.
fn all(processor: &mut Processor, token: &[u8], curve: EccCurve) -> [Result<Vec<u8>, Codes>; 3] {
    let (words, data) = method(curve);
    let signature = vec![1; 2 * curve.bytes()];
    let verified = match verify(processor, words, token, &data, &signature) {
        code::OK | code::SIGNATURE_NOT_VERIFIED => Ok(Vec::new()),
        codes => Err(codes),
    };
    [sign(processor, words, token, &data), extracted(processor, token), verified]
}

#[test]
fn every_flipped_byte_of_an_internal_token_is_refused() {
    let mut processor = processor();
    for curve in [EccCurve::P256, EccCurve::P521, EccCurve::Ed25519] {
        let words = ["KEY-MGMT", "ECC-VER1"];
        let peer = Peer::new(curve);
        let clear = build_full(&mut processor, &peer.pair(), &words, b"user", &[2, 1, 1, 0]).unwrap();
        let full = key_import(&mut processor, &clear).unwrap();
        let plain = peer.internal(&mut processor, &[]);
        for (token, flips) in [(full, &[0x01u8, 0x80][..]), (plain, &[0x05, 0xC0])] {
            assert!(all(&mut processor, &token, curve).iter().all(Result::is_ok));
            for at in 0..token.len() {
                for flip in flips {
                    let mut changed = token.clone();
                    changed[at] ^= flip;
                    let taken = all(&mut processor, &changed, curve);
                    assert!(taken.iter().all(Result::is_err), "{curve:?} byte {at} ^ {flip:#x}: {taken:?}");
                }
            }
        }
    }
}

/// A clear token says what its writer says, but never a public key beside another private one.
#[test]
fn every_flipped_byte_of_a_clear_token_is_refused_or_the_same_key() {
    let mut processor = processor();
    for curve in [EccCurve::P256, EccCurve::Secp256k1] {
        let peer = Peer::new(curve);
        let clear = peer.clear(&mut processor, &[]);
        for at in 0..clear.len() {
            let mut changed = clear.clone();
            changed[at] ^= 0x01;
            let [signed, public, verified] = all(&mut processor, &changed, curve);
            assert_eq!((signed.is_ok(), verified.is_ok()), (public.is_ok(), public.is_ok()), "byte {at}");
            let imported = key_import(&mut processor, &changed);
            assert_eq!(imported.is_ok(), public.is_ok(), "byte {at}");
            if let Ok(public) = public {
                assert_eq!(public, peer.point, "byte {at}");
            }
        }
    }
}

fn private_bytes(token: &[u8]) -> usize {
    8 + usize::from(u16::from_be_bytes([token[10], token[11]]))
}

fn with_length(mut token: Vec<u8>) -> Vec<u8> {
    let length = (token.len() as u16).to_be_bytes();
    token[2..4].copy_from_slice(&length);
    token
}

#[test]
fn a_public_key_beside_another_private_one_is_refused() {
    let mut processor = processor();
    for curve in EccCurve::ALL {
        let (mine, theirs) = (Peer::new(curve), Peer::new(curve));
        let tokens = [&mine, &theirs].map(|peer| peer.internal(&mut processor, &[]));
        let at = private_bytes(&tokens[0]);
        let spliced = [&tokens[0][..at], &tokens[1][at..]].concat();
        assert!(EccToken::parse(&spliced).is_ok(), "its layout is right");
        for taken in all(&mut processor, &spliced, curve) {
            assert_eq!(taken.unwrap_err(), code::TOKEN_INVALID, "{curve:?}");
        }
        assert_eq!(change(&mut processor, &["RTCMK"], &spliced).0, code::TOKEN_INVALID);
        // A signature of the one who made the splice is not one of the key.
        let (words, data) = method(curve);
        let codes = verify(&mut processor, words, &spliced, &data, &theirs.sign(&data));
        assert_eq!(codes, code::TOKEN_INVALID);

        let clear = [&mine, &theirs].map(|peer| peer.clear(&mut processor, &[]));
        let at = private_bytes(&clear[0]);
        let spliced = [&clear[0][..at], &clear[1][at..]].concat();
        for taken in all(&mut processor, &spliced, curve) {
            assert_eq!(taken.unwrap_err(), code::PKA_FIELD, "{curve:?}");
        }
        assert_eq!(key_import(&mut processor, &spliced).unwrap_err(), code::PKA_FIELD);
    }
}

#[test]
fn parts_of_two_tokens_do_not_mix() {
    let mut processor = processor();
    let curve = EccCurve::P256;
    let peer = Peer::new(curve);
    let one = peer.internal(&mut processor, &[]);
    let two = peer.internal(&mut processor, &[]);
    let refused = |processor: &mut Processor, token: &[u8], what: &str| {
        assert!(EccToken::parse(token).is_ok(), "{what}: its layout is right");
        for taken in all(processor, token, curve) {
            assert_eq!(taken.unwrap_err(), code::TOKEN_INVALID, "{what}");
        }
    };
    // The object protection key of one with the payload of the other, and half a field of each.
    for range in [8 + 24..8 + 72, 8 + 24..8 + 48, 8 + 92..8 + 172, 8 + 92..8 + 132] {
        let mut mixed = one.clone();
        mixed[range.clone()].copy_from_slice(&two[range.clone()]);
        refused(&mut processor, &mixed, &format!("{range:?}"));
    }
    // Usage, in both places that say it.
    let agreeing = peer.internal(&mut processor, &["KM-ONLY"]);
    let mut signing = agreeing.clone();
    (signing[8 + 8], signing[8 + 76 + 10]) = (0x00, 0x00);
    refused(&mut processor, &signing, "usage");
    // The curve, in all four places: another group of the same length, in which small subgroups or a twist may lie.
    for (kind, name) in [(0x01, "Brainpool"), (0x03, "Koblitz")] {
        let mut other = one.clone();
        for at in [8 + 9, 8 + 76 + 7, private_bytes(&one) + 8] {
            other[at] = kind;
        }
        refused(&mut processor, &other, name);
    }
    // The source, which says whether a card made the key.
    let mut made = one.clone();
    assert_eq!(made[8 + 11], 0x21);
    made[8 + 11] = 0x24;
    refused(&mut processor, &made, "source");
    // What may be derived: exchanged, left out, added.
    let clear = build_full(&mut processor, &peer.pair(), &["ECC-VER1"], &[], &[2, 1, 1, 0]).unwrap();
    let deriving = key_import(&mut processor, &clear).unwrap();
    let end = deriving.len() - 8;
    let mut exchanged = deriving.clone();
    exchanged[end + 4..].copy_from_slice(&[1, 1, 0, 64]);
    refused(&mut processor, &exchanged, "another derivation");
    refused(&mut processor, &with_length(deriving[..end].to_vec()), "no derivation");
    let clear = build_full(&mut processor, &peer.pair(), &["ECC-VER1"], &[], &[]).unwrap();
    let plain = key_import(&mut processor, &clear).unwrap();
    refused(&mut processor, &with_length([&plain[..], &deriving[end..]].concat()), "a derivation");
}

/// Private values of an RSA token in an elliptic-curve token: both are wrapped under keys of the same master key.
#[test]
fn the_key_of_an_rsa_token_opens_no_curve() {
    let mut processor = processor();
    let rsa = internal_token(&mut processor, "RSA-AESM", "SIG-ONLY", openssl_key(512));
    let curve = Peer::new(EccCurve::P521).internal(&mut processor, &[]);
    // X'30': key field at 56, payload last of the section; d of 64 bytes is in a payload of 112, as one of P-521 is.
    let payload = private_bytes(&rsa) - 112..private_bytes(&rsa);
    let mut mixed = curve.clone();
    mixed[8 + 24..8 + 72].copy_from_slice(&rsa[8 + 56..8 + 104]);
    mixed[8 + 92..8 + 204].copy_from_slice(&rsa[payload]);
    for taken in all(&mut processor, &mixed, EccCurve::P521) {
        assert_eq!(taken.unwrap_err(), code::TOKEN_INVALID);
    }
}

#[test]
fn points_that_are_no_public_keys_are_refused() {
    let mut processor = processor();
    for (curve, _) in CURVES {
        let peer = Peer::new(curve);
        let half = curve.bytes();
        let mut off = peer.point.clone();
        off[2 * half] ^= 1;
        let infinity = [&[4][..], &vec![0; 2 * half]].concat();
        let large = [&[4][..], &vec![0xFF; 2 * half]].concat();
        let (x, y) = peer.point[1..].split_at(half);
        let exchanged = [&[4], y, x].concat();
        let hybrid = [&[6 | (y[half - 1] & 1)], x, y].concat();
        for (what, point) in [
            ("off the curve", &off),
            ("infinity", &infinity),
            ("not below the prime", &large),
            ("coordinates exchanged", &exchanged),
        ] {
            let token = point_token(&mut processor, curve, point).unwrap();
            let codes = verify(&mut processor, &["ECDSA"], &token, &[7; 32], &vec![1; 2 * half]);
            assert_eq!(codes, code::PKA_FIELD, "{curve:?} {what}");
            assert_eq!(extracted(&mut processor, &token).unwrap_err(), code::PKA_FIELD, "{curve:?} {what}");
            let structure = pair(curve, &peer.value, point);
            let clear = token_build(&mut processor, &["ECC-PAIR"], &structure, &[]).unwrap();
            assert_eq!(key_import(&mut processor, &clear).unwrap_err(), code::PKA_FIELD, "{curve:?} {what}");
        }
        // Infinity as SEC 1 encodes it, compressed and hybrid points have another form.
        for point in [&[0][..], &[&[2], x].concat(), &hybrid] {
            assert_eq!(point_token(&mut processor, curve, point).unwrap_err(), code::PKA_FIELD, "{curve:?}");
        }
    }
}

#[test]
fn numbers_that_are_no_private_keys_are_refused() {
    let mut processor = processor();
    for (curve, _) in CURVES {
        let mut order = BigNum::new().unwrap();
        group(curve).order(&mut order, &mut openssl::bn::BigNumContext::new().unwrap()).unwrap();
        let one = BigNum::from_u32(1).unwrap();
        let bytes = |number: &BigNum| number.to_vec_padded(curve.bytes() as i32).unwrap();
        let generator = Peer::of(curve, &one).point;
        let (last, beyond) = (&order - &one, &order + &one);
        for (what, value) in
            [("zero", vec![0; curve.bytes()]), ("the order", bytes(&order)), ("beyond it", bytes(&beyond))]
        {
            let structure = pair(curve, &value, &generator);
            let clear = token_build(&mut processor, &["ECC-PAIR"], &structure, &[]).unwrap();
            assert_eq!(key_import(&mut processor, &clear).unwrap_err(), code::PKA_FIELD, "{curve:?} {what}");
            let refused = sign(&mut processor, &["ECDSA"], &clear, &[7; 32]).unwrap_err();
            assert_eq!(refused, code::PKA_FIELD, "{curve:?} {what}");
        }
        // The largest there is, and the smallest, which has all its leading zeros left out.
        let peer = Peer::of(curve, &last);
        peer.internal(&mut processor, &[]);
        let structure = pair(curve, &[1], &generator);
        let clear = token_build(&mut processor, &["ECC-PAIR"], &structure, &[]).unwrap();
        let internal = key_import(&mut processor, &clear).unwrap();
        let signature = sign(&mut processor, &["ECDSA"], &internal, &[7; 32]).unwrap();
        assert!(verifies(curve, &generator, &[7; 32], &signature));
    }
}

/// Under a public key of small order anyone makes signatures that fit: R the neutral point, S zero.
#[test]
fn ed25519_keys_of_small_order_are_refused() {
    let mut processor = processor();
    let (words, _) = method(EccCurve::Ed25519);
    let neutral: [u8; 32] = std::array::from_fn(|at| u8::from(at == 0));
    let order_two: [u8; 32] = std::array::from_fn(|at| match at {
        0 => 0xEC,
        31 => 0x7F,
        _ => 0xFF,
    });
    let order_four = [0; 32];
    let forged = [neutral, [0; 32]].concat();
    for point in [neutral, order_two, order_four] {
        // OpenSSL takes the forgery for one text in a few.
        let text =
            (0..=255u8).map(|byte| [byte]).find(|text| verifies(EccCurve::Ed25519, &point, text, &forged));
        let text = text.expect("the attack bites");
        let token = point_token(&mut processor, EccCurve::Ed25519, &point).unwrap();
        assert_eq!(verify(&mut processor, words, &token, &text, &forged), code::PKA_FIELD);
        assert_eq!(extracted(&mut processor, &token).unwrap_err(), code::PKA_FIELD);
    }
    // The same points with numbers that are not below the prime.
    for low in [0xEDu8, 0xEE, 0xFF] {
        let mut point = order_two;
        point[0] = low;
        let token = point_token(&mut processor, EccCurve::Ed25519, &point).unwrap();
        assert_eq!(extracted(&mut processor, &token).unwrap_err(), code::PKA_FIELD, "{low:#x}");
    }
}

#[test]
fn tokens_of_one_domain_do_not_open_in_another() {
    let mut processor = processor();
    processor.load(&handout(1, &[1, 2, 3, 8], &[0; 4])).unwrap();
    for curve in EccCurve::ALL {
        let token = Peer::new(curve).internal(&mut processor, &[]);
        let (words, data) = method(curve);
        let rules = keywords(words);
        let arguments = sign_arguments(words.len(), &rules, &token, &data);
        let mut payload = Vec::new();
        arguments.write_request(&mut payload).unwrap();
        // First where it is, so that a prepared key could be mistaken for the other domain's.
        for (domain, codes) in [(0, code::OK), (1, code::MASTER_KEY_MISMATCH), (0, code::OK)] {
            let mut batch = cca::Batch::new();
            let request = cca::Incoming { verb: arguments.verb(), domain, points: OWNER, payload: &payload };
            batch.push(&request).unwrap();
            processor.run(&mut batch);
            assert_eq!(batch.answers()[0].codes, codes, "{curve:?} in domain {domain}");
        }
    }
}

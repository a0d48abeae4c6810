//! Keys that agree on nothing: of other kinds and curves, points that are none, tokens that were changed.

use super::*;
use cca::Processor;
use openssl::bn::BigNum;
use token::pka::ecc::EccCurve;
use wire::code;

#[test]
fn keys_that_do_not_agree() {
    let mut processor = processor();
    let curve = EccCurve::P521;
    let words = ["DERIV02", "SHA-256"];
    let peer = Peer::new(curve);
    let public = peer.public(&mut processor);
    let build = |processor: &mut Processor, structure: &[u8], usage: &str| {
        build_full(processor, structure, &[usage, "ECC-VER1"], b"", &derivation(2, AES_DATA, 256)).unwrap()
    };
    let clear = build(&mut processor, &peer.pair(), "KEY-MGMT");
    let imported = key_import(&mut processor, &clear).unwrap();
    let skeleton = build(&mut processor, &pair(curve, &[], &[]), "KEY-MGMT");
    let signing = build(&mut processor, &pair(curve, &[], &[]), "SIG-ONLY");
    let signing = key_generate(&mut processor, &[], &signing).unwrap();
    let without = plain(&mut processor, curve, &["KEY-MGMT"]);
    let rsa = internal_token(&mut processor, "RSA-AESM", "KEY-MGMT", openssl_key(512));
    for (private, codes, what) in [
        (&clear, code::KEY_USAGE, "a clear key"),
        (&imported, code::KEY_USAGE, "a key that came in, and that somebody has"),
        (&skeleton, code::TOKEN_INVALID, "no key"),
        (&signing, code::KEY_USAGE, "SIG-ONLY"),
        (&without, code::KEY_USAGE, "a key without a derivation"),
        (&rsa, code::TOKEN_INVALID, "an RSA key"),
        (&public, code::TOKEN_INVALID, "a public key"),
    ] {
        let agreed = Agreement::new(&words, private, &public, 256).run(&mut processor);
        assert_eq!(agreed.unwrap_err(), codes, "{what}");
    }
    for (private, codes, what) in [
        (&clear, code::KEY_USAGE, "a clear key"),
        (&signing, code::KEY_USAGE, "SIG-ONLY"),
        (&imported, code::KEY_USAGE, "a key that derives"),
        (&rsa, code::TOKEN_INVALID, "an RSA key"),
    ] {
        let agreed = Agreement { points: ALL, ..Agreement::new(&["PASSTHRU"], private, &public, 0) };
        assert_eq!(agreed.run(&mut processor).unwrap_err(), codes, "{what}");
    }
    let edwards = plain(&mut processor, EccCurve::Ed25519, &["KEY-MGMT"]);
    let agreed = Agreement { points: ALL, ..Agreement::new(&["PASSTHRU"], &edwards, &public, 0) };
    assert_eq!(agreed.run(&mut processor).unwrap_err(), code::CURVE);
    let (token, _) = deriving(&mut processor, curve, derivation(2, AES_DATA, 256));
    for other in EccCurve::ALL.into_iter().filter(|other| *other != curve) {
        let public = Peer::new(other).public(&mut processor);
        let agreed = Agreement::new(&words, &token, &public, 256).run(&mut processor);
        assert_eq!(agreed.unwrap_err(), code::PKA_FIELD, "{other:?}");
    }
    for other in [&rsa, &skeleton] {
        assert!(Agreement::new(&words, &token, other, 256).run(&mut processor).is_err());
    }
}

/// Points on other curves: of (x, y) any pair is a point on some curve with the same first coefficient, which may have
/// small subgroups; the answers would tell the private key modulo their orders.
#[test]
fn points_on_other_curves_are_refused() {
    let mut processor = processor();
    for (curve, _) in CURVES {
        let token = plain(&mut processor, curve, &["KEY-MGMT"]);
        let peer = Peer::new(curve);
        let half = curve.bytes();
        let mut tried = 0;
        for round in 0..=20u8 {
            let mut point = peer.point.clone();
            match round {
                // Order 2 on the other curve: y is zero.
                0 => point[1 + half..].fill(0),
                1 => point[1..=half].fill(0),
                2 => point[1..].fill(0),
                3 => point[1..].fill(0xFF),
                _ => point[2 * half - usize::from(round % 4)] ^= round,
            }
            let public = point_token(&mut processor, curve, &point).unwrap();
            let agreed = Agreement { points: ALL, ..Agreement::new(&["PASSTHRU"], &token, &public, 0) };
            assert_eq!(agreed.run(&mut processor).unwrap_err(), code::PKA_FIELD, "{curve:?} {round}");
            tried += 1;
        }
        assert_eq!(tried, 21);
        // The generator is a key of a kind: its private value is one, and the secret is the caller's own coordinate.
        let one = Peer::of(curve, &BigNum::from_u32(1).unwrap());
        let public = one.public(&mut processor);
        let agreed = Agreement { points: ALL, ..Agreement::new(&["PASSTHRU"], &token, &public, 0) };
        let point = extracted(&mut processor, &token).unwrap();
        assert_eq!(agreed.run(&mut processor).unwrap(), point[1..=half]);
    }
}

#[test]
fn every_flipped_byte_of_the_private_token_is_refused() {
    let mut processor = processor();
    let (token, _) = deriving(&mut processor, EccCurve::P256, derivation(2, AES_DATA, 128));
    let public = Peer::new(EccCurve::P256).public(&mut processor);
    let words = ["DERIV02", "SHA-256"];
    assert!(Agreement::new(&words, &token, &public, 128).run(&mut processor).is_ok());
    for at in 0..token.len() {
        for flip in [0x01u8, 0x03, 0x80] {
            let mut changed = token.clone();
            changed[at] ^= flip;
            let agreed = Agreement { points: ALL, ..Agreement::new(&words, &changed, &public, 128) };
            assert!(agreed.run(&mut processor).is_err(), "byte {at} ^ {flip:#x}");
        }
    }
    // A transport key of a key that derives DATA keys, and without the derivation the secret.
    let end = token.len() - 4;
    let mut exchanged = token.clone();
    exchanged[end..].copy_from_slice(&derivation(2, EXPORTER, 128));
    let agreed = Agreement::new(&words, &exchanged, &public, 128).run(&mut processor);
    assert_eq!(agreed.unwrap_err(), code::TOKEN_INVALID);
    let mut cut = token[..token.len() - 8].to_vec();
    let length = (cut.len() as u16).to_be_bytes();
    cut[2..4].copy_from_slice(&length);
    let agreed = Agreement { points: ALL, ..Agreement::new(&["PASSTHRU"], &cut, &public, 0) };
    assert_eq!(agreed.run(&mut processor).unwrap_err(), code::TOKEN_INVALID);
}

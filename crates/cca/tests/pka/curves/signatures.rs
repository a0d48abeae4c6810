//! Digital_Signature_Generate and _Verify with keys of elliptic curves: both ways with OpenSSL, published answers, and
//! every refusal.

use super::peer::*;
use openssl::bn::BigNum;
use token::pka::ecc::EccCurve;
use verb_requests::pka::*;
use wire::code;

const DIGESTS: [(&str, usize); 5] =
    [("SHA-1", 20), ("SHA-224", 28), ("SHA-256", 32), ("SHA-384", 48), ("SHA-512", 64)];

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| byte.is_ascii_hexdigit()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

#[test]
fn ecdsa_goes_both_ways_with_openssl() {
    let mut processor = processor();
    for (curve, _) in CURVES {
        let peer = Peer::new(curve);
        let public = peer.public(&mut processor);
        let internal = peer.internal(&mut processor, &[]);
        for (hash, bytes) in DIGESTS {
            let digest: Vec<u8> = (0..bytes as u8).map(|at| at.wrapping_mul(73) ^ 0x11).collect();
            for words in [&["ECDSA"][..], &["ECDSA", "HASH"], &["ECDSA", hash]] {
                let signature = sign(&mut processor, words, &internal, &digest).unwrap();
                assert_eq!(signature.len(), 2 * curve.bytes());
                assert!(verifies(curve, &peer.point, &digest, &signature), "{curve:?} {words:?}");
                let theirs = peer.sign(&digest);
                assert_ne!(signature, theirs, "every signature has a number of its own");
                for (token, signature) in [(&public, &theirs), (&internal, &theirs), (&public, &signature)] {
                    assert_eq!(verify(&mut processor, words, token, &digest, signature), code::OK);
                }
            }
        }
    }
}

#[test]
fn ed25519_is_deterministic_and_goes_both_ways() {
    let mut processor = processor();
    let (words, _) = method(EccCurve::Ed25519);
    let peer = Peer::new(EccCurve::Ed25519);
    let internal = peer.internal(&mut processor, &[]);
    let public = peer.public(&mut processor);
    for bytes in [0, 1, 31, 64, 65, 4096] {
        let text = vec![0xC3; bytes];
        let signature = sign(&mut processor, words, &internal, &text).unwrap();
        assert_eq!(signature, peer.sign(&text), "{bytes}");
        for token in [&public, &internal] {
            assert_eq!(verify(&mut processor, words, token, &text, &signature), code::OK);
        }
    }
}

/// RFC 6979, A.2.5 (P-256, SHA-256, "sample"), and RFC 8032, 7.1, test 2.
#[test]
fn published_signatures_verify() {
    let mut processor = processor();
    let point = hex("04 60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6
            7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299");
    let scalar = hex("C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721");
    let peer = Peer::of(EccCurve::P256, &BigNum::from_slice(&scalar).unwrap());
    assert_eq!(peer.point, point);
    let signature = hex("EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716
         F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8");
    let token = point_token(&mut processor, EccCurve::P256, &point).unwrap();
    let digest = openssl::sha::sha256(b"sample");
    assert_eq!(verify(&mut processor, &["ECDSA", "SHA-256"], &token, &digest, &signature), code::OK);

    let value = hex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
    let point = hex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
    let signature = hex("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da
         085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
    let peer = Peer { curve: EccCurve::Ed25519, value, point };
    let internal = peer.internal(&mut processor, &[]);
    let (words, _) = method(EccCurve::Ed25519);
    assert_eq!(sign(&mut processor, words, &internal, &[0x72]).unwrap(), signature);
    let public = peer.public(&mut processor);
    assert_eq!(verify(&mut processor, words, &public, &[0x72], &signature), code::OK);
}

#[test]
fn every_changed_byte_of_a_signature_is_noticed() {
    let mut processor = processor();
    for curve in EccCurve::ALL {
        let peer = Peer::new(curve);
        let public = peer.public(&mut processor);
        let (words, data) = method(curve);
        let signature = peer.sign(&data);
        let mut check = |data: &[u8], signature: &[u8], what: &str| {
            let codes = verify(&mut processor, words, &public, data, signature);
            assert_eq!(codes, code::SIGNATURE_NOT_VERIFIED, "{curve:?} {what}");
        };
        for at in 0..signature.len() {
            let mut changed = signature.clone();
            changed[at] ^= 0x10;
            check(&data, &changed, "changed");
        }
        // Of a digest longer than the order the end is cut off (FIPS 186-5, 6.4.1).
        for at in 0..data.len().min(curve.bytes()) {
            let mut changed = data;
            changed[at] ^= 1;
            check(&changed, &signature, "another text");
        }
        let half = curve.bytes();
        let zero = vec![0; half];
        let (r, s) = signature.split_at(half);
        for (what, wrong) in [
            ("cut", signature[1..].to_vec()),
            ("longer", [&signature[..], &[0]].concat()),
            ("none", Vec::new()),
            ("r zero", [&zero, s].concat()),
            ("s zero", [r, &zero].concat()),
            ("both zero", vec![0; 2 * half]),
            ("too large", vec![0xFF; 2 * half]),
            ("exchanged", [s, r].concat()),
        ] {
            check(&data, &wrong, what);
        }
        if curve == EccCurve::Ed25519 {
            continue;
        }
        // The same numbers plus the order, where they fit.
        let mut order = BigNum::new().unwrap();
        group(curve).order(&mut order, &mut openssl::bn::BigNumContext::new().unwrap()).unwrap();
        let larger = &BigNum::from_slice(r).unwrap() + &order;
        if let Ok(larger) = larger.to_vec_padded(half as i32) {
            check(&data, &[&larger, s].concat(), "r plus the order");
        }
    }
}

#[test]
fn lengths_are_answered() {
    use wire::verb::digital_signature_generate::*;
    let mut processor = processor();
    for (curve, bytes) in [(EccCurve::P224, 56), (EccCurve::P521, 132), (EccCurve::Ed25519, 64)] {
        let internal = Peer::new(curve).internal(&mut processor, &[]);
        let (words, data) = method(curve);
        let rules = keywords(words);
        let arguments = sign_arguments(words.len(), &rules, &internal, &data);
        let (_, codes, payload) = run(&mut processor, &arguments);
        let reply = wire::frame::Arguments::read_reply(arguments.verb(), &payload).unwrap();
        assert_eq!(codes, code::OK);
        let lengths = (reply.integer(SIGNATURE_FIELD_LENGTH), reply.integer(SIGNATURE_BIT_LENGTH));
        assert_eq!(lengths, (bytes, 8 * bytes));
        let short = sign_into(&mut processor, words, &internal, &data, bytes - 1);
        assert_eq!(short.unwrap_err(), code::BUFFER_TOO_SMALL);
        assert!(sign_into(&mut processor, words, &internal, &data, bytes).is_ok());
    }
}

#[test]
fn refusals() {
    let mut processor = processor();
    let peer = Peer::new(EccCurve::P256);
    let edwards = Peer::new(EccCurve::Ed25519);
    let public = peer.public(&mut processor);
    let internal = peer.internal(&mut processor, &["KEY-MGMT"]);
    let agreeing = peer.internal(&mut processor, &["KM-ONLY"]);
    let (twisted, twisted_public) = (edwards.internal(&mut processor, &[]), edwards.public(&mut processor));
    let data = [7; 32];
    let (eddsa, _) = method(EccCurve::Ed25519);
    for (words, key, public, data, codes) in [
        (&["ECDSA", "RSA"][..], &internal, &public, &data[..], code::KEYWORD_COMBINATION),
        (&["ECDSA", "MESSAGE"], &internal, &public, &data, code::KEYWORD_COMBINATION),
        (&["ECDSA", "ED-HASH"], &internal, &public, &data, code::KEYWORD_COMBINATION),
        (&["ECDSA", "EDDSA"], &internal, &public, &data, code::KEYWORD_COMBINATION),
        (&["EDDSA"], &twisted, &twisted_public, &data, code::KEYWORD_COMBINATION),
        (&["EDDSA", "ED-HASH"], &twisted, &twisted_public, &data, code::KEYWORD_COMBINATION),
        (&["EDDSA", "MESSAGE"], &twisted, &twisted_public, &data, code::KEYWORD_COMBINATION),
        (&["EDDSA", "ED-HASH", "HASH"], &twisted, &twisted_public, &data, code::KEYWORD_COMBINATION),
        (
            &["EDDSA", "ED-HASH", "MESSAGE", "SHA-512"],
            &twisted,
            &twisted_public,
            &data,
            code::KEYWORD_COMBINATION,
        ),
        (&["ECDSA", "SHA-384"], &internal, &public, &data, code::TEXT_LENGTH),
        (&["ECDSA"], &internal, &public, &data[1..], code::TEXT_LENGTH),
        (&["ECDSA"], &internal, &public, &[], code::TEXT_LENGTH),
        (&["ECDSA"], &twisted, &twisted_public, &data, code::CURVE),
        (eddsa, &internal, &public, &data, code::CURVE),
        (&["PKCS-1.1"], &internal, &public, &data, code::TOKEN_INVALID),
    ] {
        assert_eq!(sign(&mut processor, words, key, data).unwrap_err(), codes, "{words:?}");
        assert_eq!(verify(&mut processor, words, public, data, &[1; 64]), codes, "{words:?}");
    }
    let words = ["ECDSA"];
    assert_eq!(sign(&mut processor, &words, &agreeing, &data).unwrap_err(), code::KEY_USAGE);
    let clear = peer.clear(&mut processor, &["KM-ONLY"]);
    assert_eq!(sign(&mut processor, &words, &clear, &data).unwrap_err(), code::KEY_USAGE);
    assert_eq!(sign(&mut processor, &words, &public, &data).unwrap_err(), code::TOKEN_INVALID);
    assert_eq!(verify(&mut processor, &words, &agreeing, &data, &peer.sign(&data)), code::OK);
    let mut other = with_keys(true, &[1, 2, 3, 5], &[0; 4]);
    assert_eq!(sign(&mut other, &words, &internal, &data).unwrap_err(), code::MASTER_KEY_MISMATCH);
    let mut empty = with_keys(true, &[1, 2, 3, 0], &[0; 4]);
    assert_eq!(sign(&mut empty, &words, &internal, &data).unwrap_err(), code::MASTER_KEY_NOT_LOADED);
    assert!(sign(&mut empty, &words, &peer.clear(&mut processor, &[]), &data).is_ok());
    // The verbs of RSA do not take them.
    assert_eq!(encrypt(&mut processor, &["PKCS-1.2"], &public, b"text").unwrap_err(), code::TOKEN_INVALID);
    assert_eq!(decrypt(&mut processor, &["PKCS-1.2"], &internal, b"text").unwrap_err(), code::TOKEN_INVALID);
}

//! Secrets and derived keys are those of OpenSSL.

use super::*;
use openssl::hash::MessageDigest;
use token::AesToken;
use token::pka::ecc::EccCurve;
use wire::code;

#[test]
fn derived_keys_are_those_of_openssl_on_every_curve_with_every_hash() {
    let mut processor = processor();
    for (curve, _) in CURVES {
        for (word, digest) in HASHES {
            for bits in [128u16, 192, 256] {
                let (token, _) = deriving(&mut processor, curve, derivation(2, AES_DATA, bits));
                let point = extracted(&mut processor, &token).unwrap();
                let peer = Peer::new(curve);
                let public = peer.public(&mut processor);
                let party = &b"what both parties know"[..usize::from(bits) % 23];
                let words = ["DERIV02", "KEY-AES", word];
                let agreed =
                    Agreement { party, points: ALL, ..Agreement::new(&words, &token, &public, bits.into()) };
                let derived = agreed.run(&mut processor).unwrap();
                assert_eq!(AesToken::parse(&derived).unwrap().key_bytes(), usize::from(bits / 8));
                let key = x963(digest(), &secret(&peer, &point), party, usize::from(bits / 8));
                let expected = enciphered_by_openssl(aes_cipher(bits), &key);
                assert_eq!(aes(&mut processor, &derived).unwrap(), expected, "{curve:?} {word} {bits}");
            }
        }
    }
}

#[test]
fn the_secret_is_that_of_openssl_where_a_role_shows_it() {
    let mut processor = processor();
    for (curve, _) in CURVES {
        let token = plain(&mut processor, curve, &["KEY-MGMT"]);
        let point = extracted(&mut processor, &token).unwrap();
        let peer = Peer::new(curve);
        let public = peer.public(&mut processor);
        let agreed = Agreement::new(&["PASSTHRU"], &token, &public, 0);
        assert_eq!(agreed.run(&mut processor).unwrap_err(), code::ACCESS_DENIED, "the owner's role");
        let shown = Agreement { points: ALL, ..agreed }.run(&mut processor).unwrap();
        assert_eq!(shown, secret(&peer, &point), "{curve:?}");
        // Keys that came in agree as well; nothing is derived of them.
        let imported = peer.internal(&mut processor, &["KM-ONLY"]);
        let own = public_key_extract(&mut processor, &token, CAPACITY).unwrap();
        let other = Agreement { points: ALL, ..Agreement::new(&["PASSTHRU"], &imported, &own, 0) };
        assert_eq!(other.run(&mut processor).unwrap(), shown, "{curve:?}");
        // A public key may be given with its private one.
        let other = Agreement { points: ALL, ..Agreement::new(&["PASSTHRU"], &imported, &token, 0) };
        assert_eq!(other.run(&mut processor).unwrap(), shown, "{curve:?}");
    }
}

/// A secret with leading zeros keeps them: shorter, it would derive another key than the other side.
#[test]
fn a_secret_that_begins_with_zeros_is_whole() {
    let mut processor = processor();
    let curve = EccCurve::P256;
    let token = plain(&mut processor, curve, &["KEY-MGMT"]);
    let point = extracted(&mut processor, &token).unwrap();
    let peer = std::iter::repeat_with(|| Peer::new(curve)).find(|peer| secret(peer, &point)[0] == 0).unwrap();
    let public = peer.public(&mut processor);
    let agreed = Agreement { points: ALL, ..Agreement::new(&["PASSTHRU"], &token, &public, 0) };
    assert_eq!(agreed.run(&mut processor).unwrap(), secret(&peer, &point));
}

#[test]
fn des_keys_are_the_start_of_what_is_derived_with_odd_parity() {
    let mut processor = processor();
    for bits in [64u16, 128, 192] {
        let (token, _) = deriving(&mut processor, EccCurve::P256, derivation(1, AES_DATA, bits));
        let point = extracted(&mut processor, &token).unwrap();
        let peer = Peer::new(EccCurve::P256);
        let public = peer.public(&mut processor);
        let words = ["DERIV02", "SHA-512"];
        let derived = Agreement::new(&words, &token, &public, bits.into()).run(&mut processor).unwrap();
        let key = x963(MessageDigest::sha512(), &secret(&peer, &point), b"", usize::from(bits / 8));
        assert_eq!(des_pattern(&mut processor, &derived), des_pattern_by_openssl(&key), "{bits}");
    }
}

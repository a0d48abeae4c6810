//! Who may agree, on which curves and for which keys, and keywords that nobody may give.

use super::*;
use openssl::hash::MessageDigest;
use openssl::symm::Cipher;
use token::pka::ecc::EccCurve;
use wire::code;
use wire::point::{Point, PointSet};
use wire::role::BUILT_IN;

/// A role without this point.
const fn without(point: Point) -> PointSet {
    let mut points = BUILT_IN[0].points;
    points.deny(point);
    points
}

#[test]
fn curves_strengths_and_kinds_have_points() {
    let mut processor = processor();
    let words = ["DERIV02", "SHA-256"];
    macro_rules! denied {
        ($point:ident, $curve:ident, $derivation:expr) => {
            static POINTS: PointSet = without(Point::$point);
            let (curve, derivation) = (EccCurve::$curve, $derivation);
            let (token, _) = deriving(&mut processor, curve, derivation);
            let public = Peer::new(curve).public(&mut processor);
            let bits = i64::from(u16::from_be_bytes([derivation[2], derivation[3]]));
            let agreed = Agreement::new(&words, &token, &public, bits);
            assert!(agreed.run(&mut processor).is_ok(), stringify!($point));
            let denied = Agreement { points: &POINTS, ..agreed }.run(&mut processor);
            assert_eq!(denied.unwrap_err(), code::ACCESS_DENIED, stringify!($point));
        };
    }
    {
        denied!(AgreementP224, P224, derivation(1, AES_DATA, 128));
    }
    {
        denied!(AgreementP256, P256, derivation(2, AES_DATA, 128));
    }
    {
        denied!(AgreementP384, P384, derivation(2, AES_DATA, 192));
    }
    {
        denied!(AgreementP521, P521, derivation(2, AES_DATA, 256));
    }
    {
        denied!(AgreementBrainpool256, BrainpoolP256r1, derivation(2, AES_DATA, 128));
    }
    {
        denied!(AgreementBrainpool384, BrainpoolP384r1, derivation(2, AES_DATA, 192));
    }
    {
        denied!(AgreementKoblitz256, Secp256k1, derivation(2, AES_DATA, 128));
    }
    {
        denied!(AgreementDerive2, P256, derivation(2, AES_DATA, 128));
    }
    {
        denied!(AgreementTransportKey, P521, derivation(2, EXPORTER, 256));
    }
    {
        denied!(AgreementTransportKey, P256, derivation(1, IMPORTER, 128));
    }
    {
        denied!(SingleLengthDes, P256, derivation(1, AES_DATA, 64));
    }
    // Stronger than the curve.
    for (curve, derivation) in [
        (EccCurve::P224, derivation(2, AES_DATA, 128)),
        (EccCurve::P256, derivation(2, AES_DATA, 192)),
        (EccCurve::BrainpoolP256r1, derivation(2, CIPHER, 192)),
        (EccCurve::Secp256k1, derivation(2, AES_DATA, 256)),
        (EccCurve::P384, derivation(2, AES_DATA, 256)),
        (EccCurve::BrainpoolP384r1, derivation(2, CIPHER, 256)),
    ] {
        let (token, _) = deriving(&mut processor, curve, derivation);
        let public = Peer::new(curve).public(&mut processor);
        let bits = i64::from(u16::from_be_bytes([derivation[2], derivation[3]]));
        let agreed = Agreement::new(&words, &token, &public, bits);
        assert_eq!(agreed.run(&mut processor).unwrap_err(), code::AGREEMENT, "{curve:?} {derivation:?}");
        assert!(Agreement { points: ALL, ..agreed }.run(&mut processor).is_ok());
    }
}

/// Whoever may agree may choose the key: with a private key of their own on the other side they know what is derived. A
/// guest, whose keys are others' to choose, may not.
#[test]
fn a_guest_brings_in_no_key_of_its_choice() {
    let mut processor = processor();
    let (token, _) = deriving(&mut processor, EccCurve::P256, derivation(2, AES_DATA, 128));
    let mine = Peer::new(EccCurve::P256);
    let public = mine.public(&mut processor);
    let agreed = Agreement::new(&["DERIV02", "SHA-256"], &token, &public, 128);
    let derived = agreed.run(&mut processor).unwrap();
    let point = extracted(&mut processor, &token).unwrap();
    let known = x963(MessageDigest::sha256(), &secret(&mine, &point), b"", 16);
    let expected = enciphered_by_openssl(Cipher::aes_128_ecb(), &known);
    assert_eq!(aes(&mut processor, &derived).unwrap(), expected, "the attack bites");
    for role in ["guest", "trusted", "nobody"] {
        let role = &wire::role::BuiltIn::from_name(role).unwrap().points;
        for point in [Point::EcDiffieHellman, Point::AgreementDerive2, Point::AgreementPassThrough] {
            assert!(!role.permits(point), "{point:?}");
        }
    }
}

#[test]
fn keywords_that_are_not_served() {
    let mut processor = processor();
    let (token, public) = deriving(&mut processor, EccCurve::P256, derivation(1, AES_DATA, 128));
    for (words, codes) in [
        (&["DERIV01"][..], code::KEYWORD),
        (&["DERIV02", "SHA-256", "QSA-ECDH"], code::KEYWORD),
        (&["DERIV02", "SHA-256", "OKEK-AES"], code::TOKEN_INVALID),
        (&["DERIV02", "SHA-256", "OKEK-DES"], code::TOKEN_INVALID),
        (&["DERIV02", "SHA-256", "KEY-DES", "OKEK-AES"], code::KEYWORD_COMBINATION),
        (&["DERIV02", "SHA-256", "KEY-AES", "OKEK-DES"], code::KEYWORD_COMBINATION),
        (&["DERIV02", "SHA-1"], code::KEYWORD),
        (&["DERIV02"], code::KEYWORD_COMBINATION),
        (&["SHA-256"], code::KEYWORD_COMBINATION),
        (&["DERIV02", "SHA-256", "WRAP-ECB"], code::KEYWORD),
        (&["DERIV02", "SHA-256", "WRAP-ENH"], code::KEYWORD),
        (&["DERIV02", "SHA-256", "WRAPENH2"], code::KEYWORD),
        (&["DERIV02", "SHA-256", "WRAPENH3"], code::KEYWORD),
        (&["DERIV02", "SHA-256", "ENH-ONLY"], code::KEYWORD),
        (&["DERIV02", "SHA-256", "KEY-AES", "USECONFG"], code::KEYWORD_COMBINATION),
        (&["PASSTHRU", "SHA-256"], code::KEYWORD_COMBINATION),
        (&["PASSTHRU", "KEY-AES"], code::KEYWORD_COMBINATION),
        (&["PASSTHRU", "DERIV02"], code::KEYWORD_COMBINATION),
    ] {
        let agreed = Agreement { points: ALL, ..Agreement::new(words, &token, &public, 128) };
        assert_eq!(agreed.run(&mut processor).unwrap_err(), codes, "{words:?}");
    }
    let words = ["ECDH", "DERIV02", "SHA-256", "KEY-DES", "USECONFG"];
    assert!(Agreement::new(&words, &token, &public, 128).run(&mut processor).is_ok());
}

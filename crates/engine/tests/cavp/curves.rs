//! ECDSA, ECDH, X25519 and Ed25519.

use super::engine;
use super::reader::{Case, cases, hex};
use engine::*;

fn curve(section: &str) -> Option<Curve> {
    [Curve::P256, Curve::P384, Curve::P521].into_iter().find(|curve| section.starts_with(curve.name()))
}

fn point(case: &Case, x: &str, y: &str, curve: Curve) -> Vec<u8> {
    let bytes = curve.scalar_bytes();
    [vec![4], case.padded(x, bytes), case.padded(y, bytes)].concat()
}

#[test]
fn key_pairs() {
    let mut count = 0;
    for case in cases("asymmetric/ECDSA/FIPS_186-3/KeyPair.rsp").iter().filter(|case| case.has("d")) {
        let curve = curve(case.section()).unwrap();
        let key = EcPrivateKey::from_bytes(curve, &case.padded("d", curve.scalar_bytes())).unwrap();
        assert_eq!(key.public_bytes(), point(case, "Qx", "Qy", curve));
        count += 1;
    }
    assert_eq!(count, 30);
}

#[test]
fn ecdsa_verification() {
    let engine = engine();
    let mut count = 0;
    for case in cases("asymmetric/ECDSA/FIPS_186-3/SigVer.rsp") {
        let curve = curve(case.section()).unwrap();
        let name = case.section().rsplit(',').next().unwrap();
        let hash = HashAlgorithm::ALL.into_iter().find(|hash| hash.name() == name).unwrap();
        let digest = engine.hash(hash, &case.bytes("Msg")).unwrap();
        let bytes = curve.scalar_bytes();
        let signature = [case.padded("R", bytes), case.padded("S", bytes)].concat();
        let fits = EcPublicKey::from_bytes(curve, &point(&case, "Qx", "Qy", curve)).is_ok_and(|key| {
            let mut items = [EcdsaVerifyItem::new(&key, &digest[..hash.digest_bytes()], &signature)];
            engine.ecdsa_verify_batch(&mut items);
            items[0].result.is_ok()
        });
        assert_eq!(fits, case.text("Result").starts_with('P'), "{case:?}");
        count += 1;
    }
    assert_eq!(count, 225);
}

#[test]
fn ecdh() {
    let mut count = 0;
    let file = "asymmetric/ECDH/KASValidityTest_ECCStaticUnified_NOKC_ZZOnly_init.fax";
    for case in cases(file).iter().filter(|case| case.has("Z")) {
        let curve = match &case.section()[..2] {
            "EC" => Curve::P256,
            "ED" => Curve::P384,
            "EE" => Curve::P521,
            _ => continue,
        };
        let bytes = curve.scalar_bytes();
        let peer = point(case, "QsCAVSx", "QsCAVSy", curve);
        // Cases fail by a private key beyond the order, one that is not that of the public key, or a peer
        // off the curve.
        let fits = EcPrivateKey::from_bytes(curve, &case.padded("dsIUT", bytes)).is_ok_and(|key| {
            key.public_bytes() == point(case, "QsIUTx", "QsIUTy", curve)
                && key.ecdh(&peer).is_ok_and(|shared| *shared == *case.padded("Z", bytes))
        });
        assert_eq!(fits, case.text("Result").starts_with('P'), "{case:?}");
        count += 1;
    }
    assert!(count >= 75, "{count}");
}

#[test]
fn x25519_of_rfc7748() {
    for case in cases("asymmetric/X25519/rfc7748.txt").iter().filter(|case| case.has("INPUT_SCALAR")) {
        let (scalar, u) = (case.bytes("INPUT_SCALAR"), case.bytes("INPUT_U"));
        let shared = x25519(&scalar.try_into().unwrap(), &u.try_into().unwrap()).unwrap();
        assert_eq!(*shared, *case.bytes("OUTPUT_U"));
    }
}

/// Lines `seed and public : public : message : signature and message`.
#[test]
fn ed25519_of_its_authors() {
    let path = format!("{}/tests/vectors/asymmetric/Ed25519/sign.input", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    for line in text.lines() {
        let parts: Vec<Vec<u8>> = line.split(':').map(hex).collect();
        let key = Ed25519Key::from_seed(parts[0][..32].try_into().unwrap());
        assert_eq!(key.public(), *parts[1]);
        let signature = key.sign(&parts[2]).unwrap();
        assert_eq!(signature, parts[3][..64]);
        assert_eq!(ed25519_verify(&key.public(), &parts[2], &signature), Ok(()));
        let changed = [parts[2].as_slice(), b"x"].concat();
        assert_eq!(ed25519_verify(&key.public(), &changed, &signature), Err(EcError::Signature));
    }
    assert_eq!(text.lines().count(), 256);
}

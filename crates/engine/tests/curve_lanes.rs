//! ECDSA and X25519 in batches against OpenSSL, the bound library and published vectors: every number of requests, keys
//! of all kinds side by side.
//!
//! A million random cases with `CRYPTAND_TEST_ALL=1`, a thousand otherwise, the same ones in every run but for nonces.

use engine::*;
use openssl::bn::BigNum;
use openssl::derive::Deriver;
use openssl::ec::{EcGroup, EcKey, EcPoint};
use openssl::ecdsa::EcdsaSig;
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, Public};
use seeded::Random;

fn cases() -> usize {
    if std::env::var("CRYPTAND_TEST_ALL").is_ok_and(|value| value == "1") { 1_000_000 } else { 1000 }
}

fn engine() -> Engine {
    Engine::new(Options::default()).unwrap()
}

/// A key of P-256 and what OpenSSL verifies with.
fn pair(scalar: &[u8; 32]) -> (EcPrivateKey, EcKey<Public>) {
    let ours = EcPrivateKey::from_bytes(Curve::P256, scalar).unwrap();
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    let mut context = openssl::bn::BigNumContext::new().unwrap();
    let point = EcPoint::from_bytes(&group, &ours.public_bytes(), &mut context).unwrap();
    (ours, EcKey::from_public_key(&group, &point).unwrap())
}

fn fits(key: &EcKey<Public>, digest: &[u8], signature: &[u8]) -> bool {
    let (r, s) = signature.split_at(32);
    let number = |bytes: &[u8]| BigNum::from_slice(bytes).unwrap();
    let signature = EcdsaSig::from_private_components(number(r), number(s)).unwrap();
    signature.verify(digest, key).unwrap()
}

/// Keys at the borders, and others.
fn keys(random: &mut Random) -> Vec<(EcPrivateKey, EcKey<Public>)> {
    let order_less_one = [
        0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc, 0xe6, 0xfa,
        0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x50,
    ];
    let mut one = [0; 32];
    one[31] = 1;
    let mut scalars = vec![one, order_less_one];
    scalars.extend(random.arrays::<32>(15).into_iter().map(|mut scalar| {
        scalar[0] &= 0x7f;
        scalar
    }));
    scalars.iter().map(pair).collect()
}

#[test]
fn signatures_fit_whatever_their_number() {
    let (engine, mut random) = (engine(), Random(1));
    let keys = keys(&mut random);
    let mut done = 0;
    while done < cases() {
        for count in 1..=17 {
            let digests: Vec<_> = (0..count).map(|_| random.array::<32>()).collect();
            let at = |index: usize| &keys[(index + count) % keys.len()];
            let mut items: Vec<_> = digests
                .iter()
                .enumerate()
                .map(|(index, digest)| EcdsaSignItem::new(&at(index).0, digest))
                .collect();
            engine.ecdsa_sign_batch(&mut items);
            for (index, item) in items.iter().enumerate() {
                assert_eq!(item.result, Ok(()));
                assert!(fits(&at(index).1, item.digest, item.signature()), "{index} of {count}");
            }
            done += count;
        }
    }
}

#[test]
fn digests_of_every_length_and_at_the_borders() {
    let (engine, mut random) = (engine(), Random(2));
    let keys = keys(&mut random);
    let mut digests: Vec<Vec<u8>> = (0..=66).map(|bytes| random.bytes(bytes)).collect();
    digests.extend([0, 0xff].map(|byte| vec![byte; 32]));
    let key = |index: usize| &keys[index % keys.len()];
    let mut items: Vec<_> =
        digests.iter().enumerate().map(|(index, digest)| EcdsaSignItem::new(&key(index).0, digest)).collect();
    engine.ecdsa_sign_verified_batch(&mut items);
    for (index, item) in items.iter().enumerate() {
        assert_eq!(item.result, Ok(()));
        assert!(fits(&key(index).1, item.digest, item.signature()), "{} bytes", item.digest.len());
    }
}

/// Other curves go to the library, among those that go through lanes.
#[test]
fn curves_side_by_side() {
    let engine = engine();
    let curves = [Curve::P256, Curve::P384, Curve::Secp256k1, Curve::P521, Curve::P224];
    let keys: Vec<_> = (0..40).map(|at| engine.ec_generate(curves[at % 7 % 5]).unwrap()).collect();
    let digest = [0x6b; 48];
    for count in [1, 2, 5, 13, 40] {
        let mut items: Vec<_> = keys[..count].iter().map(|key| EcdsaSignItem::new(key, &digest)).collect();
        engine.ecdsa_sign_batch(&mut items);
        for (key, item) in keys.iter().zip(&items) {
            assert_eq!(item.result, Ok(()));
            let public = key.public_key().unwrap();
            let mut items = [EcdsaVerifyItem::new(&public, &digest, item.signature())];
            engine.ecdsa_verify_batch(&mut items);
            assert_eq!(items[0].result, Ok(()));
        }
    }
}

/// One request twice in a batch, and again: never the same nonce.
#[test]
fn equal_requests_get_different_signatures() {
    let engine = engine();
    let key = engine.ec_generate(Curve::P256).unwrap();
    let mut seen = std::collections::HashSet::new();
    for _ in 0..10 {
        let mut items = [0; 8].map(|_| EcdsaSignItem::new(&key, &[0x17; 32]));
        engine.ecdsa_sign_batch(&mut items);
        assert!(items.iter().all(|item| seen.insert(item.signature()[..32].to_vec())));
    }
}

#[test]
fn shared_secrets_are_openssls_whatever_their_number() {
    let (engine, mut random) = (engine(), Random(3));
    let mut done = 0;
    while done < cases() {
        for count in 1..=17 {
            let privates = random.arrays::<32>(count);
            let publics: Vec<[u8; 32]> = random.arrays(count);
            let mut shared = vec![[0; 32]; count];
            let mut items: Vec<_> = privates
                .iter()
                .zip(&publics)
                .zip(&mut shared)
                .map(|((private, public), shared)| X25519Item::new(private, public, shared))
                .collect();
            engine.x25519_batch(&mut items);
            let mut own: Vec<_> = privates.iter().map(X25519PublicItem::new).collect();
            engine.x25519_public_batch(&mut own);
            for (item, own) in items.iter().zip(&own) {
                assert_eq!(item.result, Ok(()));
                let key = PKey::private_key_from_raw_bytes(item.private, Id::X25519).unwrap();
                let peer = PKey::public_key_from_raw_bytes(item.public, Id::X25519).unwrap();
                let mut deriver = Deriver::new(&key).unwrap();
                deriver.set_peer(&peer).unwrap();
                assert_eq!(item.shared[..], deriver.derive_to_vec().unwrap());
                assert_eq!(own.public[..], key.raw_public_key().unwrap());
            }
            done += count;
        }
    }
}

/// Beyond one inversion of many too, with places for fewer than a full pass left over.
#[test]
fn public_values_of_many_are_the_librarys() {
    let (engine, mut random) = (engine(), Random(5));
    for count in (1..=72).chain([127, 128, 129, 200]) {
        let privates = random.arrays::<32>(count);
        let mut items: Vec<_> = privates.iter().map(X25519PublicItem::new).collect();
        engine.x25519_public_batch(&mut items);
        for (item, private) in items.iter().zip(&privates) {
            assert_eq!(item.public, x25519_public(private), "of {count}");
        }
    }
}

/// RFC 7748, 6.1: Alice's and Bob's, in every lane.
#[test]
fn public_values_of_rfc_7748() {
    let hex = |text: &str| -> [u8; 32] {
        std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap())
    };
    let privates = [
        "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
        "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
    ];
    let publics = [
        "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
        "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
    ];
    let (privates, publics) = (privates.map(hex), publics.map(hex));
    let mut items: Vec<_> = (0..9).map(|at| X25519PublicItem::new(&privates[at % 2])).collect();
    engine().x25519_public_batch(&mut items);
    for (at, item) in items.iter().enumerate() {
        assert_eq!(item.public, publics[at % 2], "{at}");
    }
}

/// A point of small order is an error in its lane, which then holds zeros; the others have their secrets.
#[test]
fn points_of_small_order_are_errors_in_their_lanes_alone() {
    let (engine, mut random) = (engine(), Random(4));
    let hex = |text: &str| -> [u8; 32] {
        std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap())
    };
    let small = [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    ]
    .map(hex);
    let privates = random.arrays::<32>(8);
    let good = random.arrays::<32>(8);
    for count in 1..=8 {
        for (at, point) in (0..count).zip(small.iter().cycle().skip(count)) {
            let mut shared = vec![[0xee; 32]; count];
            let mut items: Vec<_> = privates
                .iter()
                .zip(&good)
                .zip(&mut shared)
                .enumerate()
                .map(|(lane, ((private, good), shared))| {
                    X25519Item::new(private, if lane == at { point } else { good }, shared)
                })
                .collect();
            engine.x25519_batch(&mut items);
            for (lane, item) in items.iter().enumerate() {
                if lane == at {
                    assert_eq!(item.result, Err(EcError::SmallOrder));
                    assert_eq!(*item.shared, [0; 32]);
                } else {
                    assert_eq!(item.result, Ok(()));
                    assert_eq!(*item.shared, *x25519(item.private, item.public).unwrap());
                }
            }
        }
    }
}

/// RFC 7748, 5.2: each result is the next scalar, and each scalar the next point.
#[test]
fn iterated_x25519_of_rfc_7748() {
    let engine = engine();
    let mut k = [0; 32];
    k[0] = 9;
    let mut u = k;
    for round in 1..=1000 {
        let mut shared = [[0; 32]; 8];
        let mut items = shared.each_mut().map(|shared| X25519Item::new(&k, &u, shared));
        engine.x25519_batch(&mut items);
        assert!(shared.iter().all(|one| *one == shared[0]));
        (k, u) = (shared[0], k);
        if round == 1 {
            assert_eq!(k[..4], [0x42, 0x2c, 0x8e, 0x7a]);
        }
    }
    let expected = [
        0x68, 0x4c, 0xf5, 0x9b, 0xa8, 0x33, 0x09, 0x55, 0x28, 0x00, 0xef, 0x56, 0x6f, 0x2f, 0x4d, 0x3c, 0x1c,
        0x38, 0x87, 0xc4, 0x93, 0x60, 0xe3, 0x87, 0x5f, 0x2e, 0xb9, 0x4d, 0x99, 0x53, 0x2c, 0x51,
    ];
    assert_eq!(k, expected);
}

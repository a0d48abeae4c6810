//! What the engine refuses, and by which error; and that a refused request changes nothing.

use engine::*;

fn strict() -> Engine {
    Engine::new(Options::default()).unwrap()
}

fn lenient() -> Engine {
    Engine::new(Options { weak_algorithms: true, ..Options::default() }).unwrap()
}

#[test]
fn weak_algorithms_need_their_setting() {
    let (strict, lenient) = (strict(), lenient());
    assert!(!strict.weak_algorithms() && lenient.weak_algorithms());
    for algorithm in CipherAlgorithm::ALL {
        let key = &[7; 32][..algorithm.key_bytes()];
        let expected =
            if algorithm == CipherAlgorithm::Des { Err(KeyError::WeakCipher(algorithm)) } else { Ok(()) };
        assert_eq!(strict.cipher_key(algorithm, key).map(|_| ()), expected);
        let (mut chain, mut data) = (vec![0; algorithm.block_bytes()], [0x55; 16]);
        let (mode, direction) = (Mode::Cbc, CipherDirection::Encipher);
        let result = strict.cipher(algorithm, mode, direction, key, &mut chain, &mut data);
        assert_eq!(result, expected.map_err(CipherError::Key));
        assert_eq!(data == [0x55; 16], expected.is_err());
        // Inside a construction, and with the setting, all are served.
        assert!(strict.cipher_key_internal(algorithm, key).is_ok());
        assert!(lenient.cipher_key(algorithm, key).is_ok());
    }
    for algorithm in MacAlgorithm::ALL {
        let key = &[7; 32][..algorithm.key_bytes()];
        let expected =
            if algorithm == MacAlgorithm::X99 { Err(KeyError::WeakMac(algorithm)) } else { Ok(()) };
        assert_eq!(strict.mac_key(algorithm, key).map(|_| ()), expected);
        assert!(lenient.mac_key(algorithm, key).is_ok());
    }
    for hash in HashAlgorithm::ALL {
        let weak = hash == HashAlgorithm::Md5;
        let expected = if weak { Err(HashError::Weak(hash)) } else { Ok(()) };
        assert_eq!(strict.hash(hash, b"").map(|_| ()), expected);
        assert_eq!(strict.hash_state(hash).map(|_| ()), expected);
        let mut items = [HashItem::new(b"a"), HashItem::new(b"b")];
        strict.hash_batch(hash, &mut items);
        assert!(items.iter().all(|item| item.result == expected));
        assert_eq!(items[0].digest == [0; 64], weak);
        let key = strict.hmac_key(hash, b"key").map(|_| ());
        assert_eq!(key, if weak { Err(KeyError::WeakHash(hash)) } else { Ok(()) });
        assert!(lenient.hmac_key(hash, b"key").is_ok());
    }
    assert_eq!(strict.rsa_generate(1016, &[3]).unwrap_err(), RsaKeyError::Weak { bits: 1016 });
    let key = lenient.rsa_generate(512, &[3]).unwrap();
    assert!(key.is_weak());
    let (input, mut output) = ([1; 64], [0xee; 64]);
    assert_eq!(strict.rsa_private(&key, &input, &mut output), Err(RsaError::Weak { bits: 512 }));
    let public = key.public_key().unwrap();
    assert_eq!(strict.rsa_public(&public, &input, &mut output), Err(RsaError::Weak { bits: 512 }));
    assert_eq!(output, [0xee; 64]);
    assert_eq!(lenient.rsa_public(&public, &input, &mut output), Ok(()));
}

#[test]
fn keys_of_wrong_length() {
    let engine = lenient();
    for bytes in (0..=40).chain([64, 4096]) {
        let key = vec![7; bytes];
        for algorithm in CipherAlgorithm::ALL {
            let right = bytes == algorithm.key_bytes();
            let expected = if right { Ok(()) } else { Err(KeyError::CipherKeyLength { algorithm, bytes }) };
            assert_eq!(engine.cipher_key(algorithm, &key).map(|_| ()), expected);
            assert_eq!(engine.cipher_key_internal(algorithm, &key).map(|_| ()), expected);
            let (mut chain, mut data) = (vec![0; algorithm.block_bytes()], [0x55; 16]);
            let (mode, direction) = (Mode::Ctr, CipherDirection::Decipher);
            let result = engine.cipher(algorithm, mode, direction, &key, &mut chain, &mut data);
            assert_eq!(result, expected.map_err(CipherError::Key));
        }
        for algorithm in MacAlgorithm::ALL {
            let right = bytes == algorithm.key_bytes();
            let expected = if right { Ok(()) } else { Err(KeyError::MacKeyLength { algorithm, bytes }) };
            assert_eq!(engine.mac_key(algorithm, &key).map(|_| ()), expected);
        }
        let expected =
            if [16, 24, 32].contains(&bytes) { Ok(()) } else { Err(KeyError::GcmKeyLength { bytes }) };
        assert_eq!(engine.gcm_key(&key).map(|_| ()), expected);
    }
}

#[test]
fn texts_and_chains_of_wrong_length() {
    let engine = lenient();
    let direction = CipherDirection::Encipher;
    for algorithm in CipherAlgorithm::ALL {
        let key = &[7; 32][..algorithm.key_bytes()];
        let block_bytes = algorithm.block_bytes();
        for mode in [Mode::Ecb, Mode::Cbc] {
            for bytes in 0..33 {
                let (mut chain, mut data) = (vec![1; block_bytes], vec![0x55; bytes]);
                let result = engine.cipher(algorithm, mode, direction, key, &mut chain, &mut data);
                if bytes % block_bytes == 0 {
                    assert_eq!(result, Ok(()));
                } else {
                    assert_eq!(result, Err(CipherError::TextLength { mode, bytes, block_bytes }));
                    assert_eq!((chain, data), (vec![1; block_bytes], vec![0x55; bytes]));
                }
            }
        }
        for mode in [Mode::Cbc, Mode::Ctr] {
            for bytes in (0..33).filter(|bytes| *bytes != block_bytes) {
                let (mut chain, mut data) = (vec![1; bytes], [0x55; 16]);
                let result = engine.cipher(algorithm, mode, direction, key, &mut chain, &mut data);
                assert_eq!(result, Err(CipherError::ChainLength { bytes, block_bytes }));
                assert_eq!(data, [0x55; 16]);
            }
        }
        // ECB has no chaining value.
        assert_eq!(engine.cipher(algorithm, Mode::Ecb, direction, key, &mut [], &mut [0; 16]), Ok(()));
    }
}

#[test]
fn gcm_nonces_and_tags() {
    let engine = strict();
    let key = engine.gcm_key(&[7; 16]).unwrap();
    let run = |direction, item: GcmItem<'_>| {
        let mut items = [item];
        engine.gcm_batch(direction, &mut items);
        items[0].result
    };
    let mut data = [0x55; 20];
    let no_nonce = Err(CipherError::GcmLength { nonce_bytes: 0, text_bytes: 20 });
    assert_eq!(run(CipherDirection::Encipher, GcmItem::encipher(&key, &[], &[], &mut data)), no_nonce);
    assert_eq!(
        run(CipherDirection::Decipher, GcmItem::decipher(&key, &[], &[], &mut data, &[0; 16])),
        no_nonce
    );
    for bytes in [0, 1, 3, 17, 300] {
        let item = GcmItem::decipher(&key, &[1], &[], &mut data, &[0; 300][..bytes]);
        assert_eq!(run(CipherDirection::Decipher, item), Err(CipherError::TagLength { bytes }));
    }
    assert_eq!(data, [0x55; 20]);
    for bytes in [4, 12, 16] {
        let mut data = [0x55; 20];
        let item = GcmItem::decipher(&key, &[1], &[], &mut data, &[0; 16][..bytes]);
        assert_eq!(run(CipherDirection::Decipher, item), Err(CipherError::Authentication));
        assert_eq!(data, [0; 20]);
    }
}

#[test]
fn macs_that_end_without_their_last_block() {
    let engine = lenient();
    for algorithm in MacAlgorithm::ALL {
        let key = engine.mac_key(algorithm, &[7; 32][..algorithm.key_bytes()]).unwrap();
        let text = [1; 32];
        let mut first = [MacItem { last: false, ..MacItem::new(&key, &text) }];
        engine.mac_batch(&mut first);
        let chain = first[0].chain;
        let mut end = [MacItem { chain, ..MacItem::new(&key, &[]) }];
        engine.mac_batch(&mut end);
        if matches!(algorithm, MacAlgorithm::X99 | MacAlgorithm::X919) {
            let mut whole = [MacItem::new(&key, &text)];
            engine.mac_batch(&mut whole);
            assert_eq!((end[0].result, end[0].mac), (Ok(()), whole[0].mac));
        } else {
            assert_eq!((end[0].result, end[0].chain), (Err(MacError::LastSegmentEmpty), chain));
        }
    }
}

#[test]
fn hash_states_that_are_none() {
    let engine = lenient();
    for hash in HashAlgorithm::ALL {
        let mut state = engine.hash_state(hash).unwrap();
        if hash.name().starts_with("SHA3") {
            assert_eq!(state.export(), Err(HashError::NotExportable(hash)));
            let mut state = engine.hash_state_in_segments(hash).unwrap();
            assert_eq!(state.export(), Err(HashError::NotExportable(hash)));
            let good = state.export_sha3().unwrap();
            assert!(engine.hash_state_import(hash, &good).is_ok());
            state.update(&[1]);
            let not_on_block = HashError::NotOnBlock { block_bytes: hash.block_bytes() };
            assert_eq!(state.export_sha3(), Err(not_on_block));
            for bytes in [0, 128, 199, 200, 255, 257] {
                let error = engine.hash_state_import(hash, &vec![0; bytes]).unwrap_err();
                assert_eq!(error, HashError::NotAState(hash));
            }
            for at in [200, 255] {
                let mut bytes = good;
                bytes[at] = 1;
                assert_eq!(engine.hash_state_import(hash, &bytes).unwrap_err(), HashError::NotAState(hash));
            }
            continue;
        }
        assert_eq!(state.export_sha3(), Err(HashError::NotExportable(hash)));
        let good = state.export().unwrap();
        assert!(engine.hash_state_import(hash, &good).is_ok());
        state.update(&[1]);
        assert_eq!(state.export(), Err(HashError::NotOnBlock { block_bytes: hash.block_bytes() }));
        let not_a_state = HashError::NotAState(hash);
        let refused =
            |state: &[u8]| assert_eq!(engine.hash_state_import(hash, state).unwrap_err(), not_a_state);
        for bytes in [0, 7, 8, 127, 129] {
            refused(&vec![0; bytes]);
        }
        let mut bytes = good;
        bytes[HASH_STATE_BYTES - 9] = 1; // beyond the words, before the length
        refused(&bytes);
        let mut bytes = good;
        bytes[HASH_STATE_BYTES - 1] = 1; // not whole blocks
        refused(&bytes);
        let mut bytes = good;
        bytes[HASH_STATE_BYTES - 8] = 0xff; // more bits than can be counted
        refused(&bytes);
    }
}

#[test]
fn rsa_keys_that_are_none() {
    let engine = lenient();
    let key = engine.rsa_generate(1024, &[1, 0, 1]).unwrap();
    let (n, e, d) = (key.n(), key.e(), key.d());
    let public = |n: &[u8], e: &[u8]| RsaPublicKey::new(n, e).map(|_| ());
    let ones = |bytes: usize| vec![0xff; bytes];
    assert_eq!(public(&[], &e), Err(RsaKeyError::Size { bits: 0 }));
    assert_eq!(public(&ones(63), &e), Err(RsaKeyError::Size { bits: 504 }));
    assert_eq!(public(&[&[0x7f], &ones(63)[..]].concat(), &e), Err(RsaKeyError::Size { bits: 511 }));
    assert_eq!(public(&[&[1], &ones(512)[..]].concat(), &e), Err(RsaKeyError::Size { bits: 4097 }));
    assert_eq!(public(&[&[0; 9], &ones(512)[..]].concat(), &e), Ok(()));
    assert_eq!(public(&[&n[..127], &[n[127] & 0xfe]].concat(), &e), Err(RsaKeyError::EvenModulus));
    for bad in [&[][..], &[0], &[1], &[2], &[1, 0, 0], &n] {
        assert_eq!(public(&n, bad), Err(RsaKeyError::Exponent), "{bad:?}");
    }
    // An odd exponent as long as the modulus, and below it.
    let below = [&[n[0] - 1], &n[1..]].concat();
    assert_eq!(public(&n, &below), Ok(()));

    let me = |d: &[u8]| RsaPrivateKey::from_me(&n, &e, d).map(|_| ());
    assert_eq!(me(&[]), Err(RsaKeyError::Inconsistent));
    assert_eq!(me(&[&[1], &n[..]].concat()), Err(RsaKeyError::Inconsistent));
    assert_eq!(me(&d), Ok(()));

    // An exponent of a word, and a longer one.
    for e in [&[1, 0, 1][..], &[1; 9]] {
        let key = engine.rsa_generate(1024, e).unwrap();
        let n = key.n();
        let parts = [key.p(), key.q(), key.dp(), key.dq(), key.qinv()].map(|part| part.unwrap().to_vec());
        let crt = |n: &[u8], e: &[u8], [p, q, dp, dq, qinv]: &[Vec<u8>; 5]| {
            RsaPrivateKey::from_crt(&RsaCrt { n, e, p, q, dp, dq, qinv }).map(|key| key.d().to_vec())
        };
        let primes = |[p, q, _, _, qinv]: &[Vec<u8>; 5]| {
            RsaPrivateKey::from_primes(&n, e, p, q, qinv).map(|key| [key.dp(), key.dq()].map(Option::unwrap))
        };
        // A private exponent may differ by a multiple of lcm(p - 1, q - 1); the one that is made gives the same
        // powers.
        let power = |key: &RsaPrivateKey| {
            let mut power = [0; 128];
            engine.rsa_private(key, &[0x11; 128], &mut power).unwrap();
            power
        };
        let made = crt(&n, e, &parts).unwrap();
        assert_eq!(power(&RsaPrivateKey::from_me(&n, e, &made).unwrap()), power(&key));
        assert!(primes(&parts).unwrap().iter().zip(&parts[2..4]).all(|(made, part)| made.ct_eq(part)));
        let padded = parts.clone().map(|part| [&[0; 9], &part[..]].concat());
        assert_eq!(crt(&n, &[&[0; 9], e].concat(), &padded), Ok(made));
        for other in [&[3][..], &[1, 0, 3], &[1; 10]] {
            assert_eq!(crt(&n, other, &parts), Err(RsaKeyError::Inconsistent));
        }
        assert_eq!(crt(&[&n[..127], &[n[127] ^ 2]].concat(), e, &parts), Err(RsaKeyError::Inconsistent));
        for part in 0..5 {
            let refused = |changed: &[Vec<u8>; 5], what: &str| {
                assert_eq!(crt(&n, e, changed), Err(RsaKeyError::Inconsistent), "part {part} {what}");
                let by_primes = primes(changed).map(|_| ());
                let expected = if matches!(part, 2 | 3) { Ok(()) } else { Err(RsaKeyError::Inconsistent) };
                assert_eq!(by_primes, expected, "part {part} {what}");
            };
            for at in [0, 31, 63] {
                let mut changed = parts.clone();
                changed[part][at] ^= 2;
                refused(&changed, &format!("byte {at}"));
            }
            let mut changed = parts.clone();
            for bytes in
                [vec![], vec![0], vec![1], vec![2], vec![0xff; 600], [&[1], &parts[part][..]].concat()]
            {
                changed[part].clone_from(&bytes);
                refused(&changed, &format!("{bytes:?}"));
            }
        }
        // The same numbers with p and q exchanged, and one of them twice.
        let [p, q, dp, dq, qinv] = parts;
        let exchanged = [q.clone(), p.clone(), dq.clone(), dp.clone(), qinv.clone()];
        assert_eq!(crt(&n, e, &exchanged), Err(RsaKeyError::Inconsistent));
        assert_eq!(crt(&n, e, &[p.clone(), p, dp.clone(), dp, qinv]), Err(RsaKeyError::Inconsistent));
    }

    let generate = |bits: usize, e: &[u8]| engine.rsa_generate(bits, e).map(|_| ());
    assert_eq!(generate(504, &e), Err(RsaKeyError::Size { bits: 504 }));
    assert_eq!(generate(4104, &e), Err(RsaKeyError::Size { bits: 4104 }));
    assert_eq!(generate(1020, &e), Err(RsaKeyError::SizeStep { bits: 1020 }));
    for bad in [&[][..], &[0], &[1], &[4], &[1; 33]] {
        assert_eq!(generate(512, bad), Err(RsaKeyError::Exponent), "{bad:?}");
    }
}

#[test]
fn rsa_inputs_that_are_none() {
    let engine = lenient();
    let key = engine.rsa_generate(1024, &[1, 0, 1]).unwrap();
    let public = key.public_key().unwrap();
    let n = key.n();
    for (input_bytes, output_bytes) in [(0, 128), (127, 128), (129, 128), (128, 0), (128, 127), (128, 256)] {
        let (input, mut output) = (vec![0x11; input_bytes], vec![0xee; output_bytes]);
        let expected = Err(RsaError::Length { input_bytes, output_bytes, modulus_bytes: 128 });
        assert_eq!(engine.rsa_private(&key, &input, &mut output), expected);
        assert_eq!(engine.rsa_public(&public, &input, &mut output), expected);
        assert!(output.iter().all(|byte| *byte == 0xee));
    }
    let mut output = [0xee; 128];
    for input in [&n[..], &[0xff; 128]] {
        assert_eq!(engine.rsa_private(&key, input, &mut output), Err(RsaError::InputRange));
        assert_eq!(engine.rsa_public(&public, input, &mut output), Err(RsaError::InputRange));
    }
    assert_eq!(output, [0xee; 128]);
}

#[test]
fn curve_keys_that_are_none() {
    let engine = strict();
    let order_p256 = 0xffffffff00000000ffffffffffffffff_u128.to_be_bytes();
    let order_low = 0xbce6faada7179e84f3b9cac2fc632551_u128.to_be_bytes();
    let order = [order_p256, order_low].concat();
    let refused = Some(EcError::PrivateKey(Curve::P256));
    for bad in [&[0; 32][..], &order, &[0xff; 32], &[1; 31], &[1; 33], &[]] {
        assert_eq!(EcPrivateKey::from_bytes(Curve::P256, bad).err(), refused, "{bad:?}");
    }
    let mut largest = order;
    largest[31] -= 1;
    assert!(EcPrivateKey::from_bytes(Curve::P256, &largest).is_ok());
    for curve in [Curve::X25519, Curve::Ed25519] {
        assert_eq!(engine.ec_generate(curve).err(), Some(EcError::PrivateKey(curve)));
        assert_eq!(EcPublicKey::from_bytes(curve, &[4; 65]).err(), Some(EcError::PublicKey(curve)));
    }
    let key = engine.ec_generate(Curve::P256).unwrap();
    let good = key.public_bytes();
    let mut off_curve = good.clone();
    off_curve[64] ^= 1;
    for bad in [&off_curve[..], &good[..64], &[0], &[], &[good.as_slice(), &[0]].concat()] {
        assert_eq!(EcPublicKey::from_bytes(Curve::P256, bad).err(), Some(EcError::PublicKey(Curve::P256)));
        assert_eq!(key.ecdh(bad).err(), Some(EcError::PublicKey(Curve::P256)));
    }
    // A key of another curve.
    let other = engine.ec_generate(Curve::P384).unwrap().public_bytes();
    assert_eq!(key.ecdh(&other).err(), Some(EcError::PublicKey(Curve::P256)));
    // RFC 7748, 6.1: points of small order give zeros.
    let mut one = [0; 32];
    one[0] = 1;
    for small in [[0; 32], one] {
        assert_eq!(x25519(&[0x42; 32], &small).err(), Some(EcError::SmallOrder));
    }
    let length = EcError::SignatureLength { curve: Curve::Ed25519, bytes: 63 };
    assert_eq!(ed25519_verify(&[1; 32], b"", &[0; 63]), Err(length));
    assert_eq!(ed25519_verify(&[1; 32], b"", &[0xff; 64]), Err(EcError::Signature));
}

/// Lengths that ChaCha20-Poly1305 does not take change nothing.
#[test]
fn chacha20_poly1305_of_other_lengths() {
    let engine = strict();
    for bytes in (0..=40).filter(|bytes| *bytes != 32) {
        let error = engine.chacha_key(&vec![7; bytes]).unwrap_err();
        assert_eq!(error, KeyError::ChaChaKeyLength { bytes });
    }
    let key = engine.chacha_key(&[7; 32]).unwrap();
    for direction in [CipherDirection::Encipher, CipherDirection::Decipher] {
        for nonce_bytes in (0..=24).filter(|bytes| *bytes != 12) {
            let (nonce, mut text) = (vec![1; nonce_bytes], [0x55; 20]);
            let mut items = [ChaChaItem::encipher(&key, &nonce, &[], &mut text)];
            engine.chacha_batch(direction, &mut items);
            let error = CipherError::ChaChaLength { nonce_bytes, text_bytes: 20 };
            assert_eq!(items[0].result, Err(error));
            assert_eq!(text, [0x55; 20]);
        }
        for bytes in (0..=20).filter(|bytes| *bytes != 16) {
            let mut text = [0x55; 20];
            let mut items = [ChaChaItem::decipher(&key, &[1; 12], &[], &mut text, &vec![0; bytes])];
            engine.chacha_batch(direction, &mut items);
            assert_eq!(items[0].result, Err(CipherError::ChaChaTagLength { bytes }));
            assert_eq!(text, [0x55; 20]);
        }
    }
}

/// Every message names what was wrong and says nothing of the bytes.
#[test]
fn messages_name_cause_and_object() {
    let shown = |error: &dyn std::error::Error| error.to_string();
    let error = KeyError::CipherKeyLength { algorithm: CipherAlgorithm::Aes192, bytes: 23 };
    assert_eq!(shown(&error), "a key of AES-192 has 24 bytes, not 23");
    let error = KeyError::WeakCipher(CipherAlgorithm::Des);
    assert_eq!(shown(&error), "DES is weak: enable weak algorithms in the settings to use it");
    let error = CipherError::TextLength { mode: Mode::Cbc, bytes: 15, block_bytes: 16 };
    assert_eq!(shown(&error), "CBC takes whole blocks of 16 bytes, not 15 bytes: pad the text");
    assert_eq!(shown(&CipherError::Authentication), "authentication failed");
    assert_eq!(shown(&PaddingError::Invalid), "the padding is not valid");
    let error = RsaKeyError::Size { bits: 256 };
    assert_eq!(shown(&error), "an RSA modulus has 512 to 4096 bits, not 256");
}

/// Nothing that holds a key shows it.
#[test]
fn debug_shows_no_key() {
    let engine = lenient();
    let key = [0xa5; 24];
    let shown = [
        format!("{:?}", engine.cipher_key(CipherAlgorithm::Tdes3, &key).unwrap()),
        format!("{:?}", engine.mac_key(MacAlgorithm::CmacTdes3, &key).unwrap()),
        format!("{:?}", engine.gcm_key(&key).unwrap()),
        format!("{:?}", engine.chacha_key(&[0xa5; 32]).unwrap()),
        format!("{:?}", engine.hmac_key(HashAlgorithm::Sha1, &key).unwrap()),
        format!("{:?}", SecretBytes::from_slice(&key)),
        format!("{:?}", EcPrivateKey::from_bytes(Curve::P256, &[0xa5; 32]).unwrap()),
        format!("{:?}", Ed25519Key::from_seed(&[0xa5; 32])),
        format!("{:?}", engine.rsa_generate(512, &[3]).unwrap()),
        format!("{:?}", engine.hash_state(HashAlgorithm::Sha1).unwrap()),
        format!("{:?}", engine.random_block()),
    ];
    for shown in shown {
        assert!(!shown.contains("165") && !shown.contains("a5"), "{shown}");
        assert!(shown.len() < 60, "{shown}");
    }
}

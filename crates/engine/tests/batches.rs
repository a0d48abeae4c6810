//! A batch gives each request its own answer: what it would get alone, whatever stands beside it.

use engine::*;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

fn engine() -> Engine {
    Engine::new(Options { weak_algorithms: true, ..Options::default() }).unwrap()
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ciphers(
        mode in select(&[Mode::Ecb, Mode::Cbc, Mode::Ctr][..]), encipher: bool,
        requests in vec((select(&CipherAlgorithm::ALL[..]), any::<[u8; 32]>(), any::<[u8; 16]>(), text()), 0..20),
    ) {
        let engine = engine();
        let direction = if encipher { CipherDirection::Encipher } else { CipherDirection::Decipher };
        let keys: Vec<_> = requests
            .iter()
            .map(|(algorithm, key, _, _)| engine.cipher_key(*algorithm, &key[..algorithm.key_bytes()]).unwrap())
            .collect();
        let mut texts: Vec<_> = requests.iter().map(|request| request.3.clone()).collect();
        let mut items: Vec<_> = requests
            .iter()
            .zip(&keys)
            .zip(&mut texts)
            .map(|((request, key), text)| CipherItem::new(key, &request.2, text))
            .collect();
        engine.cipher_batch(mode, direction, &mut items);
        for ((algorithm, key, chain, text), item) in requests.iter().zip(&items) {
            let block = algorithm.block_bytes();
            let (mut alone, mut chain_alone) = (text.clone(), *chain);
            let key = &key[..algorithm.key_bytes()];
            let result = engine.cipher(*algorithm, mode, direction, key, &mut chain_alone[..block], &mut alone);
            prop_assert_eq!(item.result, result);
            prop_assert_eq!(&*item.data, &alone);
            prop_assert_eq!(item.chain, chain_alone);
            if mode != Mode::Ctr && !text.len().is_multiple_of(block) {
                let bytes = text.len();
                prop_assert_eq!(result, Err(CipherError::TextLength { mode, bytes, block_bytes: block }));
                prop_assert_eq!(&alone, text);
                prop_assert_eq!(chain_alone, *chain);
            } else {
                prop_assert_eq!(result, Ok(()));
            }
        }
    }

    #[test]
    fn macs(
        requests in vec((select(&MacAlgorithm::ALL[..]), any::<[u8; 32]>(), any::<bool>(), text()), 0..20),
    ) {
        let engine = engine();
        let keys: Vec<_> = requests
            .iter()
            .map(|(algorithm, key, _, _)| engine.mac_key(*algorithm, &key[..algorithm.key_bytes()]).unwrap())
            .collect();
        let item = |index: usize| MacItem { last: requests[index].2, ..MacItem::new(&keys[index], &requests[index].3) };
        let mut items: Vec<_> = (0..requests.len()).map(item).collect();
        engine.mac_batch(&mut items);
        for (index, together) in items.iter().enumerate() {
            let mut alone = [item(index)];
            engine.mac_batch(&mut alone);
            prop_assert_eq!(together.result, alone[0].result);
            prop_assert_eq!(together.mac, alone[0].mac);
            prop_assert_eq!(together.chain, alone[0].chain);
            let block_bytes = requests[index].0.block_bytes();
            let bytes = requests[index].3.len();
            if !requests[index].2 && !bytes.is_multiple_of(block_bytes) {
                prop_assert_eq!(together.result, Err(MacError::SegmentLength { bytes, block_bytes }));
                prop_assert_eq!(together.chain, [0; 16]);
            } else {
                prop_assert_eq!(together.result, Ok(()));
            }
        }
    }

    #[test]
    fn gcm_with_a_wrong_tag_beside_good_ones(
        requests in vec((any::<[u8; 32]>(), vec(any::<u8>(), 1..20), text(), text()), 1..12),
        wrong in any::<prop::sample::Index>(),
    ) {
        let engine = engine();
        let wrong = wrong.index(requests.len());
        let keys: Vec<_> = requests.iter().map(|request| engine.gcm_key(&request.0[..16]).unwrap()).collect();
        let mut texts: Vec<_> = requests.iter().map(|request| request.3.clone()).collect();
        let mut items: Vec<_> = requests
            .iter()
            .zip(&keys)
            .zip(&mut texts)
            .map(|((request, key), text)| GcmItem::encipher(key, &request.1, &request.2, text))
            .collect();
        engine.gcm_batch(CipherDirection::Encipher, &mut items);
        items[wrong].tag[3] ^= 0x40;
        engine.gcm_batch(CipherDirection::Decipher, &mut items);
        for (index, (item, request)) in items.iter().zip(&requests).enumerate() {
            if index == wrong {
                prop_assert_eq!(item.result, Err(CipherError::Authentication));
                prop_assert!(item.data.iter().all(|byte| *byte == 0));
            } else {
                prop_assert_eq!(item.result, Ok(()));
                prop_assert_eq!(&*item.data, &request.3);
            }
        }
    }

    #[test]
    fn hashes_and_hmacs(hash in select(&HashAlgorithm::ALL[..]), texts in vec(text(), 0..20)) {
        let engine = engine();
        let mut items: Vec<_> = texts.iter().map(|text| HashItem::new(text)).collect();
        engine.hash_batch(hash, &mut items);
        for (item, text) in items.iter().zip(&texts) {
            prop_assert_eq!(item.digest, engine.hash(hash, text).unwrap());
        }
        // Keys of different hashes may stand in one batch.
        let keys: Vec<_> = HashAlgorithm::ALL
            .into_iter()
            .cycle()
            .zip(&texts)
            .map(|(hash, text)| engine.hmac_key(hash, text).unwrap())
            .collect();
        let mut items: Vec<_> = keys.iter().zip(&texts).map(|(key, text)| HmacItem::new(key, text)).collect();
        engine.hmac_batch(&mut items);
        for ((item, key), text) in items.iter().zip(&keys).zip(&texts) {
            let mut alone = [HmacItem::new(key, text)];
            engine.hmac_batch(&mut alone);
            prop_assert_eq!(item.mac, alone[0].mac);
            prop_assert_eq!(item.result, Ok(()));
        }
    }
}

#[test]
fn rsa_keys_of_all_sizes_and_forms_with_failing_requests_between() {
    let engine = engine();
    let mut keys = Vec::new();
    for bits in [512, 1024, 1000] {
        let key = engine.rsa_generate(bits, &[1, 0, 1]).unwrap();
        keys.push(RsaPrivateKey::from_me(&key.n(), &key.e(), &key.d()).unwrap());
        // A private exponent that does not belong to the public one.
        let mut d = key.d();
        d[10] ^= 4;
        keys.push(RsaPrivateKey::from_me(&key.n(), &key.e(), &d).unwrap());
        keys.push(key);
    }
    let inputs: Vec<Vec<u8>> = keys
        .iter()
        .map(|key| {
            let mut input = vec![0; key.modulus_bytes()];
            engine.random(&mut input[1..]);
            input
        })
        .collect();
    let mut outputs: Vec<Vec<u8>> = inputs.iter().map(|input| vec![0xee; input.len()]).collect();
    let mut items: Vec<_> = keys
        .iter()
        .zip(&inputs)
        .zip(&mut outputs)
        .map(|((key, input), output)| RsaPrivateItem::new(key, input, output))
        .collect();
    engine.rsa_private_batch(&mut items);
    let results: Vec<_> = items.iter().map(|item| item.result).collect();
    for (index, result) in results.into_iter().enumerate() {
        if index % 3 == 1 {
            assert_eq!(result, Err(RsaError::Verification));
            assert!(outputs[index].iter().all(|byte| *byte == 0));
        } else {
            assert_eq!(result, Ok(()));
            let public = keys[index].public_key().unwrap();
            let mut back = vec![0; inputs[index].len()];
            let mut items = [RsaPublicItem::new(&public, &outputs[index], &mut back)];
            engine.rsa_public_batch(&mut items);
            assert_eq!(items[0].result, Ok(()));
            assert_eq!(back, inputs[index]);
        }
    }
    // The forms of one key agree.
    let mut out = vec![0; 64];
    engine.rsa_private(&keys[2], &inputs[0], &mut out).unwrap();
    assert_eq!(out, outputs[0]);
}

#[test]
fn ecdsa_with_a_wrong_signature_beside_good_ones() {
    let engine = engine();
    let keys: Vec<_> = [Curve::P256, Curve::P384, Curve::P521, Curve::P256]
        .into_iter()
        .map(|curve| engine.ec_generate(curve).unwrap())
        .collect();
    let digest = [0x3c; 48];
    let mut items: Vec<_> = keys.iter().map(|key| EcdsaSignItem::new(key, &digest)).collect();
    engine.ecdsa_sign_batch(&mut items);
    assert!(items.iter().all(|item| item.result == Ok(())));
    let mut signatures: Vec<Vec<u8>> = items.iter().map(|item| item.signature().to_vec()).collect();
    signatures[1][70] ^= 1;
    signatures[3].pop();
    let publics: Vec<_> = keys.iter().map(|key| key.public_key().unwrap()).collect();
    let mut items: Vec<_> = publics
        .iter()
        .zip(&signatures)
        .map(|(key, signature)| EcdsaVerifyItem::new(key, &digest, signature))
        .collect();
    engine.ecdsa_verify_batch(&mut items);
    let results: Vec<_> = items.iter().map(|item| item.result).collect();
    let length = Err(EcError::SignatureLength { curve: Curve::P256, bytes: 63 });
    assert_eq!(results, [Ok(()), Err(EcError::Signature), Ok(()), length]);
}

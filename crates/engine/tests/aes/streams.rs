//! Batches that run in lanes: 1 to 40 texts of all lengths and key sizes, against OpenSSL one by one.

use super::*;

fn mac_algorithm(key: &[u8]) -> MacAlgorithm {
    match key.len() {
        16 => MacAlgorithm::CmacAes128,
        24 => MacAlgorithm::CmacAes192,
        _ => MacAlgorithm::CmacAes256,
    }
}

/// Bytes of a text: at a border of blocks, steps of lanes or passes of the library, or any.
fn bytes(random: &mut Random, whole: bool) -> usize {
    let bytes = match random.below(16) {
        0 => 1024 + random.below(3000),
        1..6 => random.below(600),
        6..10 => 64 * random.below(5),
        _ => 16 * random.below(12),
    };
    if whole { bytes / 16 * 16 } else { bytes }
}

#[test]
fn cbc_agrees_with_openssl() {
    let engines = engines();
    let mut random = Random(38);
    let mut done = 0;
    while done < cases(1_000_000) {
        let count = 1 + random.below(40);
        done += count;
        let keys: Vec<_> = (0..count).map(|_| random_key(&mut random)).collect();
        let ivs: Vec<_> = (0..count).map(|_| random.bytes(16)).collect();
        let texts: Vec<_> = (0..count)
            .map(|_| {
                let bytes = bytes(&mut random, true);
                random.bytes(bytes)
            })
            .collect();
        let expected: Vec<_> =
            (0..count).map(|at| openssl("cbc", true, &keys[at], &ivs[at], &texts[at])).collect();
        for engine in &engines {
            let prepared: Vec<_> =
                keys.iter().map(|key| engine.cipher_key(algorithm(key), key).unwrap()).collect();
            let mut data = texts.clone();
            let mut items: Vec<_> = prepared
                .iter()
                .zip(&ivs)
                .zip(&mut data)
                .map(|((key, iv), data)| CipherItem::new(key, iv, data))
                .collect();
            engine.cipher_batch(Mode::Cbc, CipherDirection::Encipher, &mut items);
            for (at, item) in items.iter().enumerate() {
                assert_eq!(item.result, Ok(()));
                assert_eq!(*item.data, expected[at], "text {at} of {count} at {}", engine.level());
                let chain = expected[at].rchunks(16).next().unwrap_or(&ivs[at]);
                assert_eq!(item.chain, chain, "chain {at} of {count} at {}", engine.level());
            }
        }
    }
}

#[test]
fn cmac_agrees_with_openssl() {
    let engines = engines();
    let mut random = Random(4493);
    let mut done = 0;
    while done < cases(1_000_000) {
        let count = 1 + random.below(40);
        done += count;
        let keys: Vec<_> = (0..count).map(|_| random_key(&mut random)).collect();
        let texts: Vec<_> = (0..count)
            .map(|_| {
                let bytes = bytes(&mut random, false);
                random.bytes(bytes)
            })
            .collect();
        // Some texts come in two segments, the first of whole blocks.
        let cuts: Vec<_> = texts
            .iter()
            .map(|text| if random.below(3) == 0 { random.below(text.len().max(1)) / 16 * 16 } else { 0 })
            .collect();
        let expected: Vec<_> = (0..count).map(|at| openssl_cmac(&keys[at], &texts[at])).collect();
        for engine in &engines {
            let prepared: Vec<_> =
                keys.iter().map(|key| engine.mac_key(mac_algorithm(key), key).unwrap()).collect();
            let mut items: Vec<_> = (0..count)
                .map(|at| MacItem { last: false, ..MacItem::new(&prepared[at], &texts[at][..cuts[at]]) })
                .collect();
            engine.mac_batch(&mut items);
            for (at, item) in items.iter_mut().enumerate() {
                assert_eq!((item.result, item.mac), (Ok(()), [0; 16]));
                (item.data, item.last) = (&texts[at][cuts[at]..], true);
            }
            engine.mac_batch(&mut items);
            for (at, item) in items.iter().enumerate() {
                assert_eq!(item.result, Ok(()));
                assert_eq!(item.mac, expected[at][..], "MAC {at} of {count} at {}", engine.level());
            }
        }
    }
}

/// Requests that fail stand between others, and stay as they were.
#[test]
fn failing_requests_between_others() {
    for engine in engines() {
        let key = [0x42; 16];
        let prepared = engine.cipher_key(CipherAlgorithm::Aes128, &key).unwrap();
        let texts: Vec<Vec<u8>> = (0..24).map(|at| vec![at; if at % 3 == 1 { 401 } else { 400 }]).collect();
        let mut data = texts.clone();
        let mut items: Vec<_> =
            data.iter_mut().map(|data| CipherItem::new(&prepared, &[7; 16], data)).collect();
        engine.cipher_batch(Mode::Cbc, CipherDirection::Encipher, &mut items);
        for (at, item) in items.iter().enumerate() {
            if at % 3 == 1 {
                let error = CipherError::TextLength { mode: Mode::Cbc, bytes: 401, block_bytes: 16 };
                assert_eq!((item.result, item.chain), (Err(error), [7; 16]));
                assert_eq!(*item.data, texts[at]);
            } else {
                assert_eq!(item.result, Ok(()));
                assert_eq!(*item.data, openssl("cbc", true, &key, &[7; 16], &texts[at]));
            }
        }
    }
}

/// CTR of all lengths, with counters that run over in the lower half and in the whole.
#[test]
fn ctr_agrees_with_openssl() {
    let engines = engines();
    let mut random = Random(65);
    for case in 0..cases(1_000_000) {
        let (key, text_bytes) = (random_key(&mut random), random_length(&mut random));
        let text = random.bytes(text_bytes);
        let mut counter: [u8; 16] = random.bytes(16).try_into().unwrap();
        match case % 4 {
            0 => counter = u128::MAX.wrapping_sub(random.below(80) as u128).to_be_bytes(),
            1 => counter[8..].copy_from_slice(&u64::MAX.wrapping_sub(random.below(80) as u64).to_be_bytes()),
            2 => counter[12..].copy_from_slice(&u32::MAX.wrapping_sub(random.below(80) as u32).to_be_bytes()),
            _ => {}
        }
        let expected = openssl("ctr", true, &key, &counter, &text);
        let next = u128::from_be_bytes(counter).wrapping_add(text.len().div_ceil(16) as u128).to_be_bytes();
        for engine in &engines {
            let prepared = engine.cipher_key(algorithm(&key), &key).unwrap();
            let mut data = text.clone();
            let mut items = [CipherItem::new(&prepared, &counter, &mut data)];
            engine.cipher_batch(Mode::Ctr, CipherDirection::Encipher, &mut items);
            assert_eq!((items[0].result, items[0].chain), (Ok(()), next), "{}", engine.level());
            assert_eq!(data, expected, "{} bytes at {}", text.len(), engine.level());
            let (mut data, mut chain) = (text.clone(), counter);
            let direction = CipherDirection::Decipher;
            engine.cipher(algorithm(&key), Mode::Ctr, direction, &key, &mut chain, &mut data).unwrap();
            assert_eq!((data, chain), (expected.clone(), next));
        }
    }
}

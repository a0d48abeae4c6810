//! ECB and CBC of one stream, both ways, against OpenSSL.

use super::*;

/// Every number of blocks beyond one pass of 32 and its rests, in both modes and directions.
#[test]
fn every_length_agrees_with_openssl() {
    let engines = engines();
    let mut random = Random(197);
    for key_bytes in KEY_BYTES {
        for blocks in (0..80).chain([127, 128, 129, 256]) {
            let (key, iv, text) = (random.bytes(key_bytes), random.bytes(16), random.bytes(16 * blocks));
            for (mode, name) in [(Mode::Ecb, "ecb"), (Mode::Cbc, "cbc")] {
                for direction in [CipherDirection::Encipher, CipherDirection::Decipher] {
                    let encipher = direction == CipherDirection::Encipher;
                    let expected = openssl(name, encipher, &key, &iv, &text);
                    let last = if encipher { &expected } else { &text };
                    let chain = match (mode, last.last_chunk::<16>()) {
                        (Mode::Cbc, Some(last)) => last.to_vec(),
                        _ => iv.clone(),
                    };
                    for engine in &engines {
                        let what = format!("{mode} {direction:?} of {blocks} blocks at {}", engine.level());
                        let prepared = engine.cipher_key(algorithm(&key), &key).unwrap();
                        let mut data = text.clone();
                        let mut items = [CipherItem::new(&prepared, &iv, &mut data)];
                        engine.cipher_batch(mode, direction, &mut items);
                        assert_eq!((items[0].result, &items[0].chain[..]), (Ok(()), &chain[..]), "{what}");
                        assert!(data == expected, "{what}");
                        let (mut data, mut own) = (text.clone(), iv.clone());
                        engine.cipher(algorithm(&key), mode, direction, &key, &mut own, &mut data).unwrap();
                        assert!(data == expected && own == chain, "{what}, with its key");
                    }
                }
            }
        }
    }
}

/// Texts of any number of blocks at any place of a cache line, one or a few in a batch.
#[test]
fn random_texts_agree_with_openssl() {
    let engines = engines();
    let mut random = Random(3602);
    let mut done = 0;
    while done < cases(1_000_000) {
        let count = 1 + random.below(4);
        done += count;
        let (mode, name) = random.pick(&[(Mode::Ecb, "ecb"), (Mode::Cbc, "cbc")]);
        let direction = random.pick(&[CipherDirection::Encipher, CipherDirection::Decipher]);
        let keys: Vec<_> = (0..count).map(|_| random_key(&mut random)).collect();
        let ivs: Vec<_> = (0..count).map(|_| random.bytes(16)).collect();
        let texts: Vec<_> = (0..count)
            .map(|_| {
                let most = random.pick(&[8, 40, 140]);
                let blocks = random.below(most);
                random.bytes(16 * blocks)
            })
            .collect();
        let from: Vec<_> = (0..count).map(|_| random.below(64)).collect();
        let encipher = direction == CipherDirection::Encipher;
        let expected: Vec<_> =
            (0..count).map(|at| openssl(name, encipher, &keys[at], &ivs[at], &texts[at])).collect();
        for engine in &engines {
            let prepared: Vec<_> =
                keys.iter().map(|key| engine.cipher_key(algorithm(key), key).unwrap()).collect();
            let mut places: Vec<_> = (0..count)
                .map(|at| [vec![0xa5; from[at]], texts[at].clone(), vec![0xa5; 64]].concat())
                .collect();
            let mut items: Vec<_> = places
                .iter_mut()
                .enumerate()
                .map(|(at, place)| {
                    let data = &mut place[from[at]..][..texts[at].len()];
                    CipherItem::new(&prepared[at], &ivs[at], data)
                })
                .collect();
            engine.cipher_batch(mode, direction, &mut items);
            assert!(items.iter().all(|item| item.result == Ok(())));
            for (at, place) in places.iter().enumerate() {
                let (before, rest) = place.split_at(from[at]);
                let (data, after) = rest.split_at(texts[at].len());
                assert!(data == expected[at], "{mode} {direction:?} {at} of {count} at {}", engine.level());
                assert!(before.iter().chain(after).all(|byte| *byte == 0xa5), "{mode} {direction:?}");
            }
        }
    }
}

/// A text in pieces of any lengths, each going on with the chaining value of the one before, at any place of a cache
/// line.
#[test]
fn pieces_of_a_text_go_on_from_each_other() {
    let engines = engines();
    let mut random = Random(38);
    for _ in 0..cases(1_000_000) {
        let (key, iv) = (random_key(&mut random), random.bytes(16));
        let pieces: Vec<usize> = (0..4).map(|_| 16 * random.below(48)).collect();
        let text = random.bytes(pieces.iter().sum());
        let expected = openssl("cbc", false, &key, &iv, &text);
        let from = random.below(64);
        for engine in &engines {
            let prepared = engine.cipher_key(algorithm(&key), &key).unwrap();
            let mut place = [vec![0xa5; from], text.clone(), vec![0xa5; 64]].concat();
            let (mut chain, mut at) = (iv.clone(), from);
            for piece in &pieces {
                let mut items = [CipherItem::new(&prepared, &chain, &mut place[at..at + piece])];
                engine.cipher_batch(Mode::Cbc, CipherDirection::Decipher, &mut items);
                assert_eq!(items[0].result, Ok(()));
                chain = items[0].chain.to_vec();
                at += piece;
            }
            assert!(place[from..at] == expected, "{pieces:?} at {}", engine.level());
            assert!(place[..from].iter().chain(&place[at..]).all(|byte| *byte == 0xa5), "{pieces:?}");
        }
    }
}

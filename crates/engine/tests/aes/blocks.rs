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

/// A text in pieces of any lengths, each going on with the chaining value of the one before, at any place of a cache line.
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

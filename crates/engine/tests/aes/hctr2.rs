//! HCTR2: the designers' vectors, many messages at once, and what a changed bit does.

use super::*;

struct Vector {
    key: Vec<u8>,
    tweak: Vec<u8>,
    plain: Vec<u8>,
    cipher: Vec<u8>,
}

fn vectors() -> Vec<Vector> {
    let lines = include_str!("hctr2.txt").lines().filter(|line| !line.starts_with('#'));
    let vectors: Vec<_> = lines
        .map(|line| {
            let parts: Vec<_> = line.split(' ').map(|part| hex(part.trim_matches('-'))).collect();
            let [key, tweak, plain, cipher] = parts.try_into().unwrap();
            Vector { key, tweak, plain, cipher }
        })
        .collect();
    assert_eq!(vectors.len(), 30);
    vectors
}

fn one(engine: &Engine, direction: CipherDirection, key: &Hctr2Key, tweak: &[u8], data: &[u8]) -> Vec<u8> {
    let mut data = data.to_vec();
    let mut items = [Hctr2Item::new(key, tweak, &mut data)];
    engine.hctr2_batch(direction, &mut items);
    items[0].result.unwrap();
    data
}

#[test]
fn published_vectors() {
    for engine in engines() {
        for vector in vectors() {
            let key = engine.hctr2_key(&vector.key).unwrap();
            let run = |direction, data: &[u8]| one(&engine, direction, &key, &vector.tweak, data);
            assert_eq!(run(CipherDirection::Encipher, &vector.plain), vector.cipher, "{:?}", engine.level());
            assert_eq!(run(CipherDirection::Decipher, &vector.cipher), vector.plain, "{:?}", engine.level());
        }
    }
}

/// More messages than are under way at a time, of all lengths, under keys that change in runs and one by one: as each
/// alone.
#[test]
fn a_batch_is_as_its_messages_alone() {
    let vectors = vectors();
    for engine in engines() {
        let keys: Vec<_> = vectors.iter().map(|vector| engine.hctr2_key(&vector.key).unwrap()).collect();
        let mut random = Random(9);
        let mut order: Vec<usize> = (0..200).map(|_| random.below(vectors.len())).collect();
        order.extend((0..100).map(|at| at / 20));
        for direction in [CipherDirection::Encipher, CipherDirection::Decipher] {
            let given = |at: usize| match direction {
                CipherDirection::Encipher => (&vectors[at].plain, &vectors[at].cipher),
                CipherDirection::Decipher => (&vectors[at].cipher, &vectors[at].plain),
            };
            let mut texts: Vec<_> = order.iter().map(|at| given(*at).0.clone()).collect();
            let mut items: Vec<_> = order
                .iter()
                .zip(&mut texts)
                .map(|(at, text)| Hctr2Item::new(&keys[*at], &vectors[*at].tweak, text))
                .collect();
            engine.hctr2_batch(direction, &mut items);
            assert!(items.iter().all(|item| item.result.is_ok()));
            for (at, text) in order.iter().zip(&texts) {
                assert_eq!(text, given(*at).1);
            }
        }
    }
}

#[test]
fn every_bit_of_message_and_tweak_changes_both_halves() {
    for engine in engines() {
        let key = engine.hctr2_key(&[7; 32]).unwrap();
        let (tweak, message) = ([3; 36], [5; 24]);
        for direction in [CipherDirection::Encipher, CipherDirection::Decipher] {
            let before = one(&engine, direction, &key, &tweak, &message);
            for bit in 0..8 * (tweak.len() + message.len()) {
                let (mut tweak, mut message) = (tweak, message);
                let byte =
                    if bit / 8 < tweak.len() { &mut tweak[bit / 8] } else { &mut message[bit / 8 - 36] };
                *byte ^= 1 << (bit % 8);
                let after = one(&engine, direction, &key, &tweak, &message);
                for (after, before) in after.chunks(8).zip(before.chunks(8)) {
                    assert_ne!(after, before, "bit {bit}");
                }
            }
            let shorter = one(&engine, direction, &key, &tweak[..35], &message);
            assert_ne!(shorter, before);
        }
    }
}

#[test]
fn short_messages_and_other_keys_are_refused() {
    for engine in engines() {
        for bytes in [0, 8, 15, 17, 31, 33, 64] {
            assert_eq!(engine.hctr2_key(&vec![1; bytes]).unwrap_err(), KeyError::Hctr2KeyLength { bytes });
        }
        let key = engine.hctr2_key(&[1; 16]).unwrap();
        let (mut short, mut good, mut empty) = ([4; 15], [4; 16], []);
        let mut items = [
            Hctr2Item::new(&key, b"t", &mut short),
            Hctr2Item::new(&key, b"t", &mut good),
            Hctr2Item::new(&key, b"t", &mut empty),
        ];
        engine.hctr2_batch(CipherDirection::Encipher, &mut items);
        let results = items.map(|item| item.result);
        let refused = |bytes| Err(CipherError::MessageLength { bytes });
        assert_eq!(results, [refused(15), Ok(()), refused(0)]);
        assert_eq!(short, [4; 15]);
        assert_eq!(good.to_vec(), one(&engine, CipherDirection::Encipher, &key, b"t", &[4; 16]));
    }
}

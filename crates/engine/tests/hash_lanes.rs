//! Hashes and HMACs of many texts against OpenSSL, at every level of the engine.
//!
//! With `CRYPTAND_TEST_ALL=1` each of SHA-1 and SHA-2 takes a million random texts a level, else a hundredth.

use engine::*;
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::sign::Signer;
use seeded::Random;

/// The hashes that run in lanes, and one that does not.
const HASHES: [HashAlgorithm; 6] = [
    HashAlgorithm::Sha1,
    HashAlgorithm::Sha224,
    HashAlgorithm::Sha256,
    HashAlgorithm::Sha384,
    HashAlgorithm::Sha512,
    HashAlgorithm::Sha3_256,
];

/// Where the padding changes its number of blocks, around one, two and many blocks.
const BORDERS: [usize; 26] = [
    0, 1, 3, 54, 55, 56, 57, 63, 64, 65, 110, 111, 112, 118, 119, 120, 121, 127, 128, 129, 183, 184, 239,
    240, 1024, 4096,
];

fn engines() -> Vec<Engine> {
    let engine = |limit| Engine::new(Options { limit: Some(limit), ..Options::default() }).unwrap();
    let mut engines: Vec<_> = Level::ALL.map(engine).into();
    engines.dedup_by_key(|engine| engine.level());
    engines
}

fn message_digest(hash: HashAlgorithm) -> MessageDigest {
    match hash {
        HashAlgorithm::Sha1 => MessageDigest::sha1(),
        HashAlgorithm::Sha224 => MessageDigest::sha224(),
        HashAlgorithm::Sha256 => MessageDigest::sha256(),
        HashAlgorithm::Sha384 => MessageDigest::sha384(),
        HashAlgorithm::Sha512 => MessageDigest::sha512(),
        _ => MessageDigest::sha3_256(),
    }
}

fn peer_digest(hash: HashAlgorithm, text: &[u8]) -> Vec<u8> {
    openssl::hash::hash(message_digest(hash), text).unwrap().to_vec()
}

fn peer_hmac(hash: HashAlgorithm, key: &[u8], text: &[u8]) -> Vec<u8> {
    // It takes no empty key; a zero is the same once padded.
    let key = PKey::hmac(if key.is_empty() { &[0] } else { key }).unwrap();
    let mut signer = Signer::new(message_digest(hash), &key).unwrap();
    signer.sign_oneshot_to_vec(text).unwrap()
}

fn check(engine: &Engine, hash: HashAlgorithm, texts: &[&[u8]]) {
    let mut items: Vec<_> = texts.iter().map(|text| HashItem::new(text)).collect();
    items.iter_mut().for_each(|item| item.digest = [0xee; 64]);
    engine.hash_batch(hash, &mut items);
    for (index, (item, text)) in items.iter().zip(texts).enumerate() {
        let (digest, zeros) = item.digest.split_at(hash.digest_bytes());
        let lengths: Vec<_> = texts.iter().map(|text| text.len()).collect();
        assert_eq!(digest, peer_digest(hash, text), "{hash} {} {index} {lengths:?}", engine.level());
        assert!(zeros.iter().all(|byte| *byte == 0));
        assert_eq!(item.result, Ok(()));
    }
}

/// Mostly short, sometimes a border, rarely long.
fn length(random: &mut Random) -> usize {
    match random.below(16) {
        0 => 1000 + random.below(7000),
        1..6 => random.pick(&BORDERS),
        _ => random.below(300),
    }
}

#[test]
fn every_count_of_texts_at_every_border() {
    let bytes = Random(1).bytes(5000);
    for engine in engines() {
        for hash in HASHES {
            for count in 0..34 {
                for length in BORDERS {
                    let texts: Vec<_> = (0..count).map(|index| &bytes[index * 17..][..length]).collect();
                    check(&engine, hash, &texts);
                }
            }
        }
    }
}

/// Lanes end at different times and are filled again; long texts among the first, the last and in between.
#[test]
fn borders_side_by_side_and_long_texts_at_any_place() {
    let bytes = Random(2).bytes(300_000);
    for engine in engines() {
        for hash in HASHES {
            for turn in 0..BORDERS.len() {
                let mut lengths: Vec<_> = BORDERS.iter().chain(&BORDERS).copied().collect();
                lengths.rotate_left(turn);
                lengths[turn * 2] = 250_000 + turn;
                let texts: Vec<_> = lengths.iter().map(|length| &bytes[turn..][..*length]).collect();
                check(&engine, hash, &texts);
            }
        }
    }
}

#[test]
fn random_texts() {
    let all = if std::env::var_os("CRYPTAND_TEST_ALL").is_some() { 1_000_000 } else { 10_000 };
    let mut random = Random(3);
    let bytes = random.bytes(100_000);
    for engine in engines() {
        for hash in &HASHES[..5] {
            let mut done = 0;
            while done < all {
                let count = 1 + random.below(70);
                let texts: Vec<_> =
                    (0..count).map(|_| &bytes[random.below(90_000)..][..length(&mut random)]).collect();
                check(&engine, *hash, &texts);
                done += count;
            }
        }
    }
}

/// Keys around the block length (longer ones are hashed), several hashes in one batch.
#[test]
fn hmacs_with_keys_at_block_borders() {
    let bytes = Random(4).bytes(5000);
    let key_lengths = [0, 1, 19, 20, 32, 63, 64, 65, 127, 128, 129, 200];
    for engine in engines() {
        for hashes in [&HASHES[..1], &HASHES[1..2], &HASHES[2..3], &HASHES[3..5], &HASHES[..]] {
            for (turn, length) in BORDERS.into_iter().enumerate() {
                for count in [1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 33, 70] {
                    let hash = |index: usize| hashes[index % hashes.len()];
                    let raw =
                        |index: usize| &bytes[index..][..key_lengths[(index + turn) % key_lengths.len()]];
                    let text =
                        |index: usize| &bytes[index * 3..][..if index % 5 == 4 { index } else { length }];
                    let keys: Vec<_> =
                        (0..count).map(|index| engine.hmac_key(hash(index), raw(index)).unwrap()).collect();
                    let mut items: Vec<_> =
                        keys.iter().enumerate().map(|(index, key)| HmacItem::new(key, text(index))).collect();
                    items.iter_mut().for_each(|item| item.mac = [0xee; 64]);
                    engine.hmac_batch(&mut items);
                    for (index, item) in items.iter().enumerate() {
                        let (mac, zeros) = item.mac.split_at(hash(index).digest_bytes());
                        assert_eq!(mac, peer_hmac(hash(index), raw(index), text(index)));
                        assert!(zeros.iter().all(|byte| *byte == 0));
                        assert_eq!(item.result, Ok(()));
                    }
                }
            }
        }
    }
}

#[test]
fn random_hmacs() {
    let all = if std::env::var_os("CRYPTAND_TEST_ALL").is_some() { 1_000_000 } else { 10_000 };
    let mut random = Random(5);
    let bytes = random.bytes(100_000);
    for engine in engines() {
        let mut done = 0;
        while done < all {
            let count = 1 + random.below(70);
            let requests: Vec<_> = (0..count)
                .map(|_| {
                    let key = &bytes[random.below(90_000)..][..random.below(140)];
                    let text = &bytes[random.below(90_000)..][..length(&mut random)];
                    (random.pick(&HASHES), key, text)
                })
                .collect();
            let keys: Vec<_> =
                requests.iter().map(|(hash, key, _)| engine.hmac_key(*hash, key).unwrap()).collect();
            let mut items: Vec<_> =
                keys.iter().zip(&requests).map(|(key, request)| HmacItem::new(key, request.2)).collect();
            engine.hmac_batch(&mut items);
            for (item, (hash, key, text)) in items.iter().zip(&requests) {
                assert_eq!(item.mac[..hash.digest_bytes()], peer_hmac(*hash, key, text));
            }
            done += count;
        }
    }
}

#[test]
fn lanes_are_named_by_level() {
    for engine in engines() {
        let lanes = |hash| engine.lanes(Operation::Hash(hash));
        // With AVX2: eight, or four where there are SHA instructions. Words of SHA-512 are twice as wide.
        let (expected, wide) = match engine.level() {
            Level::Portable => (&[1][..], 1),
            Level::Avx2 => (&[4, 8][..], 4),
            Level::Avx512 => (&[16][..], 8),
        };
        assert!(expected.contains(&lanes(HashAlgorithm::Sha1)));
        assert_eq!([lanes(HashAlgorithm::Sha384), lanes(HashAlgorithm::Sha512)], [wide; 2]);
        assert_eq!(lanes(HashAlgorithm::Sha3_256), 1);
        for hash in HASHES {
            assert_eq!(lanes(hash), engine.lanes(Operation::Hmac(hash)));
        }
    }
}

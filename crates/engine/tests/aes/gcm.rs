//! GCM in batches, at every level, against OpenSSL: short texts go through the kernel where there is one, long ones and
//! those with other nonces than of 96 bits through the library.

use super::*;

/// One request with what must come of it.
struct Case {
    key: Vec<u8>,
    nonce: Vec<u8>,
    aad: Vec<u8>,
    text: Vec<u8>,
    sealed: Vec<u8>,
    tag: [u8; 16],
}

impl Case {
    fn new(random: &mut Random, key: Vec<u8>, nonce_bytes: usize, aad_bytes: usize, bytes: usize) -> Case {
        let (nonce, aad, text) = (random.bytes(nonce_bytes), random.bytes(aad_bytes), random.bytes(bytes));
        let cipher = match key.len() {
            16 => openssl::symm::Cipher::aes_128_gcm(),
            24 => openssl::symm::Cipher::aes_192_gcm(),
            _ => openssl::symm::Cipher::aes_256_gcm(),
        };
        let mut tag = [0; 16];
        let sealed = openssl::symm::encrypt_aead(cipher, &key, Some(&nonce), &aad, &text, &mut tag).unwrap();
        Case { key, nonce, aad, text, sealed, tag }
    }
}

/// Seals the cases in one batch, and opens them in one with the tags of some requests wrong.
fn check(engine: &Engine, cases: &[Case], keys: &[&GcmKey], wrong: &[usize]) {
    let mut data: Vec<_> = cases.iter().map(|case| case.text.clone()).collect();
    let mut items: Vec<_> = cases
        .iter()
        .zip(keys)
        .zip(&mut data)
        .map(|((case, key), data)| GcmItem::encipher(key, &case.nonce, &case.aad, data))
        .collect();
    engine.gcm_batch(CipherDirection::Encipher, &mut items);
    for (at, (item, case)) in items.iter_mut().zip(cases).enumerate() {
        let what = format!("{at} of {}: {} bytes at {}", cases.len(), case.text.len(), engine.level());
        assert_eq!((item.result, item.tag), (Ok(()), case.tag), "{what}");
        assert!(*item.data == case.sealed, "{what}");
        if wrong.contains(&at) {
            item.tag[at % 16] ^= 1 << (at % 8);
        }
        item.tag_bytes = 16;
    }
    engine.gcm_batch(CipherDirection::Decipher, &mut items);
    for (at, (item, case)) in items.iter().zip(cases).enumerate() {
        let what = format!("{at} of {}: {} bytes at {}", cases.len(), case.text.len(), engine.level());
        if wrong.contains(&at) {
            assert_eq!(item.result, Err(CipherError::Authentication), "{what}");
            assert!(item.data.iter().all(|byte| *byte == 0), "{what}: text is released");
        } else {
            assert_eq!(item.result, Ok(()), "{what}");
            assert!(*item.data == case.text, "{what}");
        }
    }
}

/// Texts of every length up to 2,100 bytes and beside the border of the kernel, with additional data of every length up
/// to 64 bytes, each under a key of its own.
#[test]
fn every_length_agrees_with_openssl() {
    let engines = engines();
    let mut random = Random(38);
    for lengths in (0..2101).chain([4079, 4080, 4081, 4095, 4096, 4097, 5000]).collect::<Vec<_>>().chunks(64)
    {
        let cases: Vec<_> = lengths
            .iter()
            .map(|bytes| {
                let key = random_key(&mut random);
                Case::new(&mut random, key, 12, bytes % 65, *bytes)
            })
            .collect();
        for engine in &engines {
            let keys: Vec<_> = cases.iter().map(|case| engine.gcm_key(&case.key).unwrap()).collect();
            check(engine, &cases, &keys.iter().collect::<Vec<_>>(), &[]);
        }
    }
}

/// Batches of all sizes, under one key or own ones, with other nonces and long texts between the others, and wrong tags
/// in one lane or some: nothing of those is released, and all of the others.
#[test]
fn batches_with_wrong_tags_agree_with_openssl() {
    let engines = engines();
    let mut random = Random(800);
    let mut done = 0;
    while done < self::cases(1_000_000) {
        let count = 1 + random.below(70);
        done += count;
        let is_one_key = random.below(2) == 0;
        let one = random_key(&mut random);
        let cases: Vec<_> = (0..count)
            .map(|_| {
                let key = if is_one_key { one.clone() } else { random_key(&mut random) };
                let nonce_bytes = if random.below(8) == 0 { 1 + random.below(20) } else { 12 };
                let bytes = match random.below(32) {
                    0 => random.below(9000),
                    1..12 => random.below(2101),
                    _ => random_length(&mut random),
                };
                let aad_bytes = if random.below(8) == 0 { random.below(1500) } else { random.below(65) };
                Case::new(&mut random, key, nonce_bytes, aad_bytes, bytes)
            })
            .collect();
        let wrong: Vec<_> = match random.below(3) {
            0 => vec![random.below(count)],
            1 => (0..count).filter(|_| random.below(3) == 0).collect(),
            _ => Vec::new(),
        };
        for engine in &engines {
            let keys: Vec<_> = cases.iter().map(|case| engine.gcm_key(&case.key).unwrap()).collect();
            let keys: Vec<_> = if is_one_key { vec![&keys[0]; count] } else { keys.iter().collect() };
            check(engine, &cases, &keys, &wrong);
        }
    }
}

/// A key serves an engine of another level than the one that made it.
#[test]
fn keys_serve_every_level() {
    let engines = engines();
    let mut random = Random(4106);
    for maker in &engines {
        for engine in &engines {
            for key_bytes in KEY_BYTES {
                let raw = random.bytes(key_bytes);
                let key = maker.gcm_key(&raw).unwrap();
                let lengths = [(12, 100), (12, 5000), (8, 100), (12, 0)];
                let cases = lengths
                    .map(|(nonce_bytes, bytes)| Case::new(&mut random, raw.clone(), nonce_bytes, 20, bytes));
                check(engine, &cases, &[&key; 4], &[2]);
            }
        }
    }
}

/// Tags cut to their first bytes, and lengths that are refused, between other requests.
#[test]
fn cut_tags() {
    let mut random = Random(96);
    for engine in engines() {
        for bytes in [0, 1, 33, 600, 4097] {
            let key = random_key(&mut random);
            let case = Case::new(&mut random, key, 12, 13, bytes);
            let key = engine.gcm_key(&case.key).unwrap();
            let mut texts: Vec<_> = (0..20).map(|_| case.sealed.clone()).collect();
            let mut tags = [case.tag; 20];
            // What lies behind the bytes that count is not looked at.
            tags.iter_mut().enumerate().for_each(|(at, tag)| tag[at.min(16)..].fill(0x77));
            let mut items: Vec<_> = texts
                .iter_mut()
                .zip(&tags)
                .enumerate()
                .map(|(tag_bytes, (text, tag))| GcmItem {
                    tag_bytes,
                    ..GcmItem::decipher(&key, &case.nonce, &case.aad, text, tag)
                })
                .collect();
            engine.gcm_batch(CipherDirection::Decipher, &mut items);
            // The last byte that counts is.
            let mut wrong = case.sealed.clone();
            for tag_bytes in 4..=16 {
                let mut tag = case.tag;
                tag[tag_bytes - 1] ^= 1;
                wrong.copy_from_slice(&case.sealed);
                let item = GcmItem::decipher(&key, &case.nonce, &case.aad, &mut wrong, &tag[..tag_bytes]);
                let mut items = [item];
                engine.gcm_batch(CipherDirection::Decipher, &mut items);
                assert_eq!(items[0].result, Err(CipherError::Authentication), "{tag_bytes}");
                assert!(wrong.iter().all(|byte| *byte == 0), "{tag_bytes}");
            }
            for (tag_bytes, item) in items.iter().enumerate() {
                if (4..=16).contains(&tag_bytes) {
                    assert_eq!((item.result, &*item.data), (Ok(()), &case.text[..]), "{tag_bytes}");
                } else {
                    let refused = Err(CipherError::TagLength { bytes: tag_bytes });
                    assert_eq!((item.result, &*item.data), (refused, &case.sealed[..]), "{tag_bytes}");
                }
            }
        }
    }
}

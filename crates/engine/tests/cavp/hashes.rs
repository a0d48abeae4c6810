//! Hashes: short, long, and the Monte Carlo chains.

use super::engine;
use super::reader::{Case, cases, files};
use engine::*;

fn algorithm(file: &str) -> HashAlgorithm {
    let name = file.rsplit('/').next().unwrap();
    let digits = name.strip_prefix("SHA3_").map(|rest| format!("SHA3-{}", &rest[..3])).unwrap_or_else(|| {
        let digits: String = name[3..].chars().take_while(char::is_ascii_digit).collect();
        format!("SHA-{digits}")
    });
    HashAlgorithm::ALL
        .into_iter()
        .find(|hash| hash.name() == digits)
        .unwrap_or_else(|| panic!("{file}: {digits}"))
}

/// An engine at each level that this process has.
fn engines() -> impl Iterator<Item = Engine> {
    Level::ALL.into_iter().filter_map(|limit| {
        let options = Options { limit: Some(limit), weak_algorithms: true };
        Some(Engine::new(options).unwrap()).filter(|engine| engine.level() == limit)
    })
}

/// All messages of a file in one batch.
fn check_together(file: &str, hash: HashAlgorithm) {
    let all: Vec<(Vec<u8>, Vec<u8>)> = cases(file)
        .into_iter()
        .map(|case| {
            let mut text = case.bytes("Msg");
            text.truncate(case.number("Len") / 8);
            (text, case.bytes("MD"))
        })
        .collect();
    for engine in engines() {
        let mut items: Vec<_> = all.iter().map(|(text, _)| HashItem::new(text)).collect();
        engine.hash_batch(hash, &mut items);
        for (item, (_, expected)) in items.iter().zip(&all) {
            assert_eq!(item.digest[..hash.digest_bytes()], *expected, "{file} {}", engine.level());
        }
    }
}

fn check_messages(file: &str, hash: HashAlgorithm) {
    let engine = engine();
    for case in cases(file) {
        let mut text = case.bytes("Msg");
        text.truncate(case.number("Len") / 8);
        let expected = case.bytes("MD");
        let mut items = [HashItem::new(&text)];
        engine.hash_batch(hash, &mut items);
        assert_eq!(items[0].result, Ok(()));
        assert_eq!(items[0].digest[..hash.digest_bytes()], expected, "{file} {case:?}");
        assert!(items[0].digest[hash.digest_bytes()..].iter().all(|byte| *byte == 0));
        // The same in pieces, interrupted after every block where the hash can be.
        let mut state = engine.hash_state_in_segments(hash).unwrap();
        let mut pieces = text.chunks_exact(hash.block_bytes());
        for piece in &mut pieces {
            state.update(piece);
            let bytes = match state.export() {
                Ok(bytes) => bytes.to_vec(),
                Err(error) => {
                    assert_eq!(error, HashError::NotExportable(hash));
                    state.export_sha3().unwrap().to_vec()
                }
            };
            state = engine.hash_state_import(hash, &bytes).unwrap();
        }
        state.update(pieces.remainder());
        assert_eq!(state.finish()[..hash.digest_bytes()], expected, "{file} {case:?}");
    }
}

/// SHAVS, 6.4 (SHA-1, SHA-2): each digest is that of the three before it. SHA3VS, 6.2.3: of the one before
/// it. The chain runs in every lane of a batch.
fn check_monte_carlo(engine: Engine, file: &str, hash: HashAlgorithm) {
    let lanes = engine.lanes(Operation::Hash(hash));
    let all = cases(file);
    let mut seed = all[0].bytes("Seed");
    assert_eq!(seed.len(), hash.digest_bytes());
    for case in &all[1..] {
        let mut last = [seed.clone(), seed.clone(), seed.clone()];
        for _ in 0..1000 {
            let text = if hash.name().starts_with("SHA3") { last[2].clone() } else { last.concat() };
            let mut items: Vec<_> = (0..lanes).map(|_| HashItem::new(&text)).collect();
            engine.hash_batch(hash, &mut items);
            last.rotate_left(1);
            last[2] = items[0].digest[..hash.digest_bytes()].to_vec();
            assert!(items.iter().all(|item| item.digest == items[0].digest));
        }
        seed = last[2].clone();
        assert_eq!(seed, case.bytes("MD"), "{file} {case:?}");
    }
    assert_eq!(all.len(), 101);
}

#[test]
fn short_and_long_messages() {
    for folder in ["hashes/SHA1", "hashes/SHA2", "hashes/SHA3"] {
        for file in files(folder, "SHA", "Msg.rsp") {
            check_messages(&file, algorithm(&file));
            check_together(&file, algorithm(&file));
        }
    }
    check_messages("hashes/MD5/rfc-1321.txt", HashAlgorithm::Md5);
}

#[test]
fn monte_carlo() {
    for folder in ["hashes/SHA1", "hashes/SHA2", "hashes/SHA3"] {
        for file in files(folder, "SHA", "Monte.rsp") {
            engines().for_each(|engine| check_monte_carlo(engine, &file, algorithm(&file)));
        }
    }
}

/// In this file a case begins with its number and has empty lines inside.
#[test]
fn hkdf() {
    let mut merged: Vec<Case> = Vec::new();
    for case in cases("KDF/rfc-5869-HKDF-SHA256.txt") {
        match merged.last_mut() {
            Some(last) if !case.has("COUNT") => last.append(case),
            _ => merged.push(case),
        }
    }
    assert_eq!(merged.len(), 3);
    for case in merged {
        let mut okm = vec![0; case.number("L")];
        hkdf_sha256(&case.bytes("salt"), &case.bytes("IKM"), &case.bytes("info"), &mut okm).unwrap();
        assert_eq!(okm, case.bytes("OKM"));
    }
}

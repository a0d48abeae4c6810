//! AES-CFB, alone and with SHA-1 of the plain text, against SP 800-38A and OpenSSL, at every level of the
//! engine.

use engine::*;
use openssl::sha::sha1;
use openssl::symm::{Cipher, Crypter, Mode as PeerMode};
use seeded::Random;

const DIRECTIONS: [CipherDirection; 2] = [CipherDirection::Encipher, CipherDirection::Decipher];

fn engines() -> Vec<Engine> {
    let engine = |limit| Engine::new(Options { limit: Some(limit), ..Options::default() }).unwrap();
    let mut engines: Vec<_> = Level::ALL.map(engine).into();
    engines.dedup_by_key(|engine| engine.level());
    engines
}

fn peer(direction: CipherDirection, key: &[u8], iv: &[u8], text: &[u8]) -> Vec<u8> {
    let cipher = match key.len() {
        16 => Cipher::aes_128_cfb128(),
        24 => Cipher::aes_192_cfb128(),
        _ => Cipher::aes_256_cfb128(),
    };
    let mode = if direction == CipherDirection::Encipher { PeerMode::Encrypt } else { PeerMode::Decrypt };
    let mut out = vec![0; text.len() + 16];
    let bytes = Crypter::new(cipher, mode, key, Some(iv)).unwrap().update(text, &mut out).unwrap();
    out.truncate(bytes);
    out
}

fn bytes(count: usize, seed: u64) -> Vec<u8> {
    Random(seed).bytes(count)
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.chars().filter(|digit| !digit.is_whitespace()).collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// SP 800-38A, F.3.13 to F.3.18.
#[test]
fn vectors_of_the_standard() {
    let text = hex("6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
         30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710");
    let iv: [u8; 16] = std::array::from_fn(|at| at as u8);
    for (key, expected) in [
        (
            "2b7e151628aed2a6abf7158809cf4f3c",
            "3b3fd92eb72dad20333449f8e83cfb4a c8a64537a0b3a93fcde3cdad9f1ce58b
             26751f67a3cbb140b1808cf187a4f4df c04b05357c5d1c0eeac4c66f9ff7f2e6",
        ),
        (
            "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
            "cdc80d6fddf18cab34c25909c99a4174 67ce7f7f81173621961a2b70171d3d7a
             2e1e8a1dd59b88b1c8e60fed1efac4c9 c05f9f9ca9834fa042ae8fba584b09ff",
        ),
        (
            "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
            "dc7e84bfda79164b7ecd8486985d3860 39ffed143b28b1c832113c6331e5407b
             df10132415e54b92a13ed0a8267ae2f9 75a385741ab9cef82031623d55b1e471",
        ),
    ] {
        for engine in engines() {
            let mut data = text.clone();
            engine.cfb(CipherDirection::Encipher, &hex(key), &iv).unwrap().update(&mut data);
            assert_eq!(data, hex(expected));
            engine.cfb(CipherDirection::Decipher, &hex(key), &iv).unwrap().update(&mut data);
            assert_eq!(data, text);
        }
    }
}

/// Feeds the text in pieces whose lengths come round again, and compares text and digest with the peer's.
fn check(engine: &Engine, direction: CipherDirection, key: &[u8], text: &[u8], pieces: &[usize]) {
    let iv: [u8; 16] = bytes(16, 77).try_into().unwrap();
    let expected = peer(direction, key, &iv, text);
    let plain = if direction == CipherDirection::Encipher { text } else { &expected };
    let context = || format!("{} {direction:?} {} {} {pieces:?}", engine.level(), key.len(), text.len());
    let mut both = engine.cfb_sha1(direction, key, &iv).unwrap();
    let mut alone = engine.cfb(direction, key, &iv).unwrap();
    let (mut data, mut data_alone) = (text.to_vec(), text.to_vec());
    let mut at = 0;
    for piece in pieces.iter().cycle() {
        let end = text.len().min(at + piece);
        both.update(&mut data[at..end]);
        alone.update(&mut data_alone[at..end]);
        at = end;
        if at == text.len() {
            break;
        }
    }
    assert_eq!(data, expected, "{}", context());
    assert_eq!(data_alone, expected, "{}", context());
    assert_eq!(both.digest(), sha1(plain), "{}", context());
}

#[test]
fn every_length_in_one_piece() {
    for engine in engines() {
        for direction in DIRECTIONS {
            for key_bytes in [16, 24, 32] {
                for length in (0..200).chain([255, 256, 257, 4095, 4096, 4097, 10_000]) {
                    let text = bytes(length, length as u64 + 1);
                    check(&engine, direction, &bytes(key_bytes, 5), &text, &[length.max(1)]);
                }
            }
        }
    }
}

/// Two pieces and the rest, cut at every place: inside a block of AES, of SHA-1, at their borders.
#[test]
fn cut_at_every_place() {
    let text = bytes(300, 9);
    for engine in engines() {
        for direction in DIRECTIONS {
            for key_bytes in [16, 24, 32] {
                for cut in 0..text.len() {
                    for then in [1, 15, 16, 17, 64, 128] {
                        check(&engine, direction, &bytes(key_bytes, 6), &text, &[cut, then, 300]);
                    }
                }
            }
        }
    }
}

#[test]
fn random_texts_in_random_pieces() {
    let cases = if std::env::var_os("CRYPTAND_TEST_ALL").is_some() { 1_000_000 } else { 10_000 };
    let mut random = Random(1);
    let mut random = |below| random.below(below);
    let texts = bytes(20_000, 10);
    let engines = engines();
    for case in 0..cases {
        let key = &texts[random(1000)..][..[16, 24, 32][random(3)]];
        let most = if random(20) == 0 { 9000 } else { 400 };
        let text = &texts[random(10_000)..][..random(most)];
        let pieces = [1 + random(20), 1 + random(200), 1 + random(5000)];
        check(&engines[case % engines.len()], DIRECTIONS[random(2)], key, text, &pieces);
    }
}

/// As OpenPGP packets end: the digest follows, enciphered but not hashed; and it stays what it was.
#[test]
fn what_is_not_hashed_leaves_the_digest() {
    for engine in engines() {
        for direction in DIRECTIONS {
            for before in [0, 1, 16, 22, 64, 100, 128] {
                let text = bytes(300, 11);
                let key = bytes(16, 12);
                let expected = peer(direction, &key, &[0; 16], &text);
                let plain = if direction == CipherDirection::Encipher { &text } else { &expected };
                let mut state = engine.cfb_sha1(direction, &key, &[0; 16]).unwrap();
                let mut data = text.clone();
                let (hashed, rest) = data.split_at_mut(before);
                let (unhashed, hashed_again) = rest.split_at_mut(20);
                state.update(hashed);
                state.update_unhashed(unhashed);
                assert_eq!(state.digest(), sha1(&plain[..before]));
                // Blocks of AES and of SHA-1 lie on different borders from here on.
                state.update(hashed_again);
                assert_eq!(state.digest(), sha1(&[&plain[..before], &plain[before + 20..]].concat()));
                assert_eq!(data, expected);
            }
        }
    }
}

#[test]
fn keys_of_other_lengths_are_refused() {
    for engine in engines() {
        for bytes in (0..64).filter(|bytes| ![16, 24, 32].contains(bytes)) {
            let error = KeyError::CfbKeyLength { bytes };
            assert_eq!(engine.cfb(DIRECTIONS[0], &vec![0; bytes], &[0; 16]).unwrap_err(), error);
            assert_eq!(engine.cfb_sha1(DIRECTIONS[0], &vec![0; bytes], &[0; 16]).unwrap_err(), error);
            assert!(error.to_string().contains(&format!("not {bytes}")));
        }
    }
}

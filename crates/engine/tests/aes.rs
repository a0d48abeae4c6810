//! AES at every level: one stream and many at once, GCM, OCB, EAX and HCTR2, against published vectors and OpenSSL.

mod blocks;
mod eax;
mod gcm;
mod hctr2;
mod monte_carlo;
mod negative;
mod ocb;
mod streams;

use engine::*;
use openssl::cipher::{Cipher, CipherRef};
use openssl::cipher_ctx::CipherCtx;
use seeded::Random;

const KEY_BYTES: [usize; 3] = [16, 24, 32];

/// Engines at every level that this machine and the library reach, lowest first.
fn engines() -> Vec<Engine> {
    let mut engines: Vec<Engine> = Vec::new();
    for limit in Level::ALL {
        let engine = Engine::new(Options { limit: Some(limit), ..Options::default() }).unwrap();
        if engines.iter().all(|other| other.level() != engine.level()) {
            engines.push(engine);
        }
    }
    engines
}

/// How many random cases: all of them where the whole suite is asked for, else a hundredth.
fn cases(all: usize) -> usize {
    if std::env::var_os("CRYPTAND_TEST_ALL").is_some_and(|value| value == "1") { all } else { all / 100 }
}

fn random_key(random: &mut Random) -> Vec<u8> {
    let bytes = random.pick(&KEY_BYTES);
    random.bytes(bytes)
}

/// A length at or beside a border of blocks and passes, or any other up to 1200.
fn random_length(random: &mut Random) -> usize {
    const BORDERS: [usize; 14] = [0, 1, 16, 32, 64, 112, 128, 192, 256, 448, 496, 512, 528, 1024];
    match random.below(3) {
        0 => random.below(1200),
        _ => (random.pick(&BORDERS) + random.below(3)).saturating_sub(1),
    }
}

fn hex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2));
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}

/// AES of the key's length in OpenSSL.
fn theirs(mode: &str, key: &[u8]) -> &'static CipherRef {
    match (mode, key.len()) {
        ("ecb", 16) => Cipher::aes_128_ecb(),
        ("ecb", 24) => Cipher::aes_192_ecb(),
        ("ecb", 32) => Cipher::aes_256_ecb(),
        ("cbc", 16) => Cipher::aes_128_cbc(),
        ("cbc", 24) => Cipher::aes_192_cbc(),
        ("cbc", 32) => Cipher::aes_256_cbc(),
        ("ctr", 16) => Cipher::aes_128_ctr(),
        ("ctr", 24) => Cipher::aes_192_ctr(),
        ("ctr", 32) => Cipher::aes_256_ctr(),
        ("ocb", 16) => Cipher::aes_128_ocb(),
        ("ocb", 24) => Cipher::aes_192_ocb(),
        ("ocb", 32) => Cipher::aes_256_ocb(),
        _ => unreachable!("not asked for"),
    }
}

fn algorithm(key: &[u8]) -> CipherAlgorithm {
    match key.len() {
        16 => CipherAlgorithm::Aes128,
        24 => CipherAlgorithm::Aes192,
        _ => CipherAlgorithm::Aes256,
    }
}

/// A cipher of OpenSSL without padding, over a whole text.
fn openssl(mode: &str, encipher: bool, key: &[u8], iv: &[u8], text: &[u8]) -> Vec<u8> {
    let mut context = openssl_context(mode, encipher, key, iv);
    let mut out = Vec::new();
    context.cipher_update_vec(text, &mut out).unwrap();
    out
}

fn openssl_context(mode: &str, encipher: bool, key: &[u8], iv: &[u8]) -> CipherCtx {
    let mut context = CipherCtx::new().unwrap();
    let iv = (mode != "ecb").then_some(iv);
    if encipher {
        context.encrypt_init(Some(theirs(mode, key)), Some(key), iv).unwrap();
    } else {
        context.decrypt_init(Some(theirs(mode, key)), Some(key), iv).unwrap();
    }
    context.set_padding(false);
    context
}

/// CMAC of OpenSSL.
fn openssl_cmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let cipher = match key.len() {
        16 => openssl::symm::Cipher::aes_128_cbc(),
        24 => openssl::symm::Cipher::aes_192_cbc(),
        _ => openssl::symm::Cipher::aes_256_cbc(),
    };
    let key = openssl::pkey::PKey::cmac(&cipher, key).unwrap();
    openssl::sign::Signer::new_without_digest(&key).unwrap().sign_oneshot_to_vec(text).unwrap()
}

//! Prints how much stack each group of functions takes, at its most: `stack`, or `stack GROUP`. Its test runs all of
//! them in a thread with the stack that the crate's documentation states.
//!
//! The smallest stack is found by trying: this program starts itself with one, and ends by a signal where it is too
//! small. What the thread itself takes of it (a few KiB) counts.

use engine::*;
use openssl::bn::{BigNum, BigNumContext};
use std::process::{Command, Stdio};

/// What the crate's documentation states, of the crate built with optimization and without.
#[cfg(test)]
const STATED_BYTES: usize = if cfg!(debug_assertions) { 4 << 20 } else { 512 << 10 };

const STEP_BYTES: usize = 16 << 10;
const MOST_BYTES: usize = 4 << 20;

/// Pairs of primes, by their length.
const PRIMES: &str = include_str!("../tests/rsa/primes.txt");

type Group = (&'static str, fn(&Engine));

const GROUPS: [Group; 8] = [
    ("rsa", rsa),
    ("rsa-search", rsa_search),
    ("des", |engine| ciphers(engine, 8)),
    ("aes", |engine| ciphers(engine, 16)),
    ("aead", aead),
    ("hash", hash),
    ("ec", ec),
    ("prime-field", prime_field),
];

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let group = |name: &str| GROUPS.iter().find(|group| group.0 == name).expect("the name of a group");
    match &given[..] {
        [] => GROUPS.iter().for_each(print),
        [name] => print(group(name)),
        [name, bytes, ..] => in_thread(group(name).1, bytes.parse().expect("a number of bytes")),
    }
}

fn print(group: &Group) {
    let (mut too_small, mut enough) = (0, MOST_BYTES / STEP_BYTES);
    while enough - too_small > 1 {
        let steps = (too_small + enough) / 2;
        if fits(group.0, steps * STEP_BYTES) { enough = steps } else { too_small = steps }
    }
    println!("{:12} {:>6} KiB", group.0, (enough * STEP_BYTES) >> 10);
}

fn fits(name: &str, bytes: usize) -> bool {
    let own = std::env::current_exe().expect("a program knows its own path");
    let mut command = Command::new(own);
    command.args([name, &bytes.to_string()]).stderr(Stdio::null());
    command.status().expect("this program can be executed").success()
}

/// A group at every level of the machine, in a thread with this much stack.
fn in_thread(work: fn(&Engine), bytes: usize) {
    let run = move || {
        let engine = |limit| Engine::new(Options { limit: Some(limit), weak_algorithms: true }).unwrap();
        for level in Level::ALL {
            work(&engine(level));
        }
    };
    std::thread::Builder::new().stack_size(bytes).spawn(run).unwrap().join().unwrap();
}

fn key() -> RsaPrivateKey {
    let half = RSA_BITS_MAX / 2;
    let prime = |line: &str| {
        line.strip_prefix(&format!("{half} ")).map(|digits| BigNum::from_hex_str(digits).unwrap())
    };
    let primes: Vec<BigNum> = PRIMES.lines().filter_map(prime).collect();
    let (p, q, e, one) =
        (&primes[0], &primes[1], BigNum::from_u32(65537).unwrap(), BigNum::from_u32(1).unwrap());
    let mut scratch = BigNumContext::new().unwrap();
    let mut inverse = |value: &BigNum, modulus: &BigNum| {
        let mut inverse = BigNum::new().unwrap();
        inverse.mod_inverse(value, modulus, &mut scratch).unwrap();
        inverse.to_vec()
    };
    let (dp, dq, qinv) = (inverse(&e, &(p - &one)), inverse(&e, &(q - &one)), inverse(q, p));
    let (n, e, p, q) = ((p * q).to_vec(), e.to_vec(), p.to_vec(), q.to_vec());
    RsaPrivateKey::from_crt(&RsaCrt { n: &n, e: &e, p: &p, q: &q, dp: &dp, dq: &dq, qinv: &qinv }).unwrap()
}

fn rsa(engine: &Engine) {
    let key = key();
    let by_exponent = RsaPrivateKey::from_me(&key.n(), &key.e(), &key.d()).unwrap();
    let (public, input) = (key.public_key().unwrap(), vec![1; key.modulus_bytes()]);
    for count in [1, 3, 8, 17] {
        let mut outputs = vec![input.clone(); count];
        for key in [&key, &by_exponent] {
            let mut items: Vec<_> =
                outputs.iter_mut().map(|output| RsaPrivateItem::new(key, &input, output)).collect();
            engine.rsa_private_batch(&mut items);
            assert!(items.iter().all(|item| item.result.is_ok()));
        }
        let mut items: Vec<_> =
            outputs.iter_mut().map(|output| RsaPublicItem::new(&public, &input, output)).collect();
        engine.rsa_public_batch(&mut items);
        assert!(items.iter().all(|item| item.result.is_ok()));
    }
}

/// A key of 1024 bits in whole, and the first steps to one of 4096.
fn rsa_search(engine: &Engine) {
    engine.rsa_generate(1024, &[1, 0, 1]).unwrap();
    let mut search = engine.rsa_search(RSA_BITS_MAX, &[1, 0, 1]).unwrap();
    for _ in 0..4 {
        if search.step().is_some() {
            break;
        }
    }
}

/// Ciphers, and MACs made of them, whose blocks have this length.
fn ciphers(engine: &Engine, block_bytes: usize) {
    for count in [3, 1100] {
        let mut texts = vec![[1; 80]; count];
        for algorithm in CipherAlgorithm::ALL.into_iter().filter(|cipher| cipher.block_bytes() == block_bytes)
        {
            let bytes: Vec<u8> = (1..=algorithm.key_bytes() as u8).collect();
            let key = engine.cipher_key(algorithm, &bytes).unwrap();
            for mode in [Mode::Ecb, Mode::Cbc, Mode::Ctr] {
                for direction in [CipherDirection::Encipher, CipherDirection::Decipher] {
                    let chain = vec![0; block_bytes];
                    let mut items: Vec<_> =
                        texts.iter_mut().map(|text| CipherItem::new(&key, &chain, text)).collect();
                    engine.cipher_batch(mode, direction, &mut items);
                    assert!(items.iter().all(|item| item.result.is_ok()));
                }
            }
        }
        for algorithm in MacAlgorithm::ALL.into_iter().filter(|mac| mac.block_bytes() == block_bytes) {
            let bytes: Vec<u8> = (1..=algorithm.key_bytes() as u8).collect();
            let key = engine.mac_key(algorithm, &bytes).unwrap();
            let mut items: Vec<_> = texts.iter().map(|text| MacItem::new(&key, text)).collect();
            engine.mac_batch(&mut items);
            assert!(items.iter().all(|item| item.result.is_ok()));
            columns(engine, algorithm, &bytes, texts.as_flattened());
        }
    }
}

/// MACs of equal requests, and where it is DES under keys that were unwrapped.
fn columns(engine: &Engine, algorithm: MacAlgorithm, key: &[u8], texts: &[u8]) {
    let (requests, keys) = (texts.len() / 80, key.repeat(texts.len() / 80));
    let texts = Column::contiguous(texts, 80, requests).unwrap();
    let keys = Column::contiguous(&keys, key.len(), requests).unwrap();
    let mut macs = vec![0; algorithm.block_bytes() * requests];
    engine.mac_columns(algorithm, keys, texts, &mut macs).unwrap();
    if algorithm == MacAlgorithm::CmacTdes3 {
        let wrapped = WrappedColumn { algorithm: CipherAlgorithm::Tdes3, under: &[key], keys };
        let mut kept = DesColumns::new();
        engine.unwrap_des_columns(&mut kept, &[wrapped]).unwrap();
        engine.mac_columns(algorithm, kept.key(0).unwrap(), texts, &mut macs).unwrap();
    }
}

fn aead(engine: &Engine) {
    let key = [1; 32];
    let (gcm, ocb) = (engine.gcm_key(&key).unwrap(), engine.ocb_key(&key).unwrap());
    let chacha = engine.chacha_key(&key).unwrap();
    let (eax, hctr2) = (engine.eax_key(&key).unwrap(), engine.hctr2_key(&key).unwrap());
    let wrapping = engine.cipher_key(CipherAlgorithm::Aes256, &key).unwrap();
    for bytes in [16, 1000, 70_000] {
        let mut texts = vec![vec![1; bytes]; 20];
        let both = [CipherDirection::Encipher, CipherDirection::Decipher];
        for direction in both {
            let texts = &mut texts;
            let mut items: Vec<_> =
                texts.iter_mut().map(|text| GcmItem::encipher(&gcm, &[1; 12], &[2; 40], text)).collect();
            engine.gcm_batch(direction, &mut items);
            let mut items: Vec<_> =
                texts.iter_mut().map(|text| AeadItem::encipher(&chacha, &[1; 12], &[2; 40], text)).collect();
            engine.chacha_batch(direction, &mut items);
            let mut items: Vec<_> =
                texts.iter_mut().map(|text| AeadItem::encipher(&ocb, &[1; 12], &[2; 40], text)).collect();
            engine.ocb_batch(direction, &mut items);
            let mut items: Vec<_> =
                texts.iter_mut().map(|text| AeadItem::encipher(&eax, &[1; 12], &[2; 40], text)).collect();
            engine.eax_batch(direction, &mut items);
            let mut items: Vec<_> =
                texts.iter_mut().map(|text| Hctr2Item::new(&hctr2, &[2; 40], text)).collect();
            engine.hctr2_batch(direction, &mut items);
            let mut items: Vec<_> = texts.iter_mut().map(|text| KeyWrapItem::new(&wrapping, text)).collect();
            engine.key_wrap_batch(direction, &mut items);
            texts.iter_mut().for_each(|text| text.fill(1));
            let mut cfb = engine.cfb_sha1(direction, &key, &[0; 16]).unwrap();
            texts.iter_mut().for_each(|text| cfb.update(text));
        }
    }
}

fn hash(engine: &Engine) {
    let texts: Vec<Vec<u8>> = (0..40).map(|at| vec![1; 100 + 50 * at]).collect();
    for algorithm in HashAlgorithm::ALL {
        for count in [1, 3, 40] {
            let mut items: Vec<_> = texts[..count].iter().map(|text| HashItem::new(text)).collect();
            engine.hash_batch(algorithm, &mut items);
            assert!(items.iter().all(|item| item.result.is_ok()));
            if let Ok(key) = engine.hmac_key(algorithm, &[1; 200]) {
                let mut items: Vec<_> = texts[..count].iter().map(|text| HmacItem::new(&key, text)).collect();
                engine.hmac_batch(&mut items);
            }
        }
    }
}

fn ec(engine: &Engine) {
    for curve in [Curve::P224, Curve::P256, Curve::P384, Curve::P521, Curve::Secp256k1] {
        let key = engine.ec_generate(curve).unwrap();
        let public = key.public_key().unwrap();
        key.ecdh(&public.to_bytes()).unwrap();
        let mut items = [0; 8].map(|_| EcdsaSignItem::new(&key, &[1; 32]));
        engine.ecdsa_sign_verified_batch(&mut items);
        let mut items =
            items.each_ref().map(|item| EcdsaVerifyItem::new(&public, item.digest, item.signature()));
        engine.ecdsa_verify_batch(&mut items);
        assert!(items.iter().all(|item| item.result.is_ok()));
    }
    let ((mine, _), (_, theirs)) = (x25519_keypair(), x25519_keypair());
    let mine = mine.as_slice().try_into().unwrap();
    x25519(mine, &theirs).unwrap();
    let mut shared = [[0; 32]; 8];
    engine.x25519_batch(&mut shared.each_mut().map(|shared| X25519Item::new(mine, &theirs, shared)));
    engine.x25519_public_batch(&mut [0; 8].map(|_| X25519PublicItem::new(mine)));
    let key = Ed25519Key::generate();
    ed25519_verify(&key.public(), b"text", &key.sign(b"text").unwrap()).unwrap();
}

/// The longest prime that is taken; that it is none changes no path.
fn prime_field(_: &Engine) {
    let field = PrimeField::new(&[0xff; 1024]).unwrap();
    let (base, exponent) = ([1; 1024], [0x55; 64]);
    let power = field.power(&base, &exponent).unwrap();
    field.product(power.as_slice(), &base).unwrap();
    field.negated_exponent(&exponent);
}

#[test]
fn every_function_runs_on_the_stack_that_is_stated() {
    for (_, work) in GROUPS {
        in_thread(work, STATED_BYTES);
    }
}

//! Runs the engine's kernels over marked secrets, for valgrind to watch: `marked_secrets LEVEL`.
//!
//! Keys, texts and chaining values are marked; lengths, counts, counters, algorithms and outcomes are public. Each
//! operation is named before it runs, so a report can be told apart. `marked_secrets LEVEL leak` branches on a secret,
//! to show that the watch sees it. `marked_secrets LEVEL refusals` takes padding off deciphered blocks that have none,
//! unwraps keys that do not open, and checks numbers of RSA keys: there the verdict, which is public, is branched on,
//! and is all that may be reported.
//!
//! Left out: the decipherment of GCM, ChaCha20-Poly1305, OCB and EAX, whose verdicts are public and are branched on;
//! EAX at the portable level, where the bound library's CTR branches on a counter's wrapping and EAX begins to count at
//! a MAC; and operations of RSA and curves, which at the levels that valgrind knows are the bound library's own.

mod key_blocks;
mod low;
/// The engine's own file, whose functions are private to it.
#[path = "../../../crates/engine/src/low/numbers.rs"]
#[allow(dead_code)]
mod numbers;
mod pins;
/// The card's own file: what it does to secrets of TLS is private to the card.
#[path = "../../../crates/cca/src/pka/premaster.rs"]
mod premaster;
mod valgrind;

use engine::{
    CipherAlgorithm, CipherDirection, CipherItem, Column, ColumnMut, DesColumns, EaxItem, Engine, GcmItem,
    HashAlgorithm, HashItem, Hctr2Item, HmacItem, KeyWrapItem, Level, MDC_BYTES, MacAlgorithm, MacItem,
    MdcAlgorithm, MdcItem, Mode, OcbItem, Options, RsaPrivateKey, WrappedColumn, key_unwrap_padded,
    key_wrap_padded, oaep_pad, oaep_unpad, pkcs1_v15_encrypt_pad, pkcs1_v15_encrypt_unpad,
};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(Ok(level)) = arguments.first().map(|name| name.parse::<Level>()) else {
        eprintln!("usage: marked_secrets portable|avx2 [leak|refusals]");
        return ExitCode::from(2);
    };
    if !valgrind::is_watching() {
        eprintln!("marked_secrets: run under valgrind, else nothing is watched");
        return ExitCode::from(2);
    }
    let options = Options { limit: Some(level), weak_algorithms: true };
    let engine = match Engine::new(options) {
        Ok(engine) if engine.level() == level => engine,
        Ok(engine) => {
            eprintln!("marked_secrets: asked for {level}, this machine gives {}", engine.level());
            return ExitCode::from(3);
        }
        Err(error) => {
            eprintln!("marked_secrets: {error}");
            return ExitCode::from(2);
        }
    };
    match arguments.get(1).map(String::as_str) {
        Some("leak") => return leak(),
        Some("refusals") => {
            refusals();
            eprintln!("{LAST}");
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    pins::blocks();
    pins::methods();
    key_blocks::blocks();
    premasters(&engine);
    ciphers(&engine);
    single_texts(&engine);
    macs(&engine);
    mac_segments(&engine);
    columns(&engine);
    hashes(&engine);
    detection_codes(&engine);
    authenticated(&engine);
    wide_blocks(&engine);
    wrapped_keys(&engine);
    feedback(&engine);
    eprintln!("{LAST}");
    ExitCode::SUCCESS
}

/// What the watch must report.
fn leak() -> ExitCode {
    let secret = secret(1, 0);
    if std::hint::black_box(secret[0]) == 7 {
        eprintln!("seven");
    }
    ExitCode::SUCCESS
}

/// Said when every operation has run.
const LAST: &str = "all operations ran";

/// Batches of one request, of a few, of more than the lanes of a narrow pass and of a wide one.
const COUNTS: [usize; 4] = [1, 3, 70, 300];

fn ciphers(engine: &Engine) {
    for algorithm in CipherAlgorithm::ALL {
        for mode in [Mode::Ecb, Mode::Cbc, Mode::Ctr] {
            for direction in [CipherDirection::Encipher, CipherDirection::Decipher] {
                for count in COUNTS {
                    eprintln!("{algorithm} {mode} {direction:?}, {count} texts");
                    let block = algorithm.block_bytes();
                    let keys: Vec<_> = (0..count)
                        .map(|at| engine.cipher_key(algorithm, &secret(algorithm.key_bytes(), at)))
                        .map(|key| key.expect("the key is as long as it is to be"))
                        .collect();
                    let mut texts: Vec<_> =
                        (0..count).map(|at| secret((at % 12) * block, at ^ 0x55)).collect();
                    let mut items: Vec<_> = keys
                        .iter()
                        .zip(&mut texts)
                        .map(|(key, text)| CipherItem::new(key, &chain(mode, block), text))
                        .collect();
                    engine.cipher_batch(mode, direction, &mut items);
                    assert!(items.iter().all(|item| item.result.is_ok()));
                }
            }
        }
    }
}

/// One text with its key, short and longer than any pass.
fn single_texts(engine: &Engine) {
    for algorithm in CipherAlgorithm::ALL {
        for mode in [Mode::Ecb, Mode::Cbc, Mode::Ctr] {
            for direction in [CipherDirection::Encipher, CipherDirection::Decipher] {
                for blocks in [1, 9, 600] {
                    eprintln!("{algorithm} {mode} {direction:?}, one text of {blocks} blocks");
                    let block = algorithm.block_bytes();
                    let (key, mut chain) = (secret(algorithm.key_bytes(), 1), chain(mode, block));
                    let mut text = secret(blocks * block, 3);
                    let done = engine.cipher(algorithm, mode, direction, &key, &mut chain, &mut text);
                    assert!(done.is_ok());
                }
            }
        }
    }
}

fn macs(engine: &Engine) {
    for algorithm in MacAlgorithm::ALL {
        for count in COUNTS {
            eprintln!("{algorithm}, {count} texts");
            let keys: Vec<_> = (0..count)
                .map(|at| engine.mac_key(algorithm, &secret(algorithm.key_bytes(), at)))
                .map(|key| key.expect("the key is as long as it is to be"))
                .collect();
            let texts: Vec<_> = (0..count).map(|at| secret(at * 7 % 130, at)).collect();
            let mut items: Vec<_> =
                keys.iter().zip(&texts).map(|(key, text)| MacItem::new(key, text)).collect();
            engine.mac_batch(&mut items);
            assert!(items.iter().all(|item| item.result.is_ok()));
        }
    }
}

/// Chaining values between segments are as secret as the text.
fn mac_segments(engine: &Engine) {
    for algorithm in MacAlgorithm::ALL {
        for count in [1, 70] {
            eprintln!("{algorithm} in segments, {count} texts");
            let block = algorithm.block_bytes();
            let keys: Vec<_> = (0..count)
                .map(|at| engine.mac_key(algorithm, &secret(algorithm.key_bytes(), at)))
                .map(|key| key.expect("the key is as long as it is to be"))
                .collect();
            let texts: Vec<_> = (0..count).map(|at| secret((at % 5 + 1) * block, at)).collect();
            let with_chain = |key, text, last| {
                let mut chain = [0; 16];
                chain.copy_from_slice(&secret(16, 9));
                MacItem { chain, last, ..MacItem::new(key, text) }
            };
            for last in [false, true] {
                let mut items: Vec<_> =
                    keys.iter().zip(&texts).map(|(key, text)| with_chain(key, text, last)).collect();
                engine.mac_batch(&mut items);
                assert!(items.iter().all(|item| item.result.is_ok()));
            }
        }
    }
}

/// Equal requests; keys as they are and unwrapped.
fn columns(engine: &Engine) {
    for count in COUNTS {
        eprintln!("columns of {count} texts");
        let texts = secret(75 * count, 1);
        let texts = Column::contiguous(&texts, 75, count).expect("they fit");
        for algorithm in MacAlgorithm::ALL {
            let keys = secret(algorithm.key_bytes() * count, 2);
            let keys = Column::contiguous(&keys, algorithm.key_bytes(), count).expect("they fit");
            let mut macs = vec![0; algorithm.block_bytes() * count];
            engine.mac_columns(algorithm, keys, texts, &mut macs).expect("they are of one length");
        }
        for algorithm in [HashAlgorithm::Sha1, HashAlgorithm::Sha256, HashAlgorithm::Sha512] {
            let keys = secret(20 * count, 2);
            let keys = Column::contiguous(&keys, 20, count).expect("they fit");
            let mut macs = vec![0; algorithm.digest_bytes() * count];
            engine.hmac_columns(algorithm, keys, texts, &mut macs).expect("they are of one length");
        }
        let (over, tokens, mut kept) = (secret(16, 3), secret(16 * count, 4), DesColumns::new());
        let tokens = Column::contiguous(&tokens, 16, count).expect("they fit");
        let wrapped = WrappedColumn { algorithm: CipherAlgorithm::Tdes2, under: &[&over], keys: tokens };
        engine.unwrap_des_columns(&mut kept, &[wrapped]).expect("they are of one length");
        let keys = kept.key(0).expect("there is one");
        for mode in [Mode::Ecb, Mode::Cbc] {
            for direction in [CipherDirection::Encipher, CipherDirection::Decipher] {
                let (mut texts, mut chains) = (secret(24 * count, 5), secret(8 * count, 6));
                let mut texts = ColumnMut::contiguous(&mut texts, 24, count).expect("they fit");
                engine
                    .cipher_columns(CipherAlgorithm::Tdes2, mode, direction, keys, &mut chains, &mut texts)
                    .expect("they are whole blocks");
            }
        }
    }
}

/// Deciphered blocks of TLS's RSA key exchange, right and wrong ones, with what stands for those that do not open: no
/// verdict is branched on at all. Whether the ciphertext was one of the key's length and below its modulus is public.
fn premasters(engine: &Engine) {
    const BYTES: usize = 256;
    eprintln!("premaster secrets");
    let d = secret(BYTES, 3);
    let substitutes = premaster::Substitutes::new(engine, &token::pka::SplitValues::Me { d: &d });
    let substitute = substitutes.expect("the hash is served").of(&secret(BYTES, 4));
    let end = BYTES - premaster::PREMASTER_BYTES - 1;
    let good = [&[0, 2][..], &vec![0xA5; end - 2], &[0, 3, 3], &[7; 46]].concat();
    let wrong = [(0, 1), (1, 1), (2, 0), (40, 0), (end - 1, 0), (end, 1), (end + 1, 0)];
    for (at, byte) in wrong.into_iter().chain([(BYTES - 1, 9)]) {
        for is_whole in [0, 1] {
            let mut block = good.clone();
            block[at] = byte;
            valgrind::mark(&mut block);
            std::hint::black_box(premaster::open(&block, &substitute, is_whole.into()));
        }
    }
}

/// MDC-2 and MDC-4, whose chaining values are keys of DES.
fn detection_codes(engine: &Engine) {
    for algorithm in [MdcAlgorithm::Mdc2, MdcAlgorithm::Mdc4] {
        for count in [1, 70] {
            eprintln!("{algorithm:?}, {count} texts");
            let texts: Vec<_> = (0..count).map(|at| secret((at % 7) * 8, at)).collect();
            let mut items: Vec<_> = texts.iter().map(|text| MdcItem::new(algorithm, text)).collect();
            for (at, item) in items.iter_mut().enumerate() {
                item.state.copy_from_slice(&secret(MDC_BYTES, at));
            }
            engine.mdc_batch(&mut items);
            assert!(items.iter().all(|item| item.result.is_ok()));
        }
    }
}

/// Numbers of RSA keys that are completed and checked, right and wrong ones.
fn private_numbers() {
    let key = RsaPrivateKey::generate(512, &[1, 0, 1]).expect("a key of a served length");
    let (n, e) = (key.n(), 65537);
    let parts = [key.p(), key.q(), key.dp(), key.dq(), key.qinv()];
    let parts = parts.map(|part| part.expect("a key of primes").as_slice().to_vec());
    for changed in 0..=parts.len() {
        eprintln!("numbers of an RSA key, of which {changed} is changed");
        let mut parts = parts.clone();
        if let Some(part) = parts.get_mut(changed) {
            part[9] ^= 4;
        }
        parts.iter_mut().for_each(|part| valgrind::mark(part));
        let [p, q, dp, dq, qinv] = &parts;
        let exponents = numbers::Exponents::of(&n, e, p, q);
        let is_right = exponents.is_some_and(|made| made.are(dp, dq)) && numbers::is_inverse(qinv, q, p);
        assert_eq!(is_right, changed == parts.len());
    }
}

/// What verbs refuse that decipher data or import keys under RSA keys.
fn refusals() {
    private_numbers();
    const BYTES: usize = 256;
    for hash in [HashAlgorithm::Sha1, HashAlgorithm::Sha256, HashAlgorithm::Sha384, HashAlgorithm::Sha512] {
        eprintln!("OAEP with {hash}");
        let padded =
            |label: &[u8]| oaep_pad(hash, label, &[7; 32], BYTES).expect("the block has room").to_vec();
        let mut first = padded(&[]);
        first[0] = 1;
        let mut last = padded(&[]);
        last[BYTES - 1] ^= 1;
        for mut block in [vec![0x5A; BYTES], first, last, padded(b"another label"), vec![0; BYTES]] {
            valgrind::mark(&mut block);
            assert!(oaep_unpad(hash, &[], &block).is_err());
        }
    }
    eprintln!("PKCS #1 v1.5");
    let padded = || pkcs1_v15_encrypt_pad(&[7; 32], BYTES).expect("the block has room").to_vec();
    let changed = |at: usize, to: u8| {
        let mut block = padded();
        block[at] = to;
        block
    };
    let endless = [&[0, 2][..], &[0x5A; BYTES - 2]].concat();
    for mut block in [vec![0x5A; BYTES], changed(0, 1), changed(1, 1), changed(5, 0), endless, vec![0; BYTES]]
    {
        valgrind::mark(&mut block);
        assert!(pkcs1_v15_encrypt_unpad(&block).is_err());
    }
    eprintln!("AES key wrap with padding");
    for length in [15, 16, 24, 32] {
        let mut key = secret(length, 1);
        let wrapped = key_wrap_padded(&secret(32, 2), &key).expect("the lengths are right");
        let mut changed = wrapped.clone();
        changed[9] ^= 1;
        key.fill(0);
        for (wrapping, wrapped) in [(secret(32, 3), &wrapped), (secret(32, 2), &changed)] {
            assert!(key_unwrap_padded(&wrapping, wrapped).is_none());
        }
    }
}

fn hashes(engine: &Engine) {
    for algorithm in HashAlgorithm::ALL {
        for count in [1, 20] {
            eprintln!("{algorithm} and its HMAC, {count} texts");
            let texts: Vec<_> = (0..count).map(|at| secret(at * 37 % 300, at)).collect();
            let mut items: Vec<_> = texts.iter().map(|text| HashItem::new(text)).collect();
            engine.hash_batch(algorithm, &mut items);
            assert!(items.iter().all(|item| item.result.is_ok()));
            let keys: Vec<_> = (0..count)
                .map(|at| engine.hmac_key(algorithm, &secret(20, at)).expect("weak ones are served"))
                .collect();
            let mut items: Vec<_> =
                keys.iter().zip(&texts).map(|(key, text)| HmacItem::new(key, text)).collect();
            engine.hmac_batch(&mut items);
            assert!(items.iter().all(|item| item.result.is_ok()));
        }
    }
}

/// GCM, ChaCha20-Poly1305, OCB and EAX. Nonces are public, as counters are.
fn authenticated(engine: &Engine) {
    for key_bytes in [16, 24, 32] {
        for bytes in [0, 1, 16, 100, 1000] {
            eprintln!("GCM, OCB and EAX with a key of {key_bytes} bytes over {bytes}");
            let (key, aad, text) = (secret(key_bytes, 1), secret(20, 2), secret(bytes, 3));
            let (gcm, ocb, eax) = (engine.gcm_key(&key), engine.ocb_key(&key), engine.eax_key(&key));
            let (gcm, ocb, eax) = (gcm.expect("AES"), ocb.expect("AES"), eax.expect("AES"));
            let mut texts = [text.clone(), text.clone(), text];
            let [first, second, third] = &mut texts;
            let mut items = [GcmItem::encipher(&gcm, &[7; 12], &aad, first)];
            engine.gcm_batch(CipherDirection::Encipher, &mut items);
            assert!(items[0].result.is_ok());
            if key_bytes == engine::CHACHA_KEY_BYTES {
                let chacha = engine.chacha_key(&key).expect("32 bytes");
                let mut text = secret(bytes, 3);
                let mut items = [engine::ChaChaItem::encipher(&chacha, &[7; 12], &aad, &mut text)];
                engine.chacha_batch(CipherDirection::Encipher, &mut items);
                assert!(items[0].result.is_ok());
            }
            let mut items = [OcbItem::encipher(&ocb, &[7; 12], &aad, second)];
            engine.ocb_batch(CipherDirection::Encipher, &mut items);
            assert!(items[0].result.is_ok());
            if engine.level() == Level::Portable {
                continue;
            }
            let mut items = [EaxItem::encipher(&eax, &[7; 12], &aad, third)];
            engine.eax_batch(CipherDirection::Encipher, &mut items);
            assert!(items[0].result.is_ok());
        }
    }
}

/// HCTR2 over messages of whole and other blocks, both ways. Tweaks are marked as well.
fn wide_blocks(engine: &Engine) {
    for key_bytes in [16, 24, 32] {
        let key = engine.hctr2_key(&secret(key_bytes, 1)).expect("an AES key");
        for direction in [CipherDirection::Encipher, CipherDirection::Decipher] {
            for bytes in [16, 24, 32, 100] {
                eprintln!("HCTR2 {direction:?} with a key of {key_bytes} bytes over {bytes}");
                let tweak = secret(36, 2);
                let mut texts: Vec<_> = (3..8).map(|seed| secret(bytes, seed)).collect();
                let mut items: Vec<_> =
                    texts.iter_mut().map(|text| Hctr2Item::new(&key, &tweak, text)).collect();
                engine.hctr2_batch(direction, &mut items);
                assert!(items.iter().all(|item| item.result.is_ok()));
            }
        }
    }
}

/// Key wrap of several keys and of one, both ways.
fn wrapped_keys(engine: &Engine) {
    for algorithm in [CipherAlgorithm::Aes128, CipherAlgorithm::Aes192, CipherAlgorithm::Aes256] {
        let key =
            engine.cipher_key(algorithm, &secret(algorithm.key_bytes(), 1)).expect("a key of its length");
        for direction in [CipherDirection::Encipher, CipherDirection::Decipher] {
            for count in [1, 5, 20] {
                eprintln!("key wrap {direction:?} with {algorithm}, {count} keys");
                let mut texts: Vec<_> = (0..count).map(|seed| secret(80, seed)).collect();
                let mut items: Vec<_> = texts.iter_mut().map(|text| KeyWrapItem::new(&key, text)).collect();
                engine.key_wrap_batch(direction, &mut items);
                assert!(items.iter().all(|item| item.result.is_ok()));
            }
        }
    }
}

/// CFB with SHA-1 of the plain text, in pieces.
fn feedback(engine: &Engine) {
    for key_bytes in [16, 24, 32] {
        for direction in [CipherDirection::Encipher, CipherDirection::Decipher] {
            eprintln!("CFB {direction:?} with SHA-1, a key of {key_bytes} bytes");
            let state = engine.cfb_sha1(direction, &secret(key_bytes, 1), &[7; 16]);
            let mut state = state.expect("an AES key");
            for bytes in [1, 15, 64, 1000, 7] {
                state.update(&mut secret(bytes, bytes));
            }
            state.digest();
        }
    }
}

/// A chaining value is marked, a counter is public: it only has to be unique.
fn chain(mode: Mode, bytes: usize) -> Vec<u8> {
    if mode == Mode::Ctr { vec![0xff; bytes] } else { secret(bytes, 2) }
}

/// Marked bytes, different for each `at`.
fn secret(bytes: usize, at: usize) -> Vec<u8> {
    let mut secret: Vec<u8> = (0..bytes).map(|index| (index * 41 + at * 101 + 13) as u8).collect();
    valgrind::mark(&mut secret);
    secret
}

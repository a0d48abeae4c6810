//! Runs the engine's kernels over marked secrets, for valgrind to watch: `marked_secrets LEVEL`.
//!
//! Keys, texts and chaining values are marked; lengths, counts, counters, algorithms and outcomes are public. Each
//! operation is named before it runs, so a report can be told apart. `marked_secrets LEVEL leak` branches
//! on a secret, to show that the watch sees it.
//!
//! Left out: the decipherment of GCM, OCB and EAX and the removal of padding, whose verdicts are public and are
//! branched on; EAX at the portable level, where the bound library's CTR branches on a counter's wrapping and
//! EAX begins to count at a MAC; and RSA and curves, which at the levels that valgrind knows are the bound library's own.

mod valgrind;

use engine::{
    CipherAlgorithm, CipherDirection, CipherItem, EaxItem, Engine, GcmItem, HashAlgorithm, HashItem,
    Hctr2Item, HmacItem, Level, MacAlgorithm, MacItem, Mode, OcbItem, Options,
};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(Ok(level)) = arguments.first().map(|name| name.parse::<Level>()) else {
        eprintln!("usage: marked_secrets portable|avx2 [leak]");
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
    if arguments.get(1).is_some_and(|word| word == "leak") {
        return leak();
    }
    ciphers(&engine);
    single_texts(&engine);
    macs(&engine);
    hashes(&engine);
    authenticated(&engine);
    wide_blocks(&engine);
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

/// GCM, OCB and EAX. Nonces are public, as counters are.
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

//! Clear-key calls as a program makes them against the engine called directly, 64 bytes each, both
//! with the raw key: calls per second, the best of many short rounds in turn. A round of AES is shorter than a
//! time slice, so that on a machine that others use there are rounds that nobody interrupted.

use engine::{CipherAlgorithm, CipherDirection, Engine, Mode, Options};
use facility::clear::{Clear, ClearKey};
use std::time::Instant;

/// Calls of one round.
const CALLS: u32 = 10_000;
/// Rounds of each side.
const ROUNDS: u32 = 99;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::new(Options { limit: None, weak_algorithms: true })?;
    let clear = Clear::new(engine);
    let cases = [
        ("aes128-cbc", CipherAlgorithm::Aes128, b"AES     CBC     KEY-CLR INITIAL "),
        ("des-cbc", CipherAlgorithm::Des, b"DES     CBC     KEY-CLR INITIAL "),
        ("tdes-cbc", CipherAlgorithm::Tdes2, b"DES     CBC     KEY-CLR INITIAL "),
    ];
    for (name, algorithm, rules) in cases {
        let key = &[0x23; 16][..algorithm.key_bytes()];
        let (text, mut out, mut chain) = ([7; 64], [0; 64], [0; 16]);
        let mut best = [0.0_f64; 2];
        for _ in 0..ROUNDS {
            let begin = Instant::now();
            for _ in 0..CALLS {
                let block = &mut chain[..algorithm.block_bytes()];
                engine.cipher(algorithm, Mode::Cbc, CipherDirection::Encipher, key, block, &mut out)?;
            }
            best[0] = best[0].max(f64::from(CALLS) / begin.elapsed().as_secs_f64());
            let begin = Instant::now();
            for _ in 0..CALLS {
                clear.encipher(rules, ClearKey::Bytes(key), &[1; 16], &mut chain, &text, &mut out)?;
            }
            best[1] = best[1].max(f64::from(CALLS) / begin.elapsed().as_secs_f64());
        }
        println!(
            "{name}: engine {:.0}/s, facility {:.0}/s, ratio {:.2}",
            best[0],
            best[1],
            best[1] / best[0]
        );
    }
    Ok(())
}

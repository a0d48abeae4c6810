//! The ones' complement sum of RFC 1071 at each level of this machine: bytes a nanosecond, medians of rounds taken in
//! turn.
//!
//! ```text
//! cargo run --release -p cryptand-engine --example checksums
//! ```
#![forbid(unsafe_code)]

use engine::{Engine, Level, Options};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 201;
const CALLS: usize = 2000;

fn main() -> Result<(), engine::EngineError> {
    let engines = Level::ALL
        .into_iter()
        .map(|level| Engine::new(Options { limit: Some(level), ..Options::default() }))
        .collect::<Result<Vec<_>, _>>()?;
    for bytes in [40, 128, 512, 1424, 9000] {
        let text: Vec<u8> = (0..bytes).map(|at| (at * 31 % 251) as u8).collect();
        let wanted = engines[0].ones_complement_sum(&text);
        let mut taken = vec![Vec::new(); engines.len()];
        for _ in 0..ROUNDS {
            for (engine, taken) in engines.iter().zip(&mut taken) {
                let begun = Instant::now();
                for _ in 0..CALLS {
                    assert_eq!(black_box(engine).ones_complement_sum(black_box(&text)), wanted);
                }
                taken.push(begun.elapsed().as_nanos());
            }
        }
        for (engine, taken) in engines.iter().zip(&mut taken) {
            taken.sort_unstable();
            let rate = (bytes * CALLS) as f64 / taken[ROUNDS / 2] as f64;
            println!("{bytes:5} bytes, {:8} {rate:6.1} bytes a nanosecond", engine.level().to_string());
        }
    }
    Ok(())
}

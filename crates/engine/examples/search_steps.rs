//! Prints how long the steps of a search for an RSA key take, by its size: what others on a card wait for at the most.

use engine::{Engine, Options};
use std::time::{Duration, Instant};

const KEYS: usize = 8;

fn main() {
    let engine = Engine::new(Options { limit: None, weak_algorithms: true }).expect("an engine");
    println!("level {}, {KEYS} keys a size; times in microseconds", engine.level().name());
    println!("{:>5} {:>8} {:>8} {:>8} {:>8} {:>10}", "bits", "steps", "median", "p99", "longest", "a key");
    for bits in [1024, 2048, 3072, 4096] {
        let mut steps = Vec::new();
        for _ in 0..KEYS {
            let mut search = engine.rsa_search(bits, &[1, 0, 1]).expect("a search");
            loop {
                let begin = Instant::now();
                let ended = search.step();
                steps.push(begin.elapsed());
                if let Some(key) = ended {
                    key.expect("a key");
                    break;
                }
            }
        }
        let all: Duration = steps.iter().sum();
        steps.sort();
        let at = |part: f64| steps[((steps.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e6;
        println!(
            "{bits:>5} {:>8} {:>8.0} {:>8.0} {:>8.0} {:>10.0}",
            steps.len() / KEYS,
            at(0.5),
            at(0.99),
            at(1.0),
            all.as_secs_f64() * 1e6 / KEYS as f64
        );
    }
}

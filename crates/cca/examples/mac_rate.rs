//! What MAC_Generate (X9.19, 64 bytes, secure double-length key) costs a request in batches of several
//! sizes, in nanoseconds: the best of many short runs. `cargo run --release -p cca --example mac_rate`; a
//! size after `--` runs that one alone, as a profiler wants it.

use cca::{Batch, Incoming, Processor};
use engine::{Engine, Options};
use std::time::Instant;
use wire::control::{Handout, MasterKeyPair};
use wire::frame::Arguments;
use wire::verb::{Verb, key_generate, mac_generate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut processor = Processor::new(Engine::new(Options::default())?, 1);
    let mut keys: [MasterKeyPair; 4] = Default::default();
    keys[0].current = (1..25).collect();
    processor.load(&Handout { domain: 0, keys })?;

    let mut batch = Batch::new();
    let mut payloads = Vec::new();
    for _ in 0..64 {
        let token = generated(&mut processor, &mut batch)?;
        let mut request = Arguments::new(Verb::MacGenerate);
        request.set_bytes(mac_generate::KEY_IDENTIFIER, &token);
        request.set_integer(mac_generate::TEXT_LENGTH, 64).set_bytes(mac_generate::TEXT, &[7; 64]);
        request.set_integer(mac_generate::RULE_ARRAY_COUNT, 2);
        request.set_bytes(mac_generate::RULE_ARRAY, b"X9.19OPTMACLEN8 ");
        request.set_bytes(mac_generate::CHAINING_VECTOR, &[0; 18]);
        let mut payload = Vec::new();
        request.write_request(&mut payload)?;
        payloads.push(payload);
    }
    let sizes = match std::env::args().nth(1) {
        Some(size) => vec![size.parse::<usize>()?.clamp(1, payloads.len())],
        None => vec![1, 8, 64],
    };
    for size in sizes {
        let mac = rate(&mut processor, &mut batch, Verb::MacGenerate, &payloads[..size])?;
        let null = rate(&mut processor, &mut batch, Verb::Null, &vec![Vec::new(); size])?;
        println!("batch of {size:2}: MAC {mac:6.0} ns a request, Null {null:6.0} ns");
    }
    Ok(())
}

/// The best of many runs of a fraction of a millisecond, so that other work on the machine shows little.
fn rate(
    processor: &mut Processor,
    batch: &mut Batch,
    verb: Verb,
    payloads: &[Vec<u8>],
) -> Result<f64, Box<dyn std::error::Error>> {
    let mut best = f64::INFINITY;
    for _ in 0..500 {
        let rounds = 512 / payloads.len();
        let start = Instant::now();
        for _ in 0..rounds {
            batch.clear();
            for payload in payloads {
                batch.push(&Incoming {
                    verb,
                    domain: 0,
                    points: &wire::point::PointSet::EVERYTHING,
                    payload,
                })?;
            }
            processor.run(batch);
        }
        best = best.min(start.elapsed().as_nanos() as f64 / (rounds * payloads.len()) as f64);
    }
    assert!(batch.answers().iter().all(|answer| answer.codes == wire::code::OK));
    Ok(best)
}

fn generated(processor: &mut Processor, batch: &mut Batch) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut request = Arguments::new(Verb::KeyGenerate);
    request.set_bytes(key_generate::KEY_FORM, b"OP  ").set_bytes(key_generate::KEY_LENGTH, b"DOUBLE  ");
    request.set_bytes(key_generate::KEY_TYPE_1, b"MAC     ").set_bytes(key_generate::KEY_TYPE_2, b"        ");
    request.set_bytes(key_generate::GENERATED_KEY_IDENTIFIER_1, &[0; 64]);
    let mut payload = Vec::new();
    request.write_request(&mut payload)?;
    batch.clear();
    batch.push(&Incoming {
        verb: Verb::KeyGenerate,
        domain: 0,
        points: &wire::point::PointSet::EVERYTHING,
        payload: &payload,
    })?;
    processor.run(batch);
    let reply = Arguments::read_reply(Verb::KeyGenerate, &batch.answers()[0].payload)?;
    Ok(reply.bytes(key_generate::GENERATED_KEY_IDENTIFIER_1).to_vec())
}

//! What MAC_Generate (X9.19, 64 bytes, secure double-length key) costs a request in batches of several
//! sizes, in nanoseconds: the best of many short runs. `cargo run --release -p cca --example mac_rate`; a
//! size after `--` runs that one alone, as a profiler wants it.

use cca::{Batch, Incoming, Processor};
use engine::{Engine, Options};
use std::time::Instant;
use wire::control::{Handout, MasterKeyPair};
use wire::frame::Arguments;
use wire::verb::{
    Filled, MacFormat, MacMethod, TypedAsk, TypedGot, Verb, key_generate as kgn, mac_generate as mgn,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut processor = Processor::new(Engine::new(Options::default())?, 1);
    let mut keys: [MasterKeyPair; 4] = Default::default();
    keys[0].current = (1..25).collect();
    processor.load(&Handout { domain: 0, keys })?;

    let mut batch = Batch::new();
    let mut payloads = Vec::new();
    for _ in 0..64 {
        let token = generated(&mut processor, &mut batch)?;
        let request = mgn::Ask {
            key_identifier: (&token).into(),
            text: &[7; 64],
            method: Some(MacMethod::X919),
            format: Some(MacFormat::Bytes8),
            chaining_vector: Some(&[0; 18]),
            ..mgn::Ask::new()
        };
        payloads.push(written(&request)?);
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
    let payload = written(&kgn::Ask {
        key_form: b"OP  ",
        key_length: b"DOUBLE  ",
        key_type_1: b"MAC     ",
        key_type_2: b"        ",
        ..kgn::Ask::new()
    })?;
    batch.clear();
    batch.push(&Incoming {
        verb: Verb::KeyGenerate,
        domain: 0,
        points: &wire::point::PointSet::EVERYTHING,
        payload: &payload,
    })?;
    processor.run(batch);
    let reply = Arguments::read_reply(Verb::KeyGenerate, &batch.answers()[0].payload)?;
    Ok(kgn::Got::of(&reply).generated_key_identifier_1.to_vec())
}

fn written(ask: &impl TypedAsk) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut payload = Vec::new();
    ask.arguments(&mut Filled::default()).write_request(&mut payload)?;
    Ok(payload)
}

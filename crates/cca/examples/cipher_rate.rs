//! What Encipher (TDES) and Symmetric_Algorithm_Encipher (AES-128) in CBC reach in batches of texts of 4 KiB under
//! secure keys, in MB/s: the best of many short runs. `cargo run --release -p cca --example cipher_rate`.

use cca::{Batch, Incoming, Processor};
use engine::{Engine, Options};
use std::time::Instant;
use wire::bounds::BATCH_MAX;
use wire::control::{Handout, MasterKeyPair};
use wire::frame::Arguments;
use wire::verb::{
    AesAlgorithm, AesKeyRule, AesMethod, AesPosition, Filled, TypedAsk, TypedGot, Verb, encipher,
    key_generate as kgn, symmetric_algorithm_encipher as aes,
};

const TEXT_BYTES: usize = 4096;

type Failed = Box<dyn std::error::Error>;

fn main() -> Result<(), Failed> {
    let mut processor = Processor::new(Engine::new(Options::default())?, 1);
    let mut keys: [MasterKeyPair; 4] = Default::default();
    keys[0].current = (1..25).collect();
    keys[2].current = (1..33).collect();
    processor.load(&Handout { domain: 0, keys })?;
    let mut batch = Batch::new();
    for verb in [Verb::Encipher, Verb::SymmetricAlgorithmEncipher] {
        let requests = (0..BATCH_MAX)
            .map(|_| request(&mut processor, &mut batch, verb))
            .collect::<Result<Vec<_>, _>>()?;
        for size in [8, 64, 128, 512].into_iter().filter(|size| *size <= BATCH_MAX) {
            let rate = rate(&mut processor, &mut batch, verb, &requests[..size])?;
            println!("{verb:?}, batch of {size:3}: {rate:6.0} MB/s");
        }
    }
    Ok(())
}

fn request(processor: &mut Processor, batch: &mut Batch, verb: Verb) -> Result<Vec<u8>, Failed> {
    let text = [7; TEXT_BYTES];
    if verb == Verb::Encipher {
        let token = generated(processor, batch, b"DATA    ", b"DOUBLE  ")?;
        return written(&encipher::Ask {
            key_identifier: (&token).into(),
            plaintext: &text,
            initialization_vector: Some(&[0; 8]),
            chaining_vector: Some(&[0; 18]),
            ..encipher::Ask::new()
        });
    }
    let token = generated(processor, batch, b"AESDATA ", b"KEYLN16 ")?;
    written(&aes::Ask {
        key_identifier: (&token).into(),
        method: Some(AesMethod::Cbc),
        key_rule: Some(AesKeyRule::Identifier),
        part: Some(AesPosition::Only),
        block_size: 16,
        initialization_vector: &[0; 16],
        clear_text: &text,
        cipher_text: TEXT_BYTES,
        ..aes::Ask::new(AesAlgorithm::Aes)
    })
}

fn written(ask: &impl TypedAsk) -> Result<Vec<u8>, Failed> {
    let mut payload = Vec::new();
    ask.arguments(&mut Filled::default()).write_request(&mut payload)?;
    Ok(payload)
}

fn rate(
    processor: &mut Processor,
    batch: &mut Batch,
    verb: Verb,
    payloads: &[Vec<u8>],
) -> Result<f64, Failed> {
    let mut best = f64::INFINITY;
    for _ in 0..300 {
        let start = Instant::now();
        batch.clear();
        for payload in payloads {
            batch.push(&Incoming { verb, domain: 0, points: &wire::point::PointSet::EVERYTHING, payload })?;
        }
        processor.run(batch);
        best = best.min(start.elapsed().as_secs_f64());
    }
    assert!(batch.answers().iter().all(|answer| answer.codes == wire::code::OK));
    Ok((payloads.len() * TEXT_BYTES) as f64 / best / 1e6)
}

fn generated(
    processor: &mut Processor,
    batch: &mut Batch,
    key_type: &[u8; 8],
    length: &[u8; 8],
) -> Result<Vec<u8>, Failed> {
    let payload = written(&kgn::Ask {
        key_form: b"OP  ",
        key_length: length,
        key_type_1: key_type,
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

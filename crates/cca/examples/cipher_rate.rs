//! What Encipher (TDES) and Symmetric_Algorithm_Encipher (AES-128) in CBC reach in batches of texts of 4 KiB under
//! secure keys, in MB/s: the best of many short runs. `cargo run --release -p cca --example cipher_rate`.

use cca::{Batch, Incoming, Processor};
use engine::{Engine, Options};
use std::time::Instant;
use wire::bounds::BATCH_MAX;
use wire::control::{Handout, MasterKeyPair};
use wire::frame::Arguments;
use wire::verb::{Verb, encipher, key_generate, symmetric_algorithm_encipher as aes};

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
    let mut request = Arguments::new(verb);
    let token = if verb == Verb::Encipher {
        generated(processor, batch, b"DATA    ", b"DOUBLE  ")?
    } else {
        generated(processor, batch, b"AESDATA ", b"KEYLN16 ")?
    };
    if verb == Verb::Encipher {
        request.set_bytes(encipher::KEY_IDENTIFIER, &token);
        request.set_integer(encipher::TEXT_LENGTH, TEXT_BYTES as i64).set_bytes(encipher::PLAINTEXT, &text);
        request.set_bytes(encipher::INITIALIZATION_VECTOR, &[0; 8]).set_integer(encipher::PAD_CHARACTER, 0);
        request.set_bytes(encipher::CHAINING_VECTOR, &[0; 18]);
    } else {
        request.set_integer(aes::RULE_ARRAY_COUNT, 4);
        request.set_bytes(aes::RULE_ARRAY, b"AES     CBC     KEYIDENTONLY    ");
        request.set_integer(aes::KEY_LENGTH, 64).set_bytes(aes::KEY_IDENTIFIER, &token);
        request.set_integer(aes::BLOCK_SIZE, 16).set_integer(aes::INITIALIZATION_VECTOR_LENGTH, 16);
        request.set_bytes(aes::INITIALIZATION_VECTOR, &[0; 16]);
        request.set_integer(aes::CLEAR_TEXT_LENGTH, TEXT_BYTES as i64).set_bytes(aes::CLEAR_TEXT, &text);
        request.set_integer(aes::CIPHER_TEXT_LENGTH, TEXT_BYTES as i64);
    }
    let mut payload = Vec::new();
    request.write_request(&mut payload)?;
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
    let mut request = Arguments::new(Verb::KeyGenerate);
    request.set_bytes(key_generate::KEY_FORM, b"OP  ").set_bytes(key_generate::KEY_LENGTH, length);
    request.set_bytes(key_generate::KEY_TYPE_1, key_type).set_bytes(key_generate::KEY_TYPE_2, b"        ");
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

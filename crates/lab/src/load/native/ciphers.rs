//! Ciphers: prepared keys in batches, and keys that come with each call.

use super::super::pacing::Caller;
use super::super::{Workload, keys};
use super::batch::{Batch, went};
use super::{engine_mode, expect, refused, text};
use crate::load::operation::{Cipher, Direction, Mode};
use engine::{CipherAlgorithm, CipherDirection, CipherItem, CipherKey, Engine};

pub(super) type How = (CipherAlgorithm, engine::Mode, CipherDirection);

/// A cipher's job: its start, and the expected result of one call.
pub(in crate::load) struct CipherJob {
    pub key: Vec<u8>,
    pub iv: Vec<u8>,
    pub input: Vec<u8>,
    pub expected: Vec<u8>,
    pub(super) prepared: CipherKey,
    pub(super) chain: Vec<u8>,
    pub(super) data: Vec<u8>,
}

impl CipherJob {
    /// The expected answer is computed singly, and the inverse must lead back to the text.
    pub fn new(
        engine: &Engine,
        (cipher, mode, direction): (Cipher, Mode, Direction),
        job: usize,
        bytes: usize,
    ) -> Result<Self, String> {
        let key = keys::cipher_key(cipher, job);
        let iv = keys::test_bytes(0x1F, job, cipher.block_bytes());
        let input = keys::test_bytes(0xDA7A, job, bytes);
        let mut expected = input.clone();
        let mode = engine_mode(mode);
        let there = direction;
        let back = match there {
            CipherDirection::Encipher => CipherDirection::Decipher,
            CipherDirection::Decipher => CipherDirection::Encipher,
        };
        engine.cipher(cipher, mode, there, &key, &mut iv.clone(), &mut expected).map_err(text)?;
        let prepared = engine.cipher_key(cipher, &key).map_err(text)?;
        let mut inverse = expected.clone();
        let mut item = [CipherItem::new(&prepared, &iv, &mut inverse)];
        engine.cipher_batch(mode, back, &mut item);
        if item[0].result.is_err() || inverse != input {
            return Err("deciphering does not lead back".to_owned());
        }
        Ok(Self { data: input.clone(), chain: iv.clone(), key, iv, input, expected, prepared })
    }
}

impl CipherJob {
    /// The text enciphered in ECB mode.
    pub fn over(engine: &Engine, cipher: Cipher, key: &[u8], text_in: &[u8]) -> Result<Vec<u8>, String> {
        let mut data = text_in.to_vec();
        let mut chain = vec![0; cipher.block_bytes()];
        engine
            .cipher(cipher, engine::Mode::Ecb, CipherDirection::Encipher, key, &mut chain, &mut data)
            .map_err(text)?;
        Ok(data)
    }
}

/// Prepared keys: the jobs are one batch.
pub(super) fn prepared<'a>(
    workload: &'a Workload,
    engine: &'a Engine,
    (_, mode, direction): How,
    jobs: &'a mut [CipherJob],
) -> impl Caller + 'a {
    let (mut known, mut items) = (Vec::new(), Vec::new());
    for CipherJob { iv, input, expected, prepared, data, .. } in jobs {
        known.push((&iv[..], &input[..], &expected[..]));
        items.push(CipherItem::new(prepared, iv, data));
    }
    let starts: Vec<_> = known.iter().map(|(iv, input, _)| (*iv, *input)).collect();
    Batch {
        items,
        call: move |items: &mut [CipherItem<'a>]| {
            engine.cipher_batch(mode, direction, items);
            went(workload, items.iter().map(|item| item.result))
        },
        begin: move |job: usize, item: &mut CipherItem<'a>| {
            let (iv, input) = starts[job];
            item.chain[..iv.len()].copy_from_slice(iv);
            item.data.copy_from_slice(input);
        },
        check: move |job: usize, item: &CipherItem<'a>| expect(workload, job, item.data, known[job].2),
    }
}

/// Keys that come with each call: a single job uses the engine's call with a raw key; several are prepared and run as a
/// batch.
pub(super) fn raw<'a>(
    workload: &'a Workload,
    engine: &'a Engine,
    (algorithm, mode, direction): How,
    jobs: Vec<CipherJob>,
) -> impl Caller + 'a {
    Batch {
        items: jobs,
        call: move |jobs: &mut [CipherJob]| {
            if let [job] = jobs {
                let done = engine.cipher(algorithm, mode, direction, &job.key, &mut job.chain, &mut job.data);
                return went(workload, std::iter::once(done));
            }
            let keys = jobs.iter().map(|job| engine.cipher_key(algorithm, &job.key));
            let keys: Vec<CipherKey> =
                keys.collect::<Result<_, _>>().map_err(|error| refused(workload.operation)(text(error)))?;
            let items = keys.iter().zip(jobs);
            let items = items.map(|(key, job)| CipherItem::new(key, &job.chain, &mut job.data));
            let mut items: Vec<CipherItem<'_>> = items.collect();
            engine.cipher_batch(mode, direction, &mut items);
            went(workload, items.iter().map(|item| item.result))
        },
        begin: |_, job: &mut CipherJob| {
            job.data.copy_from_slice(&job.input);
            job.chain.copy_from_slice(&job.iv);
        },
        check: move |number: usize, job: &CipherJob| expect(workload, number, &job.data, &job.expected),
    }
}

//! Ciphers: prepared keys in batches, and keys that come with each call.

use super::super::pacing::Caller;
use super::super::{LabError, Workload, keys};
use super::algorithms::{algorithm, engine_direction, engine_mode};
use super::{expect, refused, text, went};
use crate::load::operation::{Cipher, Direction, Mode};
use engine::{CipherAlgorithm, CipherDirection, CipherItem, CipherKey, Engine};

pub(super) type How = (CipherAlgorithm, engine::Mode, CipherDirection);

/// A cipher's job: what it starts from and what one call must make of it.
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
    /// The expected answer is worked out singly, and the inverse must lead back.
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
        let there = engine_direction(direction);
        let back = match there {
            CipherDirection::Encipher => CipherDirection::Decipher,
            CipherDirection::Decipher => CipherDirection::Encipher,
        };
        engine.cipher(algorithm(cipher), mode, there, &key, &mut iv.clone(), &mut expected).map_err(text)?;
        let prepared = engine.cipher_key(algorithm(cipher), &key).map_err(text)?;
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
    /// A text enciphered in ECB mode.
    pub fn over(engine: &Engine, cipher: Cipher, key: &[u8], text_in: &[u8]) -> Result<Vec<u8>, String> {
        let mut data = text_in.to_vec();
        let mut chain = vec![0; cipher.block_bytes()];
        engine
            .cipher(
                algorithm(cipher),
                engine::Mode::Ecb,
                CipherDirection::Encipher,
                key,
                &mut chain,
                &mut data,
            )
            .map_err(text)?;
        Ok(data)
    }
}

pub(super) struct CipherBatch<'a> {
    workload: &'a Workload,
    engine: &'a Engine,
    how: How,
    known: Vec<(&'a [u8], &'a [u8], &'a [u8])>,
    items: Vec<CipherItem<'a>>,
}

impl<'a> CipherBatch<'a> {
    pub(super) fn new(
        workload: &'a Workload,
        engine: &'a Engine,
        how: How,
        jobs: &'a mut [CipherJob],
    ) -> Self {
        let (mut known, mut items) = (Vec::new(), Vec::new());
        for CipherJob { iv, input, expected, prepared, data, .. } in jobs {
            known.push((&iv[..], &input[..], &expected[..]));
            items.push(CipherItem::new(prepared, iv, data));
        }
        Self { workload, engine, how, known, items }
    }
}

impl Caller for CipherBatch<'_> {
    fn jobs(&self) -> usize {
        self.items.len()
    }

    fn call(&mut self, jobs: usize) -> Result<(), LabError> {
        self.engine.cipher_batch(self.how.1, self.how.2, &mut self.items[..jobs]);
        went(self.workload, self.items[..jobs].iter().try_for_each(|item| item.result))
    }

    fn call_compared(&mut self) -> Result<u64, LabError> {
        for (item, (iv, input, _)) in self.items.iter_mut().zip(&self.known) {
            item.chain[..iv.len()].copy_from_slice(iv);
            item.data.copy_from_slice(input);
        }
        self.call(self.items.len())?;
        for (job, (item, (_, _, expected))) in self.items.iter().zip(&self.known).enumerate() {
            expect(self.workload, job, item.data, expected)?;
        }
        Ok(self.items.len() as u64)
    }
}

/// Keys come with each call: a single job through the call for that, several prepared and run as a
/// batch.
pub(super) struct CipherRaw<'a> {
    pub(super) workload: &'a Workload,
    pub(super) engine: &'a Engine,
    pub(super) how: How,
    pub(super) jobs: &'a mut [CipherJob],
}

impl Caller for CipherRaw<'_> {
    fn jobs(&self) -> usize {
        self.jobs.len()
    }

    #[inline]
    fn call(&mut self, jobs: usize) -> Result<(), LabError> {
        let (algorithm, mode, direction) = self.how;
        if let [job] = &mut self.jobs[..jobs] {
            return went(
                self.workload,
                self.engine.cipher(algorithm, mode, direction, &job.key, &mut job.chain, &mut job.data),
            );
        }
        let jobs = &mut self.jobs[..jobs];
        let keys = jobs.iter().map(|job| self.engine.cipher_key(algorithm, &job.key));
        let keys: Vec<CipherKey> =
            keys.collect::<Result<_, _>>().map_err(|error| refused(self.workload.operation)(text(error)))?;
        let mut items: Vec<CipherItem<'_>> =
            keys.iter().zip(jobs).map(|(key, job)| CipherItem::new(key, &job.chain, &mut job.data)).collect();
        self.engine.cipher_batch(mode, direction, &mut items);
        went(self.workload, items.iter().try_for_each(|item| item.result))
    }

    fn call_compared(&mut self) -> Result<u64, LabError> {
        for job in self.jobs.iter_mut() {
            job.data.copy_from_slice(&job.input);
            job.chain.copy_from_slice(&job.iv);
        }
        self.call(self.jobs.len())?;
        for (index, job) in self.jobs.iter().enumerate() {
            expect(self.workload, index, &job.data, &job.expected)?;
        }
        Ok(self.jobs.len() as u64)
    }
}

//! AES-GCM.

use super::super::pacing::Caller;
use super::super::{LabError, Workload, keys};
use super::algorithms::engine_direction;
use super::{expect, refused, text, went};
use crate::load::operation::{Cipher, Direction};
use engine::{CipherDirection, Engine, GcmItem, GcmKey};

/// A GCM job.
pub(in crate::load) struct GcmJob {
    pub nonce: Vec<u8>,
    pub aad: Vec<u8>,
    pub key: Vec<u8>,
    pub input: Vec<u8>,
    pub expected: Vec<u8>,
    pub tag: [u8; 16],
    prepared: GcmKey,
    data: Vec<u8>,
}

impl GcmJob {
    pub fn new(
        engine: &Engine,
        cipher: Cipher,
        direction: Direction,
        job: usize,
        bytes: usize,
    ) -> Result<Self, String> {
        let key = keys::cipher_key(cipher, job);
        let prepared = engine.gcm_key(&key).map_err(text)?;
        let (nonce, aad) = (keys::test_bytes(0x60, job, 12), keys::test_bytes(0xAAD, job, 13));
        let clear = keys::test_bytes(0xDA7A, job, bytes);
        let mut sealed = clear.clone();
        let mut item = [GcmItem::encipher(&prepared, &nonce, &aad, &mut sealed)];
        engine.gcm_batch(CipherDirection::Encipher, &mut item);
        let tag = item[0].tag;
        item[0].result.map_err(text)?;
        let mut opened = sealed.clone();
        let mut item = [GcmItem::decipher(&prepared, &nonce, &aad, &mut opened, &tag)];
        engine.gcm_batch(CipherDirection::Decipher, &mut item);
        if item[0].result.is_err() || opened != clear {
            return Err("deciphering does not lead back".to_owned());
        }
        let (input, expected) = match direction {
            Direction::Encipher => (clear, sealed),
            Direction::Decipher => (sealed, clear),
        };
        Ok(Self { nonce, aad, key, prepared, data: input.clone(), input, expected, tag })
    }
}

/// Deciphering needs text that authenticates: its input is copied in before each call, and that copy
/// is part of the figure.
pub(super) struct GcmCaller<'a> {
    pub(super) workload: &'a Workload,
    pub(super) engine: &'a Engine,
    pub(super) direction: Direction,
    pub(super) jobs: &'a mut [GcmJob],
}

impl Caller for GcmCaller<'_> {
    fn jobs(&self) -> usize {
        self.jobs.len()
    }

    fn call(&mut self, jobs: usize) -> Result<(), LabError> {
        let decipher = self.direction == Direction::Decipher;
        let jobs = &mut self.jobs[..jobs];
        let mut keys = Vec::new();
        if !self.workload.prepared {
            for job in jobs.iter() {
                let key = self.engine.gcm_key(&job.key);
                keys.push(key.map_err(|error| refused(self.workload.operation)(text(error)))?);
            }
        }
        let mut items: Vec<GcmItem<'_>> = Vec::with_capacity(jobs.len());
        for (index, GcmJob { nonce, aad, prepared, input, tag, data, .. }) in jobs.iter_mut().enumerate() {
            let key = keys.get(index).unwrap_or(prepared);
            items.push(if decipher {
                data.copy_from_slice(input);
                GcmItem::decipher(key, nonce, aad, data, tag)
            } else {
                GcmItem::encipher(key, nonce, aad, data)
            });
        }
        self.engine.gcm_batch(engine_direction(self.direction), &mut items);
        went(self.workload, items.iter().try_for_each(|item| item.result))
    }

    fn call_compared(&mut self) -> Result<u64, LabError> {
        for job in self.jobs.iter_mut() {
            job.data.copy_from_slice(&job.input);
        }
        self.call(self.jobs.len())?;
        for (index, job) in self.jobs.iter().enumerate() {
            expect(self.workload, index, &job.data, &job.expected)?;
        }
        Ok(self.jobs.len() as u64)
    }
}

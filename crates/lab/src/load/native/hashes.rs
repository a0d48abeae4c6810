//! Hashes and HMAC.

use super::super::pacing::Caller;
use super::super::{LabError, Workload, keys};
use super::algorithms::hash_algorithm;
use super::{expect, refused, text, went};
use crate::load::operation::Hash;
use engine::{Engine, HashItem, HmacItem, HmacKey};

/// A job over a text without a key.
pub(in crate::load) struct TextJob {
    pub data: Vec<u8>,
    pub expected: Vec<u8>,
}

impl TextJob {
    /// The expected digest is worked out in two pieces.
    pub fn hash(engine: &Engine, hash: Hash, job: usize, bytes: usize) -> Result<Self, String> {
        let data = keys::test_bytes(0xDA7A, job, bytes);
        let algorithm = hash_algorithm(hash);
        let mut state = engine.hash_state(algorithm).map_err(text)?;
        let (first, second) = data.split_at(bytes / 3);
        state.update(first);
        state.update(second);
        let expected = state.finish()[..algorithm.digest_bytes()].to_vec();
        Ok(Self { data, expected })
    }

    /// The expected MAC follows RFC 2104: hash of the outer pad and the hash of the inner one. The key is
    /// no longer than a block.
    pub fn hmac(engine: &Engine, hash: Hash, key: &[u8], job: usize, bytes: usize) -> Result<Self, String> {
        let algorithm = hash_algorithm(hash);
        let data = keys::test_bytes(0xDA7A, job, bytes);
        let padded = |byte: u8| {
            let mut block = vec![byte; algorithm.block_bytes()];
            block.iter_mut().zip(key).for_each(|(pad, key)| *pad ^= key);
            block
        };
        let digest = |parts: [&[u8]; 2]| {
            let digest = engine.hash(algorithm, &parts.concat()).map_err(text)?;
            Ok::<_, String>(digest[..algorithm.digest_bytes()].to_vec())
        };
        let inner = digest([&padded(0x36), &data])?;
        let expected = digest([&padded(0x5C), &inner])?;
        Ok(Self { data, expected })
    }
}

pub(super) struct HashCaller<'a> {
    pub(super) workload: &'a Workload,
    pub(super) engine: &'a Engine,
    pub(super) hash: Hash,
    pub(super) jobs: &'a [TextJob],
    pub(super) items: Vec<HashItem<'a>>,
}

impl Caller for HashCaller<'_> {
    fn jobs(&self) -> usize {
        self.items.len()
    }

    fn call(&mut self, jobs: usize) -> Result<(), LabError> {
        self.engine.hash_batch(hash_algorithm(self.hash), &mut self.items[..jobs]);
        went(self.workload, self.items[..jobs].iter().try_for_each(|item| item.result))
    }

    fn call_compared(&mut self) -> Result<u64, LabError> {
        for item in &mut self.items {
            item.digest = [0; 64];
        }
        self.call(self.items.len())?;
        for (index, (item, job)) in self.items.iter().zip(self.jobs).enumerate() {
            expect(self.workload, index, &item.digest[..job.expected.len()], &job.expected)?;
        }
        Ok(self.items.len() as u64)
    }
}

pub(super) struct HmacJob {
    key: Vec<u8>,
    pub(super) prepared: HmacKey,
    pub(super) text: TextJob,
}

impl HmacJob {
    pub(super) fn new(engine: &Engine, hash: Hash, job: usize, bytes: usize) -> Result<Self, String> {
        let key = keys::test_bytes(0x43AC, job, 20);
        let prepared = engine.hmac_key(hash_algorithm(hash), &key).map_err(text)?;
        let text = TextJob::hmac(engine, hash, &key, job, bytes)?;
        Ok(Self { key, prepared, text })
    }
}

pub(super) struct HmacCaller<'a> {
    pub(super) workload: &'a Workload,
    pub(super) engine: &'a Engine,
    pub(super) jobs: &'a [HmacJob],
    pub(super) items: Vec<HmacItem<'a>>,
    pub(super) prepared: bool,
}

impl Caller for HmacCaller<'_> {
    fn jobs(&self) -> usize {
        self.items.len()
    }

    fn call(&mut self, jobs: usize) -> Result<(), LabError> {
        if self.prepared {
            self.engine.hmac_batch(&mut self.items[..jobs]);
            return went(self.workload, self.items[..jobs].iter().try_for_each(|item| item.result));
        }
        let keys =
            self.jobs[..jobs].iter().map(|job| self.engine.hmac_key(job.prepared.algorithm(), &job.key));
        let keys: Vec<HmacKey> =
            keys.collect::<Result<_, _>>().map_err(|error| refused(self.workload.operation)(text(error)))?;
        let mut items: Vec<HmacItem<'_>> =
            keys.iter().zip(self.jobs).map(|(key, job)| HmacItem::new(key, &job.text.data)).collect();
        self.engine.hmac_batch(&mut items);
        for (ours, item) in self.items.iter_mut().zip(&items) {
            ours.mac = item.mac;
        }
        went(self.workload, items.iter().try_for_each(|item| item.result))
    }

    fn call_compared(&mut self) -> Result<u64, LabError> {
        for item in &mut self.items {
            item.mac = [0; 64];
        }
        self.call(self.items.len())?;
        for (index, (item, job)) in self.items.iter().zip(self.jobs).enumerate() {
            expect(self.workload, index, &item.mac[..job.text.expected.len()], &job.text.expected)?;
        }
        Ok(self.items.len() as u64)
    }
}

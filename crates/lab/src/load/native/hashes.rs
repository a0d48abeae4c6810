//! Hashes and HMAC.

use super::super::pacing::Caller;
use super::super::{Workload, keys};
use super::batch::{Batch, went};
use super::{expect, refused, text};
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
        let algorithm = hash;
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
        let algorithm = hash;
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

pub(super) fn hash<'a>(
    workload: &'a Workload,
    engine: &'a Engine,
    hash: Hash,
    jobs: &'a [TextJob],
) -> impl Caller + 'a {
    Batch {
        items: jobs.iter().map(|job| HashItem::new(&job.data)).collect(),
        call: move |items: &mut [HashItem<'a>]| {
            engine.hash_batch(hash, items);
            went(workload, items.iter().map(|item| item.result))
        },
        begin: |_, item: &mut HashItem<'a>| item.digest = [0; 64],
        check: move |number: usize, item: &HashItem<'a>| {
            let expected = &jobs[number].expected;
            expect(workload, number, &item.digest[..expected.len()], expected)
        },
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
        let prepared = engine.hmac_key(hash, &key).map_err(text)?;
        let text = TextJob::hmac(engine, hash, &key, job, bytes)?;
        Ok(Self { key, prepared, text })
    }
}

pub(super) fn hmac<'a>(workload: &'a Workload, engine: &'a Engine, jobs: &'a [HmacJob]) -> impl Caller + 'a {
    Batch {
        items: jobs.iter().map(|job| HmacItem::new(&job.prepared, &job.text.data)).collect(),
        call: move |items: &mut [HmacItem<'a>]| {
            if workload.prepared {
                engine.hmac_batch(items);
                return went(workload, items.iter().map(|item| item.result));
            }
            let jobs = &jobs[..items.len()];
            let keys = jobs.iter().map(|job| engine.hmac_key(job.prepared.algorithm(), &job.key));
            let keys: Vec<HmacKey> =
                keys.collect::<Result<_, _>>().map_err(|error| refused(workload.operation)(text(error)))?;
            let fresh = keys.iter().zip(jobs).map(|(key, job)| HmacItem::new(key, &job.text.data));
            let mut fresh: Vec<HmacItem<'_>> = fresh.collect();
            engine.hmac_batch(&mut fresh);
            items.iter_mut().zip(&fresh).for_each(|(item, fresh)| item.mac = fresh.mac);
            went(workload, fresh.iter().map(|item| item.result))
        },
        begin: |_, item: &mut HmacItem<'a>| item.mac = [0; 64],
        check: move |number: usize, item: &HmacItem<'a>| {
            let expected = &jobs[number].text.expected;
            expect(workload, number, &item.mac[..expected.len()], expected)
        },
    }
}

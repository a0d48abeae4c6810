//! AES-GCM.

use super::super::pacing::Caller;
use super::super::{Workload, keys};
use super::batch::{Batch, went};
use super::{expect, refused, text};
use crate::load::operation::{Cipher, Direction};
use engine::{CipherDirection, Engine, GcmItem, GcmKey};

/// A GCM job: key, nonce, associated data and text, with the expected answer and tag.
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
pub(super) fn caller<'a>(
    workload: &'a Workload,
    engine: &'a Engine,
    direction: Direction,
    jobs: Vec<GcmJob>,
) -> impl Caller + 'a {
    let call = move |jobs: &mut [GcmJob]| {
        let mut keys = Vec::new();
        if !workload.prepared {
            for job in jobs.iter() {
                let key = engine.gcm_key(&job.key);
                keys.push(key.map_err(|error| refused(workload.operation)(text(error)))?);
            }
        }
        let mut items: Vec<GcmItem<'_>> = Vec::with_capacity(jobs.len());
        for (index, GcmJob { nonce, aad, prepared, input, tag, data, .. }) in jobs.iter_mut().enumerate() {
            let key = keys.get(index).unwrap_or(prepared);
            items.push(if direction == Direction::Decipher {
                data.copy_from_slice(input);
                GcmItem::decipher(key, nonce, aad, data, tag)
            } else {
                GcmItem::encipher(key, nonce, aad, data)
            });
        }
        engine.gcm_batch(direction, &mut items);
        went(workload, items.iter().map(|item| item.result))
    };
    Batch {
        items: jobs,
        call,
        begin: |_, job: &mut GcmJob| job.data.copy_from_slice(&job.input),
        check: move |number: usize, job: &GcmJob| expect(workload, number, &job.data, &job.expected),
    }
}

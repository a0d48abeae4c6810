//! MACs.

use super::super::pacing::Caller;
use super::super::{Workload, keys};
use super::batch::{Batch, went};
use super::{expect, refused, text};
use crate::load::operation::Mac;
use engine::{CipherAlgorithm, CipherDirection, Engine, MacItem, MacKey};

/// A MAC's job.
pub(in crate::load) struct MacJob {
    pub key: Vec<u8>,
    pub data: Vec<u8>,
    /// The expected MAC, as long as a block.
    pub expected: Vec<u8>,
    pub(super) prepared: MacKey,
}

impl MacJob {
    /// The expected MACs of X9.9 and X9.19 follow their definition in single-DES steps.
    pub fn new(engine: &Engine, mac: Mac, job: usize, bytes: usize) -> Result<Self, String> {
        let key = match mac {
            Mac::CmacAes128 => keys::test_bytes(0xAE5, job, mac.key_bytes()),
            _ => keys::des_key(job, mac.key_bytes()),
        };
        let data = keys::test_bytes(0xDA7A, job, bytes);
        let prepared = engine.mac_key(mac, &key).map_err(text)?;
        let expected = match mac {
            Mac::CmacAes128 => {
                // A text of several blocks is split into two segments.
                let split = if bytes > 16 { (bytes - 1) / 16 * 16 } else { 0 };
                let mut first = MacItem::new(&prepared, &data[..split]);
                first.last = false;
                let mut items = [first];
                engine.mac_batch(&mut items);
                let mut last = MacItem::new(&prepared, &data[split..]);
                last.chain = items[0].chain;
                let mut items = [last];
                engine.mac_batch(&mut items);
                items[0].result.map_err(text)?;
                items[0].mac.to_vec()
            }
            _ => {
                let des = |mode, direction, key: &[u8], data: &mut [u8]| {
                    engine.cipher(CipherAlgorithm::Des, mode, direction, key, &mut [0; 8], data).map_err(text)
                };
                let mut padded = data.clone();
                padded.resize(bytes.div_ceil(8) * 8, 0);
                des(engine::Mode::Cbc, CipherDirection::Encipher, &key[..8], &mut padded)?;
                let mut block = padded[padded.len() - 8..].to_vec();
                if mac == Mac::X919 {
                    des(engine::Mode::Ecb, CipherDirection::Decipher, &key[8..], &mut block)?;
                    des(engine::Mode::Ecb, CipherDirection::Encipher, &key[..8], &mut block)?;
                }
                block
            }
        };
        Ok(Self { key, data, expected, prepared })
    }
}

pub(super) fn caller<'a>(
    workload: &'a Workload,
    engine: &'a Engine,
    mac: Mac,
    jobs: &'a [MacJob],
) -> impl Caller + 'a {
    let algorithm = mac;
    let refused = move |error| refused(workload.operation)(text(error));
    let call = move |items: &mut [MacItem<'a>]| {
        if workload.prepared {
            items.iter_mut().for_each(|item| item.chain = [0; 16]);
            engine.mac_batch(items);
            return went(workload, items.iter().map(|item| item.result));
        }
        let jobs = &jobs[..items.len()];
        if let [job] = jobs {
            let key = engine.mac_key(algorithm, &job.key).map_err(refused)?;
            let mut fresh = [MacItem::new(&key, &job.data)];
            engine.mac_batch(&mut fresh);
            items[0].mac = fresh[0].mac;
            return went(workload, std::iter::once(fresh[0].result));
        }
        let keys = jobs.iter().map(|job| engine.mac_key(algorithm, &job.key));
        let keys: Vec<MacKey> = keys.collect::<Result<_, _>>().map_err(refused)?;
        let fresh = keys.iter().zip(jobs).map(|(key, job)| MacItem::new(key, &job.data));
        let mut fresh: Vec<MacItem<'_>> = fresh.collect();
        engine.mac_batch(&mut fresh);
        items.iter_mut().zip(&fresh).for_each(|(item, fresh)| item.mac = fresh.mac);
        went(workload, fresh.iter().map(|item| item.result))
    };
    Batch {
        items: jobs.iter().map(|job| MacItem::new(&job.prepared, &job.data)).collect(),
        call,
        begin: |_, item: &mut MacItem<'a>| item.mac = [0; 16],
        check: move |number: usize, item: &MacItem<'a>| {
            let expected = &jobs[number].expected;
            expect(workload, number, &item.mac[..expected.len()], expected)
        },
    }
}

//! MACs.

use super::super::pacing::Caller;
use super::super::{LabError, Workload, keys};
use super::algorithms::mac_algorithm;
use super::{expect, refused, text, went};
use crate::load::operation::Mac;
use engine::{CipherAlgorithm, CipherDirection, Engine, MacItem, MacKey};

/// A MAC's job.
pub(in crate::load) struct MacJob {
    pub key: Vec<u8>,
    pub data: Vec<u8>,
    /// As long as a block.
    pub expected: Vec<u8>,
    pub(super) prepared: MacKey,
}

impl MacJob {
    /// The expected MACs of X9.9 and X9.19 follow their definition in single-DES steps.
    pub fn new(engine: &Engine, mac: Mac, job: usize, bytes: usize) -> Result<Self, String> {
        let key = match mac {
            Mac::Aes128Cmac => keys::test_bytes(0xAE5, job, mac.key_bytes()),
            Mac::Des | Mac::Tdes => keys::des_key(job, mac.key_bytes()),
        };
        let data = keys::test_bytes(0xDA7A, job, bytes);
        let prepared = engine.mac_key(mac_algorithm(mac), &key).map_err(text)?;
        let expected = match mac {
            Mac::Aes128Cmac => {
                // In two segments rather than one, where there are two blocks.
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
            Mac::Des | Mac::Tdes => {
                let des = |mode, direction, key: &[u8], data: &mut [u8]| {
                    engine.cipher(CipherAlgorithm::Des, mode, direction, key, &mut [0; 8], data).map_err(text)
                };
                let mut padded = data.clone();
                padded.resize(bytes.div_ceil(8) * 8, 0);
                des(engine::Mode::Cbc, CipherDirection::Encipher, &key[..8], &mut padded)?;
                let mut block = padded[padded.len() - 8..].to_vec();
                if mac == Mac::Tdes {
                    des(engine::Mode::Ecb, CipherDirection::Decipher, &key[8..], &mut block)?;
                    des(engine::Mode::Ecb, CipherDirection::Encipher, &key[..8], &mut block)?;
                }
                block
            }
        };
        Ok(Self { key, data, expected, prepared })
    }
}

pub(super) struct MacCaller<'a> {
    pub(super) workload: &'a Workload,
    pub(super) engine: &'a Engine,
    pub(super) mac: Mac,
    pub(super) jobs: &'a [MacJob],
    pub(super) items: Vec<MacItem<'a>>,
    pub(super) prepared: bool,
}

impl Caller for MacCaller<'_> {
    fn jobs(&self) -> usize {
        self.items.len()
    }

    fn call(&mut self, jobs: usize) -> Result<(), LabError> {
        if self.prepared {
            for item in &mut self.items[..jobs] {
                item.chain = [0; 16];
            }
            self.engine.mac_batch(&mut self.items[..jobs]);
            return went(self.workload, self.items[..jobs].iter().try_for_each(|item| item.result));
        }
        let algorithm = mac_algorithm(self.mac);
        let refused = |error| refused(self.workload.operation)(text(error));
        if let [job] = &self.jobs[..jobs] {
            let key = self.engine.mac_key(algorithm, &job.key).map_err(refused)?;
            let mut item = [MacItem::new(&key, &job.data)];
            self.engine.mac_batch(&mut item);
            self.items[0].mac = item[0].mac;
            return went(self.workload, item[0].result);
        }
        let keys = self.jobs[..jobs].iter().map(|job| self.engine.mac_key(algorithm, &job.key));
        let keys: Vec<MacKey> = keys.collect::<Result<_, _>>().map_err(refused)?;
        let mut items: Vec<MacItem<'_>> =
            keys.iter().zip(self.jobs).map(|(key, job)| MacItem::new(key, &job.data)).collect();
        self.engine.mac_batch(&mut items);
        for (ours, item) in self.items.iter_mut().zip(&items) {
            ours.mac = item.mac;
        }
        went(self.workload, items.iter().try_for_each(|item| item.result))
    }

    fn call_compared(&mut self) -> Result<u64, LabError> {
        for item in &mut self.items {
            item.mac = [0; 16];
        }
        self.call(self.items.len())?;
        for (index, (item, job)) in self.items.iter().zip(self.jobs).enumerate() {
            expect(self.workload, index, &item.mac[..job.expected.len()], &job.expected)?;
        }
        Ok(self.items.len() as u64)
    }
}

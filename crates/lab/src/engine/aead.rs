//! Sealing: GCM, OCB, EAX, and CFB with SHA-1.

use super::rows::Row;
use super::sides::{Batch, RowSide, Sealing, Texts, first, raw_keys};
use super::{AAD, AWS_LC, IPSEC_MB, OPENSSL, Stage, failed, made};
use crate::experiment::promise::Measure;
use crate::load::LabError;
use engine::{CipherAlgorithm, CipherDirection, EaxItem, GcmItem, OcbItem};
use peers::aws_lc_ffi as aws;
use peers::openssl_ffi::{self, OpenSsl};

/// The engine's side of a mode as a [`Batch`]: its items under these keys, and the call that runs a batch of them.
macro_rules! sealing {
    ($item:ident, $keys:expr, $texts:expr, $data:expr, $batch:expr) => {
        Batch {
            items: $keys
                .iter()
                .zip($data.with_ivs())
                .map(|(key, (text, iv))| $item::encipher(key, &iv[..12], AAD, text))
                .collect(),
            run: $batch,
            begin: |index: usize, item: &mut $item<'_>| item.data.copy_from_slice(&$texts.start()[index]),
            answer: |item: &$item<'_>, out: &mut Vec<u8>| {
                assert!(item.result.is_ok());
                out.extend(item.data.iter().chain(&item.tag));
            },
        }
    };
}

/// A mode of OpenSSL that seals one text after the other.
fn openssl_sealing<'a>(
    library: &'static OpenSsl,
    name: &str,
    raw: &[Vec<u8>],
    texts: &Texts,
) -> Box<dyn RowSide + 'a> {
    let keys = raw.iter().filter_map(|key| openssl_ffi::Cipher::new(library, name, true, key));
    let seal =
        |key: &mut openssl_ffi::Cipher, iv: &[u8; 16], text: &mut [u8]| key.seal(&first(iv), AAD, text);
    Box::new(Sealing::new(keys.collect(), texts, seal))
}

impl Stage<'_> {
    pub(super) fn gcm(&mut self, row: &Row, messages: usize, bytes: usize) -> Result<Measure, LabError> {
        let (engine, texts) = (self.engine, Texts::new(messages, bytes));
        let raw = raw_keys(CipherAlgorithm::Aes128, messages);
        let keys = made(row, raw.iter().map(|key| engine.gcm_key(key)))?;
        let mut data = texts.clone();
        let batch = |items: &mut [GcmItem<'_>]| engine.gcm_batch(CipherDirection::Encipher, items);
        let mut ours = sealing!(GcmItem, keys, texts, data, batch);
        let mut peers: Vec<(&str, Box<dyn RowSide + '_>)> = Vec::new();
        if let Some(library) = self.openssl() {
            peers.push((OPENSSL, openssl_sealing(library, "AES-128-GCM", &raw, &texts)));
        }
        let keys = raw.iter().filter_map(|key| aws::Gcm::new(key)).collect();
        let seal = |key: &mut aws::Gcm, iv: &[u8; 16], text: &mut [u8]| key.seal(&first(iv), AAD, text);
        peers.push((AWS_LC, Box::new(Sealing::new(keys, &texts, seal))));
        if let Some(mut manager) = self.ipsec_mb(true) {
            let keys = raw.iter().map(|key| manager.gcm(&first(key))).collect();
            let seal = move |key: &mut peers::ipsec_mb_ffi::GcmKey, iv: &[u8; 16], text: &mut [u8]| {
                manager.gcm_seal(key, &first(iv), AAD, text)
            };
            peers.push((IPSEC_MB, Box::new(Sealing::new(keys, &texts, seal))));
        }
        self.compare(row, (messages * bytes) as f64, &mut ours, &mut peers)
    }

    pub(super) fn ocb(&mut self, row: &Row, messages: usize, bytes: usize) -> Result<Measure, LabError> {
        let (engine, texts) = (self.engine, Texts::new(messages, bytes));
        let raw = raw_keys(CipherAlgorithm::Aes128, messages);
        let keys = made(row, raw.iter().map(|key| engine.ocb_key(key)))?;
        let mut data = texts.clone();
        let batch = |items: &mut [OcbItem<'_>]| engine.ocb_batch(CipherDirection::Encipher, items);
        let mut ours = sealing!(OcbItem, keys, texts, data, batch);
        let mut peers: Vec<(&str, Box<dyn RowSide + '_>)> = Vec::new();
        if let Some(library) = self.openssl() {
            peers.push((OPENSSL, openssl_sealing(library, "AES-128-OCB", &raw, &texts)));
        }
        self.compare(row, (messages * bytes) as f64, &mut ours, &mut peers)
    }

    /// The engine alone: no other library here has EAX, so its tests must show that the answers are right.
    pub(super) fn eax(&mut self, row: &Row, messages: usize, bytes: usize) -> Result<Measure, LabError> {
        let (engine, texts) = (self.engine, Texts::new(messages, bytes));
        let raw = raw_keys(CipherAlgorithm::Aes128, messages);
        let keys = made(row, raw.iter().map(|key| engine.eax_key(key)))?;
        let mut data = texts.clone();
        let batch = |items: &mut [EaxItem<'_>]| engine.eax_batch(CipherDirection::Encipher, items);
        let mut ours = sealing!(EaxItem, keys, texts, data, batch);
        self.compare(row, (messages * bytes) as f64, &mut ours, &mut [])
    }

    /// Key set-up counts on both sides: a message has a key of its own.
    pub(super) fn cfb_sha1(&mut self, row: &Row, bytes: usize) -> Result<Measure, LabError> {
        let (engine, texts) = (self.engine, Texts::new(1, bytes));
        let raw = raw_keys(CipherAlgorithm::Aes128, 1);
        engine.cfb_sha1(CipherDirection::Encipher, &raw[0], &[0; 16]).map_err(|error| failed(row, &error))?;
        let ours = move |key: &mut Vec<u8>, iv: &[u8; 16], text: &mut [u8]| {
            let begun = engine.cfb_sha1(CipherDirection::Encipher, key, iv);
            begun.map_or([0; 20], |mut cfb| {
                cfb.update(text);
                cfb.digest()
            })
        };
        let mut ours = Sealing::new(raw.clone(), &texts, ours);
        let mut peers: Vec<(&str, Box<dyn RowSide + '_>)> = Vec::new();
        if let Some(library) = self.openssl() {
            let step = move |key: &mut Vec<u8>, iv: &[u8; 16], text: &mut [u8]| {
                let digest = library.sha1(text);
                if let Some(mut cipher) = openssl_ffi::Cipher::new(library, "AES-128-CFB", true, key) {
                    cipher.start(iv);
                    cipher.update(text);
                }
                digest
            };
            peers.push((OPENSSL, Box::new(Sealing::new(raw.clone(), &texts, step))));
        }
        let step = move |key: &mut Vec<u8>, iv: &[u8; 16], text: &mut [u8]| {
            let digest = aws::sha1(text);
            if let Some(schedule) = aws::Aes::new(key, true) {
                schedule.cfb_encipher(&mut iv.clone(), text);
            }
            digest
        };
        peers.push((AWS_LC, Box::new(Sealing::new(raw, &texts, step))));
        self.compare(row, bytes as f64, &mut ours, &mut peers)
    }
}

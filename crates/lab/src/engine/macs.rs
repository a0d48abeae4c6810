//! MACs: the retail MAC, HMAC and CMAC.

use super::rows::Row;
use super::sides::{EngineHmac, EngineMac, EngineRetail, Reading, Side, TagJobs, Texts, first};
use super::{AWS_LC, IPSEC_MB, OPENSSL, Stage, failed};
use crate::experiment::promise::Measure;
use crate::load::{LabError, keys};
use engine::{HashAlgorithm, MacAlgorithm, MacItem, MacKey};
use peers::aws_lc_ffi as aws;
use peers::ipsec_mb_ffi::{IpsecMb, Job};
use peers::openssl_ffi;

impl Stage<'_> {
    pub(super) fn retail(&mut self, row: &Row, requests: usize) -> Result<Measure, LabError> {
        let raw: Vec<[u8; 16]> = (0..requests).map(|job| first(&keys::des_key(job, 16))).collect();
        let texts = Texts::new(requests, 64);
        let engine = self.engine;
        let mut ours =
            EngineRetail { engine: &engine, keys: &raw, texts: &texts, macs: vec![[0; 8]; requests] };
        let mut peers: Vec<(&str, Box<dyn Side + '_>)> = Vec::new();
        let each = || raw.iter().zip(texts.start());
        if let Some(library) = self.openssl() {
            let mut room = vec![0; 64];
            let run = move |out: &mut Vec<u8>| {
                for (key, text) in each() {
                    out.extend_from_slice(&library.x919(key, text, &mut room));
                }
            };
            peers.push((OPENSSL, Box::new(Reading::new(run))));
        }
        let mut room = vec![0; 64];
        let run = move |out: &mut Vec<u8>| {
            for (key, text) in each() {
                out.extend_from_slice(&aws_x919(key, text, &mut room));
            }
        };
        peers.push((AWS_LC, Box::new(Reading::new(run))));
        self.compare(row, requests as f64, &mut ours, &mut peers)
    }

    pub(super) fn hmac(
        &mut self,
        row: &Row,
        algorithm: HashAlgorithm,
        messages: usize,
        bytes: usize,
    ) -> Result<Measure, LabError> {
        let (engine, texts) = (self.engine, Texts::new(messages, bytes));
        let raw: Vec<Vec<u8>> = (0..messages).map(|job| keys::test_bytes(0x43AC, job, 20)).collect();
        let prepared: Result<Vec<_>, _> = raw.iter().map(|key| engine.hmac_key(algorithm, key)).collect();
        let prepared = prepared.map_err(|error| failed(row, &error))?;
        let mut ours = EngineHmac::new(&engine, algorithm, &prepared, &texts);
        let mut peers: Vec<(&str, Box<dyn Side + '_>)> = Vec::new();
        let (sha256, start) = (algorithm == HashAlgorithm::Sha256, texts.start());
        let tag_bytes = algorithm.digest_bytes();
        if let Some(library) = self.openssl() {
            let keys = raw.iter().map(|key| openssl_ffi::Hmac::new(library, sha256, key));
            let (mut keys, mut mac) = (keys.collect::<Vec<_>>(), [0; 32]);
            let run = move |out: &mut Vec<u8>| {
                for (key, text) in keys.iter_mut().zip(start) {
                    key.mac(text, &mut mac);
                    out.extend_from_slice(&mac[..tag_bytes]);
                }
            };
            peers.push((OPENSSL, Box::new(Reading::new(run))));
        }
        let keys = raw.iter().map(|key| aws::Hmac::new(sha256, key));
        let (mut keys, mut mac) = (keys.collect::<Vec<_>>(), [0; 32]);
        let run = move |out: &mut Vec<u8>| {
            for (key, text) in keys.iter_mut().zip(start) {
                key.mac(text, &mut mac);
                out.extend_from_slice(&mac[..tag_bytes]);
            }
        };
        peers.push((AWS_LC, Box::new(Reading::new(run))));
        if let Some(manager) = self.ipsec_mb(false) {
            let keys: Vec<_> = raw.iter().map(|key| manager.hmac(sha256, key)).collect();
            let run = move |manager: &mut IpsecMb, tags: &mut [[u8; 32]]| {
                let ends = keys.iter().zip(start).zip(tags);
                let mut jobs: Vec<_> = ends.map(|((key, data), tag)| Job::Hmac { key, data, tag }).collect();
                manager.run(&mut jobs);
            };
            let tags = vec![[0; 32]; messages];
            peers.push((IPSEC_MB, Box::new(TagJobs { manager, tags, tag_bytes, run })));
        }
        self.compare(row, (messages * bytes) as f64, &mut ours, &mut peers)
    }

    pub(super) fn cmac(&mut self, row: &Row, messages: usize, bytes: usize) -> Result<Measure, LabError> {
        let (engine, texts) = (self.engine, Texts::new(messages, bytes));
        let raw: Vec<[u8; 16]> = (0..messages).map(|job| first(&keys::test_bytes(0xAE5, job, 16))).collect();
        let prepared: Result<Vec<MacKey>, _> =
            raw.iter().map(|key| engine.mac_key(MacAlgorithm::CmacAes128, key)).collect();
        let prepared = prepared.map_err(|error| failed(row, &error))?;
        let start = texts.start();
        let items = prepared.iter().zip(start).map(|(key, text)| MacItem::new(key, text)).collect();
        let mut ours = EngineMac { engine: &engine, items };
        let mut peers: Vec<(&str, Box<dyn Side + '_>)> = Vec::new();
        if let Some(library) = self.openssl() {
            let keys = raw.iter().map(|key| openssl_ffi::Cmac::new(library, key));
            let (mut keys, mut mac) = (keys.collect::<Vec<_>>(), [0; 16]);
            let run = move |out: &mut Vec<u8>| {
                for (key, text) in keys.iter_mut().zip(start) {
                    key.mac(text, &mut mac);
                    out.extend_from_slice(&mac);
                }
            };
            peers.push((OPENSSL, Box::new(Reading::new(run))));
        }
        let keys = raw.iter().map(aws::Cmac::new);
        let (mut keys, mut mac) = (keys.collect::<Vec<_>>(), [0; 16]);
        let run = move |out: &mut Vec<u8>| {
            for (key, text) in keys.iter_mut().zip(start) {
                key.mac(text, &mut mac);
                out.extend_from_slice(&mac);
            }
        };
        peers.push((AWS_LC, Box::new(Reading::new(run))));
        if let Some(manager) = self.ipsec_mb(true) {
            let keys: Vec<_> = raw.iter().map(|key| manager.cmac(key)).collect();
            let run = move |manager: &mut IpsecMb, tags: &mut [[u8; 32]]| {
                let ends = keys.iter().zip(start).zip(tags);
                let mut jobs: Vec<_> = ends.map(|((key, data), tag)| Job::Cmac { key, data, tag }).collect();
                manager.run(&mut jobs);
            };
            let tags = vec![[0; 32]; messages];
            peers.push((IPSEC_MB, Box::new(TagJobs { manager, tags, tag_bytes: 16, run })));
        }
        self.compare(row, (messages * bytes) as f64, &mut ours, &mut peers)
    }
}

fn aws_x919(key: &[u8; 16], text: &[u8], room: &mut [u8]) -> [u8; 8] {
    let (left, right) = (aws::Des::new(&first(key)), aws::Des::new(&first(&key[8..])));
    let mut chain = [0; 8];
    room.copy_from_slice(text);
    left.cbc(true, &mut chain, room);
    right.ecb(false, &mut chain);
    left.ecb(true, &mut chain);
    chain
}

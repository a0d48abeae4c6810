//! Hashes.

use super::rows::Row;
use super::sides::{EngineHash, Reading, Side, TagJobs, Texts};
use super::{AWS_LC, IPSEC_MB, OPENSSL, Stage};
use crate::experiment::promise::Measure;
use crate::load::LabError;
use engine::HashAlgorithm;
use peers::aws_lc_ffi as aws;
use peers::ipsec_mb_ffi::{IpsecMb, Job};

impl Stage<'_> {
    pub(super) fn hash(
        &mut self,
        row: &Row,
        algorithm: HashAlgorithm,
        messages: usize,
        bytes: usize,
    ) -> Result<Measure, LabError> {
        let (engine, texts) = (self.engine, Texts::new(messages, bytes));
        let items = texts.start().iter().map(|text| engine::HashItem::new(text)).collect();
        let mut ours = EngineHash { engine: &engine, algorithm, items };
        let mut peers: Vec<(&str, Box<dyn Side + '_>)> = Vec::new();
        let (sha256, start) = (algorithm == HashAlgorithm::Sha256, texts.start());
        if let Some(library) = self.openssl() {
            let run = move |out: &mut Vec<u8>| {
                for text in start {
                    if sha256 {
                        out.extend_from_slice(&library.sha256(text));
                    } else {
                        out.extend_from_slice(&library.sha1(text));
                    }
                }
            };
            peers.push((OPENSSL, Box::new(Reading::new(run))));
        }
        let run = move |out: &mut Vec<u8>| {
            for text in start {
                if sha256 {
                    out.extend_from_slice(&aws::sha256(text));
                } else {
                    out.extend_from_slice(&aws::sha1(text));
                }
            }
        };
        peers.push((AWS_LC, Box::new(Reading::new(run))));
        if let Some(manager) = self.ipsec_mb(false) {
            let run = move |manager: &mut IpsecMb, tags: &mut [[u8; 32]]| {
                let ends = start.iter().zip(tags);
                let mut jobs: Vec<_> = ends.map(|(data, tag)| Job::Hash { sha256, data, tag }).collect();
                manager.run(&mut jobs);
            };
            let (tags, tag_bytes) = (vec![[0; 32]; messages], algorithm.digest_bytes());
            peers.push((IPSEC_MB, Box::new(TagJobs { manager, tags, tag_bytes, run })));
        }
        self.compare(row, (messages * bytes) as f64, &mut ours, &mut peers)
    }
}

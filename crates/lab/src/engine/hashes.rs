//! Rows of hashes: the engine beside the other libraries.

use super::rows::Row;
use super::sides::{Batch, RowSide, Texts, reading, tag_jobs};
use super::{AWS_LC, IPSEC_MB, OPENSSL, Stage};
use crate::experiment::promise::Measure;
use crate::load::LabError;
use engine::{HashAlgorithm, HashItem};
use peers::aws_lc_ffi as aws;
use peers::ipsec_mb_ffi::Job;

impl Stage<'_> {
    pub(super) fn hash(
        &mut self,
        row: &Row,
        algorithm: HashAlgorithm,
        messages: usize,
        bytes: usize,
    ) -> Result<Measure, LabError> {
        let (engine, texts) = (self.engine, Texts::new(messages, bytes));
        let (sha256, start) = (algorithm == HashAlgorithm::Sha256, texts.start());
        let digest_bytes = algorithm.digest_bytes();
        let mut ours = Batch {
            items: start.iter().map(|text| HashItem::new(text)).collect(),
            run: |items: &mut [HashItem<'_>]| engine.hash_batch(algorithm, items),
            begin: |_, _: &mut HashItem<'_>| {},
            answer: |item: &HashItem<'_>, out: &mut Vec<u8>| {
                assert!(item.result.is_ok());
                out.extend_from_slice(&item.digest[..digest_bytes]);
            },
        };
        let mut peers: Vec<(&str, Box<dyn RowSide + '_>)> = Vec::new();
        let keys = || vec![(); messages];
        if let Some(library) = self.openssl() {
            let one = move |(): &mut (), text: &Vec<u8>, out: &mut Vec<u8>| match sha256 {
                true => out.extend_from_slice(&library.sha256(text)),
                false => out.extend_from_slice(&library.sha1(text)),
            };
            peers.push((OPENSSL, reading(keys(), start, one)));
        }
        let one = move |(): &mut (), text: &Vec<u8>, out: &mut Vec<u8>| match sha256 {
            true => out.extend_from_slice(&aws::sha256(text)),
            false => out.extend_from_slice(&aws::sha1(text)),
        };
        peers.push((AWS_LC, reading(keys(), start, one)));
        if let Some(manager) = self.ipsec_mb(false) {
            let side = tag_jobs(manager, keys(), start, digest_bytes, move |(), data, tag| Job::Hash {
                sha256,
                data,
                tag,
            });
            peers.push((IPSEC_MB, side));
        }
        self.compare(row, (messages * bytes) as f64, &mut ours, &mut peers)
    }
}

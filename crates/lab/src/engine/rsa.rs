//! RSA: private and public operations, and new keys.

use super::rows::Row;
use super::sides::{Batch, Reading, RowSide, reading};
use super::{AWS_LC, OPENSSL, Stage, made};
use crate::experiment::promise::Measure;
use crate::load::keys::RsaTestKey;
use crate::load::{LabError, keys};
use engine::{RsaCrt, RsaPrivateItem, RsaPrivateKey, RsaPublicItem, RsaPublicKey};
use peers::openssl_ffi;
use peers::{RsaNumbers, aws_lc_ffi as aws};

/// The engine's side of one form of an RSA key.
macro_rules! rsa_side {
    ($item:ident, $items:expr, $batch:expr) => {
        Batch {
            items: $items,
            run: $batch,
            begin: |_, item: &mut $item<'_>| item.output.fill(0),
            answer: |item: &$item<'_>, out: &mut Vec<u8>| {
                assert!(item.result.is_ok());
                out.extend_from_slice(item.output);
            },
        }
    };
}

impl Stage<'_> {
    pub(super) fn rsa(
        &mut self,
        row: &Row,
        bits: u32,
        crt: bool,
        public: bool,
        requests: usize,
    ) -> Result<Measure, LabError> {
        let numbers: Vec<RsaTestKey> =
            (0..requests).filter_map(|job| keys::rsa_test_key(bits, job)).collect();
        let length = bits as usize / 8;
        let input = |job| {
            let mut input = keys::test_bytes(0x45A, job, length);
            input[0] = 0;
            input
        };
        let inputs: Vec<Vec<u8>> = (0..requests).map(input).collect();
        let mut outputs = vec![vec![0; length]; requests];
        let privates = made(row, numbers.iter().map(|key| private_key(key, crt)))?;
        let publics = made(row, numbers.iter().map(|key| RsaPublicKey::new(&key.n, &key.e)))?;
        let (engine, inputs) = (self.engine, &inputs);
        let ends = inputs.iter().zip(&mut outputs);
        let (mut private_side, mut public_side);
        let ours: &mut dyn RowSide = if public {
            let items = publics.iter().zip(ends);
            let items = items.map(|(key, (from, to))| RsaPublicItem::new(key, from, to)).collect();
            public_side = rsa_side!(RsaPublicItem, items, |items: &mut [_]| engine.rsa_public_batch(items));
            &mut public_side
        } else {
            let items = privates.iter().zip(ends);
            let items = items.map(|(key, (from, to))| RsaPrivateItem::new(key, from, to)).collect();
            private_side =
                rsa_side!(RsaPrivateItem, items, |items: &mut [_]| engine.rsa_private_batch(items));
            &mut private_side
        };
        let mut peers: Vec<(&str, Box<dyn RowSide + '_>)> = Vec::new();
        let plain: Vec<RsaNumbers<'_>> = numbers.iter().map(|key| plain(key, crt)).collect();
        let mut output = vec![0; length];
        if let Some(library) = self.openssl() {
            let keys = plain.iter().filter_map(|key| openssl_ffi::Rsa::new(library, key)).collect();
            let mut output = output.clone();
            let one = move |key: &mut openssl_ffi::Rsa, input: &Vec<u8>, out: &mut Vec<u8>| {
                if public {
                    key.public(input, &mut output)
                } else {
                    key.private(input, &mut output)
                }
                out.extend_from_slice(&output);
            };
            peers.push((OPENSSL, reading(keys, inputs, one)));
        }
        let keys = plain.iter().filter_map(aws::Rsa::new).collect();
        let one = move |key: &mut aws::Rsa, input: &Vec<u8>, out: &mut Vec<u8>| {
            if public {
                key.public(input, &mut output)
            } else {
                key.private(input, &mut output)
            }
            out.extend_from_slice(&output);
        };
        peers.push((AWS_LC, reading(keys, inputs, one)));
        self.compare(row, requests as f64, ours, &mut peers)
    }

    /// Keys are random: there is nothing to compare, each library proves its own.
    pub(super) fn generate(&mut self, row: &Row, bits: usize) -> Result<Measure, LabError> {
        let engine = self.engine;
        let run = move |_: &mut Vec<u8>| {
            let _ = engine.rsa_generate(bits, &[1, 0, 1]);
        };
        let mut peers: Vec<(&str, Box<dyn RowSide + '_>)> = Vec::new();
        if let Some(library) = self.openssl() {
            let run = move |_: &mut Vec<u8>| library.rsa_generate(bits);
            peers.push((OPENSSL, Box::new(Reading::new(run))));
        }
        self.compare(row, 1.0, &mut Reading::new(run), &mut peers)
    }
}

pub(super) fn private_key(key: &RsaTestKey, crt: bool) -> Result<RsaPrivateKey, engine::RsaKeyError> {
    let RsaTestKey { n, e, d, p, q, dp, dq, qinv, .. } = key;
    if crt {
        RsaPrivateKey::from_crt(&RsaCrt { n, e, p, q, dp, dq, qinv })
    } else {
        RsaPrivateKey::from_me(n, e, d)
    }
}

pub(crate) fn plain(key: &RsaTestKey, crt: bool) -> RsaNumbers<'_> {
    let RsaTestKey { n, e, d, p, q, dp, dq, qinv, .. } = key;
    RsaNumbers { n, e, d, crt: crt.then_some([p, q, dp, dq, qinv]) }
}

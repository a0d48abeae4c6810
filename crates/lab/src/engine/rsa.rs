//! RSA: private and public operations, and new keys.

use super::rows::Row;
use super::sides::{EnginePrivate, EnginePublic, Reading, Side};
use super::{AWS_LC, OPENSSL, Stage, failed};
use crate::experiment::promise::Measure;
use crate::load::keys::RsaTestKey;
use crate::load::{LabError, keys};
use engine::{RsaCrt, RsaPrivateKey, RsaPublicKey};
use peers::openssl_ffi;
use peers::{RsaNumbers, aws_lc_ffi as aws};

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
        let privates: Result<Vec<_>, _> = numbers.iter().map(|key| private_key(key, crt)).collect();
        let publics: Result<Vec<_>, _> =
            numbers.iter().map(|key| RsaPublicKey::new(&key.n, &key.e)).collect();
        let privates = privates.map_err(|error| failed(row, &error))?;
        let publics = publics.map_err(|error| failed(row, &error))?;
        let engine = self.engine;
        let mut private_side;
        let mut public_side;
        let ours: &mut dyn Side = if public {
            public_side = EnginePublic::new(&engine, &publics, &inputs, &mut outputs);
            &mut public_side
        } else {
            private_side = EnginePrivate::new(&engine, &privates, &inputs, &mut outputs);
            &mut private_side
        };
        let mut peers: Vec<(&str, Box<dyn Side + '_>)> = Vec::new();
        let plain: Vec<RsaNumbers<'_>> = numbers.iter().map(|key| plain(key, crt)).collect();
        let inputs = &inputs;
        if let Some(library) = self.openssl() {
            let keys = plain.iter().filter_map(|key| openssl_ffi::Rsa::new(library, key));
            let (mut keys, mut output) = (keys.collect::<Vec<_>>(), vec![0; length]);
            let run = move |out: &mut Vec<u8>| {
                for (key, input) in keys.iter_mut().zip(inputs) {
                    if public {
                        key.public(input, &mut output)
                    } else {
                        key.private(input, &mut output)
                    }
                    out.extend_from_slice(&output);
                }
            };
            peers.push((OPENSSL, Box::new(Reading::new(run))));
        }
        let keys = plain.iter().filter_map(aws::Rsa::new);
        let (mut keys, mut output) = (keys.collect::<Vec<_>>(), vec![0; length]);
        let run = move |out: &mut Vec<u8>| {
            for (key, input) in keys.iter_mut().zip(inputs) {
                if public {
                    key.public(input, &mut output)
                } else {
                    key.private(input, &mut output)
                }
                out.extend_from_slice(&output);
            }
        };
        peers.push((AWS_LC, Box::new(Reading::new(run))));
        self.compare(row, requests as f64, ours, &mut peers)
    }

    /// Keys are random: there is nothing to compare, each library proves its own.
    pub(super) fn generate(&mut self, row: &Row, bits: usize) -> Result<Measure, LabError> {
        let engine = self.engine;
        let run = move |_: &mut Vec<u8>| {
            let _ = engine.rsa_generate(bits, &[1, 0, 1]);
        };
        let mut peers: Vec<(&str, Box<dyn Side + '_>)> = Vec::new();
        if let Some(library) = self.openssl() {
            let run = move |_: &mut Vec<u8>| library.rsa_generate(bits);
            peers.push((OPENSSL, Box::new(Reading::new(run))));
        }
        self.compare(row, 1.0, &mut Reading::new(run), &mut peers)
    }
}

fn private_key(key: &RsaTestKey, crt: bool) -> Result<RsaPrivateKey, engine::RsaKeyError> {
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

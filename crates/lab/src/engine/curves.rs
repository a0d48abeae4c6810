//! Curves: signatures by ECDSA with P-256, and X25519.

use super::rows::Row;
use super::sides::{Batch, Reading, RowSide, first};
use super::{AWS_LC, Stage, failed, made};
use crate::experiment::promise::Measure;
use crate::load::{LabError, keys};
use engine::{Curve, EcPrivateKey, EcdsaSignItem, EcdsaVerifyItem, X25519Item, X25519PublicItem};
use peers::aws_lc_ffi as aws;

/// Reproducible private values: below the order of P-256 too.
fn private(job: usize) -> [u8; 32] {
    let mut private: [u8; 32] = first(&keys::test_bytes(0xEC, job, 32));
    private[0] &= 0x7f;
    private
}

/// AWS-LC, one signature after the other.
struct Signing {
    keys: Vec<aws::P256>,
    digests: Vec<[u8; 32]>,
    signatures: Vec<([u8; 80], usize)>,
}

impl RowSide for Signing {
    fn call(&mut self) {
        let ends = self.digests.iter().zip(&mut self.signatures);
        for (key, (digest, (signature, bytes))) in self.keys.iter().zip(ends) {
            *bytes = key.sign(digest, signature);
        }
    }

    /// Signatures are random, so the answer is whether each verifies.
    fn answers(&mut self) -> Vec<u8> {
        self.call();
        let mut answers = Vec::new();
        for (at, (signature, bytes)) in self.signatures.iter().enumerate() {
            answers.push(u8::from(self.keys[at].verify(&self.digests[at], &signature[..*bytes])));
        }
        answers
    }
}

impl Stage<'_> {
    pub(super) fn sign(&mut self, row: &Row, requests: usize, verified: bool) -> Result<Measure, LabError> {
        let privates: Vec<[u8; 32]> = (0..requests).map(private).collect();
        let digests: Vec<[u8; 32]> =
            (0..requests).map(|job| first(&keys::test_bytes(0xD16E57, job, 32))).collect();
        let ours = made(row, privates.iter().map(|scalar| EcPrivateKey::from_bytes(Curve::P256, scalar)))?;
        let publics = made(row, ours.iter().map(EcPrivateKey::public_key))?;
        let engine = self.engine;
        let items = ours.iter().zip(&digests).map(|(key, digest)| EcdsaSignItem::new(key, digest));
        let pairs: Vec<_> = ours.iter().zip(&publics).collect();
        let mut side = Batch {
            items: items.collect(),
            run: |items: &mut [EcdsaSignItem<'_>]| {
                if verified {
                    engine.ecdsa_sign_verified_batch(items);
                } else {
                    engine.ecdsa_sign_batch(items);
                }
            },
            begin: |_, item: &mut EcdsaSignItem<'_>| item.signature.fill(0),
            answer: |item: &EcdsaSignItem<'_>, out: &mut Vec<u8>| {
                let public = pairs.iter().find(|(key, _)| std::ptr::eq(*key, item.key));
                let mut verify: Vec<_> = public
                    .map(|(_, public)| EcdsaVerifyItem::new(public, item.digest, item.signature()))
                    .into_iter()
                    .collect();
                engine.ecdsa_verify_batch(&mut verify);
                let fits = verify.iter().any(|verify| verify.result.is_ok());
                out.push(u8::from(item.result.is_ok() && fits));
            },
        };
        let keys: Vec<aws::P256> = privates.iter().filter_map(aws::P256::new).collect();
        if keys.len() != requests {
            return Err(failed(row, &"a test key is no key"));
        }
        let theirs = Signing { keys, digests: digests.clone(), signatures: vec![([0; 80], 0); requests] };
        let mut peers: Vec<(&str, Box<dyn RowSide + '_>)> = vec![(AWS_LC, Box::new(theirs))];
        self.compare(row, requests as f64, &mut side, &mut peers)
    }

    pub(super) fn x25519(&mut self, row: &Row, requests: usize) -> Result<Measure, LabError> {
        let privates: Vec<[u8; 32]> = (0..requests).map(private).collect();
        let publics: Vec<[u8; 32]> =
            (requests..2 * requests).map(|job| aws::x25519_public(&private(job))).collect();
        let (engine, mut shared) = (self.engine, vec![[0; 32]; requests]);
        let pairs = privates.iter().zip(&publics);
        let items = pairs.clone().zip(&mut shared);
        let items = items.map(|((private, public), shared)| X25519Item::new(private, public, shared));
        let mut side = Batch {
            items: items.collect(),
            run: |items: &mut [X25519Item<'_>]| engine.x25519_batch(items),
            begin: |_, item: &mut X25519Item<'_>| item.shared.fill(0),
            answer: |item: &X25519Item<'_>, out: &mut Vec<u8>| {
                assert!(item.result.is_ok());
                out.extend_from_slice(item.shared);
            },
        };
        let theirs = Reading::new(|out: &mut Vec<u8>| {
            pairs.clone().for_each(|(private, public)| out.extend(aws::x25519(private, public)));
        });
        let mut peers: Vec<(&str, Box<dyn RowSide + '_>)> = vec![(AWS_LC, Box::new(theirs))];
        self.compare(row, requests as f64, &mut side, &mut peers)
    }

    pub(super) fn x25519_public(&mut self, row: &Row, requests: usize) -> Result<Measure, LabError> {
        let privates: Vec<[u8; 32]> = (0..requests).map(private).collect();
        let engine = self.engine;
        let mut side = Batch {
            items: privates.iter().map(X25519PublicItem::new).collect(),
            run: |items: &mut [X25519PublicItem<'_>]| engine.x25519_public_batch(items),
            begin: |_, item: &mut X25519PublicItem<'_>| item.public.fill(0),
            answer: |item: &X25519PublicItem<'_>, out: &mut Vec<u8>| out.extend(item.public),
        };
        let theirs = Reading::new(|out: &mut Vec<u8>| {
            privates.iter().for_each(|private| out.extend(aws::x25519_public(private)));
        });
        let mut peers: Vec<(&str, Box<dyn RowSide + '_>)> = vec![(AWS_LC, Box::new(theirs))];
        self.compare(row, requests as f64, &mut side, &mut peers)
    }
}

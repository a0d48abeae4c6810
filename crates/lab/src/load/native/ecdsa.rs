//! ECDSA signatures.

use super::super::pacing::Caller;
use super::super::{LabError, Workload, keys};
use super::batch::{Batch, went};
use super::text;
use engine::{Curve, EcPrivateKey, EcPublicKey, EcdsaSignItem, EcdsaVerifyItem, Engine};

pub(crate) struct EcdsaJob {
    pub private: EcPrivateKey,
    pub public: EcPublicKey,
    pub digest: Vec<u8>,
}

impl EcdsaJob {
    pub fn new(job: usize) -> Result<Self, String> {
        let private = EcPrivateKey::generate(Curve::P256).map_err(text)?;
        let public = private.public_key().map_err(text)?;
        Ok(Self { private, public, digest: keys::test_bytes(0xD16E57, job, 32) })
    }
}

/// Signatures differ from call to call: an answer is right where it verifies.
pub(super) fn sign<'a>(workload: &'a Workload, engine: &'a Engine, jobs: &'a [EcdsaJob]) -> impl Caller + 'a {
    Batch {
        items: jobs.iter().map(|job| EcdsaSignItem::new(&job.private, &job.digest)).collect(),
        call: move |items: &mut [EcdsaSignItem<'a>]| {
            engine.ecdsa_sign_batch(items);
            went(workload, items.iter().map(|item| item.result))
        },
        begin: |_, _: &mut EcdsaSignItem<'a>| {},
        check: move |number: usize, item: &EcdsaSignItem<'a>| {
            let job = &jobs[number];
            let mut verify = [EcdsaVerifyItem::new(&job.public, &job.digest, item.signature())];
            engine.ecdsa_verify_batch(&mut verify);
            let (operation, what) = (workload.operation, "the signature does not verify");
            verify[0].result.map_err(|_| LabError::WrongAnswer { operation, job: number, what })
        },
    }
}

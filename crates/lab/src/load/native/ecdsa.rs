//! ECDSA signatures.

use super::super::pacing::Caller;
use super::super::{LabError, Workload, keys};
use super::{text, went};
use engine::{Curve, EcPrivateKey, EcPublicKey, EcdsaSignItem, EcdsaVerifyItem, Engine};

pub(super) struct EcdsaJob {
    pub(super) private: EcPrivateKey,
    pub(super) public: EcPublicKey,
    pub(super) digest: Vec<u8>,
}

impl EcdsaJob {
    pub(super) fn new(job: usize) -> Result<Self, String> {
        let private = EcPrivateKey::generate(Curve::P256).map_err(text)?;
        let public = private.public_key().map_err(text)?;
        Ok(Self { private, public, digest: keys::test_bytes(0xD16E57, job, 32) })
    }
}

/// Signatures differ from call to call: an answer is right where it verifies.
pub(super) struct EcdsaCaller<'a> {
    pub(super) workload: &'a Workload,
    pub(super) engine: &'a Engine,
    pub(super) jobs: &'a [EcdsaJob],
    pub(super) items: Vec<EcdsaSignItem<'a>>,
}

impl Caller for EcdsaCaller<'_> {
    fn jobs(&self) -> usize {
        self.items.len()
    }

    fn call(&mut self, jobs: usize) -> Result<(), LabError> {
        self.engine.ecdsa_sign_batch(&mut self.items[..jobs]);
        went(self.workload, self.items[..jobs].iter().try_for_each(|item| item.result))
    }

    fn call_compared(&mut self) -> Result<u64, LabError> {
        self.call(self.items.len())?;
        for (index, (item, job)) in self.items.iter().zip(self.jobs).enumerate() {
            let mut verify = [EcdsaVerifyItem::new(&job.public, &job.digest, item.signature())];
            self.engine.ecdsa_verify_batch(&mut verify);
            if verify[0].result.is_err() {
                let what = "the signature does not verify";
                return Err(LabError::WrongAnswer { operation: self.workload.operation, job: index, what });
            }
        }
        Ok(self.items.len() as u64)
    }
}

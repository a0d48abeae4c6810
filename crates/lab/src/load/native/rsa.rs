//! RSA, private and public.

use super::super::pacing::Caller;
use super::super::{Workload, keys};
use super::batch::{Batch, went};
use super::{expect, text};
use crate::load::operation::RsaForm;
use engine::{Engine, RsaCrt, RsaPrivateItem, RsaPrivateKey, RsaPublicItem, RsaPublicKey};
use num_bigint::BigUint;

/// An RSA job: the engine's key and one operation with a known answer. Keys are always prepared: making one costs as
/// much as using it.
pub(in crate::load) struct RsaJob {
    pub public: RsaPublicKey,
    pub private: RsaPrivateKey,
    pub input: Vec<u8>,
    pub expected: Vec<u8>,
    output: Vec<u8>,
}

impl RsaJob {
    /// The known answer is computed with another arithmetic: `x^e mod n` for a public operation; a private operation
    /// undoes it.
    pub fn new(bits: u32, form: RsaForm, job: usize) -> Result<Self, String> {
        let private = rsa_private_key(bits, form, job)?;
        let (n, e) = (private.n(), private.e());
        let public = RsaPublicKey::new(&n, &e).map_err(text)?;
        let mut message = keys::test_bytes(0x45A, job, n.len());
        message[0] = 0;
        let number =
            BigUint::from_bytes_be(&message).modpow(&BigUint::from_bytes_be(&e), &BigUint::from_bytes_be(&n));
        let bytes = number.to_bytes_be();
        let mut raised = vec![0; n.len() - bytes.len()];
        raised.extend_from_slice(&bytes);
        let (input, expected) = if form == RsaForm::Public { (message, raised) } else { (raised, message) };
        Ok(Self { public, private, output: vec![0; n.len()], input, expected })
    }
}

/// The private key of a job: a test key, or a new key if this size has no test keys.
pub(in crate::load) fn rsa_private_key(
    bits: u32,
    form: RsaForm,
    job: usize,
) -> Result<RsaPrivateKey, String> {
    let made = match keys::rsa_test_key(bits, job) {
        Some(key) if form == RsaForm::Me => RsaPrivateKey::from_me(&key.n, &key.e, &key.d),
        Some(key) => RsaPrivateKey::from_crt(&RsaCrt {
            n: &key.n,
            e: &key.e,
            p: &key.p,
            q: &key.q,
            dp: &key.dp,
            dq: &key.dq,
            qinv: &key.qinv,
        }),
        None => {
            let key = RsaPrivateKey::generate(bits as usize, &[1, 0, 1]).map_err(text)?;
            if form == RsaForm::Me { RsaPrivateKey::from_me(&key.n(), &key.e(), &key.d()) } else { Ok(key) }
        }
    };
    made.map_err(text)
}

/// The caller of one form of key: how an item is made of a job, and which call runs a batch.
macro_rules! caller {
    ($name:ident, $item:ident, $key:ident, $batch:ident) => {
        pub(super) fn $name<'a>(
            workload: &'a Workload,
            engine: &'a Engine,
            jobs: &'a mut [RsaJob],
        ) -> impl Caller + 'a {
            let (mut expected, mut items) = (Vec::new(), Vec::new());
            for job in jobs {
                expected.push(&job.expected[..]);
                items.push($item::new(&job.$key, &job.input, &mut job.output));
            }
            Batch {
                items,
                call: move |items: &mut [$item<'a>]| {
                    engine.$batch(items);
                    went(workload, items.iter().map(|item| item.result))
                },
                begin: |_, item: &mut $item<'a>| item.output.fill(0),
                check: move |job: usize, item: &$item<'a>| expect(workload, job, item.output, expected[job]),
            }
        }
    };
}
caller!(private, RsaPrivateItem, private, rsa_private_batch);
caller!(public, RsaPublicItem, public, rsa_public_batch);

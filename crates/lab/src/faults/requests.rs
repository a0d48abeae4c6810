//! The requests to cards that are killed: RSA-2048 with clear keys, each request with a value of its own.

use super::failed;
use crate::load::operation::RsaForm;
use crate::load::requests::{Maker, Tokens};
use crate::load::{LabError, keys};
use engine::{Engine, RsaPublicItem, RsaPublicKey};
use facility::{Facility, Reply};
use wire::verb::{TypedGot, clear_rsa_private as rsa};

/// Values that a thread asks for in turn; more than it can have in flight.
const VALUES: usize = 1024;
const BITS: u32 = 2048;
const BYTES: usize = BITS as usize / 8;

/// Private operations and the answers that they must get.
pub(super) struct Requests {
    token: Vec<u8>,
    /// Each value that is sent, with the answer that it must get.
    values: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Requests {
    /// Requests of one thread, with a key of its own, whose token a card builds.
    pub fn new(engine: &Engine, facility: &Facility, thread: usize) -> Result<Self, LabError> {
        let key = keys::rsa_test_key(BITS, thread).ok_or_else(|| failed("make a key", "no test key"))?;
        let public = RsaPublicKey::new(&key.n, &key.e).map_err(|error| failed("make a key", error))?;
        let answers: Vec<Vec<u8>> = (0..VALUES).map(|number| value(thread, number)).collect();
        let mut asked = vec![vec![0; BYTES]; VALUES];
        let ends = answers.iter().zip(&mut asked);
        let mut items: Vec<_> =
            ends.map(|(answer, asked)| RsaPublicItem::new(&public, answer, asked)).collect();
        engine.rsa_public_batch(&mut items);
        items.iter().try_for_each(|item| item.result).map_err(|error| failed("make the values", error))?;
        drop(items);
        let mut tokens = Tokens::default();
        let token = Maker::new(engine, facility, &mut tokens).clear_rsa_token(BITS, RsaForm::Crt, thread)?;
        Ok(Self { token, values: asked.into_iter().zip(answers).collect() })
    }

    /// The request of a number; it repeats after [`VALUES`].
    pub fn ask(&self, number: usize) -> rsa::Ask<'_> {
        rsa::Ask { key: &self.token, data: &self.values[number % VALUES].0, result: BYTES, ..rsa::Ask::new() }
    }

    /// Whether the reply is the right answer to request `number`.
    pub fn is_answered(&self, number: usize, reply: &Reply) -> bool {
        let result = rsa::Got::of(&reply.arguments()).result;
        reply.codes().has_output() && result == self.values[number % VALUES].1
    }
}

/// A value below any modulus that identifies thread and number.
fn value(thread: usize, number: usize) -> Vec<u8> {
    let mut value = vec![thread as u8 + 1; BYTES];
    value[0] = 0;
    value[8..16].copy_from_slice(&(number as u64).to_be_bytes());
    value
}

//! What is asked of the cards that are killed: clear-key RSA-2048, each request with a value of its own.

use super::failed;
use crate::load::operation::RsaForm;
use crate::load::requests::{Maker, Tokens};
use crate::load::{LabError, keys};
use engine::{Engine, RsaPublicItem, RsaPublicKey};
use facility::{Facility, Reply};
use wire::frame::Arguments;
use wire::verb::{self, Verb};

/// Values that a thread asks for in turn; more than it can have in flight.
const VALUES: usize = 1024;
const BITS: u32 = 2048;
const BYTES: usize = BITS as usize / 8;

/// Private operations and the answers that they must get.
pub(super) struct Requests {
    token: Vec<u8>,
    /// What is sent, and what must come back.
    values: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Requests {
    /// Those of one thread, with a key of its own, whose token a card builds.
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
    pub fn arguments(&self, number: usize) -> Arguments<'_> {
        use verb::clear_rsa_private::*;
        let mut arguments = Arguments::new(Verb::ClearRsaPrivate);
        arguments
            .set_integer(KEY_LENGTH, self.token.len() as i64)
            .set_bytes(KEY, &self.token)
            .set_integer(DATA_LENGTH, BYTES as i64)
            .set_bytes(DATA, &self.values[number % VALUES].0)
            .set_integer(RESULT_LENGTH, BYTES as i64);
        arguments
    }

    /// Whether this is the answer to the request of a number.
    pub fn is_answered(&self, number: usize, reply: &Reply) -> bool {
        use verb::clear_rsa_private::RESULT;
        reply.codes().has_output() && reply.arguments().bytes(RESULT) == self.values[number % VALUES].1
    }
}

/// A value below any modulus that tells thread and number.
fn value(thread: usize, number: usize) -> Vec<u8> {
    let mut value = vec![thread as u8 + 1; BYTES];
    value[0] = 0;
    value[8..16].copy_from_slice(&(number as u64).to_be_bytes());
    value
}

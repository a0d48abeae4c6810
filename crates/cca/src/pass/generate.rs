//! Generates RSA keys; the engine has proven each by one operation.

use super::{Kernel, Pass, Queue, Work};
use crate::prepared::rsa::key_codes;
use crate::search::{COMMON_EXPONENT, GENERATION_ATTEMPTS, Generated};
use engine::{Engine, RsaKeyError};
use wire::code;

/// An RSA key pair to be generated.
pub(crate) struct Generate<'a> {
    pub(crate) modulus_bits: usize,
    pub(crate) exponent: &'a [u8],
}

/// The generated key, or why there is none.
pub(crate) type Answer = Generated;

impl<'a> Work<'a> for Generate<'a> {
    type Answer = Answer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Answer> {
        &pass.generate
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut [Option<Answer>]) {
        for (work, answer) in asked.iter().zip(answers) {
            let found = kernel.found.take().and_then(|found| found.answer(work.modulus_bits, work.exponent));
            *answer = Some(found.unwrap_or_else(|| generate(kernel.engine, work)));
        }
    }
}

fn generate(engine: &Engine, work: &Generate<'_>) -> Answer {
    for _ in 0..GENERATION_ATTEMPTS {
        match engine.rsa_generate(work.modulus_bits, work.exponent) {
            // An exponent of many small factors leaves few primes: the search may give up in good order.
            Err(RsaKeyError::Generation { .. }) if work.exponent != COMMON_EXPONENT => {}
            other => return other.map_err(key_codes),
        }
    }
    Err(code::PKA_FIELD)
}

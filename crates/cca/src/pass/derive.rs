//! Values made of keys: verification patterns.

use engine::SecretBytes;
use wire::control::Register;

use super::{Kernel, Pass, Queue, Work};
use crate::patterns;

/// What is made of a key.
pub(crate) enum Derive {
    /// The pattern of Key_Test for a DES key of 8 or 16 bytes and a random number.
    KeyTest { key: SecretBytes, random: [u8; 8] },
    /// The first eight bytes of SHA-256 of X'01' and an AES key.
    Sha256 { key: SecretBytes },
}

/// The value.
pub(crate) type Answer = [u8; 8];

impl<'a> Work<'a> for Derive {
    type Answer = Answer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Answer> {
        &pass.derive
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut [Option<Answer>]) {
        for (work, answer) in asked.iter().zip(answers) {
            *answer = Some(match work {
                Self::KeyTest { key, random } => patterns::key_test(kernel.engine, key, random),
                Self::Sha256 { key } => patterns::master_key_pattern(kernel.engine, Register::Aes, key),
            });
        }
    }
}

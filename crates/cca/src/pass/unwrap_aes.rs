//! Unwraps AES keys of fixed-length tokens: AES-256-CBC with a zero vector under the AES master key.

use std::sync::Arc;

use engine::{CipherDirection, CipherItem, CipherKey, Mode, SecretBytes};
use subtle::ConstantTimeEq;
use token::AesToken;
use token::aes::AesKey;
use wire::control::Register;
use wire::{Codes, code};

use super::{Kernel, Pass, Queue, Sink, Work};
use crate::registers::Age;

/// A token whose wrapped key is wanted.
pub(crate) struct UnwrapAes {
    pub(crate) domain: u16,
    pub(crate) token: AesToken,
}

/// The key of the token's length, and which master key wrapped it.
pub(crate) type Answer = Result<(SecretBytes, Age), Codes>;

impl<'a> Work<'a> for UnwrapAes {
    type Answer = Answer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Answer> {
        &pass.unwrap_aes
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut Sink<'_, Answer>) {
        let mut prepared: Vec<Result<Prepared, Codes>> =
            asked.iter().map(|work| prepare(kernel, work)).collect();
        let mut items: Vec<_> = prepared
            .iter_mut()
            .flatten()
            .map(|ready| CipherItem {
                key: &ready.schedule,
                chain: [0; 16],
                data: &mut ready.key,
                result: Ok(()),
            })
            .collect();
        kernel.engine.cipher_batch(Mode::Cbc, CipherDirection::Decipher, &mut items);
        let failed = items.iter().any(|item| item.result.is_err());
        drop(items);
        for ready in prepared {
            answers.push(match ready {
                Ok(_) if failed => Err(code::SELF_CHECK),
                Ok(ready) => unpad(&ready),
                Err(codes) => Err(codes),
            });
        }
    }
}

struct Prepared {
    key: SecretBytes,
    key_bytes: usize,
    age: Age,
    schedule: Arc<CipherKey>,
}

fn prepare(kernel: &mut Kernel<'_>, work: &UnwrapAes) -> Result<Prepared, Codes> {
    let AesKey::Wrapped { pattern, key } = work.token.key() else { return Err(code::TOKEN_INVALID) };
    let domain = kernel.domains.get_mut(usize::from(work.domain)).ok_or(code::MASTER_KEY_NOT_LOADED)?;
    let (age, _) = domain.of_pattern(Register::Aes, pattern)?;
    Ok(Prepared {
        key: SecretBytes::from_slice(key),
        key_bytes: work.token.key_bytes(),
        age,
        schedule: domain.aes_schedule(kernel.engine, age)?,
    })
}

/// The padding of a shorter key must be zero: else the token was tampered with.
fn unpad(ready: &Prepared) -> Answer {
    let (key, padding) = ready.key.split_at(ready.key_bytes);
    if bool::from(padding.ct_eq(&[0; 32][..padding.len()])) {
        Ok((SecretBytes::from_slice(key), ready.age))
    } else {
        Err(code::TOKEN_INVALID)
    }
}

//! Wraps AES keys into fixed-length tokens: AES-256-CBC with a zero vector under the current AES
//! master key, over the key padded with zeros to 32 bytes.

use engine::{CipherDirection, CipherItem, CipherKey, Mode, SecretBytes};
use std::sync::Arc;
use token::AesToken;
use token::aes::WRAPPED_BYTES;
use wire::control::Register;
use wire::{Codes, code};

use super::{Kernel, Pass, Queue, Sink, Work};
use crate::registers::Age;

/// A key of 16, 24 or 32 bytes.
pub(crate) struct WrapAes {
    pub(crate) domain: u16,
    pub(crate) key: SecretBytes,
}

/// The token with the wrapped key.
pub(crate) type Answer = Result<AesToken, Codes>;

impl<'a> Work<'a> for WrapAes {
    type Answer = Answer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Answer> {
        &pass.wrap_aes
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
                data: &mut ready.padded,
                result: Ok(()),
            })
            .collect();
        kernel.engine.cipher_batch(Mode::Cbc, CipherDirection::Encipher, &mut items);
        let failed = items.iter().any(|item| item.result.is_err());
        drop(items);
        for (work, ready) in asked.iter().zip(prepared) {
            answers.push(ready.and_then(|ready| {
                if failed {
                    return Err(code::SELF_CHECK);
                }
                let mut wrapped = [0; WRAPPED_BYTES];
                wrapped.copy_from_slice(&ready.padded);
                AesToken::wrapped(work.key.len(), ready.pattern, wrapped).map_err(|error| error.codes())
            }));
        }
    }
}

struct Prepared {
    padded: SecretBytes,
    pattern: [u8; 8],
    schedule: Arc<CipherKey>,
}

fn prepare(kernel: &mut Kernel<'_>, work: &WrapAes) -> Result<Prepared, Codes> {
    if !matches!(work.key.len(), 16 | 24 | 32) {
        return Err(code::TOKEN_INVALID);
    }
    let domain = kernel.domains.get_mut(usize::from(work.domain)).ok_or(code::MASTER_KEY_NOT_LOADED)?;
    let pattern = domain.current(Register::Aes)?.pattern;
    let mut padded = SecretBytes::new(WRAPPED_BYTES);
    padded[..work.key.len()].copy_from_slice(&work.key);
    Ok(Prepared { padded, pattern, schedule: domain.aes_schedule(kernel.engine, Age::Current)? })
}

//! Wraps DES keys under the current master key: the inverse of [`super::unwrap_des`].

use engine::{CipherDirection, CipherItem, CipherKey, Mode, SecretBytes};
use token::DesToken;
use wire::control::Register;
use wire::{Codes, code};

use super::{Kernel, Pass, Queue, Sink, Work};
use crate::registers::Age;

/// A key, and the internal token without a key that it goes into; the lengths must agree.
pub(crate) struct WrapDes {
    pub(crate) domain: u16,
    pub(crate) skeleton: DesToken,
    pub(crate) key: SecretBytes,
}

/// The token with the wrapped key.
pub(crate) type Answer = Result<DesToken, Codes>;

impl<'a> Work<'a> for WrapDes {
    type Answer = Answer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Answer> {
        &pass.wrap_des
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut Sink<'_, Answer>) {
        let mut prepared: Vec<Result<Prepared, Codes>> =
            asked.iter_mut().map(|work| prepare(kernel, work)).collect();
        let mut items = Vec::with_capacity(2 * asked.len());
        for ready in prepared.iter_mut().flatten() {
            let (left, right) = ready.key.split_at_mut(ready.border);
            items.push(CipherItem { key: &ready.left, chain: [0; 16], data: left, result: Ok(()) });
            if let Some(key) = &ready.right {
                items.push(CipherItem { key, chain: [0; 16], data: right, result: Ok(()) });
            }
        }
        kernel.engine.cipher_batch(Mode::Ecb, CipherDirection::Encipher, &mut items);
        let failed = items.iter().any(|item| item.result.is_err());
        drop(items);
        for (work, ready) in asked.iter().zip(prepared) {
            answers.push(ready.and_then(|ready| {
                if failed {
                    return Err(code::SELF_CHECK);
                }
                work.skeleton.with_key(ready.pattern, &ready.key).map_err(|error| error.codes())
            }));
        }
    }
}

struct Prepared {
    key: SecretBytes,
    pattern: [u8; 8],
    border: usize,
    left: CipherKey,
    right: Option<CipherKey>,
}

fn prepare(kernel: &Kernel<'_>, work: &mut WrapDes) -> Result<Prepared, Codes> {
    let key = std::mem::replace(&mut work.key, SecretBytes::new(0));
    let key_bytes = work.skeleton.form().key_bytes();
    if key.len() != key_bytes {
        return Err(code::TOKEN_INVALID);
    }
    let domain = kernel.domains.get(usize::from(work.domain)).ok_or(code::MASTER_KEY_NOT_LOADED)?;
    let pattern = domain.current(Register::Sym)?.pattern;
    let vector = work.skeleton.control_vector();
    let split = key_bytes == 16 && vector.left() != vector.right();
    Ok(Prepared {
        key,
        pattern,
        border: if split { 8 } else { key_bytes },
        left: domain.variant(kernel.engine, Age::Current, vector.left())?,
        right: if split { Some(domain.variant(kernel.engine, Age::Current, vector.right())?) } else { None },
    })
}

//! Unwraps DES keys: each part by TDES under the master key xor the half of the control vector that
//! goes with it (CCA Basic Services, appendix C, multiple decipherment).

use engine::{CipherDirection, CipherItem, CipherKey, Mode, SecretBytes};
use token::DesToken;
use token::des::Origin;
use wire::control::Register;
use wire::{Codes, code};

use super::{Kernel, Pass, Queue, Sink, Work};
use crate::registers::Age;

/// An internal token whose key is wanted.
pub(crate) struct UnwrapDes {
    pub(crate) domain: u16,
    pub(crate) token: DesToken,
}

/// The key, and which master key wrapped it.
pub(crate) type Answer = Result<(SecretBytes, Age), Codes>;

impl<'a> Work<'a> for UnwrapDes {
    type Answer = Answer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Answer> {
        &pass.unwrap_des
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut Sink<'_, Answer>) {
        let mut prepared: Vec<Result<Prepared, Codes>> =
            asked.iter().map(|work| prepare(kernel, work)).collect();
        let mut items = Vec::with_capacity(2 * asked.len());
        for ready in prepared.iter_mut().flatten() {
            let (left, right) = ready.key.split_at_mut(ready.border);
            items.push(item(&ready.left, left));
            if let Some(key) = &ready.right {
                items.push(item(key, right));
            }
        }
        kernel.engine.cipher_batch(Mode::Ecb, CipherDirection::Decipher, &mut items);
        let failed = items.iter().any(|item| item.result.is_err());
        drop(items);
        for ready in prepared {
            answers.push(match ready {
                Ok(_) if failed => Err(code::SELF_CHECK),
                Ok(ready) => Ok((ready.key, ready.age)),
                Err(codes) => Err(codes),
            });
        }
    }
}

/// The wrapped key and the variants that open it: one for all of it, or one for each side of the border.
struct Prepared {
    key: SecretBytes,
    age: Age,
    border: usize,
    left: CipherKey,
    right: Option<CipherKey>,
}

fn prepare(kernel: &Kernel<'_>, work: &UnwrapDes) -> Result<Prepared, Codes> {
    let wrapped = work.token.wrapped().ok_or(code::TOKEN_INVALID)?;
    if work.token.origin() != Origin::Internal {
        return Err(code::TOKEN_INVALID);
    }
    let domain = kernel.domains.get(usize::from(work.domain)).ok_or(code::MASTER_KEY_NOT_LOADED)?;
    let (age, _) = domain.of_pattern(Register::Sym, &wrapped.pattern)?;
    let key_bytes = work.token.form().key_bytes();
    let vector = work.token.control_vector();
    let split = key_bytes == 16 && vector.left() != vector.right();
    Ok(Prepared {
        key: SecretBytes::from_slice(&wrapped.key[..key_bytes]),
        age,
        border: if split { 8 } else { key_bytes },
        left: domain.variant(kernel.engine, age, vector.left())?,
        right: if split { Some(domain.variant(kernel.engine, age, vector.right())?) } else { None },
    })
}

fn item<'i>(key: &'i CipherKey, data: &'i mut [u8]) -> CipherItem<'i> {
    CipherItem { key, chain: [0; 16], data, result: Ok(()) }
}

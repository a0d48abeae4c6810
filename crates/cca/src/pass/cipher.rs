//! Block ciphers over texts under unwrapped keys.

use super::{Kernel, Pass, Queue, Work};
use crate::wipe::Text;
use engine::{CipherAlgorithm, CipherDirection, CipherItem, CipherKey, KeyError, Mode, SecretBytes};
use wire::{Codes, code};

/// Whether the weak-algorithms setting applies to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyRule {
    /// The caller chose the algorithm: a weak one needs the setting.
    Chosen,
    /// A step of a construction that is not weak itself.
    Internal,
}

/// A text to encipher or decipher.
pub(crate) struct Cipher {
    pub(crate) algorithm: CipherAlgorithm,
    pub(crate) rule: KeyRule,
    pub(crate) mode: Mode,
    pub(crate) direction: CipherDirection,
    pub(crate) key: SecretBytes,
    /// Initialization vector or counter in the first bytes.
    pub(crate) chain: [u8; 16],
    /// The text: whole blocks for ECB and CBC.
    pub(crate) data: Text,
}

/// The text in place, and the chaining value after it.
pub(crate) struct Ciphered {
    pub(crate) data: Text,
    pub(crate) chain: [u8; 16],
}

/// The text, or why there is none: 8/783 for a weak algorithm that is not enabled.
pub(crate) type Answer = Result<Ciphered, Codes>;

impl<'a> Work<'a> for Cipher {
    type Answer = Answer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Answer> {
        &pass.cipher
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut [Option<Answer>]) {
        let prepared: Vec<Result<CipherKey, Codes>> =
            asked.iter().map(|work| prepare(kernel, work)).collect();
        for (key, answer) in prepared.iter().zip(&mut *answers) {
            *answer = key.as_ref().err().map(|codes| Err(*codes));
        }
        for group in GROUPS {
            let mut at = Vec::new();
            let mut items = Vec::new();
            for (index, (work, key)) in asked.iter_mut().zip(&prepared).enumerate() {
                let Ok(key) = key else { continue };
                if (work.mode, work.direction) == group {
                    at.push(index);
                    items.push(CipherItem { key, chain: work.chain, data: &mut work.data, result: Ok(()) });
                }
            }
            if items.is_empty() {
                continue;
            }
            kernel.engine.cipher_batch(group.0, group.1, &mut items);
            let ended: Vec<_> = items.into_iter().map(|item| (item.result.is_ok(), item.chain)).collect();
            for (index, (good, chain)) in at.into_iter().zip(ended) {
                answers[index] = Some(if good {
                    Ok(Ciphered { data: std::mem::take(&mut asked[index].data), chain })
                } else {
                    Err(code::TEXT_LENGTH)
                });
            }
        }
    }
}

fn prepare(kernel: &Kernel<'_>, work: &Cipher) -> Result<CipherKey, Codes> {
    let key = match work.rule {
        KeyRule::Chosen => kernel.engine.cipher_key(work.algorithm, &work.key),
        KeyRule::Internal => kernel.engine.cipher_key_internal(work.algorithm, &work.key),
    };
    key.map_err(key_refusal)
}

/// The codes for a key that the engine refuses.
pub(super) fn key_refusal(error: KeyError) -> Codes {
    match error {
        KeyError::WeakCipher(_) | KeyError::WeakMac(_) | KeyError::WeakHash(_) => code::WEAK_ALGORITHM,
        KeyError::CipherKeyLength { .. }
        | KeyError::MacKeyLength { .. }
        | KeyError::GcmKeyLength { .. }
        | KeyError::OcbKeyLength { .. }
        | KeyError::EaxKeyLength { .. }
        | KeyError::Hctr2KeyLength { .. }
        | KeyError::CfbKeyLength { .. } => code::TOKEN_INVALID,
        _ => code::SELF_CHECK,
    }
}

/// One engine call does one mode and direction.
const GROUPS: [(Mode, CipherDirection); 6] = [
    (Mode::Ecb, CipherDirection::Encipher),
    (Mode::Ecb, CipherDirection::Decipher),
    (Mode::Cbc, CipherDirection::Encipher),
    (Mode::Cbc, CipherDirection::Decipher),
    (Mode::Ctr, CipherDirection::Encipher),
    (Mode::Ctr, CipherDirection::Decipher),
];

//! AES in Galois/Counter Mode under unwrapped keys.

use super::cipher::key_refusal;
use super::{Kernel, Pass, Queue, Work};
use crate::wipe::Text;
use engine::{CipherDirection, CipherError, GcmItem, GcmKey, SecretBytes};
use wire::{Codes, code};

/// A whole text to encipher, or to check and decipher.
pub(crate) struct Gcm<'a> {
    pub(crate) direction: CipherDirection,
    /// 16, 24 or 32 bytes.
    pub(crate) key: SecretBytes,
    pub(crate) nonce: &'a [u8],
    pub(crate) associated: &'a [u8],
    pub(crate) data: Text,
    /// The tag to be checked; empty when enciphering.
    pub(crate) tag: &'a [u8],
}

/// The text in place, and the full tag.
pub(crate) struct GcmOutput {
    pub(crate) data: Text,
    pub(crate) tag: [u8; 16],
}

/// The text, or 8/2947 if the tag is wrong, without further detail.
pub(crate) type Answer = Result<GcmOutput, Codes>;

impl<'a> Work<'a> for Gcm<'a> {
    type Answer = Answer;

    fn queue<'p>(pass: &'p Pass<'a>) -> &'p Queue<Self, Answer> {
        &pass.gcm
    }

    fn run(kernel: &mut Kernel<'_>, asked: &mut [Self], answers: &mut [Option<Answer>]) {
        let keys: Vec<Result<GcmKey, Codes>> =
            asked.iter().map(|work| kernel.engine.gcm_key(&work.key).map_err(key_refusal)).collect();
        for (key, answer) in keys.iter().zip(&mut *answers) {
            *answer = key.as_ref().err().map(|codes| Err(*codes));
        }
        for direction in [CipherDirection::Encipher, CipherDirection::Decipher] {
            let mut at = Vec::new();
            let mut items = Vec::new();
            for (index, (work, key)) in asked.iter_mut().zip(&keys).enumerate() {
                let Ok(key) = key else { continue };
                if work.direction == direction {
                    at.push(index);
                    items.push(match direction {
                        CipherDirection::Encipher => {
                            GcmItem::encipher(key, work.nonce, work.associated, &mut work.data)
                        }
                        CipherDirection::Decipher => {
                            GcmItem::decipher(key, work.nonce, work.associated, &mut work.data, work.tag)
                        }
                    });
                }
            }
            if items.is_empty() {
                continue;
            }
            kernel.engine.gcm_batch(direction, &mut items);
            let ended: Vec<_> = items.into_iter().map(|item| (item.result, item.tag)).collect();
            for (index, (result, tag)) in at.into_iter().zip(ended) {
                answers[index] = Some(match result {
                    Ok(()) => Ok(GcmOutput { data: std::mem::take(&mut asked[index].data), tag }),
                    Err(CipherError::Authentication) => Err(code::GCM_TAG),
                    Err(_) => Err(code::INVALID_PARAMETER),
                });
            }
        }
    }
}

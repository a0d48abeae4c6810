//! What Symmetric_Key_Export and Symmetric_Key_Import share: algorithm, block format, key length.

use engine::SecretBytes;
use subtle::ConstantTimeEq;
use wire::{Codes, code};

use super::encryption::Encryption;
use crate::rules::{Rules, Word, word};

/// Algorithm of the transported key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Des,
    Aes,
}

const ALGORITHMS: &[(Word, Algorithm)] = &[(word("DES"), Algorithm::Des), (word("AES"), Algorithm::Aes)];

const KEY_LENGTHS: &[(Word, usize)] =
    &[(word("KEYLN8"), 8), (word("KEYLN16"), 16), (word("KEYLN24"), 24), (word("KEYLN32"), 32)];

impl Algorithm {
    fn has_length(self, bytes: usize) -> bool {
        match self {
            Self::Des => matches!(bytes, 8 | 16 | 24),
            Self::Aes => matches!(bytes, 16 | 24 | 32),
        }
    }
}

/// How a key travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transport {
    pub(crate) algorithm: Algorithm,
    pub(crate) format: Encryption,
}

impl Transport {
    /// Takes the algorithm and format keywords.
    ///
    /// # Errors
    /// As [`Encryption::of_rules`]; PKOAEP2 and MRP are not known here.
    pub(crate) fn of_rules(rules: &mut Rules) -> Result<Self, Codes> {
        let algorithm = rules.one_or(ALGORITHMS, Algorithm::Des)?;
        Ok(Self { algorithm, format: Encryption::of_transport_rules(rules)? })
    }

    /// Takes the key-length keyword that goes with ZERO-PAD; `None` where the block itself tells the length.
    ///
    /// # Errors
    /// 8/34 where the keyword does not go with the format or the algorithm.
    pub(crate) fn zero_pad_key_bytes(&self, rules: &mut Rules) -> Result<Option<usize>, Codes> {
        let given = rules.optional(KEY_LENGTHS)?;
        match (self.format, given) {
            (Encryption::Raw, given) => {
                let default = if self.algorithm == Algorithm::Des { 8 } else { 16 };
                let bytes = given.unwrap_or(default);
                if self.algorithm.has_length(bytes) {
                    Ok(Some(bytes))
                } else {
                    Err(code::KEYWORD_COMBINATION)
                }
            }
            (_, None) => Ok(None),
            (_, Some(_)) => Err(code::KEYWORD_COMBINATION),
        }
    }

    /// The key of a deciphered block.
    ///
    /// # Errors
    /// 8/66, whatever is wrong.
    pub(crate) fn open(
        &self,
        block: SecretBytes,
        zero_pad_key_bytes: Option<usize>,
    ) -> Result<SecretBytes, Codes> {
        let value = self.format.open(block)?;
        let key = match zero_pad_key_bytes {
            Some(bytes) => {
                let (padding, key) =
                    value.split_at_checked(value.len().saturating_sub(bytes)).ok_or(code::RSA_BLOCK)?;
                if !bool::from(padding.ct_eq(&vec![0; padding.len()])) {
                    return Err(code::RSA_BLOCK);
                }
                SecretBytes::from_slice(key)
            }
            None => value,
        };
        if self.algorithm.has_length(key.len()) { Ok(key) } else { Err(code::RSA_BLOCK) }
    }
}

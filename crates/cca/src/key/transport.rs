//! Symmetric keys under an RSA key: algorithm, block format, key length, and opening.

use super::{Algorithm, Format, Key, Under};
use crate::call::Call;
use crate::ground::{Age, Refusal};
use crate::pass::{Asymmetric, Skeleton};
use crate::pka::encryption::Encryption;
use crate::pka::right_justified;
use crate::prepared::rsa::PrivateContext;
use engine::SecretBytes;
use std::sync::Arc;
use subtle::ConstantTimeEq;
use token::control_vector::KeyForm;
use token::des::Origin;
use token::{DesToken, KeyType};
use wire::verb::TransportLength;
use wire::{Codes, code};

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
    /// How many bytes of a ZERO-PAD block are the key; `None` where the block itself tells the length.
    pub(crate) fn zero_pad_key_bytes(&self, keyword: Option<TransportLength>) -> Option<usize> {
        let bytes = match keyword {
            Some(TransportLength::Bytes8) => 8,
            Some(TransportLength::Bytes16) => 16,
            Some(TransportLength::Bytes24) => 24,
            Some(TransportLength::Bytes32) => 32,
            None if self.algorithm == Algorithm::Des => 8,
            None => 16,
        };
        (self.format == Encryption::Raw).then_some(bytes)
    }

    /// Opens a key that is enciphered for this RSA key.
    ///
    /// # Errors
    /// 8/25 where it is not below the modulus, 8/66 for a block that does not open or holds no key, whatever
    /// is wrong with it.
    pub(crate) async fn open(
        &self,
        call: Call<'_, '_>,
        rsa: Arc<PrivateContext>,
        enciphered: &[u8],
        zero_pad_key_bytes: Option<usize>,
    ) -> Result<Key, Refusal> {
        let block = right_justified(enciphered, &rsa.modulus, code::TEXT_LENGTH)?;
        let opened = call.ask(Asymmetric::Private { key: rsa, block }).await?;
        let secret = self.key_of(opened, zero_pad_key_bytes)?;
        let format = match self.algorithm {
            Algorithm::Des => Format::Des,
            Algorithm::Aes => Format::Aes,
        };
        Ok(Key { secret, format, under: Some(Under::Rsa), age: Age::Current, is_outdated: false })
    }

    /// The key of a deciphered block.
    fn key_of(&self, block: SecretBytes, zero_pad_key_bytes: Option<usize>) -> Result<SecretBytes, Codes> {
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

/// The internal token that a key of this length goes into: of DES, that of a DATA key with its default control vector.
pub(crate) fn data_skeleton(algorithm: Algorithm, key_bytes: usize) -> Result<Skeleton, Refusal> {
    if algorithm == Algorithm::Aes {
        return Ok(Skeleton::Aes);
    }
    let form = match key_bytes {
        8 => KeyForm::Single,
        16 => KeyForm::Double,
        _ => KeyForm::Triple,
    };
    let vector = KeyType::Data.default_vector(form).ok_or(code::SELF_CHECK)?;
    Ok(Skeleton::Des(DesToken::skeleton(Origin::Internal, form, vector)?))
}

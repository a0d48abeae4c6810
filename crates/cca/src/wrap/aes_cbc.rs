//! AES keys in compatible fixed-length tokens: AES-256-CBC with a zero vector under the AES master key, over the key
//! padded with zeros to 32 bytes.

use super::{By, Method};
use crate::ground::Age;
use crate::kernel::Kernel;
use engine::{CipherDirection, CipherItem, CipherKey, Engine, Mode, SecretBytes};
use std::sync::Arc;
use subtle::ConstantTimeEq;
use token::AesToken;
use token::aes::{AesKey, WRAPPED_BYTES};
use token::pattern::PATTERN_BYTES;
use wire::control::{Register, TokenForm};
use wire::{Codes, code};

/// A key on its way through the kernel.
pub(crate) struct Lane {
    /// The wrapped key, or the clear key with its padding.
    padded: SecretBytes,
    key_bytes: usize,
    age: Age,
    pattern: [u8; PATTERN_BYTES],
    schedule: Arc<CipherKey>,
}

impl Lane {
    /// The lane of a token's key, under the master key of a domain.
    ///
    /// # Errors
    /// 8/47 for a token without a wrapped key; 8/48 and 12/764 as the register has it.
    pub(crate) fn to_open(kernel: &mut Kernel<'_>, domain: u16, token: &AesToken) -> Result<Self, Codes> {
        let AesKey::Wrapped { pattern, key, .. } = token.key() else { return Err(code::TOKEN_INVALID) };
        let domain = kernel.domains.get_mut(usize::from(domain)).ok_or(code::MASTER_KEY_NOT_LOADED)?;
        let (age, _) = domain.of_pattern(Register::Aes, pattern)?;
        Ok(Self {
            padded: SecretBytes::from_slice(key),
            key_bytes: token.key_bytes(),
            age,
            pattern: *pattern,
            schedule: domain.aes_schedule(kernel.engine, age)?,
        })
    }

    /// The lane of a key of 16, 24 or 32 bytes that is to be wrapped.
    ///
    /// # Errors
    /// 8/47 for another length, and for a transport key, under which no token of this form is; 12/764.
    pub(crate) fn to_close(kernel: &mut Kernel<'_>, by: &By, key: &SecretBytes) -> Result<Self, Codes> {
        let By::Master(domain) = by else { return Err(code::TOKEN_INVALID) };
        if !matches!(key.len(), 16 | 24 | 32) {
            return Err(code::TOKEN_INVALID);
        }
        let domain = kernel.domains.get_mut(usize::from(*domain)).ok_or(code::MASTER_KEY_NOT_LOADED)?;
        let pattern = domain.current(Register::Aes)?.pattern;
        let mut padded = SecretBytes::new(WRAPPED_BYTES);
        padded[..key.len()].copy_from_slice(key);
        let schedule = domain.aes_schedule(kernel.engine, Age::Current)?;
        Ok(Self { padded, key_bytes: key.len(), age: Age::Current, pattern, schedule })
    }

    /// The opened key, whose padding must be zero: else the token was tampered with.
    ///
    /// # Errors
    /// 8/47.
    pub(crate) fn unpadded(&self) -> Result<(SecretBytes, Age), Codes> {
        let (key, padding) = self.padded.split_at(self.key_bytes);
        if bool::from(padding.ct_eq(&[0; WRAPPED_BYTES][..padding.len()])) {
            Ok((SecretBytes::from_slice(key), self.age))
        } else {
            Err(code::TOKEN_INVALID)
        }
    }

    /// The token of a wrapped key.
    pub(crate) fn into_token(self) -> Result<AesToken, Codes> {
        let mut wrapped = [0; WRAPPED_BYTES];
        wrapped.copy_from_slice(&self.padded);
        AesToken::wrapped(self.key_bytes, self.pattern, TokenForm::Compatible, wrapped)
            .map_err(|error| error.codes())
    }
}

impl Method for Lane {
    fn run(engine: &Engine, direction: CipherDirection, lanes: &mut [(usize, Self)]) -> Result<(), Codes> {
        let mut items: Vec<_> = lanes
            .iter_mut()
            .map(|(_, lane)| CipherItem {
                key: &lane.schedule,
                chain: [0; 16],
                data: &mut lane.padded,
                result: Ok(()),
            })
            .collect();
        engine.cipher_batch(Mode::Cbc, direction, &mut items);
        if items.iter().all(|item| item.result.is_ok()) { Ok(()) } else { Err(code::SELF_CHECK) }
    }
}

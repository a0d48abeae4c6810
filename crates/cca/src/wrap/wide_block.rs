//! DES and AES keys of internal tokens by this system's own method: HCTR2 with AES-256 over the whole key field,
//! whatever the length of the key, with the rest of the token as its tweak.
//!
//! ```text
//! message  the key, then zeros: 31 bytes in a DES token, 40 in an AES token, which stand in the key field and in bytes that CCA
//!          leaves zero; of the unchecked method, which is opened and not made, 24 and 32, the key field alone
//! tweak    every other byte of the token but the validation value, which anyone can compute; the bytes that CCA leaves zero, as zeros
//! key      from the master key, once for each register and age
//! ```
//! A token that was changed, or combined from parts, opens to an unrelated, unpredictable message. The zeros behind the
//! key are then missing, except in one case in 2^56, 2^64 for a key of AES, and the token is refused. Of the unchecked
//! method a key that fills its field has none: a changed token would open to another key, which nobody knows.
//! [`crate::key::field`] says which requests may name one.

use super::Method;
use crate::ground::Age;
use crate::kernel::Kernel;
use engine::{CipherDirection, Engine, Hctr2Item, Hctr2Key, SecretBytes};
use std::sync::Arc;
use subtle::ConstantTimeEq;
use token::aes::{self, AesKey, WRAPPED_BYTES};
use token::des::{self, KEY_FIELD_BYTES};
use token::pattern::PATTERN_BYTES;
use token::{AesToken, DesToken};
use wire::control::Register;
use wire::{Codes, code};
use zeroize::Zeroize;

/// A key on its way through the kernel, wiped on drop.
pub(crate) struct Lane {
    /// The key field and the bytes behind it, wrapped or clear.
    message: [u8; MESSAGE_BYTES_MAX],
    message_bytes: usize,
    key_bytes: usize,
    tweak: [u8; TWEAK_BYTES_MAX],
    tweak_bytes: usize,
    age: Age,
    pattern: [u8; PATTERN_BYTES],
    key: Arc<Hctr2Key>,
}

const TWEAK_BYTES_MAX: usize =
    if des::REST_BYTES > aes::REST_BYTES { des::REST_BYTES } else { aes::REST_BYTES };
const MESSAGE_BYTES_MAX: usize = WRAPPED_BYTES + aes::CHECK_BYTES;
const _: () = assert!(KEY_FIELD_BYTES + des::CHECK_BYTES <= MESSAGE_BYTES_MAX);

impl Lane {
    /// The lane of an internal DES token's key, under the master key of a domain.
    ///
    /// # Errors
    /// 8/47 for a token without a key; 8/48 and 12/764 as the register has it.
    pub(crate) fn to_open_des(kernel: &mut Kernel<'_>, domain: u16, token: &DesToken) -> Result<Self, Codes> {
        let wrapped = token.wrapped().ok_or(code::TOKEN_INVALID)?;
        let age = age_of(kernel, domain, Register::Sym, &wrapped.pattern)?;
        let (key_bytes, rest) = (token.form().key_bytes(), token.rest());
        let message = Message::of(&wrapped.key, wrapped.check.as_ref().map_or(&[], |check| check));
        Self::new(kernel, domain, Register::Sym, age, wrapped.pattern, message, key_bytes, &rest)
    }

    /// The lane of an AES token's key, under the master key of a domain.
    ///
    /// # Errors
    /// As [`Lane::to_open_des`].
    pub(crate) fn to_open_aes(kernel: &mut Kernel<'_>, domain: u16, token: &AesToken) -> Result<Self, Codes> {
        let AesKey::Wrapped { pattern, key, check, .. } = token.key() else {
            return Err(code::TOKEN_INVALID);
        };
        let age = age_of(kernel, domain, Register::Aes, pattern)?;
        let message = Message::of(key, check.as_ref().map_or(&[], |check| check));
        Self::new(kernel, domain, Register::Aes, age, *pattern, message, token.key_bytes(), &token.rest())
    }

    /// The lane of a key that goes into this internal DES token.
    ///
    /// # Errors
    /// 8/47 where the lengths differ or the token is external; 12/764.
    pub(crate) fn to_close_des(
        kernel: &mut Kernel<'_>,
        domain: u16,
        skeleton: &DesToken,
        key: &SecretBytes,
    ) -> Result<Self, Codes> {
        if key.len() != skeleton.form().key_bytes() {
            return Err(code::TOKEN_INVALID);
        }
        let pattern = current_pattern(kernel, domain, Register::Sym)?;
        let empty = skeleton.with_checked_key(pattern, [0; KEY_FIELD_BYTES], [0; des::CHECK_BYTES]);
        let rest = empty.map_err(|error| error.codes())?.rest();
        let message = Message::of_key(key, KEY_FIELD_BYTES + des::CHECK_BYTES);
        Self::new(kernel, domain, Register::Sym, Age::Current, pattern, message, key.len(), &rest)
    }

    /// The lane of an AES key of 16, 24 or 32 bytes that is to be wrapped.
    ///
    /// # Errors
    /// 8/47 for another length; 12/764.
    pub(crate) fn to_close_aes(
        kernel: &mut Kernel<'_>,
        domain: u16,
        key: &SecretBytes,
    ) -> Result<Self, Codes> {
        let pattern = current_pattern(kernel, domain, Register::Aes)?;
        let empty = AesToken::checked(key.len(), pattern, [0; WRAPPED_BYTES], [0; aes::CHECK_BYTES]);
        let rest = empty.map_err(|error| error.codes())?.rest();
        let message = Message::of_key(key, MESSAGE_BYTES_MAX);
        Self::new(kernel, domain, Register::Aes, Age::Current, pattern, message, key.len(), &rest)
    }

    #[expect(clippy::too_many_arguments, reason = "what the four kinds of lanes differ in")]
    fn new(
        kernel: &mut Kernel<'_>,
        domain: u16,
        register: Register,
        age: Age,
        pattern: [u8; PATTERN_BYTES],
        message: Message,
        key_bytes: usize,
        rest: &[u8],
    ) -> Result<Self, Codes> {
        let domain = kernel.domains.get_mut(usize::from(domain)).ok_or(code::MASTER_KEY_NOT_LOADED)?;
        let key = domain.token_key(kernel.engine, register, age)?;
        let mut lane = Self {
            message: message.bytes,
            message_bytes: message.length,
            key_bytes,
            tweak: [0; TWEAK_BYTES_MAX],
            tweak_bytes: rest.len(),
            age,
            pattern,
            key,
        };
        lane.tweak[..rest.len()].copy_from_slice(rest);
        Ok(lane)
    }

    /// The opened key, behind which zeros must stand: else the token was changed.
    ///
    /// # Errors
    /// 8/47.
    pub(crate) fn opened(&self) -> Result<(SecretBytes, Age), Codes> {
        let (key, padding) = self.message[..self.message_bytes].split_at(self.key_bytes);
        if bool::from(padding.ct_eq(&[0; MESSAGE_BYTES_MAX][..padding.len()])) {
            Ok((SecretBytes::from_slice(key), self.age))
        } else {
            Err(code::TOKEN_INVALID)
        }
    }

    /// The DES token of a closed key.
    pub(crate) fn to_des_token(&self, skeleton: &DesToken) -> Result<DesToken, Codes> {
        let (key, rest) = self.message.split_first_chunk().ok_or(code::SELF_CHECK)?;
        let check = rest.first_chunk().ok_or(code::SELF_CHECK)?;
        skeleton.with_checked_key(self.pattern, *key, *check).map_err(|error| error.codes())
    }

    /// The AES token of a closed key.
    pub(crate) fn to_aes_token(&self) -> Result<AesToken, Codes> {
        let (key, rest) = self.message.split_first_chunk().ok_or(code::SELF_CHECK)?;
        let check = rest.first_chunk().ok_or(code::SELF_CHECK)?;
        AesToken::checked(self.key_bytes, self.pattern, *key, *check).map_err(|error| error.codes())
    }
}

/// The bytes that go through the cipher; wiped on drop.
struct Message {
    bytes: [u8; MESSAGE_BYTES_MAX],
    length: usize,
}

impl Message {
    /// The message of a token: its key field, and the ciphertext behind that.
    fn of(field: &[u8], check: &[u8]) -> Self {
        let mut message = Self { bytes: [0; MESSAGE_BYTES_MAX], length: field.len() + check.len() };
        message.bytes[..field.len()].copy_from_slice(field);
        message.bytes[field.len()..message.length].copy_from_slice(check);
        message
    }

    /// A key with zeros behind it, of this length.
    fn of_key(key: &[u8], length: usize) -> Self {
        let mut message = Self::of(key, &[]);
        message.length = length;
        message
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.message.zeroize();
    }
}

fn age_of(
    kernel: &Kernel<'_>,
    domain: u16,
    register: Register,
    pattern: &[u8; PATTERN_BYTES],
) -> Result<Age, Codes> {
    let domain = kernel.domains.get(usize::from(domain)).ok_or(code::MASTER_KEY_NOT_LOADED)?;
    Ok(domain.of_pattern(register, pattern)?.0)
}

fn current_pattern(
    kernel: &Kernel<'_>,
    domain: u16,
    register: Register,
) -> Result<[u8; PATTERN_BYTES], Codes> {
    let domain = kernel.domains.get(usize::from(domain)).ok_or(code::MASTER_KEY_NOT_LOADED)?;
    Ok(domain.current(register)?.pattern)
}

impl Method for Lane {
    fn run(engine: &Engine, direction: CipherDirection, lanes: &mut [(usize, Self)]) -> Result<(), Codes> {
        let mut items: Vec<_> = lanes
            .iter_mut()
            .map(|(_, lane)| {
                let (tweak, message) =
                    (&lane.tweak[..lane.tweak_bytes], &mut lane.message[..lane.message_bytes]);
                Hctr2Item::new(&lane.key, tweak, message)
            })
            .collect();
        engine.hctr2_batch(direction, &mut items);
        if items.iter().all(|item| item.result.is_ok()) { Ok(()) } else { Err(code::SELF_CHECK) }
    }
}

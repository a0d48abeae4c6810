//! DES and AES keys of internal tokens by this system's own method: HCTR2 with AES-256 over the whole key field, whatever
//! the length of the key, with the rest of the token as its tweak.
//!
//! ```text
//! message  the key, then zeros: 24 bytes in a DES token, 32 in an AES token
//! tweak    every other byte of the token but the validation value, which anyone can compute
//! key      from the master key, once for each register and age
//! ```
//! A token that was changed, or combined from parts, opens to an unrelated, unpredictable message. If the key is
//! shorter than its field, the zeros after it are then missing, except in one case in 2^64, and the token is refused; a key
//! that fills its field becomes another key, which nobody knows.

use std::sync::Arc;

use engine::{CipherDirection, Engine, Hctr2Item, Hctr2Key, SecretBytes};
use subtle::ConstantTimeEq;
use token::aes::{self, AesKey, WRAPPED_BYTES};
use token::des::{self, KEY_FIELD_BYTES};
use token::pattern::PATTERN_BYTES;
use token::{AesToken, DesToken};
use wire::control::{Register, TokenForm};
use wire::{Codes, code};
use zeroize::Zeroize;

use crate::pass::Kernel;
use crate::registers::Age;

/// A key on its way through the kernel, wiped on drop.
pub(crate) struct Lane {
    /// The key field, or what it opens to.
    message: [u8; WRAPPED_BYTES],
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
const _: () = assert!(KEY_FIELD_BYTES <= WRAPPED_BYTES);

impl Lane {
    /// For the key of an internal DES token, under the master key of a domain.
    ///
    /// # Errors
    /// 8/47 for a token without a key; 8/48 and 12/764 as the register has it.
    pub(crate) fn to_open_des(kernel: &mut Kernel<'_>, domain: u16, token: &DesToken) -> Result<Self, Codes> {
        let wrapped = token.wrapped().ok_or(code::TOKEN_INVALID)?;
        let age = age_of(kernel, domain, Register::Sym, &wrapped.pattern)?;
        let (key_bytes, rest) = (token.form().key_bytes(), token.rest());
        Self::new(kernel, domain, Register::Sym, age, wrapped.pattern, &wrapped.key, key_bytes, &rest)
    }

    /// For the key of an AES token, under the master key of a domain.
    ///
    /// # Errors
    /// As [`Lane::to_open_des`].
    pub(crate) fn to_open_aes(kernel: &mut Kernel<'_>, domain: u16, token: &AesToken) -> Result<Self, Codes> {
        let AesKey::Wrapped { pattern, key, .. } = token.key() else { return Err(code::TOKEN_INVALID) };
        let age = age_of(kernel, domain, Register::Aes, pattern)?;
        Self::new(kernel, domain, Register::Aes, age, *pattern, key, token.key_bytes(), &token.rest())
    }

    /// For a key that goes into this internal DES token.
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
        let empty = skeleton.with_authenticated_key(pattern, [0; KEY_FIELD_BYTES]);
        let rest = empty.map_err(|error| error.codes())?.rest();
        let mut field = [0; KEY_FIELD_BYTES];
        field[..key.len()].copy_from_slice(key);
        let lane = Self::new(kernel, domain, Register::Sym, Age::Current, pattern, &field, key.len(), &rest);
        field.zeroize();
        lane
    }

    /// For an AES key of 16, 24 or 32 bytes.
    ///
    /// # Errors
    /// 8/47 for another length; 12/764.
    pub(crate) fn to_close_aes(
        kernel: &mut Kernel<'_>,
        domain: u16,
        key: &SecretBytes,
    ) -> Result<Self, Codes> {
        let pattern = current_pattern(kernel, domain, Register::Aes)?;
        let empty = AesToken::wrapped(key.len(), pattern, TokenForm::Authenticated, [0; WRAPPED_BYTES]);
        let rest = empty.map_err(|error| error.codes())?.rest();
        let mut field = [0; WRAPPED_BYTES];
        field[..key.len()].copy_from_slice(key);
        let lane = Self::new(kernel, domain, Register::Aes, Age::Current, pattern, &field, key.len(), &rest);
        field.zeroize();
        lane
    }

    #[expect(clippy::too_many_arguments, reason = "what the four kinds of lanes differ in")]
    fn new(
        kernel: &mut Kernel<'_>,
        domain: u16,
        register: Register,
        age: Age,
        pattern: [u8; PATTERN_BYTES],
        field: &[u8],
        key_bytes: usize,
        rest: &[u8],
    ) -> Result<Self, Codes> {
        let domain = kernel.domains.get_mut(usize::from(domain)).ok_or(code::MASTER_KEY_NOT_LOADED)?;
        let key = domain.token_key(kernel.engine, register, age)?;
        let mut lane = Self {
            message: [0; WRAPPED_BYTES],
            message_bytes: field.len(),
            key_bytes,
            tweak: [0; TWEAK_BYTES_MAX],
            tweak_bytes: rest.len(),
            age,
            pattern,
            key,
        };
        lane.message[..field.len()].copy_from_slice(field);
        lane.tweak[..rest.len()].copy_from_slice(rest);
        Ok(lane)
    }

    /// The opened key, behind which zeros must stand: else this is not what was closed.
    ///
    /// # Errors
    /// 8/47.
    pub(crate) fn opened(&self) -> Result<(SecretBytes, Age), Codes> {
        let (key, padding) = self.message[..self.message_bytes].split_at(self.key_bytes);
        if bool::from(padding.ct_eq(&[0; WRAPPED_BYTES][..padding.len()])) {
            Ok((SecretBytes::from_slice(key), self.age))
        } else {
            Err(code::TOKEN_INVALID)
        }
    }

    /// The DES token of a closed key.
    pub(crate) fn to_des_token(&self, skeleton: &DesToken) -> Result<DesToken, Codes> {
        let field = self.message.first_chunk().ok_or(code::SELF_CHECK)?;
        skeleton.with_authenticated_key(self.pattern, *field).map_err(|error| error.codes())
    }

    /// The AES token of a closed key.
    pub(crate) fn to_aes_token(&self) -> Result<AesToken, Codes> {
        let token = AesToken::wrapped(self.key_bytes, self.pattern, TokenForm::Authenticated, self.message);
        token.map_err(|error| error.codes())
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

/// Opens the keys of all lanes in one kernel call.
pub(crate) fn open<'l>(engine: &Engine, lanes: impl Iterator<Item = &'l mut Lane>) -> Result<(), Codes> {
    run(engine, CipherDirection::Decipher, lanes)
}

/// Closes the keys of all lanes in one kernel call.
pub(crate) fn close<'l>(engine: &Engine, lanes: impl Iterator<Item = &'l mut Lane>) -> Result<(), Codes> {
    run(engine, CipherDirection::Encipher, lanes)
}

fn run<'l>(
    engine: &Engine,
    direction: CipherDirection,
    lanes: impl Iterator<Item = &'l mut Lane>,
) -> Result<(), Codes> {
    let mut items: Vec<_> = lanes
        .map(|lane| {
            let (tweak, message) = (&lane.tweak[..lane.tweak_bytes], &mut lane.message[..lane.message_bytes]);
            Hctr2Item::new(&lane.key, tweak, message)
        })
        .collect();
    engine.hctr2_batch(direction, &mut items);
    if items.iter().all(|item| item.result.is_ok()) { Ok(()) } else { Err(code::SELF_CHECK) }
}

//! DES keys in tokens of the enhanced wrapping (WRAP-ENH), external and compatible internal ones (z/OS ICSF, "Enhanced
//! CBC wrapping of DES keys").
//!
//! ```text
//! wrapping key  derived from the key-encrypting or master key by SP 800-108, so that nothing of a token of the original
//!               wrapping opens here, or the reverse
//! message       the key, its first part xor the first 8 bytes of SHA-1 of the others
//! method        triple DES with inner chaining: each of its three DES operations runs in CBC over the whole message
//! variants      each part of the message under the derived key xor its half of the control vector
//! ```
//! What the published pages leave open is named at [`token::unconfirmed::ENHANCED_WRAPPING_LABEL`].

use super::{By, Method, Under, under_to_close, under_to_open};
use crate::ground::Age;
use crate::kernel::Kernel;
use crate::registers::derive;
use engine::{CipherAlgorithm, CipherDirection, CipherItem, CipherKey, Engine, Mode, SecretBytes};
use token::DesToken;
use token::control_vector::ControlVector;
use token::pattern::PATTERN_BYTES;
use token::unconfirmed::ENHANCED_WRAPPING_LABEL;
use wire::{Codes, code};
use zeroize::Zeroize;

/// A key on its way through the kernel, wiped on drop.
pub(crate) struct Lane {
    /// The wrapped or clear key, then zeros.
    message: [[u8; 8]; PARTS_MAX],
    parts: usize,
    /// Age of the master key; current if another key wraps.
    pub(crate) age: Age,
    pattern: [u8; PATTERN_BYTES],
    /// The derived wrapping key in three parts; if it has two, the first one is also the third.
    wrapping: SecretBytes,
    vector: ControlVector,
}

const PARTS_MAX: usize = 3;

impl Lane {
    /// The lane of a token's key.
    ///
    /// # Errors
    /// 8/47 for a token without a key, or an internal one under a transport key or the reverse; 8/48 and 12/764 as the
    /// register has it; 8/39 for a transport key of another length than TDES takes.
    pub(crate) fn to_open(kernel: &Kernel<'_>, by: &By, token: &DesToken) -> Result<Self, Codes> {
        let (key, under) = under_to_open(kernel, by, token)?;
        Self::new(key, &under, token.control_vector())
    }

    /// The lane of a key that goes into this token.
    ///
    /// # Errors
    /// 8/47 where the lengths differ or the token is not of the kind that the wrapping key makes; 12/764; 8/39 as
    /// [`Lane::to_open`].
    pub(crate) fn to_close(
        kernel: &Kernel<'_>,
        by: &By,
        skeleton: &DesToken,
        key: &[u8],
    ) -> Result<Self, Codes> {
        let under = under_to_close(kernel, by, skeleton, key)?;
        let mut lane = Self::new(key, &under, skeleton.control_vector())?;
        lane.mask_first();
        Ok(lane)
    }

    fn new(key: &[u8], under: &Under<'_>, vector: ControlVector) -> Result<Self, Codes> {
        let derived = derive(under.key, ENHANCED_WRAPPING_LABEL);
        let mut wrapping = SecretBytes::new(8 * PARTS_MAX);
        match under.key.len() {
            16 => {
                wrapping[..16].copy_from_slice(&derived[..16]);
                wrapping[16..].copy_from_slice(&derived[..8]);
            }
            24 => wrapping.copy_from_slice(&derived[..24]),
            _ => return Err(code::KEY_USAGE),
        }
        let mut message = [[0; 8]; PARTS_MAX];
        for (part, from) in message.iter_mut().zip(key.as_chunks::<8>().0) {
            *part = *from;
        }
        let (age, pattern) = (under.age, under.pattern);
        Ok(Self { message, parts: key.len() / 8, age, pattern, wrapping, vector })
    }

    /// XORs the first part of the key with the hash of the others, which makes it depend on them; a second call undoes
    /// that.
    fn mask_first(&mut self) {
        let [first, others @ ..] = &mut self.message[..self.parts] else { return };
        if others.is_empty() {
            return;
        }
        let mut hash = engine::sha1(others.as_flattened());
        first.iter_mut().zip(&hash).for_each(|(byte, mask)| *byte ^= mask);
        hash.zeroize();
    }

    /// The opened key.
    pub(crate) fn secret(&self) -> SecretBytes {
        SecretBytes::from_slice(self.message[..self.parts].as_flattened())
    }

    /// The token of a wrapped key.
    pub(crate) fn to_token(&self, skeleton: &DesToken) -> Result<DesToken, Codes> {
        let key = self.message[..self.parts].as_flattened();
        skeleton.with_key(self.pattern, key).map_err(|error| error.codes())
    }

    /// The DES key of one of the three operations for a part of the message.
    fn variant(&self, engine: &Engine, operation: usize, part: usize) -> Result<CipherKey, Codes> {
        let own = self.wrapping.as_chunks::<8>().0[operation];
        let mut variant = (u64::from_be_bytes(own) ^ self.vector.half_for_part(part)).to_be_bytes();
        let key = engine.cipher_key_internal(CipherAlgorithm::Des, &variant).map_err(|_| code::SELF_CHECK);
        variant.zeroize();
        key
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.message.zeroize();
    }
}

impl Method for Lane {
    fn run(engine: &Engine, direction: CipherDirection, lanes: &mut [(usize, Self)]) -> Result<(), Codes> {
        match direction {
            _ if lanes.is_empty() => {}
            CipherDirection::Encipher => {
                encipher(engine, lanes, 0)?;
                decipher(engine, lanes, 1)?;
                encipher(engine, lanes, 2)?;
            }
            CipherDirection::Decipher => {
                decipher(engine, lanes, 2)?;
                encipher(engine, lanes, 1)?;
                decipher(engine, lanes, 0)?;
                lanes.iter_mut().for_each(|(_, lane)| lane.mask_first());
            }
        }
        Ok(())
    }
}

/// One DES operation in CBC: a part after the other, each in one kernel call for all lanes.
fn encipher(engine: &Engine, lanes: &mut [(usize, Lane)], operation: usize) -> Result<(), Codes> {
    for part in 0..PARTS_MAX {
        let mut keys = Vec::with_capacity(lanes.len());
        for (_, lane) in lanes.iter_mut().filter(|(_, lane)| part < lane.parts) {
            if part > 0 {
                let chain = lane.message[part - 1];
                lane.message[part].iter_mut().zip(chain).for_each(|(byte, chain)| *byte ^= chain);
            }
            keys.push(lane.variant(engine, operation, part)?);
        }
        let own = lanes.iter_mut().map(|(_, lane)| lane).filter(|lane| part < lane.parts);
        let own = own.map(|lane| &mut lane.message[part]);
        run(engine, CipherDirection::Encipher, own.zip(&keys))?;
    }
    Ok(())
}

/// The reverse of [`encipher`], all parts in one kernel call.
fn decipher(engine: &Engine, lanes: &mut [(usize, Lane)], operation: usize) -> Result<(), Codes> {
    let mut keys = Vec::with_capacity(PARTS_MAX * lanes.len());
    let mut before = Vec::with_capacity(lanes.len());
    for (_, lane) in lanes.iter() {
        before.push(lane.message);
        for part in 0..lane.parts {
            keys.push(lane.variant(engine, operation, part)?);
        }
    }
    let own = lanes.iter_mut().flat_map(|(_, lane)| lane.message[..lane.parts].iter_mut());
    let done = run(engine, CipherDirection::Decipher, own.zip(&keys));
    for ((_, lane), before) in lanes.iter_mut().zip(&before) {
        for part in 1..lane.parts {
            lane.message[part].iter_mut().zip(before[part - 1]).for_each(|(byte, chain)| *byte ^= chain);
        }
    }
    before.zeroize();
    done
}

fn run<'l>(
    engine: &Engine,
    direction: CipherDirection,
    blocks: impl Iterator<Item = (&'l mut [u8; 8], &'l CipherKey)>,
) -> Result<(), Codes> {
    let item = |(data, key): (&'l mut [u8; 8], &'l CipherKey)| CipherItem {
        key,
        chain: [0; 16],
        data: &mut data[..],
        result: Ok(()),
    };
    let mut items: Vec<_> = blocks.map(item).collect();
    engine.cipher_batch(Mode::Ecb, direction, &mut items);
    if items.iter().all(|item| item.result.is_ok()) { Ok(()) } else { Err(code::SELF_CHECK) }
}

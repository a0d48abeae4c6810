//! DES keys in external fixed-length tokens and in compatible internal ones: each part by TDES in ECB under the
//! wrapping key xor the half of the control vector that goes with it (CCA Basic Services, appendix C, multiple
//! encipherment).

use super::{By, Method, Under, under_to_close, under_to_open};
use crate::ground::Age;
use crate::kernel::Kernel;
use engine::{CipherAlgorithm, CipherDirection, CipherItem, CipherKey, Engine, Mode, SecretBytes};
use token::DesToken;
use token::control_vector::ControlVector;
use token::pattern::PATTERN_BYTES;
use wire::{Codes, code};
use zeroize::Zeroize;

/// A key on its way through the kernel, wiped on drop. A lane has one variant of the wrapping key for the whole key, or
/// one for each half of the control vector.
pub(crate) struct Lane {
    /// The wrapped or clear key, then zeros.
    key: [u8; KEY_BYTES_MAX],
    key_bytes: usize,
    /// Age of the master key; current if another key wraps.
    pub(crate) age: Age,
    pattern: [u8; PATTERN_BYTES],
    border: usize,
    left: CipherKey,
    right: Option<CipherKey>,
}

impl Lane {
    /// The lane of a token's key.
    ///
    /// # Errors
    /// 8/47 for a token without a key, or an internal one under a transport key or the reverse; 8/48 and
    /// 12/764 as the register has it; 8/39 for a transport key of another length than TDES takes.
    pub(crate) fn to_open(kernel: &Kernel<'_>, by: &By, token: &DesToken) -> Result<Self, Codes> {
        let (key, under) = under_to_open(kernel, by, token)?;
        Self::new(kernel.engine, key, &under, token.control_vector())
    }

    /// The lane of a key that goes into this token.
    ///
    /// # Errors
    /// 8/47 where the lengths differ or the token is not of the kind that the wrapping key makes; 12/764;
    /// 8/39 as [`Lane::to_open`].
    pub(crate) fn to_close(
        kernel: &Kernel<'_>,
        by: &By,
        skeleton: &DesToken,
        key: &[u8],
    ) -> Result<Self, Codes> {
        let under = under_to_close(kernel, by, skeleton, key)?;
        Self::new(kernel.engine, key, &under, skeleton.control_vector())
    }

    fn new(engine: &Engine, key: &[u8], under: &Under<'_>, vector: ControlVector) -> Result<Self, Codes> {
        let split = key.len() == 16 && vector.left() != vector.right();
        let border = if split { 8 } else { key.len() };
        let mut bytes = [0; KEY_BYTES_MAX];
        bytes[..key.len()].copy_from_slice(key);
        let left = variant(engine, under.key, vector.left())?;
        let right = if split { Some(variant(engine, under.key, vector.right())?) } else { None };
        let Under { age, pattern, .. } = *under;
        Ok(Self { key: bytes, key_bytes: key.len(), age, pattern, border, left, right })
    }

    /// The opened key.
    pub(crate) fn secret(&self) -> SecretBytes {
        SecretBytes::from_slice(&self.key[..self.key_bytes])
    }

    /// The token of a wrapped key.
    pub(crate) fn to_token(&self, skeleton: &DesToken) -> Result<DesToken, Codes> {
        skeleton.with_key(self.pattern, &self.key[..self.key_bytes]).map_err(|error| error.codes())
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

/// Length of the longest DES key.
const KEY_BYTES_MAX: usize = 24;

/// A wrapping key xor a half of a control vector. Made anew for each token: a DES key of the engine is its
/// bytes, so keeping it would cost more than making it.
fn variant(engine: &Engine, wrapping: &[u8], half: u64) -> Result<CipherKey, Codes> {
    let algorithm = match wrapping.len() {
        16 => CipherAlgorithm::Tdes2,
        24 => CipherAlgorithm::Tdes3,
        _ => return Err(code::KEY_USAGE),
    };
    let mut variant = [0; 24];
    let variant = &mut variant[..wrapping.len()];
    for (part, from) in variant.as_chunks_mut::<8>().0.iter_mut().zip(wrapping.as_chunks::<8>().0) {
        *part = (u64::from_be_bytes(*from) ^ half).to_be_bytes();
    }
    let key = engine.cipher_key_internal(algorithm, variant).map_err(|_| code::SELF_CHECK);
    variant.zeroize();
    key
}

impl Method for Lane {
    fn run(engine: &Engine, direction: CipherDirection, lanes: &mut [(usize, Self)]) -> Result<(), Codes> {
        let mut items = Vec::with_capacity(2 * lanes.len());
        for (_, lane) in lanes {
            let (left, right) = lane.key[..lane.key_bytes].split_at_mut(lane.border);
            items.push(CipherItem { key: &lane.left, chain: [0; 16], data: left, result: Ok(()) });
            if let Some(key) = &lane.right {
                items.push(CipherItem { key, chain: [0; 16], data: right, result: Ok(()) });
            }
        }
        engine.cipher_batch(Mode::Ecb, direction, &mut items);
        if items.iter().all(|item| item.result.is_ok()) { Ok(()) } else { Err(code::SELF_CHECK) }
    }
}

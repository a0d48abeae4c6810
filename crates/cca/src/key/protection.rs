//! Keys that protect key blocks: EXPORTER and IMPORTER keys, of DES for blocks of versions A, B and C, of AES for those
//! of D.
//!
//! An AES key states that it protects blocks, besides tokens (WR-TR31) or alone (EXPTT31D, IMPTT31D), and which kinds
//! of keys. A DES key that exports or imports keys protects any kind, without conflict with its use for tokens; one of
//! KBPK has no other use. For tokens a key enciphers under itself xor a control vector, or it enciphers parts of keys,
//! which have odd parity. The keys of version B follow from a block of zeros, which has no odd parity.

use super::opening::Opening;
use super::{Algorithm, Key};
use crate::call::Call;
use crate::ground::Refusal;
use payments::key_block::Version;
use token::ControlVector;
use token::unconfirmed::HMAC_STRENGTH_BITS_MAX;
use token::usage::{Side, Use};
use token::variable::{Attributes, VariableUse};
use wire::code;

/// A key that goes in a block, as far as protection keys depend on it.
pub(crate) enum Carried<'t> {
    /// A DES key, by its control vector.
    Des(ControlVector),
    /// An AES key, by the attributes of its token.
    Aes(&'t Attributes),
}

impl<'p, 'a> Call<'p, 'a> {
    /// Starts opening the key in a field that protects a block of this version with this key.
    ///
    /// # Errors
    /// 8/30 for a label, 8/47 for a token of another kind, 8/39 for a key of another type or use, and one that protects
    /// no such key; as the opening itself.
    pub(crate) fn protection_key(
        &self,
        field: &'a [u8],
        side: Side,
        version: Version,
        carried: &Carried<'_>,
    ) -> Result<Opening<'p, 'a>, Refusal> {
        let found = self.key(field)?;
        if version != Version::D {
            return found.of(Algorithm::Des)?.for_use(Use::ProtectBlocks(side));
        }
        let found = found.variable()?;
        let attributes = found.variable()?.attributes();
        let is_for_it = match carried {
            Carried::Des(vector) => attributes.protects_blocks_of_des(*vector),
            Carried::Aes(wrapped) => attributes.protects_blocks_of(wrapped),
        };
        if !is_for_it {
            return Err(code::KEY_USAGE.into());
        }
        found.for_variable_use(VariableUse::ProtectBlocks(side))
    }
}

impl Key {
    /// Whether this protection key is of a length that the version takes.
    pub(crate) fn protects(&self, version: Version) -> bool {
        version.takes_key_of(self.secret.len())
    }

    /// Whether a key of this algorithm of X9.143 and length in bytes is stronger than this protection key.
    pub(crate) fn is_weaker_in_blocks(&self, version: Version, algorithm: u8, key_bytes: usize) -> bool {
        let own = if version == Version::D { b'A' } else { b'T' };
        strength_bits(algorithm, key_bytes) > strength_bits(own, self.secret.len())
    }
}

/// The strength in bits that a key counts as (NIST SP 800-57).
fn strength_bits(algorithm: u8, key_bytes: usize) -> usize {
    match (algorithm, key_bytes) {
        (b'A', bytes) => 8 * bytes,
        (b'H', bytes) => (8 * bytes).min(HMAC_STRENGTH_BITS_MAX),
        (_, 8) => 56,
        (_, 16) => 80,
        _ => 112,
    }
}

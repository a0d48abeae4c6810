//! The RSA public section X'04'.
//!
//! +4 zero (2) | +6 exponent length xxx | +8 modulus length in bits | +10 modulus length yyy, zero
//! if a private section holds the modulus | +12 exponent | +12+xxx modulus.

use super::error::{PkaTokenError, Problem};
use super::section::{Section, halfword, start};
use super::{MODULUS_BITS_MAX, MODULUS_BITS_MIN, bit_length};

/// Identifier of the public section.
pub(crate) const PUBLIC_SECTION: u8 = 0x04;
/// Offset of the exponent in the section.
const EXPONENT_AT: usize = 12;

pub(crate) struct Public<'a> {
    pub(crate) exponent: &'a [u8],
    pub(crate) modulus: &'a [u8],
    pub(crate) modulus_bits: usize,
}

pub(crate) fn read<'a>(section: &Section<'a>, after_private: bool) -> Result<Public<'a>, PkaTokenError> {
    if section.id() != PUBLIC_SECTION {
        return Err(section.problem(0, Problem::Order));
    }
    section.reserved(4, 2)?;
    let exponent_bytes = section.halfword(6)?;
    let modulus_bits = section.halfword(8)?;
    let modulus_bytes = section.halfword(10)?;
    if EXPONENT_AT + exponent_bytes + modulus_bytes != section.len() {
        return Err(section.problem(2, Problem::OutOfArea));
    }
    if !(MODULUS_BITS_MIN..=MODULUS_BITS_MAX).contains(&modulus_bits) {
        return Err(section.problem(8, Problem::Value));
    }
    if after_private != (modulus_bytes == 0) || modulus_bytes > modulus_bits.div_ceil(8) {
        return Err(section.problem(10, Problem::Inconsistent));
    }
    let [exponent, modulus] = section.fields(EXPONENT_AT, [exponent_bytes, modulus_bytes])?;
    // An exponent is odd, and not 1: then the operation would be the identity.
    let is_odd = exponent.last().is_some_and(|byte| byte & 1 == 1);
    if !is_odd || exponent_bytes > modulus_bits.div_ceil(8) || bit_length(exponent) < 2 {
        return Err(section.problem(EXPONENT_AT, Problem::Value));
    }
    Ok(Public { exponent, modulus, modulus_bits })
}

/// The section; `modulus` is empty if a private section holds it.
pub(crate) fn write(exponent: &[u8], modulus_bits: usize, modulus: &[u8]) -> Vec<u8> {
    let mut bytes = start(PUBLIC_SECTION, EXPONENT_AT + exponent.len() + modulus.len());
    bytes[6..8].copy_from_slice(&halfword(exponent.len()));
    bytes[8..10].copy_from_slice(&halfword(modulus_bits));
    bytes[10..12].copy_from_slice(&halfword(modulus.len()));
    bytes[EXPONENT_AT..EXPONENT_AT + exponent.len()].copy_from_slice(exponent);
    bytes[EXPONENT_AT + exponent.len()..].copy_from_slice(modulus);
    bytes
}

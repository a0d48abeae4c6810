//! The key-values structures of PKA_Key_Token_Build for RSA.
//!
//! ```text
//! RSA-PUBL, RSA-PRIV, RSA-AESM   0 modulus bits | 2 length of n | 4 of e | 6 of d | 8 n, e, d
//! RSA-CRT, RSA-AESC              0 modulus bits | 2 length of n | 4 of e | 6 zero | 8 of p | 10 q | 12 dp | 14 dq
//!                                | 16 U | 18 n, e, p, q, dp, dq, U
//! ```
//!
//! For a key to be generated only the bits, e and its length are given. Callers pass buffers of
//! fixed size: bytes after the last field are not read.

use super::CrtComponents;
use super::build::ClearKey;
use super::error::Problem;
use wire::Codes;
use wire::code;

/// A key-values structure that breaks a rule. The caller is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyValuesError {
    /// Offset of the field at fault.
    pub offset: usize,
    /// The rule that is broken.
    pub problem: Problem,
}

impl KeyValuesError {
    /// Return and reason code for a verb that refuses the structure.
    pub const fn codes(&self) -> Codes {
        match self.problem {
            Problem::OutOfArea => code::OUT_OF_AREA,
            Problem::Curve => code::CURVE,
            _ => code::PKA_FIELD,
        }
    }
}

impl std::fmt::Display for KeyValuesError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "key-values structure, offset {}: {}", self.offset, self.problem)
    }
}

impl std::error::Error for KeyValuesError {}

/// The key in a key-values structure.
#[derive(Clone, Copy)]
pub enum KeyValues<'a> {
    /// A key to be generated.
    Generate {
        /// Length of the modulus in bits.
        modulus_bits: usize,
        /// Public exponent.
        e: &'a [u8],
    },
    /// A public key.
    Public {
        /// Modulus.
        n: &'a [u8],
        /// Public exponent.
        e: &'a [u8],
    },
    /// A private key.
    Private(ClearKey<'a>),
}

impl<'a> KeyValues<'a> {
    /// Reads the structure of RSA-PUBL, RSA-PRIV or RSA-AESM.
    ///
    /// # Errors
    /// [`Problem::OutOfArea`] if lengths and structure do not agree; [`Problem::Inconsistent`] if
    /// the modulus does not have the stated bits, or only a part of a key is given.
    pub fn modulus_exponent(structure: &'a [u8]) -> Result<Self, KeyValuesError> {
        let [bits, n, e, d] = halfwords(structure)?;
        let [n, e, d] = fields(structure, 8, [n, e, d])?;
        check_bits(bits, n)?;
        match (n.is_empty(), d.is_empty()) {
            (true, true) => Ok(Self::Generate { modulus_bits: bits, e }),
            (false, true) => Ok(Self::Public { n, e }),
            (false, false) => Ok(Self::Private(ClearKey::Me { n, e, d })),
            (true, false) => Err(problem(2, Problem::Inconsistent)),
        }
    }

    /// Reads the structure of RSA-CRT or RSA-AESC.
    ///
    /// # Errors
    /// As [`KeyValues::modulus_exponent`].
    pub fn crt(structure: &'a [u8]) -> Result<Self, KeyValuesError> {
        let [bits, n, e, reserved, p, q, dp, dq, u] = halfwords(structure)?;
        if reserved != 0 {
            return Err(problem(6, Problem::Reserved));
        }
        let [n, e, p, q, dp, dq, u] = fields(structure, 18, [n, e, p, q, dp, dq, u])?;
        check_bits(bits, n)?;
        let components = CrtComponents { p, q, dp, dq, u };
        let empty = components.each().iter().filter(|field| field.is_empty()).count();
        match (n.is_empty(), empty) {
            (true, 5) => Ok(Self::Generate { modulus_bits: bits, e }),
            (false, 0) => Ok(Self::Private(ClearKey::Crt { n, e, components })),
            _ => Err(problem(8, Problem::Inconsistent)),
        }
    }
}

/// Refuses a modulus that is not exactly as long as its stated bits; accepts an empty one.
fn check_bits(bits: usize, n: &[u8]) -> Result<(), KeyValuesError> {
    if n.is_empty() || (super::bit_length(n) == bits && n.len() == bits.div_ceil(8)) {
        Ok(())
    } else {
        Err(problem(0, Problem::Inconsistent))
    }
}

pub(super) fn problem(offset: usize, problem: Problem) -> KeyValuesError {
    KeyValuesError { offset, problem }
}

fn halfwords<const N: usize>(structure: &[u8]) -> Result<[usize; N], KeyValuesError> {
    let mut out = [0; N];
    let start = structure.get(..2 * N).ok_or(problem(0, Problem::OutOfArea))?;
    for (value, pair) in out.iter_mut().zip(start.chunks_exact(2)) {
        *value = usize::from(u16::from_be_bytes([pair[0], pair[1]]));
    }
    Ok(out)
}

pub(super) fn fields<const N: usize>(
    structure: &[u8],
    mut at: usize,
    lengths: [usize; N],
) -> Result<[&[u8]; N], KeyValuesError> {
    let mut out = [&structure[..0]; N];
    for (field, length) in out.iter_mut().zip(lengths) {
        *field = structure.get(at..at + length).ok_or(problem(at, Problem::OutOfArea))?;
        at += length;
    }
    Ok(out)
}

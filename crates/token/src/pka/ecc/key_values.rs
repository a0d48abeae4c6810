//! The key-values structures of PKA_Key_Token_Build for elliptic curves.
//!
//! ```text
//! ECC-PAIR  0 curve type | 1 zero | 2 bits of p | 4 length of d | 6 of Q | 8 d, Q; lengths of zero to have a key generated
//! ECC-PUBL  0 curve type | 1 zero | 2 bits of p | 4 length of Q | 6 Q
//! ```
//!
//! The bits of p are accepted in either byte order: a client on a little-endian machine
//! (openCryptoki 3.8.1) writes them in its own, and no curve's length is another's with its bytes
//! exchanged. Callers pass buffers of fixed size: bytes after the last field are not read.

use super::EccCurve;
use crate::pka::error::Problem;
use crate::pka::key_values::{KeyValuesError, fields, problem};

/// The key in a key-values structure.
#[derive(Clone, Copy)]
pub enum EccKeyValues<'a> {
    /// A key to be generated.
    Generate {
        /// Curve of the key.
        curve: EccCurve,
    },
    /// A public key.
    Public {
        /// Curve of the key.
        curve: EccCurve,
        /// The public key.
        point: &'a [u8],
    },
    /// A private key.
    Private {
        /// Curve of the key.
        curve: EccCurve,
        /// The private value.
        value: &'a [u8],
        /// The public key.
        point: &'a [u8],
    },
}

impl<'a> EccKeyValues<'a> {
    /// Reads the structure of ECC-PAIR.
    ///
    /// # Errors
    /// [`Problem::OutOfArea`] if lengths and structure do not agree; [`Problem::Inconsistent`] if
    /// only a part of a key is given; [`Problem::Curve`], [`Problem::Value`] for the curve;
    /// [`Problem::Reserved`].
    pub fn pair(structure: &'a [u8]) -> Result<Self, KeyValuesError> {
        let curve = curve(structure)?;
        let [value, point] = fields(structure, 8, [halfword(structure, 4)?, halfword(structure, 6)?])?;
        match (value.is_empty(), point.is_empty()) {
            (true, true) => Ok(Self::Generate { curve }),
            (false, false) => Ok(Self::Private { curve, value, point }),
            _ => Err(problem(4, Problem::Inconsistent)),
        }
    }

    /// Reads the structure of ECC-PUBL.
    ///
    /// # Errors
    /// As [`EccKeyValues::pair`].
    pub fn public(structure: &'a [u8]) -> Result<Self, KeyValuesError> {
        let curve = curve(structure)?;
        let [point] = fields(structure, 6, [halfword(structure, 4)?])?;
        Ok(Self::Public { curve, point })
    }
}

fn curve(structure: &[u8]) -> Result<EccCurve, KeyValuesError> {
    let [kind, reserved, high, low] = *structure.first_chunk().ok_or(problem(0, Problem::OutOfArea))?;
    if reserved != 0 {
        return Err(problem(1, Problem::Reserved));
    }
    let bits = u16::from_be_bytes([high, low]);
    let exchanged = bits.swap_bytes();
    let bits =
        if matches!(exchanged, 160 | 192 | 224 | 256 | 320 | 384 | 512 | 521) { exchanged } else { bits };
    EccCurve::of(kind, usize::from(bits)).map_err(|cause| problem(0, cause))
}

fn halfword(structure: &[u8], at: usize) -> Result<usize, KeyValuesError> {
    let bytes = structure.get(at..at + 2).ok_or(problem(at, Problem::OutOfArea))?;
    Ok(usize::from(u16::from_be_bytes([bytes[0], bytes[1]])))
}

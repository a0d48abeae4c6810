//! The claims of a token about the cost of operations with its key, before anything in it is
//! checked.

use super::{HEADER_BYTES, stated_length};

/// A claim of one section about operations with the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim<'a> {
    /// The token has a private RSA key.
    Private {
        /// Whether the key is held as CRT components.
        is_crt: bool,
    },
    /// The public values of an RSA key, X'04'.
    Public {
        /// The public exponent.
        exponent: &'a [u8],
        /// Length of the modulus in bits.
        bits: u16,
    },
    /// A key of an elliptic curve, X'20' or X'21'.
    Curve {
        /// Type of the curve; none if the section ends before it.
        kind: Option<u8>,
        /// Length of the prime in bits.
        bits: u16,
    },
}

/// The token at the beginning of a field, as long as its header says; empty if the field is
/// shorter.
pub fn stated_token(field: &[u8]) -> &[u8] {
    stated_length(field).and_then(|length| field.get(..length)).unwrap_or_default()
}

/// The claims of the sections of the token at the beginning of a field, in their order. Bytes
/// beyond the end of a section read as zero. The claims end with the first section that does not
/// lie within the token.
pub fn claims(field: &[u8]) -> impl Iterator<Item = Claim<'_>> {
    let mut rest = stated_token(field).get(HEADER_BYTES..).unwrap_or_default();
    let sections = std::iter::from_fn(move || {
        let [_, _, high, low] = *rest.first_chunk::<4>()?;
        let length = usize::from(u16::from_be_bytes([high, low]));
        let (section, after) = rest.split_at_checked(length).filter(|_| length >= 4)?;
        rest = after;
        Some(section)
    });
    sections.filter_map(|section| {
        let halfword = |at: usize| {
            let bytes = section.get(at..).and_then(|from| from.first_chunk::<2>());
            bytes.map_or(0, |bytes| u16::from_be_bytes(*bytes))
        };
        Some(match section[0] {
            0x04 => {
                let exponent = section.get(12..12 + usize::from(halfword(6))).unwrap_or_default();
                Claim::Public { exponent, bits: halfword(8) }
            }
            0x20 => Claim::Curve { kind: section.get(9).copied(), bits: halfword(12) },
            0x21 => Claim::Curve { kind: section.get(8).copied(), bits: halfword(10) },
            0x10 | 0x23 => return None,
            id => Claim::Private { is_crt: matches!(id, 0x05 | 0x08 | 0x31) },
        })
    })
}

//! Classifies a PKA token section by section. It knows more kinds of sections than
//! [`PkaToken`](super::PkaToken) supports, since tokens of other systems are stored here too.
//!
//! | section | format byte at | clear | under a transport key | under a master key | its pattern at |
//! |---|---|---|---|---|---|
//! | X'02', X'06' RSA, ME to 1024 bits | 28 | X'00' | X'82' | X'02' ASYM | - |
//! | X'05' RSA, CRT | 28 | X'40' | X'42' | X'08' ASYM | - |
//! | X'08' RSA, CRT | 28 | X'40' | X'42' | X'08' ASYM | 76 |
//! | X'30' RSA, ME | 11 | X'00' | X'82' | X'02' APKA | 104 |
//! | X'31' RSA, CRT | 11 | X'40' | X'42' | X'08' APKA | 116 |
//! | X'20' ECC | 10 | X'40' | X'42' | X'08' APKA | 16 |
//!
//! X'04' and X'21' hold public keys, X'10' a name, X'23' the parameters of key derivation.

use super::{EXTERNAL, HEADER_BYTES, INTERNAL};
use crate::holds::{DescribeError, Holds, Under};
use std::ops::Range;
use wire::control::Register;

/// The offsets and format bytes that tell whether a kind of private section is clear or wrapped.
struct Private {
    format_at: usize,
    clear: u8,
    transported: u8,
    internal: u8,
    register: Register,
    pattern_at: Option<usize>,
    /// Range of the fields that are all zero in a clear section without a key.
    skeleton: Range<usize>,
}

const fn private(section: u8) -> Option<Private> {
    let (format_at, clear, transported, internal, register, pattern_at, skeleton) = match section {
        0x02 | 0x06 => (28, 0x00, 0x82, 0x02, Register::Asym, None, 108..364),
        0x05 => (28, 0x40, 0x42, 0x08, Register::Asym, None, 54..66),
        0x08 => (28, 0x40, 0x42, 0x08, Register::Asym, Some(76), 54..66),
        0x30 => (11, 0x00, 0x82, 0x02, Register::Apka, Some(104), 52..56),
        0x31 => (11, 0x40, 0x42, 0x08, Register::Apka, Some(116), 52..64),
        0x20 => (10, 0x40, 0x42, 0x08, Register::Apka, Some(16), 74..76),
        _ => return None,
    };
    Some(Private { format_at, clear, transported, internal, register, pattern_at, skeleton })
}

/// The kind of key in the token at the beginning of `field`, and the token's length in bytes. Of
/// several keys the one that needs most care counts: clear, then wrapped, then public.
pub(crate) fn holds(field: &[u8]) -> Result<(Holds, usize), DescribeError> {
    let length = DescribeError::Length { given: field.len() };
    let header = field.first_chunk::<HEADER_BYTES>().ok_or(length)?;
    if !matches!(header[0], INTERNAL | EXTERNAL) {
        return Err(DescribeError::Form);
    }
    let bytes = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let mut rest = field.get(HEADER_BYTES..bytes).ok_or(length)?;
    let mut holds = Holds::Nothing;
    // A skeleton has a public section too, with the parameters of the key to generate.
    let mut skeleton = false;
    while !rest.is_empty() {
        let header = rest.first_chunk::<4>().ok_or(length)?;
        let section_bytes = usize::from(u16::from_be_bytes([header[2], header[3]]));
        if section_bytes < header.len() {
            return Err(length);
        }
        let (section, after) = rest.split_at_checked(section_bytes).ok_or(length)?;
        match section_holds(section)? {
            Some(Holds::Nothing) => skeleton = true,
            Some(found) if weight(found) > weight(holds) => holds = found,
            _ => {}
        }
        rest = after;
    }
    Ok((if skeleton && holds == Holds::Public { Holds::Nothing } else { holds }, bytes))
}

/// The header of a section of a PKA token, of any kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionHeader {
    /// Identifier of the section, such as X'04'.
    pub id: u8,
    /// Version of the section.
    pub version: u8,
    /// Length of the section in bytes.
    pub bytes: usize,
}

/// The headers of the sections of the token at the beginning of a field. They end with the first
/// section that does not lie within the token.
pub fn sections(field: &[u8]) -> impl Iterator<Item = SectionHeader> + '_ {
    let end = super::stated_length(field).unwrap_or(0);
    let mut rest = field.get(HEADER_BYTES..end).unwrap_or_default();
    std::iter::from_fn(move || {
        let [id, version, high, low] = *rest.first_chunk::<4>()?;
        let bytes = usize::from(u16::from_be_bytes([high, low]));
        let (section, after) = rest.split_at_checked(bytes)?;
        rest = if section.len() < 4 { return None } else { after };
        Some(SectionHeader { id, version, bytes })
    })
}

/// The kind of key in one section; `None` for a kind of section that never holds a key.
fn section_holds(section: &[u8]) -> Result<Option<Holds>, DescribeError> {
    let kind = match section[0] {
        0x04 | 0x21 => return Ok(Some(Holds::Public)),
        0x10 | 0x23 => return Ok(None),
        other => private(other).ok_or(DescribeError::Form)?,
    };
    let length = DescribeError::Length { given: section.len() };
    let format = *section.get(kind.format_at).ok_or(length)?;
    if format == kind.clear {
        let is_skeleton =
            section.get(kind.skeleton).is_some_and(|fields| fields.iter().all(|byte| *byte == 0));
        return Ok(Some(if is_skeleton { Holds::Nothing } else { Holds::Clear }));
    }
    if format == kind.transported {
        return Ok(Some(Holds::Wrapped(Under::Key)));
    }
    if format == kind.internal {
        let pattern = kind.pattern_at.and_then(|at| section.get(at..)?.first_chunk().copied());
        return Ok(Some(Holds::Wrapped(Under::Master { register: kind.register, pattern })));
    }
    Err(DescribeError::Form)
}

const fn weight(holds: Holds) -> u8 {
    match holds {
        Holds::Nothing | Holds::Named => 0,
        Holds::Public => 1,
        Holds::Wrapped(_) => 2,
        Holds::Clear => 3,
    }
}

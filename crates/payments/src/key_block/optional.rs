//! Optional blocks: attributes of a key beyond the sixteen characters of the header.
//!
//! ```text
//! identifier (2)  length of block, 2 hexadecimal digits  data
//! identifier (2)  00  04  length of block, 4 hexadecimal digits  data
//! ```
//! All characters are printable ASCII.

use super::attributes::is_upper;
use super::parse::{Cause, Fault};

/// The greatest length that two hexadecimal digits express.
const SHORT_MAX: usize = 0xFF;
/// Characters in front of the data if the length has two digits.
pub(super) const SHORT_HEAD: usize = 4;
/// Characters in front of the data if the length has four digits; X9.143 allows no other number of digits.
const LONG_HEAD: usize = 10;
/// The identifier of the block that pads the header to whole blocks of the cipher.
pub(super) const PADDING: [u8; 2] = *b"PB";

/// An optional block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionalBlock<'a> {
    /// The identifier: two upper-case letters or digits.
    pub identifier: [u8; 2],
    /// The data, in printable characters.
    pub data: &'a [u8],
}

/// Which data a block may have.
enum Contents {
    /// Printable characters.
    Printable,
    /// Pairs of hexadecimal digits, at least the first and at most the second number of digits.
    Hexadecimal(usize, usize),
}

impl OptionalBlock<'_> {
    /// The form that X9.143 prescribes for the data; printable characters for blocks that it does not name.
    const fn contents(&self) -> Contents {
        match &self.identifier {
            // The identifier of an AES DUKPT initial key.
            b"IK" => Contents::Hexadecimal(16, 16),
            // The kind of a base key, and its identifier.
            b"BI" => Contents::Hexadecimal(10, 12),
            // The hash of an HMAC key.
            b"HM" => Contents::Hexadecimal(2, 2),
            // Method and check value: of the key, of its protection key, of an earlier protection key.
            b"KC" | b"KP" | b"PK" => Contents::Hexadecimal(4, 34),
            // Version and value: life of an asymmetric key, weakest protection so far.
            b"AL" | b"WP" => Contents::Hexadecimal(4, 4),
            // KS names a set of keys: the serial number of a TDES DUKPT terminal in digits, or a text of its maker's.
            // CT certificate, DA derivations, FL flags, LB label, TC and TS times, KV, PB, and all others.
            _ => Contents::Printable,
        }
    }

    /// The offset of the first character that is not allowed in the data, or of a missing one.
    pub(super) fn bad_character(&self) -> Option<usize> {
        match self.contents() {
            Contents::Printable => self.data.iter().position(|byte| !matches!(byte, b' '..=b'~')),
            Contents::Hexadecimal(least, most) => {
                let bad = self.data.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b'A'..=b'F'));
                let length = self.data.len();
                let is_length = (least..=most).contains(&length) && length.is_multiple_of(2);
                bad.or((!is_length).then_some(length.min(most)))
            }
        }
    }

    /// Appends the block to `text`, with a length of two digits if that suffices, else four. `None` if four do not
    /// suffice.
    pub fn write(&self, text: &mut Vec<u8>) -> Option<()> {
        text.extend_from_slice(&self.identifier);
        let short = SHORT_HEAD + self.data.len();
        let (length, digits) = if short <= SHORT_MAX {
            (short, 2)
        } else {
            text.extend_from_slice(b"0004");
            (LONG_HEAD + self.data.len(), 4)
        };
        if length >> (4 * digits) != 0 {
            return None;
        }
        for place in (0..digits).rev() {
            text.push(b"0123456789ABCDEF"[length >> (4 * place) & 15]);
        }
        text.extend_from_slice(self.data);
        Some(())
    }
}

/// Reads a text of optional blocks and nothing else, as they stand between header and payload.
///
/// # Errors
/// [`Fault`]; [`Cause::OptionalTwice`] for a repeated identifier, [`Cause::OptionalOrder`] for a padding block, which
/// only [`header`](super::header) makes.
pub fn optional_blocks(text: &[u8]) -> Result<Vec<OptionalBlock<'_>>, Fault> {
    let mut blocks: Vec<OptionalBlock<'_>> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let (block, length) = read(text, at)?;
        if block.identifier == PADDING {
            return Err(Fault::at(Cause::OptionalOrder, at));
        }
        if blocks.iter().any(|other| other.identifier == block.identifier) {
            return Err(Fault::at(Cause::OptionalTwice, at));
        }
        blocks.push(block);
        at += length;
    }
    Ok(blocks)
}

/// The optional block at offset `at` of a text, and its length in characters.
///
/// # Errors
/// [`Fault`].
pub(super) fn read(text: &[u8], at: usize) -> Result<(OptionalBlock<'_>, usize), Fault> {
    let fault = |cause, offset: usize| Err(Fault::at(cause, at + offset));
    let rest = text.get(at..).unwrap_or_default();
    let &[first, second, _, _, ..] = rest else {
        return fault(Cause::OptionalLength, 0);
    };
    for (offset, character) in [first, second].into_iter().enumerate() {
        if !is_upper(character) {
            return fault(Cause::Character, offset);
        }
    }
    let (length, head) = match number(rest, 2, 2) {
        Err(offset) => return fault(Cause::Character, offset),
        Ok(0) => {
            if rest.get(4..6).is_none_or(|digits| digits != b"04") {
                return fault(Cause::OptionalLength, 4);
            }
            match number(rest, 6, 4) {
                Err(offset) => return fault(Cause::Character, offset),
                Ok(length) => (length, LONG_HEAD),
            }
        }
        Ok(length) => (length, SHORT_HEAD),
    };
    let Some(data) = rest.get(head..length) else {
        return fault(Cause::OptionalLength, 2);
    };
    let block = OptionalBlock { identifier: [first, second], data };
    match block.bad_character() {
        Some(offset) => fault(Cause::Character, head + offset),
        None => Ok((block, length)),
    }
}

/// Reads a number of upper-case hexadecimal digits; the error is the offset of the first other character.
fn number(text: &[u8], at: usize, digits: usize) -> Result<usize, usize> {
    (at..at + digits).try_fold(0, |all, place| {
        let value = match text.get(place) {
            Some(digit @ b'0'..=b'9') => digit - b'0',
            Some(digit @ b'A'..=b'F') => digit - b'A' + 10,
            _ => return Err(place),
        };
        Ok(all << 4 | usize::from(value))
    })
}

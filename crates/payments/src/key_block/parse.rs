//! Reads the text of a key block.

use super::attributes::{Attributes, Version};
use super::optional::{OptionalBlock, PADDING, read};
use super::{BLOCK_BYTES_MAX, HEADER_BYTES};

/// Why a text is no key block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The version letter is unknown.
    Version,
    /// A character is not allowed in its place, or is missing.
    Character,
    /// The length field differs from the text's length or exceeds [`BLOCK_BYTES_MAX`], or the payload is not whole
    /// blocks.
    Length,
    /// The length of an optional block is invalid, or exceeds the text.
    OptionalLength,
    /// A second optional block has the same identifier: readers could differ on which one counts.
    OptionalTwice,
    /// A block follows the padding block, a padding block is given where none is allowed, or there are more than 99
    /// blocks.
    OptionalOrder,
    /// The header with its optional blocks is not whole blocks of the cipher.
    HeaderLength,
}

/// Why and where a text is no key block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Why the text is refused.
    pub cause: Cause,
    /// The offset of the faulty character.
    pub at: usize,
}

impl Fault {
    pub(super) const fn at(cause: Cause, at: usize) -> Self {
        Self { cause, at }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cause = match self.cause {
            Cause::Version => "no version of a key block that is known",
            Cause::Character => "a character that has no place there",
            Cause::Length => "not the length of the key block",
            Cause::OptionalLength => "not the length of an optional block",
            Cause::OptionalTwice => "an optional block that was there before",
            Cause::OptionalOrder => "an optional block too many",
            Cause::HeaderLength => "the header does not fill blocks of the cipher",
        };
        write!(f, "key block, character {}: {cause}", self.at)
    }
}

impl std::error::Error for Fault {}

/// A well-formed key block. Only its MAC tells whether key and header are unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    text: &'a [u8],
    attributes: Attributes,
    header_bytes: usize,
}

impl<'a> Block<'a> {
    /// Reads a block that fills the whole text.
    ///
    /// # Errors
    /// [`Fault`]: the leftmost one, but the length field and the length of the text are compared first.
    pub fn parse(text: &'a [u8]) -> Result<Self, Fault> {
        let version =
            text.first().and_then(|letter| Version::of(*letter)).ok_or(Fault::at(Cause::Version, 0))?;
        let length = decimal(text, 1, 4)?;
        if length != text.len() || length > BLOCK_BYTES_MAX {
            return Err(Fault::at(Cause::Length, 1));
        }
        let (attributes, header_bytes) = read_header(text)?;
        let hexadecimal = &text[header_bytes..];
        let payload = hexadecimal.len().checked_sub(2 * version.mac_bytes());
        let is_whole = |characters: usize| {
            characters >= 2 * version.cipher_bytes() && characters.is_multiple_of(2 * version.cipher_bytes())
        };
        if !payload.is_some_and(is_whole) {
            return Err(Fault::at(Cause::Length, 1));
        }
        match hexadecimal.iter().position(|digit| nibble(*digit).is_none()) {
            Some(at) => Err(Fault::at(Cause::Character, header_bytes + at)),
            None => Ok(Self { text, attributes, header_bytes }),
        }
    }

    /// The whole text of the block.
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// The attributes in the header.
    pub fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    /// The text of the header with its optional blocks.
    pub fn header(&self) -> &'a [u8] {
        &self.text[..self.header_bytes]
    }

    /// The optional blocks in their order, the padding block included.
    pub fn optional(&self) -> impl Iterator<Item = OptionalBlock<'a>> + use<'a> {
        let header = self.header();
        let mut at = HEADER_BYTES;
        std::iter::from_fn(move || {
            if at >= header.len() {
                return None;
            }
            let (block, length) = read(header, at).ok()?;
            at += length;
            Some(block)
        })
    }

    /// The data of the optional block with this identifier; `None` if there is none.
    pub fn optional_data(&self, identifier: [u8; 2]) -> Option<&'a [u8]> {
        self.optional().find(|block| block.identifier == identifier).map(|block| block.data)
    }

    /// The bytes of the enciphered payload.
    pub fn payload(&self) -> Vec<u8> {
        bytes(&self.text[self.header_bytes..self.mac_at()])
    }

    /// The bytes of the MAC.
    pub fn mac(&self) -> Vec<u8> {
        bytes(&self.text[self.mac_at()..])
    }

    fn mac_at(&self) -> usize {
        self.text.len() - 2 * self.attributes.version.mac_bytes()
    }
}

/// Reads the header at the start of a text: its attributes, and its length with the optional blocks.
///
/// # Errors
/// [`Fault`].
pub(super) fn read_header(text: &[u8]) -> Result<(Attributes, usize), Fault> {
    let header = text.first_chunk().ok_or(Fault::at(Cause::Character, text.len()))?;
    let attributes = Attributes::read(header)?;
    let mut seen = Vec::new();
    let mut at = HEADER_BYTES;
    for _ in 0..decimal(text, 12, 2)? {
        let (block, length) = read(text, at)?;
        if seen.contains(&PADDING) {
            return Err(Fault::at(Cause::OptionalOrder, at));
        }
        if seen.contains(&block.identifier) {
            return Err(Fault::at(Cause::OptionalTwice, at));
        }
        seen.push(block.identifier);
        at += length;
    }
    if at.is_multiple_of(attributes.version.cipher_bytes()) {
        Ok((attributes, at))
    } else {
        Err(Fault::at(Cause::HeaderLength, at))
    }
}

fn decimal(text: &[u8], at: usize, digits: usize) -> Result<usize, Fault> {
    (at..at + digits).try_fold(0, |all, place| match text.get(place) {
        Some(digit @ b'0'..=b'9') => Ok(10 * all + usize::from(digit - b'0')),
        _ => Err(Fault::at(Cause::Character, place)),
    })
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

fn bytes(hexadecimal: &[u8]) -> Vec<u8> {
    let value = |digit: u8| nibble(digit).unwrap_or(0);
    hexadecimal.chunks_exact(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect()
}

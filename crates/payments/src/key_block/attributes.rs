//! The sixteen characters of a header, and their meaning.

use super::HEADER_BYTES;
use super::parse::{Cause, Fault};

/// The version of a block: how its key is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Version {
    /// Variants of a TDES key (1st edition). The header can be bound more weakly than the key.
    A,
    /// Keys derived from a TDES key.
    B,
    /// Variants of a TDES key, as in version A.
    C,
    /// Keys derived from an AES key.
    D,
}

impl Version {
    /// All versions.
    pub const ALL: [Self; 4] = [Self::A, Self::B, Self::C, Self::D];

    /// The version with this letter; `None` if there is none.
    pub const fn of(letter: u8) -> Option<Self> {
        match letter {
            b'A' => Some(Self::A),
            b'B' => Some(Self::B),
            b'C' => Some(Self::C),
            b'D' => Some(Self::D),
            _ => None,
        }
    }

    /// The version's letter.
    pub const fn letter(self) -> u8 {
        match self {
            Self::A => b'A',
            Self::B => b'B',
            Self::C => b'C',
            Self::D => b'D',
        }
    }

    /// The cipher's block length in bytes. The header with its optional blocks is a multiple of it in characters, the
    /// payload in bytes.
    pub const fn cipher_bytes(self) -> usize {
        match self {
            Self::A | Self::B | Self::C => 8,
            Self::D => 16,
        }
    }

    /// Length of the MAC in bytes.
    pub const fn mac_bytes(self) -> usize {
        match self {
            Self::A | Self::C => 4,
            Self::B => 8,
            Self::D => 16,
        }
    }

    /// Whether the MAC covers the clear payload; else it covers the enciphered one.
    pub const fn authenticates_clear(self) -> bool {
        matches!(self, Self::B | Self::D)
    }

    /// The initial vector of the cipher: the beginning of the header, or the MAC.
    pub fn vector<'b>(self, header: &'b [u8], mac: &'b [u8]) -> &'b [u8] {
        if self.authenticates_clear() { mac } else { &header[..self.cipher_bytes().min(header.len())] }
    }
}

/// Whether, and how, the key of a block may be exported again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exportability {
    /// E: under a key-encrypting key, in a form that meets X9.24.
    Trusted,
    /// N: not at all.
    No,
    /// S: under a key-encrypting key, also in a form that does not meet X9.24.
    Sensitive,
}

impl Exportability {
    /// All values of the exportability.
    pub const ALL: [Self; 3] = [Self::Trusted, Self::No, Self::Sensitive];

    /// The value with this letter; `None` if there is none.
    pub const fn of(letter: u8) -> Option<Self> {
        match letter {
            b'E' => Some(Self::Trusted),
            b'N' => Some(Self::No),
            b'S' => Some(Self::Sensitive),
            _ => None,
        }
    }

    /// The value's letter.
    pub const fn letter(self) -> u8 {
        match self {
            Self::Trusted => b'E',
            Self::No => b'N',
            Self::Sensitive => b'S',
        }
    }
}

/// The key's attributes in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Attributes {
    /// The version: how the key is protected.
    pub version: Version,
    /// The key usage: two upper-case letters or digits.
    pub usage: [u8; 2],
    /// The key's algorithm, an upper-case letter or digit: T for TDES, A for AES, D for DES.
    pub algorithm: u8,
    /// The mode of use: an upper-case letter or digit.
    pub mode: u8,
    /// The key's version: two letters or digits, 00 for none. A lower-case c first marks a component.
    pub key_version: [u8; 2],
    /// Whether the key may be exported again.
    pub exportability: Exportability,
    /// The key context: digit 0 if the protection key determines it, 1 for storage only, 2 for exchange only.
    pub context: u8,
}

impl Attributes {
    /// Reads a header.
    ///
    /// # Errors
    /// [`Fault`] at the first character that is not allowed there.
    pub(super) fn read(header: &[u8; HEADER_BYTES]) -> Result<Self, Fault> {
        let version = Version::of(header[0]).ok_or(Fault::at(Cause::Version, 0))?;
        let is_good = |at: usize, character: u8| match at {
            5..9 => is_upper(character),
            9 | 10 => character.is_ascii_alphanumeric(),
            11 => Exportability::of(character).is_some(),
            14 => matches!(character, b'0'..=b'2'),
            15 => character == b'0',
            _ => true,
        };
        if let Some(at) = header.iter().enumerate().position(|(at, character)| !is_good(at, *character)) {
            return Err(Fault::at(Cause::Character, at));
        }
        let exportability = Exportability::of(header[11]).ok_or(Fault::at(Cause::Character, 11))?;
        Ok(Self {
            version,
            usage: [header[5], header[6]],
            algorithm: header[7],
            mode: header[8],
            key_version: [header[9], header[10]],
            exportability,
            context: header[14],
        })
    }

    /// The header of a block of `length` characters with `optional` optional blocks, written as four and two digits.
    pub(super) fn write(&self, length: usize, optional: usize) -> [u8; HEADER_BYTES] {
        let digit = |value: usize, unit: usize| b'0' + (value / unit % 10) as u8;
        let mut header = [b'0'; HEADER_BYTES];
        header[0] = self.version.letter();
        for (place, unit) in header[1..5].iter_mut().zip([1000, 100, 10, 1]) {
            *place = digit(length, unit);
        }
        header[5..7].copy_from_slice(&self.usage);
        (header[7], header[8]) = (self.algorithm, self.mode);
        header[9..11].copy_from_slice(&self.key_version);
        header[11] = self.exportability.letter();
        (header[12], header[13]) = (digit(optional, 10), digit(optional, 1));
        header[14] = self.context;
        header
    }
}

/// Whether a character is an upper-case letter or a digit.
pub(super) fn is_upper(character: u8) -> bool {
    matches!(character, b'0'..=b'9' | b'A'..=b'Z')
}

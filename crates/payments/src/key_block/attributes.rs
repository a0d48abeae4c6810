//! What the sixteen characters of a header say.

use super::HEADER_BYTES;
use super::parse::{Cause, Fault};

/// The version of a block: how its key is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Version {
    /// Variants of a TDES key (1st edition). The header can be bound more weakly than the key.
    A,
    /// Keys derived from a TDES key.
    B,
    /// As A.
    C,
    /// Keys derived from an AES key.
    D,
}

impl Version {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::A, Self::B, Self::C, Self::D];

    /// The version of this letter.
    pub const fn of(letter: u8) -> Option<Self> {
        match letter {
            b'A' => Some(Self::A),
            b'B' => Some(Self::B),
            b'C' => Some(Self::C),
            b'D' => Some(Self::D),
            _ => None,
        }
    }

    /// Its letter.
    pub const fn letter(self) -> u8 {
        match self {
            Self::A => b'A',
            Self::B => b'B',
            Self::C => b'C',
            Self::D => b'D',
        }
    }

    /// Length of a block of its cipher in bytes. The header with its optional blocks has a multiple of it in
    /// characters, the payload in bytes.
    pub const fn cipher_bytes(self) -> usize {
        match self {
            Self::A | Self::B | Self::C => 8,
            Self::D => 16,
        }
    }

    /// Length of its MAC in bytes.
    pub const fn mac_bytes(self) -> usize {
        match self {
            Self::A | Self::C => 4,
            Self::B => 8,
            Self::D => 16,
        }
    }

    /// Whether the MAC is of the clear payload; else of the enciphered one.
    pub const fn authenticates_clear(self) -> bool {
        matches!(self, Self::B | Self::D)
    }

    /// The first vector of the cipher: the beginning of the header, or the MAC.
    pub fn vector<'b>(self, header: &'b [u8], mac: &'b [u8]) -> &'b [u8] {
        if self.authenticates_clear() { mac } else { &header[..self.cipher_bytes().min(header.len())] }
    }
}

/// Whether the key of a block may leave again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exportability {
    /// In the ways of the standard (E).
    Trusted,
    /// No (N).
    No,
    /// In other ways too (S).
    Sensitive,
}

impl Exportability {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Trusted, Self::No, Self::Sensitive];

    /// That of this letter.
    pub const fn of(letter: u8) -> Option<Self> {
        match letter {
            b'E' => Some(Self::Trusted),
            b'N' => Some(Self::No),
            b'S' => Some(Self::Sensitive),
            _ => None,
        }
    }

    /// Its letter.
    pub const fn letter(self) -> u8 {
        match self {
            Self::Trusted => b'E',
            Self::No => b'N',
            Self::Sensitive => b'S',
        }
    }
}

/// What the header says of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Attributes {
    /// How it is protected.
    pub version: Version,
    /// What it is for: two upper-case letters or digits.
    pub usage: [u8; 2],
    /// The algorithm that it is for, an upper-case letter or digit: T for TDES, A for AES, D for DES.
    pub algorithm: u8,
    /// How it may be used: an upper-case letter or digit.
    pub mode: u8,
    /// The version of the key: two letters or digits, 00 for none, the first one a lower-case c for a component.
    pub key_version: [u8; 2],
    /// Whether it may leave.
    pub exportability: Exportability,
    /// Where it may lie: the digit 0 where the protection key says so, 1 in a store alone, 2 on its way alone.
    pub context: u8,
}

impl Attributes {
    /// Reads a header.
    ///
    /// # Errors
    /// [`Fault`] at the first character that has no place there.
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

    /// The header of a block of this length with so many optional blocks, both of as many digits as there is room for.
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

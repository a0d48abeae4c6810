//! The formats of PIN blocks, and how the end of a PIN in one is found.

macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident $keyword:literal;)*) => {
        /// A format of PIN blocks (CCA Basic Services, appendix E; ISO 9564-1).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Format { $($(#[$doc])* $name),* }

        impl Format {
            /// All formats.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The format's keyword, without blanks.
            pub const fn keyword(self) -> &'static str {
                match self { $(Self::$name => $keyword),* }
            }
        }
    };
}

formats! {
    /// ISO 9564-1 format 0 (ANSI X9.8, VISA-1, ECI-1): with a PAN.
    Iso0 "ISO-0";
    /// ISO 9564-1 format 1 (ECI-4): with a transaction field, no PAN.
    Iso1 "ISO-1";
    /// ISO 9564-1 format 2, for chip cards: no PAN, no random digits.
    Iso2 "ISO-2";
    /// ISO 9564-1 format 3: with a PAN and random digits.
    Iso3 "ISO-3";
    /// ISO 9564-1 format 4: 16 bytes, for AES (see [`crate::iso4`]).
    Iso4 "ISO-4";
    /// VISA format 2: 4 to 6 digits.
    Visa2 "VISA-2";
    /// VISA format 3: the digit F ends the PIN.
    Visa3 "VISA-3";
    /// VISA format 4: with the leftmost digits of a PAN.
    Visa4 "VISA-4";
    /// Eurocheque international format 2: 4 digits.
    Eci2 "ECI-2";
    /// Eurocheque international format 3: 4 to 6 digits.
    Eci3 "ECI-3";
    /// IBM 3621: a sequence number, and a pad digit.
    Ibm3621 "3621";
    /// IBM 3624: a pad digit.
    Ibm3624 "3624";
    /// IBM 4704 encrypting PIN pad.
    Epp4704 "4704-EPP";
}

impl Format {
    /// The format with this keyword; trailing blanks are ignored.
    pub fn from_keyword(keyword: &[u8]) -> Option<Self> {
        let keyword = keyword.trim_ascii_end();
        Self::ALL.iter().copied().find(|format| format.keyword().as_bytes() == keyword)
    }

    /// Whether the PAN goes into the block.
    pub fn has_pan(self) -> bool {
        matches!(self, Self::Iso0 | Self::Iso3 | Self::Iso4 | Self::Visa4)
    }

    /// Whether ANSI X9.8 allows the format for PINs in transit.
    pub fn is_ansi(self) -> bool {
        matches!(self, Self::Iso0 | Self::Iso3 | Self::Iso4)
    }

    /// Whether the PIN ends with a pad digit of the caller's choice.
    pub fn has_pad(self) -> bool {
        matches!(self, Self::Ibm3621 | Self::Ibm3624)
    }

    /// Whether the block has a sequence number.
    pub fn has_sequence(self) -> bool {
        matches!(self, Self::Ibm3621 | Self::Epp4704)
    }

    /// The least and the greatest number of PIN digits.
    pub fn digits(self) -> (u8, u8) {
        match self {
            Self::Eci2 => (4, 4),
            Self::Visa2 | Self::Eci3 => (4, 6),
            Self::Ibm3621 => (1, 12),
            Self::Ibm3624 => (1, 16),
            _ => (4, 12),
        }
    }
}

/// How the end of a PIN in a block is found (CCA: PIN-extraction method).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extraction {
    /// PINBLOCK: by the length or delimiter in the block.
    PinBlock,
    /// PADDIGIT: the PIN ends before the profile's pad digits, which reach to the end.
    PadDigit,
    /// HEXDIGIT: the PIN ends before the first digit above 9; all digits from there on are equal.
    HexDigit,
    /// PADEXIST: as PADDIGIT, but the pad digit is the last digit of the block.
    PadExist,
    /// PINLEN04 to PINLEN16: the PIN has this number of digits.
    Length(u8),
}

impl Extraction {
    /// The format's default method, if no keyword names another.
    pub fn of(format: Format) -> Self {
        match format {
            Format::Eci2 => Self::Length(4),
            Format::Ibm3621 | Format::Ibm3624 => Self::PadDigit,
            _ => Self::PinBlock,
        }
    }

    /// Whether blocks of this format can be read by this method.
    pub fn fits(self, format: Format) -> bool {
        match self {
            Self::PinBlock => Self::of(format) == Self::PinBlock,
            Self::PadDigit | Self::HexDigit | Self::PadExist => format.has_pad(),
            Self::Length(length) if format.has_pad() => (4..=format.digits().1).contains(&length),
            Self::Length(length) => format == Format::Eci2 && length == 4,
        }
    }
}

/// Everything that determines how a PIN lies in a block of 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The format, never [`Format::Iso4`].
    pub format: Format,
    /// How the PIN's end is found; [fits](Extraction::fits) the format.
    pub extraction: Extraction,
    /// The pad digit, 0 to 15, of formats that have one.
    pub pad: u8,
    /// A PIN with fewer digits is invalid.
    pub least: u8,
    /// Whether PIN digits must be decimal. A block that is XORed with the wrong PAN yields wrong PIN digits, and
    /// whether those are decimal tells something of the right ones. ISO 9564-1 and PCI PIN therefore forbid the check
    /// in formats with a PAN.
    pub checks_digits: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_their_names_and_methods() {
        for format in Format::ALL {
            let mut padded = [b' '; 8];
            padded[..format.keyword().len()].copy_from_slice(format.keyword().as_bytes());
            assert_eq!(Format::from_keyword(&padded), Some(*format));
            assert!(Extraction::of(*format).fits(*format), "{format:?}");
        }
        assert_eq!(Format::from_keyword(b"ISO-5   "), None);
        assert!(
            Extraction::Length(16).fits(Format::Ibm3624) && !Extraction::Length(16).fits(Format::Ibm3621)
        );
        assert!(!Extraction::Length(3).fits(Format::Ibm3624) && !Extraction::PadExist.fits(Format::Iso0));
        assert!(!Extraction::PinBlock.fits(Format::Eci2) && !Extraction::Length(5).fits(Format::Eci2));
    }
}

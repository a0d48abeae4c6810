//! The formats of PIN blocks, and how the end of a PIN in one is found.

macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident $keyword:literal;)*) => {
        /// A format of PIN blocks (CCA Basic Services, appendix E; ISO 9564-1).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Format { $($(#[$doc])* $name),* }

        impl Format {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Its keyword, without blanks.
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
    /// The format of this name; trailing blanks are padding.
    pub fn from_keyword(keyword: &[u8]) -> Option<Self> {
        let keyword = keyword.trim_ascii_end();
        Self::ALL.iter().copied().find(|format| format.keyword().as_bytes() == keyword)
    }

    /// Whether the PAN is part of the block.
    pub fn has_pan(self) -> bool {
        matches!(self, Self::Iso0 | Self::Iso3 | Self::Iso4 | Self::Visa4)
    }

    /// Whether ANSI X9.8 knows it for PINs on their way.
    pub fn is_ansi(self) -> bool {
        matches!(self, Self::Iso0 | Self::Iso3 | Self::Iso4)
    }

    /// Whether a pad digit of the caller's choice ends the PIN.
    pub fn has_pad(self) -> bool {
        matches!(self, Self::Ibm3621 | Self::Ibm3624)
    }

    /// Whether it has a sequence number.
    pub fn has_sequence(self) -> bool {
        matches!(self, Self::Ibm3621 | Self::Epp4704)
    }

    /// The fewest and the most digits of a PIN in it.
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
    /// PINBLOCK: the length, or the delimiter, in the block.
    PinBlock,
    /// PADDIGIT: before the pad digits of the profile, which reach to the end.
    PadDigit,
    /// HEXDIGIT: before the first digit above 9; all behind it are the same.
    HexDigit,
    /// PADEXIST: as PADDIGIT, with the last digit of the block as pad digit.
    PadExist,
    /// PINLEN04 to PINLEN16: it has so many digits.
    Length(u8),
}

impl Extraction {
    /// The method that a format has where no keyword says another.
    pub fn of(format: Format) -> Self {
        match format {
            Format::Eci2 => Self::Length(4),
            Format::Ibm3621 | Format::Ibm3624 => Self::PadDigit,
            _ => Self::PinBlock,
        }
    }

    /// Whether blocks of this format can be read so.
    pub fn fits(self, format: Format) -> bool {
        match self {
            Self::PinBlock => Self::of(format) == Self::PinBlock,
            Self::PadDigit | Self::HexDigit | Self::PadExist => format.has_pad(),
            Self::Length(length) if format.has_pad() => (4..=format.digits().1).contains(&length),
            Self::Length(length) => format == Format::Eci2 && length == 4,
        }
    }
}

/// All that says how a PIN lies in a block of 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Its format, not [`Format::Iso4`].
    pub format: Format,
    /// How its end is found; it [fits](Extraction::fits) the format.
    pub extraction: Extraction,
    /// The pad digit, 0 to 15, of formats that have one.
    pub pad: u8,
    /// Fewer digits are no PIN.
    pub least: u8,
    /// Whether a PIN has decimal digits alone. In a block that holds a PAN, XORed with another PAN than its own, digits
    /// become others, and whether they are still decimal tells what they were: ISO 9564-1 and PCI PIN have them
    /// unchecked there.
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

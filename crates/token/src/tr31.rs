//! The header of a TR-31 key block (ASC X9 TR 31; ANSI X9.143), and its optional blocks: the
//! attributes of the key, in the clear. The key and the MAC behind them are not read.
//!
//! ```text
//!  0 version (A-D)  1 length of all, 4 decimal digits  5 usage (2)  7 algorithm  8 mode of use  9 version of the key (2)
//! 11 exportability  12 number of optional blocks, 2 decimal digits  14 reserved (2)
//! 16 optional blocks: identifier (2), length, 2 hexadecimal digits; X'00': 2 digits say how many digits of length follow
//! ```
//! The whole block is printable ASCII.

pub mod uses;

/// Length of the header in bytes.
pub const HEADER_BYTES: usize = 16;

/// The header of a key block and its optional blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tr31<'a> {
    block: &'a str,
    optional: usize,
}

/// Why a field is not a key block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tr31Error {
    /// The field does not begin with a version and a length.
    Start,
    /// The stated length is not the field's length.
    Length {
        /// The length that the block states, in characters.
        stated: usize,
        /// The length of the field, in characters.
        given: usize,
    },
    /// The character at this offset is not allowed there.
    Character(usize),
    /// An optional block at this offset reaches beyond the block.
    Optional(usize),
}

impl std::fmt::Display for Tr31Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Start => f.write_str("no TR-31 block begins like that"),
            Self::Length { stated, given } => {
                write!(f, "a TR-31 block that says {stated} characters, of which {given} are there")
            }
            Self::Character(at) => write!(f, "TR-31 block: character {at} has no place there"),
            Self::Optional(at) => {
                write!(f, "TR-31 block: the optional block at {at} reaches beyond the block")
            }
        }
    }
}

impl std::error::Error for Tr31Error {}

/// Whether a field begins as a block does: a version letter and four digits.
pub fn begins(field: &[u8]) -> bool {
    matches!(field, [b'A'..=b'D', digits @ ..] if digits.len() >= 4 && digits[..4].iter().all(u8::is_ascii_digit))
}

/// What a field is that begins as another key block does, and what to do with it; `None` for one that begins
/// as a TR-31 block of a version that is read here, and for what is no key block.
pub fn of_another_form(field: &[u8]) -> Option<&'static str> {
    Some(match field {
        [b'R', rest @ ..] if begins(rest) => {
            "a TR-31 block behind R, the scheme letter of host commands: leave that letter out"
        }
        [b'S', b'0' | b'1', digits @ ..]
            if digits.len() >= 4 && digits[..4].iter().all(u8::is_ascii_digit) =>
        {
            "a key block of Thales's own form (S), which its local master keys protect: ask for one in TR-31"
        }
        [b'E', digits @ ..] if digits.len() >= 4 && digits[..4].iter().all(u8::is_ascii_digit) => {
            "a key block of version E (ISO 20038), which is not read here: ask for one of version D"
        }
        [b'1', header @ ..]
            if header.get(7) == Some(&b',') && header[..7].iter().all(u8::is_ascii_alphanumeric) =>
        {
            "a key block of Atalla's own form, which its master file key protects: ask for one in TR-31"
        }
        [b'U' | b'T' | b'X' | b'Y' | b'Z', digits @ ..]
            if matches!(digits.len(), 16 | 32 | 48) && digits.iter().all(u8::is_ascii_hexdigit) =>
        {
            "a key under a variant of a zone or master key, without a header: ask for one in TR-31"
        }
        _ => return None,
    })
}

impl<'a> Tr31<'a> {
    /// Reads a block that fills the whole field.
    ///
    /// # Errors
    /// [`Tr31Error`] says which rule the field breaks.
    pub fn parse(field: &'a [u8]) -> Result<Self, Tr31Error> {
        if !begins(field) {
            return Err(Tr31Error::Start);
        }
        let stated = number(&field[1..5], 10).ok_or(Tr31Error::Start)?;
        if stated != field.len() || stated < HEADER_BYTES {
            return Err(Tr31Error::Length { stated, given: field.len() });
        }
        if let Some(at) = field.iter().position(|byte| !matches!(byte, b' '..=b'~')) {
            return Err(Tr31Error::Character(at));
        }
        let block = std::str::from_utf8(field).map_err(|error| Tr31Error::Character(error.valid_up_to()))?;
        let optional = number(&field[12..14], 10).ok_or(Tr31Error::Character(12))?;
        let read = Self { block, optional };
        for found in read.optional_blocks() {
            found?;
        }
        Ok(read)
    }

    /// Version of the block: A to D.
    pub fn version(&self) -> &'a str {
        &self.block[..1]
    }

    /// Length of the block in characters.
    pub fn length(&self) -> usize {
        self.block.len()
    }

    /// Usage of the key, two characters such as P0.
    pub fn usage(&self) -> &'a str {
        &self.block[5..7]
    }

    /// Algorithm of the key, one character.
    pub fn algorithm(&self) -> &'a str {
        &self.block[7..8]
    }

    /// Mode of use of the key, one character.
    pub fn mode(&self) -> &'a str {
        &self.block[8..9]
    }

    /// Version of the key, two characters.
    pub fn key_version(&self) -> &'a str {
        &self.block[9..11]
    }

    /// Exportability of the key, one character.
    pub fn exportability(&self) -> &'a str {
        &self.block[11..12]
    }

    /// Identifiers of the optional blocks, each with its whole block: identifier, length and data.
    pub fn optional_blocks(&self) -> impl Iterator<Item = Result<(&'a str, &'a str), Tr31Error>> + use<'a> {
        let block = self.block;
        let (mut at, mut left) = (HEADER_BYTES, self.optional);
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let Some(found) = optional_block(block, at) else {
                left = 0;
                return Some(Err(Tr31Error::Optional(at)));
            };
            at += found.1.len();
            Some(Ok(found))
        })
    }
}

/// The optional block at an offset, with its identifier; none if it does not lie within the block.
fn optional_block(block: &str, at: usize) -> Option<(&str, &str)> {
    let rest = block.get(at..)?;
    let digits = |from: usize, to: usize| number(rest.as_bytes().get(from..to)?, 16);
    let (length, least) = match digits(2, 4)? {
        0 => {
            let count = digits(4, 6)?;
            (digits(6, 6usize.checked_add(count)?)?, 6 + count)
        }
        short => (short, 4),
    };
    if length < least {
        return None;
    }
    Some((rest.get(..2)?, rest.get(..length)?))
}

/// A number in one to eight digits of this base, without a sign.
fn number(digits: &[u8], base: u32) -> Option<usize> {
    if digits.is_empty() || digits.len() > 8 {
        return None;
    }
    digits.iter().try_fold(0usize, |all, digit| {
        let value = (*digit as char).to_digit(base)?;
        all.checked_mul(base as usize)?.checked_add(value as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block with these parts, filled up to its length with other characters.
    fn block(header: &str, optional: &str, length: usize) -> String {
        let start = format!("{}{length:04}{}{optional}", &header[..1], &header[1..]);
        format!("{start}{}", "A".repeat(length.saturating_sub(start.len())))
    }

    #[test]
    fn what_a_header_says_is_read() {
        let text = block("DP0AE00E0000", "", 112);
        let read = Tr31::parse(text.as_bytes()).unwrap();
        assert_eq!((read.version(), read.length(), read.usage(), read.algorithm()), ("D", 112, "P0", "A"));
        assert_eq!((read.mode(), read.key_version(), read.exportability()), ("E", "00", "E"));
        assert_eq!(read.optional_blocks().count(), 0);
        let text = block("BK0TB00S0200", "KS0812ABPB0004000E1234", 96);
        let read = Tr31::parse(text.as_bytes()).unwrap();
        let blocks: Vec<_> = read.optional_blocks().collect();
        assert_eq!(blocks, [Ok(("KS", "KS0812AB")), Ok(("PB", "PB0004000E1234"))]);
    }

    #[test]
    fn blocks_of_other_forms_are_named() {
        let hex = "0123456789ABCDEF".repeat(2);
        for (field, word) in [
            ("RB0080P0TE00E0000".to_owned(), "scheme letter"),
            ("S10096P0TN00E0000".to_owned(), "Thales"),
            ("S00072P0TN00S0000".to_owned(), "Thales"),
            ("E0112P0AE00E0000".to_owned(), "ISO 20038"),
            ("1PUNE000,D04A1A44".to_owned(), "Atalla"),
            (format!("U{hex}"), "variant"),
            (format!("T{hex}0123456789ABCDEF"), "variant"),
        ] {
            assert!(!begins(field.as_bytes()));
            assert!(of_another_form(field.as_bytes()).is_some_and(|said| said.contains(word)), "{field}");
        }
        for field in
            ["", "B0080P0TE00E0000", "R", "Rx0080", "S2", "S1009", "E01", "1PUNE00,", "U0123", "-----BEGIN"]
        {
            assert_eq!(of_another_form(field.as_bytes()), None, "{field}");
        }
    }

    #[test]
    fn what_is_no_block_is_refused_with_the_place() {
        let refused =
            |text: &str, expected| assert_eq!(Tr31::parse(text.as_bytes()), Err(expected), "{text}");
        refused("", Tr31Error::Start);
        refused("E0112P0AE00E0000", Tr31Error::Start);
        refused("D01x2P0AE00E0000", Tr31Error::Start);
        refused("D0016P0AE00E000", Tr31Error::Length { stated: 16, given: 15 });
        refused("D0015P0AE00E000", Tr31Error::Length { stated: 15, given: 15 });
        refused("D0016P0AE00E0x00", Tr31Error::Character(12));
        refused("D0016P0AE00\n0000", Tr31Error::Character(11));
        assert_eq!(Tr31::parse("D0017P0AE00E0000\u{7F}".as_bytes()), Err(Tr31Error::Character(16)));
        refused("D0016P0AE00E0100", Tr31Error::Optional(16));
        refused("D0020P0AE00E0100KS03", Tr31Error::Optional(16));
        refused("D0020P0AE00E0100KS05", Tr31Error::Optional(16));
        refused("D0022P0AE00E0100KS00FF", Tr31Error::Optional(16));
        refused("D0024P0AE00E0200KS04KS05", Tr31Error::Optional(20));
    }
}

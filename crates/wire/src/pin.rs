//! What a home decides about PINs: stored decimalisation tables.

use serde::{Deserialize, Serialize};

/// A decimalisation table that may be stored: the decimal digit for each hexadecimal one, as 16 characters. It has at least
/// [`DIGITS_MIN`](Self::DIGITS_MIN) different digits, and none more than [`REPEATS_MAX`](Self::REPEATS_MAX) times: with fewer,
/// or one of them often, guesses of a PIN get easy (Bond and Zielinski, UCAM-CL-TR-560).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DecimalisationTable([u8; 16]);

/// Why a text is no table that may be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableError {
    /// It is not 16 decimal digits.
    Digits,
    /// It has fewer different digits than it must: so many.
    Few(usize),
    /// This digit stands there more often than it may.
    Repeated(char),
}

impl std::fmt::Display for TableError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (least, most) = (DecimalisationTable::DIGITS_MIN, DecimalisationTable::REPEATS_MAX);
        match self {
            Self::Digits => {
                f.write_str("a decimalisation table is 16 decimal digits, such as 0123456789012345")
            }
            Self::Few(digits) => write!(
                f,
                "the decimalisation table has {digits} different digits; one with fewer than {least} makes PINs easy to guess"
            ),
            Self::Repeated(digit) => write!(
                f,
                "the decimalisation table has {digit} more than {most} times, which makes PINs easy to guess"
            ),
        }
    }
}

impl std::error::Error for TableError {}

impl DecimalisationTable {
    /// The table that every card has from the start.
    pub const DEFAULT: Self = Self(*b"0123456789012345");
    /// Different digits that a table has at least.
    pub const DIGITS_MIN: usize = 8;
    /// How often a digit may stand in a table.
    pub const REPEATS_MAX: usize = 4;

    /// The table of this text.
    ///
    /// # Errors
    /// [`TableError`].
    pub fn new(text: &str) -> Result<Self, TableError> {
        let digits: [u8; 16] = text.as_bytes().try_into().map_err(|_| TableError::Digits)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return Err(TableError::Digits);
        }
        let times = |digit: &u8| digits.iter().filter(|own| *own == digit).count();
        let different = (b'0'..=b'9').filter(|digit| times(digit) > 0).count();
        if different < Self::DIGITS_MIN {
            return Err(TableError::Few(different));
        }
        match (b'0'..=b'9').find(|digit| times(digit) > Self::REPEATS_MAX) {
            Some(digit) => Err(TableError::Repeated(digit.into())),
            None => Ok(Self(digits)),
        }
    }

    /// Its characters.
    pub fn characters(&self) -> &[u8; 16] {
        &self.0
    }
}

impl std::fmt::Display for DecimalisationTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|digit| write!(f, "{}", char::from(*digit)))
    }
}

impl std::fmt::Debug for DecimalisationTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl TryFrom<String> for DecimalisationTable {
    type Error = TableError;

    fn try_from(text: String) -> Result<Self, TableError> {
        Self::new(&text)
    }
}

impl From<DecimalisationTable> for String {
    fn from(table: DecimalisationTable) -> Self {
        table.to_string()
    }
}

impl std::str::FromStr for DecimalisationTable {
    type Err = TableError;

    fn from_str(text: &str) -> Result<Self, TableError> {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_make_guesses_easy_are_none() {
        for good in ["0123456789012345", "9876543210123456", "0000123456778888"] {
            assert_eq!(DecimalisationTable::new(good).unwrap().to_string(), good);
        }
        for bad in [
            "",
            "012345678901234",
            "01234567890123456",
            "012345678901234A",
            "0123456789 12345",
            "٠123456789012",
        ] {
            assert_eq!(DecimalisationTable::new(bad), Err(TableError::Digits), "{bad}");
        }
        assert_eq!(DecimalisationTable::new("0000000000000001"), Err(TableError::Few(2)));
        assert_eq!(DecimalisationTable::new("0123456012345601"), Err(TableError::Few(7)));
        assert_eq!(DecimalisationTable::new("0123456700000888"), Err(TableError::Repeated('0')));
    }
}

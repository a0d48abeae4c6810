//! Tables that turn hexadecimal digits into decimal ones.

use crate::digits::digits;
use crate::mask::Mask;

/// A decimalisation table: the decimal digit for each hexadecimal one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decimalisation([u8; 16]);

/// Why sixteen characters are no decimalisation table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFault {
    /// A character is no decimal digit.
    Digit,
    /// The table has fewer than eight different digits.
    FewDigits,
    /// A digit occurs more than four times.
    Repeated,
}

impl std::fmt::Display for TableFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Digit => "a decimalisation table has 16 decimal digits",
            Self::FewDigits => "a decimalisation table has 8 different digits at least",
            Self::Repeated => "a decimalisation table has no digit more than four times",
        })
    }
}

impl std::error::Error for TableFault {}

impl Decimalisation {
    /// The default table: 0 to 9, then 0 to 5.
    pub const DEFAULT: Self = Self([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5]);

    /// Reads a table of any sixteen decimal digits.
    ///
    /// # Errors
    /// [`TableFault::Digit`].
    pub fn read(characters: &[u8; 16]) -> Result<Self, TableFault> {
        digits(characters).map(Self).map_err(|_| TableFault::Digit)
    }

    /// Checks that the table spreads PINs enough. With few different digits, or one digit very often, PINs are easily
    /// guessed (Bond and Zielinski, UCAM-CL-TR-560).
    ///
    /// # Errors
    /// [`TableFault::FewDigits`], [`TableFault::Repeated`].
    pub fn check(&self) -> Result<(), TableFault> {
        let times = |digit| self.0.iter().filter(|own| **own == digit).count();
        if (0..10).filter(|digit| times(*digit) > 0).count() < 8 {
            return Err(TableFault::FewDigits);
        }
        if (0..10).any(|digit| times(digit) > 4) { Err(TableFault::Repeated) } else { Ok(()) }
    }

    /// The sixteen characters of the table.
    pub fn characters(&self) -> [u8; 16] {
        self.0.map(|digit| digit + b'0')
    }

    /// The decimal digit for each hexadecimal digit. Reads every entry of the table for each digit, for constant time.
    pub(crate) fn apply(&self, nibbles: &[u8; 16]) -> [u8; 16] {
        nibbles.map(|nibble| {
            (0..).zip(&self.0).fold(0, |found, (at, digit)| found | Mask::same(at, nibble).keep(*digit))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_checked_and_applied() {
        let read = |text: &str| Decimalisation::read(text.as_bytes().try_into().unwrap());
        let fault = |text| read(text).and_then(|table| table.check()).unwrap_err();
        assert_eq!(read("0123456789012345"), Ok(Decimalisation::DEFAULT));
        assert_eq!(Decimalisation::DEFAULT.characters(), *b"0123456789012345");
        assert_eq!(Decimalisation::DEFAULT.check(), Ok(()));
        assert_eq!(fault("012345678901234A"), TableFault::Digit);
        assert_eq!(fault("0000000000000001"), TableFault::FewDigits);
        assert_eq!(fault("0123456012345601"), TableFault::FewDigits);
        assert_eq!(fault("0123456700008888"), TableFault::Repeated);
        assert_eq!(read("0000123456778888").unwrap().check(), Ok(()));
        let table = read("9876543210123456").unwrap();
        let all: [u8; 16] = std::array::from_fn(|at| at as u8);
        assert_eq!(table.apply(&all), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6]);
    }
}

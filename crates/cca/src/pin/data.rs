//! The data array of the PIN methods: three elements of 16 characters.
//!
//! | method | first | second | third |
//! |---|---|---|---|
//! | IBM-PIN, GBP-PIN | decimalisation table | validation data | |
//! | IBM-PINO, GBP-PINO | decimalisation table | validation data | clear PIN, or offset where one is verified |
//! | VISA-PVV, VISAPVV4 | 11 digits of the PAN, key index 1 to 6, 4 digits of a clear PIN or blanks | PVV where one is verified | |
//! | INBK-PIN | 11 digits of the PAN, 6, key index 1 to 6, 3 digits of validation | | |
//!
//! Digits stand at the left, with blanks behind them. Validation data are 16 hexadecimal digits: what shorter ones are
//! filled with is not published.

use crate::call::Call;
use payments::{Decimalisation, Pin, ibm3624, interbank};
use wire::point::Point;
use wire::{Codes, code};
use zeroize::Zeroizing;

/// Length of an element in characters.
const ELEMENT: usize = 16;
/// Digits of a PAN in a transaction security parameter.
const PAN_DIGITS: usize = 11;

/// A data array.
pub(crate) struct Data(Zeroizing<[[u8; ELEMENT]; 3]>);

/// The digits of a card in a transaction security parameter of VISA.
pub(crate) struct VisaData {
    pub(crate) pan: [u8; PAN_DIGITS],
    pub(crate) key_index: u8,
}

impl Data {
    /// The array of these characters.
    pub(crate) fn new(characters: &[u8; 3 * ELEMENT]) -> Self {
        let element = |number: usize| std::array::from_fn(|at| characters[ELEMENT * number + at]);
        Self(Zeroizing::new(std::array::from_fn(element)))
    }

    /// The decimalisation table.
    ///
    /// # Errors
    /// 8/102 for other than 16 digits, and for a table that is not stored where the role takes stored ones alone.
    pub(crate) fn table(&self, call: &Call<'_, '_>) -> Result<Decimalisation, Codes> {
        let table = Decimalisation::read(&self.0[0]).map_err(|_| code::DECIMALISATION_TABLE)?;
        if call.tables.contains(&table) || call.points.permits(Point::PinAnyTable) {
            Ok(table)
        } else {
            Err(code::DECIMALISATION_TABLE)
        }
    }

    /// The block of the validation data.
    ///
    /// # Errors
    /// 8/103 for anything but 16 hexadecimal digits in upper case.
    pub(crate) fn validation(&self) -> Result<[u8; 8], Codes> {
        let digits = payments::hexadecimal(&self.0[1]).map_err(|_| code::VALIDATION_DATA)?;
        Ok(ibm3624::validation_block(&digits))
    }

    /// The clear PIN of `length` digits.
    ///
    /// # Errors
    /// 8/104.
    pub(crate) fn customer_pin(&self, length: u8) -> Result<Pin, Codes> {
        let digits = Zeroizing::new(left(&self.0[2], length).ok_or(code::CUSTOMER_PIN)?);
        Ok(Pin::new(&digits, length))
    }

    /// The offset of `length` digits.
    ///
    /// # Errors
    /// 8/112.
    pub(crate) fn offset(&self, length: u8) -> Result<[u8; ELEMENT], Codes> {
        Self::offset_in(&self.0[2], length)
    }

    /// The offset of `length` digits in a field outside of the array.
    ///
    /// # Errors
    /// 8/112.
    pub(crate) fn offset_in(field: &[u8; ELEMENT], length: u8) -> Result<[u8; ELEMENT], Codes> {
        left(field, length).ok_or(code::PIN_OFFSET)
    }

    /// The card's digits in VISA's transaction security parameter.
    ///
    /// # Errors
    /// 8/105.
    pub(crate) fn visa(&self) -> Result<VisaData, Codes> {
        let digits: [u8; 12] = payments::digits(&self.0[0][..12]).map_err(|_| code::TRANSACTION_SECURITY)?;
        let (pan, rest) = digits.split_first_chunk().ok_or(code::TRANSACTION_SECURITY)?;
        Ok(VisaData { pan: *pan, key_index: key_index(rest[0])? })
    }

    /// The four digits of a clear PIN that follow the card's digits of [`Data::visa`].
    ///
    /// # Errors
    /// 8/105.
    pub(crate) fn visa_pin(&self) -> Result<Pin, Codes> {
        let digits = Zeroizing::new(
            payments::digits::<ELEMENT>(&self.0[0][12..]).map_err(|_| code::TRANSACTION_SECURITY)?,
        );
        Ok(Pin::new(&digits, 4))
    }

    /// Refuses with 8/105 if the place of a clear PIN in VISA's parameter is not blank.
    pub(crate) fn no_visa_pin(&self) -> Result<(), Codes> {
        if self.0[0][12..] == *b"    " { Ok(()) } else { Err(code::TRANSACTION_SECURITY) }
    }

    /// The PVV to compare with.
    ///
    /// # Errors
    /// 8/114.
    pub(crate) fn pvv(&self) -> Result<[u8; 4], Codes> {
        let digits = left(&self.0[1], 4).ok_or(code::PVV)?;
        digits.first_chunk().copied().ok_or(code::PVV)
    }

    /// The block of the Interbank method.
    ///
    /// # Errors
    /// 8/105.
    pub(crate) fn interbank(&self) -> Result<[u8; 8], Codes> {
        let digits: [u8; ELEMENT] = payments::digits(&self.0[0]).map_err(|_| code::TRANSACTION_SECURITY)?;
        let (pan, rest) = digits.split_first_chunk().ok_or(code::TRANSACTION_SECURITY)?;
        match rest {
            [6, index, a, b, c] => Ok(interbank::block(pan, key_index(*index)?, &[*a, *b, *c])),
            _ => Err(code::TRANSACTION_SECURITY),
        }
    }
}

fn key_index(digit: u8) -> Result<u8, Codes> {
    if (1..=6).contains(&digit) { Ok(digit) } else { Err(code::TRANSACTION_SECURITY) }
}

/// The digits of an element that is `length` digits with blanks behind them; else `None`.
fn left(element: &[u8; ELEMENT], length: u8) -> Option<[u8; ELEMENT]> {
    let (digits, blanks) = element.split_at_checked(usize::from(length))?;
    if blanks.iter().any(|blank| *blank != b' ') {
        return None;
    }
    payments::digits(digits).ok()
}

/// Checks the length of a PIN in an argument.
///
/// # Errors
/// 8/100 for anything but 4 to 16, or 1 to 16 if the role permits fewer than four digits.
pub(crate) fn pin_length(call: &Call<'_, '_>, length: i64) -> Result<u8, Codes> {
    digits_at_most(call, length, 16).ok_or(code::PIN_LENGTH)
}

/// Checks the number of digits to compare, of a PIN with at most `most` digits.
///
/// # Errors
/// 8/101 as [`pin_length`]: fewer digits are found in fewer guesses.
pub(crate) fn check_length(call: &Call<'_, '_>, length: i64, most: u8) -> Result<u8, Codes> {
    digits_at_most(call, length, most).ok_or(code::PIN_CHECK_LENGTH)
}

fn digits_at_most(call: &Call<'_, '_>, length: i64, most: u8) -> Option<u8> {
    let least = if call.points.permits(Point::PinAnyDigits) { 1 } else { 4 };
    u8::try_from(length).ok().filter(|length| (least..=most).contains(length))
}

/// Digits as characters, with blanks behind them.
pub(crate) fn characters(digits: &[u8]) -> Zeroizing<[u8; ELEMENT]> {
    let mut out = Zeroizing::new([b' '; ELEMENT]);
    for (place, digit) in out.iter_mut().zip(digits) {
        *place = b'0' | digit;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(elements: [&str; 3]) -> [u8; 48] {
        let mut out = [b' '; 48];
        for (element, text) in out.chunks_exact_mut(16).zip(elements) {
            element[..text.len()].copy_from_slice(text.as_bytes());
        }
        out
    }

    #[test]
    fn elements_are_read_and_refused() {
        let characters = array(["334455667783", "4021", "12345"]);
        let data = Data::new(&characters);
        let visa = data.visa().unwrap();
        assert_eq!((visa.pan, visa.key_index), ([3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8], 3));
        assert_eq!(data.pvv(), Ok([4, 0, 2, 1]));
        assert_eq!(data.customer_pin(5).unwrap().digits()[..5], [1, 2, 3, 4, 5]);
        assert!(data.customer_pin(4).is_err() && data.customer_pin(6).is_err());
        assert_eq!(data.offset(5).unwrap()[..6], [1, 2, 3, 4, 5, 0]);
        assert_eq!(data.offset(6), Err(code::PIN_OFFSET));
        assert_eq!(data.no_visa_pin(), Ok(()));
        assert!(data.visa_pin().is_err() && data.validation().is_err());
        for wrong in ["33445566778", "334455667780", "334455667787", "33445566778A", "3344556677836"] {
            let characters = array([wrong, "", ""]);
            let data = Data::new(&characters);
            assert!(data.visa().is_err() || data.no_visa_pin().is_err(), "{wrong}");
        }
    }

    #[test]
    fn interbank_data_have_their_six_and_an_index() {
        let block = |text: &str| Data::new(&array([text, "", ""])).interbank();
        assert_eq!(block("3344556677861234"), Ok([0x33, 0x44, 0x55, 0x66, 0x77, 0x86, 0x12, 0x34]));
        for wrong in [
            "3344556677851234",
            "3344556677860234",
            "3344556677867234",
            "334455667786123",
            "334455667786123A",
        ] {
            assert_eq!(block(wrong), Err(code::TRANSACTION_SECURITY), "{wrong}");
        }
    }

    #[test]
    fn validation_data_are_sixteen_digits() {
        let validation = |text: &str| Data::new(&array(["", text, ""])).validation();
        assert_eq!(validation("11223344556677AF"), Ok([0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0xAF]));
        for wrong in ["112233445566778", "11223344556677af", "112233445566778G", ""] {
            assert_eq!(validation(wrong), Err(code::VALIDATION_DATA), "{wrong}");
        }
        assert_eq!(*characters(&[1, 2, 0]), *b"120             ");
    }
}

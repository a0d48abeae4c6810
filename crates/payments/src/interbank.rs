//! The PIN of the Interbank method.

use crate::digits::pack;
use crate::mask::Mask;
use crate::pin::Pin;
use crate::scan::decimals;

/// The number of digits of a PIN.
pub const PIN_DIGITS: u8 = 4;

/// The block to encipher: the rightmost eleven digits of the PAN without its check digit, a six, the key index, and
/// three validation digits.
pub fn block(pan: &[u8; 11], key_index: u8, validation: &[u8; 3]) -> [u8; 8] {
    let mut nibbles = [0; 16];
    nibbles[..11].copy_from_slice(pan);
    (nibbles[11], nibbles[12]) = (6, key_index & 15);
    nibbles[13..].copy_from_slice(validation);
    pack(&nibbles)
}

/// The PIN that an enciphered block gives; 0000 is replaced by 0100.
pub fn pin(enciphered: &[u8; 8]) -> Pin {
    let found: [u8; PIN_DIGITS as usize] = decimals(enciphered);
    let is_zero = found.iter().fold(Mask::YES, |zero, digit| zero.and(Mask::same(*digit, 0)));
    let mut digits = [0; 16];
    digits[..found.len()].copy_from_slice(&found);
    digits[1] = is_zero.choose(1, digits[1]);
    Pin::new(&digits, PIN_DIGITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digits::digits;
    use crate::testing::{KEY, hex, tdes};

    #[test]
    fn a_pin_by_its_steps() {
        let block = block(&digits(b"33445566778").unwrap(), 1, &[2, 3, 4]);
        assert_eq!(block, hex("3344556677861234"));
        let enciphered = tdes(&hex(KEY), &block);
        assert_eq!(enciphered, hex("B9CB99466C3E2A3E"));
        assert_eq!(pin(&enciphered).digits()[..4], [9, 9, 9, 4]);
        assert_eq!(pin(&[0; 8]).digits()[..4], [0, 1, 0, 0]);
        assert_eq!(pin(&[0x0A; 8]).digits()[..4], [0, 1, 0, 0]);
    }
}

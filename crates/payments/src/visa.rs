//! The PIN verification value of VISA (PVV).

use crate::digits::pack;
use crate::mask::Mask;
use crate::pin::Pin;
use crate::scan::decimals;

/// The number of digits of a PVV, and of the PIN digits that go into it.
pub const PVV_DIGITS: usize = 4;

/// The block to encipher: the rightmost eleven digits of the PAN without its check digit, the key index, and the
/// leftmost four digits of the PIN. Zeros stand for missing PIN digits.
pub fn block(pan: &[u8; 11], key_index: u8, pin: &Pin) -> [u8; 8] {
    let mut nibbles = [0; 16];
    nibbles[..11].copy_from_slice(pan);
    nibbles[11] = key_index & 15;
    nibbles[12..].copy_from_slice(&pin.digits[..PVV_DIGITS]);
    pack(&nibbles)
}

/// The PVV that an enciphered block gives.
pub fn pvv(enciphered: &[u8; 8]) -> [u8; PVV_DIGITS] {
    decimals(enciphered)
}

/// Whether the enciphered block gives this PVV.
pub fn verifies(enciphered: &[u8; 8], given: &[u8; PVV_DIGITS]) -> Mask {
    pvv(enciphered)
        .iter()
        .zip(given)
        .fold(Mask::YES, |same, (own, other)| same.and(Mask::same(*own, *other & 15)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digits::digits;
    use crate::testing::{KEY, hex, tdes};

    /// A vector of the Python package psec 1.3.0.
    #[test]
    fn a_pvv_is_the_published_one() {
        let pin = Pin::new(&digits(b"4524").unwrap(), 4);
        // The PAN is 1122334455667788, of which these are the last eleven digits without the check digit.
        let block = block(&digits(b"33445566778").unwrap(), 3, &pin);
        let enciphered = tdes(&hex(KEY), &block);
        assert_eq!(pvv(&enciphered), [4, 0, 2, 1]);
        assert!(verifies(&enciphered, &[4, 0, 2, 1]).holds());
        for at in 0..4 {
            let mut wrong = [4, 0, 2, 1];
            wrong[at] += 1;
            assert!(!verifies(&enciphered, &wrong).holds());
        }
    }
}

//! PINs that a bank assigns, and offsets to those that customers choose: IBM 3624, and the German banking pool (CCA
//! Basic Services, appendix E; z/OS ICSF Application Programmer's Guide, PIN algorithms).
//!
//! The validation data, 16 hexadecimal digits, are enciphered under the PIN key, and a table turns the result into
//! decimal digits. These are the intermediate PIN, from which both methods start.

use crate::decimalisation::Decimalisation;
use crate::digits::{moved_right, pack, unpack};
use crate::mask::Mask;
use crate::pin::Pin;
use zeroize::Zeroize;

/// The number of digits of a PIN of the German banking pool.
pub const POOL_DIGITS: u8 = 4;

/// The block to encipher, from sixteen hexadecimal digits.
pub fn validation_block(data: &[u8; 16]) -> [u8; 8] {
    pack(data)
}

/// The intermediate PIN: sixteen decimal digits.
pub struct Intermediate([u8; 16]);

impl Intermediate {
    /// The intermediate PIN of enciphered validation data.
    pub fn new(table: &Decimalisation, enciphered: &[u8; 8]) -> Self {
        Self(table.apply(&unpack(enciphered)))
    }

    /// The PIN of `length` digits that IBM 3624 assigns.
    pub fn pin(&self, length: u8) -> Pin {
        Pin::new(&self.0, length)
    }

    /// The offset from the assigned PIN to `pin`: the difference of their rightmost `length` digits, modulo 10, padded
    /// with zeros at the end.
    pub fn offset(&self, pin: &Pin, length: u8) -> [u8; 16] {
        let assigned = self.pin(pin.length());
        let mut offset = [0; 16];
        for ((own, base), digit) in pin.right_aligned().iter().zip(assigned.right_aligned()).zip(&mut offset)
        {
            *digit = less(*own, base);
        }
        rightmost(&offset, length)
    }

    /// The PIN of `length` digits with this offset: the `offset_length` offset digits are added to its rightmost
    /// digits, modulo 10.
    pub fn with_offset(&self, length: u8, offset: &[u8; 16], offset_length: u8) -> Pin {
        let (assigned, offset) = (self.pin(length), Pin::new(offset, offset_length));
        let mut sum = [0; 16];
        for ((base, own), digit) in assigned.right_aligned().iter().zip(offset.right_aligned()).zip(&mut sum)
        {
            *digit = plus(*base, own);
        }
        let pin = Pin::new(&rightmost(&sum, length), length);
        sum.zeroize();
        pin
    }

    /// Whether the rightmost `check_length` digits of `pin` equal those of the PIN with this offset.
    pub fn verifies(&self, pin: &Pin, offset: &[u8; 16], check_length: u8) -> Mask {
        let right = self.with_offset(pin.length(), offset, check_length);
        let mut is_right = pin.has_at_least(check_length);
        let both = pin.right_aligned().into_iter().zip(right.right_aligned());
        for (at, (own, reference)) in (0..16).rev().zip(both) {
            let is_checked = Mask::below(at, check_length);
            is_right = is_right.and(is_checked.not().or(Mask::same(own, reference)));
        }
        is_right
    }

    /// The PIN of the German banking pool with this offset: the third to sixth digits plus the four offset digits,
    /// modulo 10. A zero as first digit becomes a one.
    pub fn pool_pin(&self, offset: &[u8; 4]) -> Pin {
        let mut digits = [0; 16];
        for ((digit, base), own) in digits.iter_mut().zip(&self.0[2..6]).zip(offset) {
            *digit = plus(*base, *own);
        }
        digits[0] = Mask::same(digits[0], 0).choose(1, digits[0]);
        let pin = Pin::new(&digits, POOL_DIGITS);
        digits.zeroize();
        pin
    }

    /// The offset from the third to sixth digits to `pin`, modulo 10. A PIN that begins with one has two offsets, since
    /// a zero becomes a one; this is the plain difference.
    pub fn pool_offset(&self, pin: &Pin) -> [u8; 4] {
        std::array::from_fn(|at| less(pin.digits[at], self.0[at + 2]))
    }
}

/// The last `length` digits of a right-aligned field, moved to the left and padded with zeros at the end.
fn rightmost(field: &[u8; 16], length: u8) -> [u8; 16] {
    let mut right = *field;
    right.reverse();
    let mut right = moved_right(&right, 16 - length.min(16));
    right.reverse();
    right
}

/// `(a + b) mod 10` of decimal digits. Wrapping, since an overflow check would be a branch on them.
fn plus(a: u8, b: u8) -> u8 {
    let sum = a.wrapping_add(b);
    sum.wrapping_sub(Mask::below(sum, 10).not().keep(10))
}

/// `(a - b) mod 10` of decimal digits.
fn less(a: u8, b: u8) -> u8 {
    plus(a, Mask::same(b, 0).choose(0, 10_u8.wrapping_sub(b)))
}

impl Drop for Intermediate {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Shows no field: the digits are secret.
impl std::fmt::Debug for Intermediate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Intermediate")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digits::hexadecimal;
    use crate::testing::{KEY, hex, tdes};
    use proptest::prelude::*;

    fn intermediate(table: &str, data: &str) -> Intermediate {
        let block = validation_block(&hexadecimal(data.as_bytes()).unwrap());
        let table = Decimalisation::read(table.as_bytes().try_into().unwrap()).unwrap();
        Intermediate::new(&table, &tdes(&hex(KEY), &block))
    }

    fn pin(digits: &[u8]) -> Pin {
        let mut all = [0; 16];
        all[..digits.len()].copy_from_slice(digits);
        Pin::new(&all, digits.len() as u8)
    }

    /// The first vector is from the Python package psec 1.3.0.
    #[test]
    fn pins_are_the_published_ones() {
        let found = intermediate("1234567890123456", "1122334455667788");
        assert!(found.pin(4).is(&pin(&[4, 5, 2, 4])).holds());
        assert_eq!(found.offset(&pin(&[4, 5, 2, 4]), 4), [0; 16]);
        let found = intermediate("0123456789012345", "1122334455667788");
        assert!(found.pin(16).is(&pin(&[3, 4, 1, 3, 1, 7, 2, 5, 7, 6, 1, 1, 1, 4, 8, 3])).holds());
        assert!(found.pool_pin(&[0; 4]).is(&pin(&[1, 3, 1, 7])).holds());
        assert!(found.pool_pin(&[9, 0, 0, 0]).is(&pin(&[1, 3, 1, 7])).holds());
        assert!(found.pool_pin(&[8, 9, 9, 9]).is(&pin(&[9, 2, 0, 6])).holds());
        assert_eq!(found.pool_offset(&pin(&[9, 2, 0, 6])), [8, 9, 9, 9]);
    }

    #[test]
    fn the_rightmost_digits_are_checked() {
        let found = intermediate("0123456789012345", "1122334455667788");
        // The assigned PIN is 341317; with the offset 55 it becomes 341362.
        let offset = pin(&[5, 5]);
        assert!(found.verifies(&pin(&[3, 4, 1, 3, 6, 2]), offset.digits(), 2).holds());
        assert!(found.verifies(&pin(&[0, 0, 0, 0, 6, 2]), offset.digits(), 2).holds());
        assert!(!found.verifies(&pin(&[3, 4, 1, 3, 6, 3]), offset.digits(), 2).holds());
        assert!(!found.verifies(&pin(&[3, 4, 1, 3, 6]), offset.digits(), 2).holds());
        assert!(!found.verifies(&pin(&[3]), offset.digits(), 2).holds());
    }

    proptest! {
        #[test]
        fn a_pin_is_found_again_at_its_offset(
            base in any::<[u8; 8]>(), digits in proptest::array::uniform16(0..10_u8), length in 1..=16_u8, check in 1..=16_u8,
        ) {
            let found = Intermediate::new(&Decimalisation::DEFAULT, &base);
            let (pin, check) = (Pin::new(&digits, length), check.min(length));
            let offset = found.offset(&pin, length);
            prop_assert!(found.with_offset(length, &offset, length).is(&pin).holds());
            prop_assert!(found.verifies(&pin, &offset, length).holds());
            let offset = found.offset(&pin, check);
            prop_assert!(offset[usize::from(check)..].iter().all(|digit| *digit == 0));
            prop_assert!(found.verifies(&pin, &offset, check).holds());
            for at in length - check..length {
                let mut wrong = digits;
                wrong[usize::from(at)] = (wrong[usize::from(at)] + 1) % 10;
                prop_assert!(!found.verifies(&Pin::new(&wrong, length), &offset, check).holds());
            }
        }
    }
}

//! PINs in the clear.

use crate::digits::moved_right;
use crate::mask::Mask;
use zeroize::Zeroize;

/// A clear PIN of up to 16 digits. Digits and length are secret and are wiped.
#[derive(Clone)]
pub struct Pin {
    /// The digits, followed by zeros.
    pub(crate) digits: [u8; 16],
    pub(crate) length: u8,
}

impl Pin {
    /// The greatest number of digits.
    pub const DIGITS_MAX: usize = 16;

    /// The PIN of the first `length` digits, at most 16. Later digits are ignored.
    pub fn new(digits: &[u8; 16], length: u8) -> Self {
        let length = length.min(16);
        let mut pin = Self { digits: *digits, length };
        for (at, digit) in (0..).zip(&mut pin.digits) {
            *digit = Mask::below(at, length).keep(*digit);
        }
        pin
    }

    /// The digits, followed by zeros.
    pub fn digits(&self) -> &[u8; 16] {
        &self.digits
    }

    /// The number of digits, which is secret.
    pub fn length(&self) -> u8 {
        self.length
    }

    /// Whether the PIN has exactly `length` digits.
    pub fn has_length(&self, length: u8) -> Mask {
        Mask::same(self.length, length)
    }

    /// Whether the PIN has at least `length` digits.
    pub fn has_at_least(&self, length: u8) -> Mask {
        Mask::below(self.length, length).not()
    }

    /// Whether both PINs are equal in length and digits.
    pub fn is(&self, other: &Self) -> Mask {
        let mut same = Mask::same(self.length, other.length);
        for (own, others) in self.digits.iter().zip(&other.digits) {
            same = same.and(Mask::same(*own, *others));
        }
        same
    }

    /// Whether both PINs have at least `count` digits and their last `count` digits are equal.
    pub fn has_end_of(&self, other: &Self, count: u8) -> Mask {
        let mut same = self.has_at_least(count).and(other.has_at_least(count));
        let both = self.right_aligned().into_iter().zip(other.right_aligned());
        for (at, (own, others)) in (0..16).rev().zip(both) {
            same = same.and(Mask::below(at, count).not().or(Mask::same(own, others)));
        }
        same
    }

    /// The digits aligned to the right end, zeros in front.
    pub(crate) fn right_aligned(&self) -> [u8; 16] {
        moved_right(&self.digits, 16_u8.wrapping_sub(self.length))
    }
}

/// Shows no field: digits and length are secret.
impl std::fmt::Debug for Pin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pin")
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.digits.zeroize();
        self.length.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_behind_the_last_digit_does_not_count() {
        let (long, short) = (Pin::new(&[7; 16], 12), Pin::new(&[7; 16], 4));
        assert_eq!(short.digits(), &[7, 7, 7, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(short.right_aligned(), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 7, 7, 7]);
        assert!(!long.is(&short).holds() && short.is(&short.clone()).holds());
        assert!(short.has_length(4).holds() && !short.has_length(5).holds());
        assert!(short.has_at_least(4).holds() && !short.has_at_least(5).holds());
        let pin = |digits: [u8; 6], length| {
            let mut all = [0; 16];
            all[..6].copy_from_slice(&digits);
            Pin::new(&all, length)
        };
        let (six, four, other) =
            (pin([1, 2, 3, 4, 5, 6], 6), pin([3, 4, 5, 6, 0, 0], 4), pin([3, 4, 5, 7, 0, 0], 4));
        for count in 1..=6 {
            assert_eq!(six.has_end_of(&four, count).holds(), count <= 4);
            assert!(six.has_end_of(&six, count).holds() && !six.has_end_of(&other, count).holds());
        }
        assert!(!four.has_end_of(&pin([4, 4, 5, 6, 0, 0], 4), 4).holds());
        assert_eq!(format!("{long:?}"), "Pin");
        assert_eq!(Pin::new(&[7; 16], 99).length(), 16);
    }
}

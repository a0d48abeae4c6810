//! Numbers of many digits, the most significant digit first. The digits are secret; the radix and the number of digits
//! are not. Arithmetic is wrapping, though nothing overflows: an overflow check would be a branch.

/// A radix from 2 to 255.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Radix {
    value: u8,
    /// 2^64 divided by the radix, rounded up. Division becomes a multiplication, which takes the same time for all
    /// numbers.
    reciprocal: u64,
}

impl Radix {
    /// The radix `value`; `None` below 2.
    pub const fn new(value: u8) -> Option<Self> {
        if value < 2 {
            return None;
        }
        Some(Self { value, reciprocal: u64::MAX / value as u64 + 1 })
    }

    /// The radix as a number.
    pub const fn value(self) -> u8 {
        self.value
    }

    /// Whether at least `wanted` different texts have this many digits.
    pub(super) fn has_texts(self, digits: usize, wanted: u32) -> bool {
        let mut texts = 1_u64;
        for _ in 0..digits {
            if texts >= u64::from(wanted) {
                return true;
            }
            texts *= u64::from(self.value);
        }
        texts >= u64::from(wanted)
    }

    /// The digit if it is below the radix, else zero.
    pub(super) fn kept(self, digit: u8) -> u8 {
        let difference = u16::from(digit).wrapping_sub(u16::from(self.value));
        std::hint::black_box((difference >> 15) as u8).wrapping_neg() & digit
    }

    /// Length in bytes of the greatest number of this many digits.
    pub(super) fn number_bytes(self, digits: usize) -> usize {
        let mut number = vec![0; digits];
        self.write_number(&vec![self.value - 1; digits], &mut number);
        digits - number.iter().take_while(|byte| **byte == 0).count()
    }

    /// Writes the digits as a big-endian number that fills all of `bytes`, which must be long enough.
    pub(super) fn write_number(self, digits: &[u8], bytes: &mut [u8]) {
        bytes.fill(0);
        for digit in digits {
            let mut carry = u16::from(*digit);
            for byte in bytes.iter_mut().rev() {
                carry = carry.wrapping_add(u16::from(*byte).wrapping_mul(u16::from(self.value)));
                *byte = carry as u8;
                carry >>= 8;
            }
        }
    }

    /// The last `digits.len()` digits of a big-endian number of whole four-byte words.
    pub(crate) fn read_number(self, words: &[u8], digits: &mut [u8]) {
        digits.fill(0);
        for word in words.chunks_exact(4) {
            let mut carry = word.iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
            for digit in digits.iter_mut().rev() {
                // The sum is below 2^40, for which the reciprocal is exact.
                let sum = u64::from(*digit) << 32 | carry;
                carry = (u128::from(sum).wrapping_mul(u128::from(self.reciprocal)) >> 64) as u64;
                *digit = sum.wrapping_sub(carry.wrapping_mul(u64::from(self.value))) as u8;
            }
        }
    }

    /// Adds `others` to `digits`, modulo the radix to the power of their length.
    pub(super) fn add(self, digits: &mut [u8], others: &[u8]) {
        let mut carry = 0;
        for (digit, other) in digits.iter_mut().zip(others).rev() {
            let sum = u16::from(*digit).wrapping_add(u16::from(*other)).wrapping_add(carry);
            (carry, *digit) = self.reduced(sum);
        }
    }

    /// Subtracts `others` from `digits`, modulo the radix to the power of their length.
    pub(super) fn subtract(self, digits: &mut [u8], others: &[u8]) {
        let mut kept = 1;
        for (digit, other) in digits.iter_mut().zip(others).rev() {
            // Adds the complement of the other digit, and one at the last place.
            let complement = u16::from(self.value - 1).wrapping_sub(u16::from(*other));
            let sum = u16::from(*digit).wrapping_add(complement).wrapping_add(kept);
            (kept, *digit) = self.reduced(sum);
        }
    }

    /// Splits a sum of two digits and a carry into carry and digit.
    fn reduced(self, sum: u16) -> (u16, u8) {
        let less = sum.wrapping_sub(u16::from(self.value));
        let is_digit = std::hint::black_box(less >> 15);
        let digit = less.wrapping_add(is_digit.wrapping_neg() & u16::from(self.value));
        (is_digit ^ 1, digit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_reciprocal_divides() {
        assert!(Radix::new(0).is_none() && Radix::new(1).is_none());
        for value in 2..=255_u8 {
            let radix = Radix::new(value).unwrap();
            for (word, digit) in [(u32::MAX, value - 1), (u32::MAX, 0), (0, value - 1), (0x8000_0000, 1)] {
                let mut digits = [digit];
                radix.read_number(&[&[0, 0, 0, digit][..], &word.to_be_bytes()].concat(), &mut digits);
                let number = u64::from(digit) << 32 | u64::from(word);
                assert_eq!(u64::from(digits[0]), number % u64::from(value), "{number} mod {value}");
            }
        }
    }

    #[test]
    fn sizes_are_those_of_the_standard() {
        let decimal = Radix::new(10).unwrap();
        assert!(decimal.has_texts(6, 1_000_000) && !decimal.has_texts(5, 1_000_000));
        assert!(Radix::new(2).unwrap().has_texts(20, 1_000_000));
        assert!(!Radix::new(2).unwrap().has_texts(19, 1_000_000));
        for (radix, digits, bytes) in [(10, 5, 3), (10, 8, 4), (36, 10, 7), (2, 8, 1), (2, 9, 2), (255, 3, 3)]
        {
            assert_eq!(Radix::new(radix).unwrap().number_bytes(digits), bytes, "{radix} {digits}");
        }
        assert_eq!([0, 9, 10, 255].map(|digit| decimal.kept(digit)), [0, 9, 0, 0]);
        assert_eq!([254, 255].map(|digit| Radix::new(255).unwrap().kept(digit)), [254, 0]);
    }

    proptest! {
        #[test]
        fn numbers_are_what_wide_integers_say(value in 2..=255_u8, number: u64, other: u64, count in 1..9_usize) {
            let radix = Radix::new(value).unwrap();
            let modulus = u128::from(value).pow(count as u32);
            let digits = |number: u64| {
                let mut digits = vec![0; count];
                radix.read_number(&number.to_be_bytes(), &mut digits);
                digits
            };
            let numeral = |digits: &[u8]| {
                let mut bytes = [0; 16];
                radix.write_number(digits, &mut bytes);
                u128::from_be_bytes(bytes)
            };
            let (own, added) = (digits(number), digits(other));
            let (own_number, added_number) = (u128::from(number) % modulus, u128::from(other) % modulus);
            prop_assert_eq!(numeral(&own), own_number);
            let mut sum = own.clone();
            radix.add(&mut sum, &added);
            prop_assert_eq!(numeral(&sum), (own_number + added_number) % modulus);
            radix.subtract(&mut sum, &added);
            prop_assert_eq!(sum, own);
        }
    }
}

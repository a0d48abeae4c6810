//! Decimal digits from an enciphered block, by the scans that VISA and Interbank methods prescribe.

use crate::mask::Mask;

/// The first `N` decimal digits of a block of at most 63 bytes, from left to right. If there are fewer, a second scan
/// takes the digits from A to F, less ten.
pub(crate) fn decimals<const N: usize>(block: &[u8]) -> [u8; N] {
    decimals_with(block, |_, letter| letter.wrapping_sub(10))
}

/// As [`decimals`], but `letter` maps the digits from A to F, by place and digit. Its results for decimal digits are
/// ignored.
pub(crate) fn decimals_with<const N: usize>(block: &[u8], letter: impl Fn(usize, u8) -> u8) -> [u8; N] {
    let nibbles = || block.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let (mut found, mut count) = ([0; N], 0_u8);
    let mut take = |is_one: Mask, digit: u8| {
        for (at, place) in (0..).zip(&mut found) {
            *place |= is_one.and(Mask::same(at, count)).keep(digit);
        }
        count = count.wrapping_add(is_one.keep(1));
    };
    for nibble in nibbles() {
        take(Mask::below(nibble, 10), nibble);
    }
    for (place, nibble) in nibbles().enumerate() {
        take(Mask::below(nibble, 10).not(), letter(place, nibble));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_come_first_and_letters_after_them() {
        assert_eq!(decimals::<4>(&[0xB9, 0xCB, 0x99, 0x46, 0x6C, 0x3E, 0x2A, 0x3E]), [9, 9, 9, 4]);
        assert_eq!(decimals::<4>(&[0xAB, 0xCD, 0xEF, 0xAB, 0xCD, 0xEF, 0xA1, 0xB2]), [1, 2, 0, 1]);
        assert_eq!(decimals::<5>(&[0xFF; 8]), [5; 5]);
        assert_eq!(decimals::<5>(&[0x99; 8]), [9; 5]);
    }
}

//! Digits as callers give them, one in a character, and as blocks hold them, two in a byte.

/// A character that is no decimal or hexadecimal digit, or too many characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DigitFault;

impl std::fmt::Display for DigitFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a character is no digit")
    }
}

impl std::error::Error for DigitFault {}

/// The values of decimal digits in characters, padded with zeros at the end. Stops at the first fault: only for public
/// digits, or digits whose form the caller may learn.
///
/// # Errors
/// [`DigitFault`], also for more than `N` characters.
pub fn digits<const N: usize>(characters: &[u8]) -> Result<[u8; N], DigitFault> {
    values(characters, |character| character.is_ascii_digit().then(|| character - b'0'))
}

/// The values of hexadecimal digits in characters, upper case only, padded with zeros at the end.
///
/// # Errors
/// [`DigitFault`], also for more than `N` characters.
pub fn hexadecimal<const N: usize>(characters: &[u8]) -> Result<[u8; N], DigitFault> {
    values(characters, |character| match character {
        b'0'..=b'9' => Some(character - b'0'),
        b'A'..=b'F' => Some(character - b'A' + 10),
        _ => None,
    })
}

fn values<const N: usize>(
    characters: &[u8],
    value: impl Fn(u8) -> Option<u8>,
) -> Result<[u8; N], DigitFault> {
    let mut values = [0; N];
    if characters.len() > N {
        return Err(DigitFault);
    }
    for (place, character) in values.iter_mut().zip(characters) {
        *place = value(*character).ok_or(DigitFault)?;
    }
    Ok(values)
}

/// Splits eight bytes into sixteen digits.
#[inline(always)]
pub(crate) fn unpack(bytes: &[u8; 8]) -> [u8; 16] {
    let mut nibbles = [0; 16];
    for (pair, byte) in nibbles.chunks_exact_mut(2).zip(bytes) {
        (pair[0], pair[1]) = (byte >> 4, byte & 15);
    }
    nibbles
}

/// Packs sixteen digits, each below 16, into eight bytes.
#[inline(always)]
pub(crate) fn pack(nibbles: &[u8; 16]) -> [u8; 8] {
    let mut bytes = [0; 8];
    for (byte, pair) in bytes.iter_mut().zip(nibbles.chunks_exact(2)) {
        *byte = (pair[0] << 4) | pair[1];
    }
    bytes
}

/// Moves the digits to the right by `places`, 0 to 16; zeros come in from the left. In constant time: a register shift
/// takes the same time for every count.
#[inline(always)]
pub(crate) fn moved_right(digits: &[u8; 16], places: u8) -> [u8; 16] {
    let (value, half) = (u64::from_be_bytes(pack(digits)), u32::from(places) * 2);
    // Two shifts: one shift of a 64-bit register cannot move it by 64 places.
    unpack(&value.wrapping_shr(half).wrapping_shr(half).to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_read_and_refused() {
        assert_eq!(digits::<4>(b"0194"), Ok([0, 1, 9, 4]));
        assert_eq!(digits::<6>(b"0194"), Ok([0, 1, 9, 4, 0, 0]));
        assert_eq!(digits::<3>(b"0194"), Err(DigitFault));
        for bad in [b"01 4".as_slice(), b"01A4", b"01\xB94", b"/:12"] {
            assert_eq!(digits::<4>(bad), Err(DigitFault));
        }
        assert_eq!(hexadecimal::<4>(b"0AF9"), Ok([0, 10, 15, 9]));
        for bad in [b"0a".as_slice(), b"0G", b"@1"] {
            assert_eq!(hexadecimal::<2>(bad), Err(DigitFault));
        }
    }

    #[test]
    fn digits_are_packed_and_moved() {
        let bytes = [0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF];
        let nibbles: [u8; 16] = std::array::from_fn(|at| at as u8);
        assert_eq!((unpack(&bytes), pack(&nibbles)), (nibbles, bytes));
        for places in 0..=16 {
            let moved = moved_right(&nibbles, places);
            for (at, digit) in moved.iter().enumerate() {
                let from = at.checked_sub(usize::from(places));
                assert_eq!(*digit, from.map_or(0, |from| nibbles[from]));
            }
        }
    }
}

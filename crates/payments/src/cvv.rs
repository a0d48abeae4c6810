//! Card verification values: CVV, CVC, iCVV (CCA Basic Services, appendix E).
//!
//! The value is derived from the ANSI X9.19 MAC of [`data`] under both keys.

use crate::mask::Mask;
use crate::scan::decimals;

/// The greatest number of digits of a value.
pub const DIGITS_MAX: usize = 5;

/// The data to authenticate: PAN, expiration date and service code in a row, padded with zeros to 32 digits. `None`
/// unless the PAN has 8 to 19 digits.
pub fn data(pan: &[u8], expiration: &[u8; 4], service_code: &[u8; 3]) -> Option<[u8; 16]> {
    if !(8..=19).contains(&pan.len()) {
        return None;
    }
    let mut nibbles = [0; 32];
    let all = pan.iter().chain(expiration).chain(service_code);
    for (place, digit) in nibbles.iter_mut().zip(all) {
        *place = digit & 15;
    }
    let mut data = [0; 16];
    for (byte, pair) in data.iter_mut().zip(nibbles.chunks_exact(2)) {
        *byte = (pair[0] << 4) | pair[1];
    }
    Some(data)
}

/// The five digits that follow from a MAC. A shorter value is the leftmost of them.
pub fn digits(mac: &[u8; 8]) -> [u8; DIGITS_MAX] {
    decimals(mac)
}

/// Whether the MAC gives this value of one to five digits.
pub fn verifies(mac: &[u8; 8], given: &[u8]) -> Mask {
    let long_enough = if (1..=DIGITS_MAX).contains(&given.len()) { Mask::YES } else { Mask::NO };
    digits(mac)
        .iter()
        .zip(given)
        .fold(long_enough, |same, (own, other)| same.and(Mask::same(*own, *other & 15)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{KEY, des, hex, tdes};

    fn value(pan: &str, expiration: &[u8; 4], service_code: &[u8; 3]) -> [u8; 5] {
        let pan = crate::digits::<19>(pan.as_bytes()).map(|all| all[..pan.len()].to_vec()).unwrap();
        let read = |text: &[u8]| -> Vec<u8> { text.iter().map(|digit| digit - b'0').collect() };
        let (expiration, code) = (read(expiration), read(service_code));
        let data = data(&pan, expiration[..].try_into().unwrap(), code[..].try_into().unwrap()).unwrap();
        let key: [u8; 16] = hex(KEY);
        let first = des(key[..8].try_into().unwrap(), data[..8].try_into().unwrap());
        let second: [u8; 8] = std::array::from_fn(|at| first[at] ^ data[8 + at]);
        digits(&tdes(&key, &second))
    }

    /// The Python package psec 1.3.0 and Java's jPOS 2.1.9 agree on the first; psec publishes the second.
    #[test]
    fn values_are_the_published_ones() {
        assert_eq!(value("4123456789012345", b"8701", b"101")[..3], [5, 6, 1]);
        assert_eq!(value("1234567890123456", b"9912", b"220")[..3], [1, 7, 0]);
    }

    #[test]
    fn values_of_any_length_are_compared() {
        let mac = [0x12, 0x34, 0x56, 0x78, 0x90, 0, 0, 0];
        for length in 1..=5 {
            assert!(verifies(&mac, &[1, 2, 3, 4, 5][..length]).holds());
            let mut wrong = [1, 2, 3, 4, 5];
            wrong[length - 1] ^= 1;
            assert!(!verifies(&mac, &wrong[..length]).holds());
        }
        assert!(!verifies(&mac, &[]).holds() && !verifies(&mac, &[1, 2, 3, 4, 5, 6]).holds());
        assert!(data(&[1; 7], &[0; 4], &[0; 3]).is_none() && data(&[1; 20], &[0; 4], &[0; 3]).is_none());
    }
}

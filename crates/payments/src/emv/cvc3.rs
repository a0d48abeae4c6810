//! MasterCard's dynamic card verification code, CVC3, under the card's own key for CVC3.
//!
//! The last two bytes of a [track](track)'s MAC begin the [`block`]. The enciphered block's last two bytes give the
//! value.

use super::{Padding, padded};
use crate::ff1::Radix;
use zeroize::Zeroizing;

/// The number of digits of a value.
pub const DIGITS: usize = 5;

/// The message whose MAC is taken: the track before counter, unpredictable number and value are written into it.
pub fn track(template: &[u8]) -> Zeroizing<Vec<u8>> {
    padded(template, Padding::Bit)
}

/// The block to encipher: from the track's MAC, the terminal's unpredictable number and the transaction counter.
pub fn block(mac: &[u8; 8], unpredictable: [u8; 4], counter: [u8; 2]) -> [u8; 8] {
    let [a, b, c, d] = unpredictable;
    [mac[6], mac[7], a, b, c, d, counter[0], counter[1]]
}

/// The digits of the value, from the enciphered block. The track holds the rightmost of them, as many as it has room
/// for.
pub fn digits(enciphered: &[u8; 8]) -> [u8; DIGITS] {
    let mut digits = [0; DIGITS];
    let decimal = const { Radix::new(10).expect("ten is a radix") };
    decimal.read_number(&[0, 0, enciphered[6], enciphered[7]], &mut digits);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hex, retail_mac, tdes};

    /// A vector of the documentation of the Python package pyemv 1.5.0.
    #[test]
    fn a_value_is_that_of_another_program() {
        let key = hex("6D6425FB9401C21AA1F80451AB85DA3B");
        let template: [u8; 19] = hex("5123456789012345D35121010000000000000F");
        let mac = retail_mac(&key, &track(&template));
        let enciphered = tdes(&key, &block(&mac, hex("00000899"), hex("005E")));
        assert_eq!(digits(&enciphered), [2, 9, 4, 8, 8]);
    }

    #[test]
    fn all_values_are_digits() {
        for value in [0, 9, 10, 99_u16, 12345, 29488, 65535] {
            let [high, low] = value.to_be_bytes();
            let text: String =
                digits(&[1, 2, 3, 4, 5, 6, high, low]).map(|digit| (b'0' + digit) as char).iter().collect();
            assert_eq!(text, format!("{value:05}"));
        }
    }
}

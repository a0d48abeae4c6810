//! PIN blocks of 16 bytes (ISO 9564-1:2017, format 4). AES enciphers twice, with the PAN field XORed in between:
//! `E(E(PIN field) XOR PAN field)`.

use crate::digits::{pack, unpack};
use crate::mask::Mask;
use crate::pin::Pin;
use zeroize::Zeroize;

/// Length of a field, and of a block, in bytes.
pub const FIELD_BYTES: usize = 16;
/// The digit that fills a PIN field.
const FILL: u8 = 10;

/// The PIN field: `4LPPPPppppppppAA`, then eight random bytes. The PIN has 4 to 12 digits; a longer one is cut to its
/// leftmost twelve.
pub fn pin_field(pin: &Pin, random: &[u8; 8]) -> [u8; FIELD_BYTES] {
    let length = Mask::below(12, pin.length()).choose(12, pin.length());
    let mut nibbles = [0; 16];
    (nibbles[0], nibbles[1]) = (4, length);
    for ((at, place), digit) in (0..).zip(&mut nibbles[2..]).zip(pin.digits()) {
        *place = Mask::below(at, length).choose(*digit, FILL);
    }
    let mut field = [0; FIELD_BYTES];
    field[..8].copy_from_slice(&pack(&nibbles));
    field[8..].copy_from_slice(random);
    nibbles.zeroize();
    field
}

/// The PIN of a clear PIN field, and whether the field is valid.
pub fn read(field: &[u8; FIELD_BYTES]) -> (Pin, Mask) {
    let mut first = [0; 8];
    first.copy_from_slice(&field[..8]);
    let mut nibbles = unpack(&first);
    let length = nibbles[1];
    let mut is_field = Mask::same(nibbles[0], 4).and(Mask::within(length, 4, 12));
    let mut digits = [0; 16];
    for ((at, nibble), digit) in (0..).zip(&nibbles[2..]).zip(&mut digits) {
        let is_inside = Mask::below(at, length);
        let (is_digit, is_fill) = (Mask::below(*nibble, 10), Mask::same(*nibble, FILL));
        is_field = is_field.and(is_inside.and(is_digit).or(is_inside.not().and(is_fill)));
        *digit = *nibble;
    }
    let pin = Pin::new(&digits, length);
    first.zeroize();
    nibbles.zeroize();
    digits.zeroize();
    (pin, is_field)
}

/// The PAN field of a full PAN: the number of digits above 12, the digits, zeros. A PAN of fewer than twelve digits has
/// zeros in front. `None` for no digit, more than 19, or a digit above 9.
pub fn pan_field(pan: &[u8]) -> Option<[u8; FIELD_BYTES]> {
    if pan.is_empty() || pan.len() > 19 || pan.iter().any(|digit| *digit > 9) {
        return None;
    }
    let mut nibbles = [0_u8; 2 * FIELD_BYTES];
    nibbles[0] = pan.len().saturating_sub(12) as u8;
    let gap = 1 + 12_usize.saturating_sub(pan.len());
    nibbles[gap..gap + pan.len()].copy_from_slice(pan);
    let mut field = [0; FIELD_BYTES];
    for (byte, pair) in field.iter_mut().zip(nibbles.chunks_exact(2)) {
        *byte = (pair[0] << 4) | pair[1];
    }
    Some(field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digits::digits;
    use crate::testing::{encipher, hex};
    use engine::CipherAlgorithm::Aes128;

    fn pan(text: &str) -> [u8; FIELD_BYTES] {
        pan_field(&digits::<19>(text.as_bytes()).unwrap()[..text.len()]).unwrap()
    }

    fn block(key: &[u8], pin: &[u8; FIELD_BYTES], pan: &[u8; FIELD_BYTES]) -> [u8; FIELD_BYTES] {
        let once = encipher(Aes128, key, pin);
        encipher(Aes128, key, &std::array::from_fn(|at| once[at] ^ pan[at]))
    }

    /// The Python package psec 1.3.0 publishes both fields; ANSI X9.24-3 has the block under its first transaction key.
    #[test]
    fn fields_and_blocks_are_the_published_ones() {
        assert_eq!(pan("112233445566778899"), hex("61122334455667788990000000000000"));
        let pin = Pin::new(&[1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 4);
        let field = pin_field(&pin, &hex("548ED7FD65495950"));
        assert_eq!(field, hex("441234AAAAAAAAAA548ED7FD65495950"));
        let (read, is_field) = read(&field);
        assert!(is_field.holds() && read.is(&pin).holds());
        let field = pin_field(&pin, &hex("2F69ADDE2E9E7ACE"));
        let key: [u8; 16] = hex("AF8CB133A78F8DC2D1359F18527593FB");
        let block = block(&key, &field, &pan("4111111111111111"));
        assert_eq!(block, hex("A912150391AB65A67E52883D81CE2D15"));
    }

    #[test]
    fn short_and_long_pans_and_what_is_none() {
        assert_eq!(pan("123456789012"), hex("01234567890120000000000000000000"));
        assert_eq!(pan("12345678"), hex("00000123456780000000000000000000"));
        assert_eq!(pan("1234567890123456789"), hex("71234567890123456789000000000000"));
        assert!(pan_field(&[]).is_none() && pan_field(&[1; 20]).is_none() && pan_field(&[10]).is_none());
    }

    #[test]
    fn each_digit_of_a_field_is_looked_at() {
        let pin = Pin::new(&[9; 16], 6);
        let field = pin_field(&pin, &[0; 8]);
        for at in 0..16 {
            for value in 0..16_u8 {
                let mut changed = field;
                let (byte, shift) = (&mut changed[at / 2], if at % 2 == 0 { 4 } else { 0 });
                *byte = (*byte & !(15 << shift)) | (value << shift);
                let (found, is_field) = read(&changed);
                let is_pin = (2..8).contains(&at) && value < 10;
                assert_eq!(is_field.holds(), changed == field || is_pin, "{at} {value}");
                assert_eq!(is_field.holds() && found.is(&pin).holds(), changed == field);
            }
        }
        let long = pin_field(&Pin::new(&[5; 16], 14), &[0; 8]);
        assert!(read(&long).1.holds() && read(&long).0.length() == 12);
    }
}

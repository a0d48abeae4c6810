//! The key of a card, derived from the issuer's (EMV 4.3, book 2, annex A1.4): the two [`blocks`] are enciphered under
//! the issuer's key, each by itself, and get [odd parity](super::with_parity).

use crate::scan::decimals;

/// The identity of a card: the digits of its PAN and its two-digit sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Card<'p> {
    pan: &'p [u8],
    sequence: [u8; 2],
}

impl<'p> Card<'p> {
    /// `None` unless the PAN has 8 to 19 digits and every digit is below 10.
    pub fn new(pan: &'p [u8], sequence: [u8; 2]) -> Option<Self> {
        let are_digits = pan.iter().chain(&sequence).all(|digit| *digit < 10);
        ((8..=19).contains(&pan.len()) && are_digits).then_some(Self { pan, sequence })
    }

    /// Option A: the rightmost sixteen digits of PAN and sequence number in a row, padded with zeros at the left.
    pub fn option_a(&self) -> [u8; 8] {
        let mut digits = self.pan.iter().chain(&self.sequence).rev().copied();
        let mut number = [0; 8];
        for byte in number.iter_mut().rev() {
            let low = digits.next().unwrap_or(0);
            *byte = digits.next().unwrap_or(0) << 4 | low;
        }
        number
    }

    /// Option B: the message whose SHA-1 hash [`option_b`] turns into the card's number. `None` for a PAN of at most
    /// sixteen digits, for which option B equals option A.
    pub fn option_b_message(&self) -> Option<Vec<u8>> {
        if self.pan.len() <= 16 {
            return None;
        }
        let zero = (!self.pan.len().is_multiple_of(2)).then_some(0);
        let digits: Vec<u8> =
            zero.into_iter().chain(self.pan.iter().chain(&self.sequence).copied()).collect();
        Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
    }
}

/// The card's number by option B, from the SHA-1 hash of its message: the first sixteen decimal digits of the hash. If
/// there are fewer, its letters less ten follow.
pub fn option_b(hash: &[u8; 20]) -> [u8; 8] {
    crate::digits::pack(&decimals(hash))
}

/// The two blocks to encipher: the card's number, and its complement.
pub fn blocks(number: &[u8; 8]) -> [u8; 16] {
    std::array::from_fn(|at| if at < 8 { number[at] } else { !number[at - 8] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digits;
    use crate::emv::with_parity;
    use crate::testing::{KEY, encipher, hex};
    use engine::CipherAlgorithm::Tdes2;

    fn key(issuer: &str, pan: &str, sequence: &[u8; 2], b: bool) -> [u8; 16] {
        let pan = digits::<19>(pan.as_bytes()).map(|all| all[..pan.len()].to_vec()).unwrap();
        let card = Card::new(&pan, digits(sequence).unwrap()).unwrap();
        let number = match card.option_b_message().filter(|_| b) {
            Some(message) => option_b(&engine::sha1(&message)),
            None => card.option_a(),
        };
        with_parity(&encipher(Tdes2, &hex::<16>(issuer), &blocks(&number)))
    }

    /// The first four are those of the documentation of the Python package pyemv 1.5.0, the others what it computes; of
    /// the last hash but fifteen digits are decimal.
    #[test]
    fn keys_are_those_of_another_program() {
        for (pan, sequence, b, expected) in [
            ("99012345678901234", b"45", false, "67F8292358083E5EA7AB7FDA58D53B6B"),
            ("12345678901234567", b"01", false, "73AD54688CEF2934B0979857E3C719F1"),
            ("12345678901234567", b"01", true, "AD406D7F6D7570916D75E5DCAB8CF737"),
            ("1234567890123456", b"01", true, "A7CD8A644A2FA829D0675210C4B001F1"),
            ("1234567890123456", b"01", false, "A7CD8A644A2FA829D0675210C4B001F1"),
            ("12345678", b"01", false, "68A17C6D045B58CDDA077C6D15BA460D"),
            ("1234567890123456789", b"07", true, "A47F322ABA67BF5D4FD62026B304549D"),
            ("12345678901234567", b"00", true, "1C13AE23B54AF7BA49FBE09192C87983"),
            ("123456789012345678", b"99", true, "3E974A0E08133BD0D567BCF2105EB643"),
            ("100000000010603541", b"01", true, "46856B07013D29F25E973DE6310DCDF8"),
        ] {
            assert_eq!(key(KEY, pan, sequence, b), hex(expected), "{pan}");
        }
    }

    #[test]
    fn what_is_no_card_is_refused() {
        assert!(Card::new(&[1; 7], [0; 2]).is_none() && Card::new(&[1; 20], [0; 2]).is_none());
        assert!(Card::new(&[10; 8], [0; 2]).is_none() && Card::new(&[1; 8], [0, 10]).is_none());
    }
}

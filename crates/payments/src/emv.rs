//! EMV cards with TDES (EMV 4.3, book 2): the keys of a card and of a session, cryptograms, and what a script carries.
//!
//! | need | item |
//! |---|---|
//! | the key of a card, derived from the issuer's | [`card_key`] |
//! | the key of a session, derived from the card's | [`session_key`] |
//! | application cryptograms (ARQC, TC, AAC), and the issuer's answer (ARPC) | [`cryptogram`] |
//! | MACs and enciphered data of scripts, PIN changes | [`script`] |
//! | MasterCard's CVC3 | [`cvc3`] |
//!
//! Every MAC is ISO 9797-1, algorithm 3, with both halves of a key, over a [`padded`] message.

pub mod card_key;
pub mod cryptogram;
pub mod cvc3;
pub mod script;
pub mod session_key;

use crate::mask::Mask;
use zeroize::Zeroizing;

/// How a message is padded to whole blocks of eight bytes (ISO 9797-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Padding {
    /// Method 1: zeros, unless the message is whole blocks already.
    Zeros,
    /// Method 2: a set bit, then zeros.
    Bit,
}

/// A message with its padding. An empty message becomes one block.
pub fn padded(message: &[u8], padding: Padding) -> Zeroizing<Vec<u8>> {
    let marked = message.len() + usize::from(padding == Padding::Bit);
    // Allocated at full length: a vector that grows leaves copies of its bytes behind.
    let mut all = Zeroizing::new(vec![0; marked.max(1).next_multiple_of(8)]);
    all[..message.len()].copy_from_slice(message);
    if padding == Padding::Bit {
        all[message.len()] = 0x80;
    }
    all
}

/// The key with odd parity in each byte, by its last bit, as derived keys have it.
pub fn with_parity(key: &[u8; 16]) -> [u8; 16] {
    key.map(|byte| {
        let high = byte & 0xFE;
        let mut parity = high ^ (high >> 4);
        parity ^= parity >> 2;
        parity ^= parity >> 1;
        high | ((parity & 1) ^ 1)
    })
}

/// Whether a given value of 4 to 8 bytes equals the beginning of the computed one.
pub fn verifies(made: &[u8; 8], given: &[u8]) -> Mask {
    if !(4..=8).contains(&given.len()) {
        return Mask::NO;
    }
    let differing = made.iter().zip(given).fold(0, |all, (own, other)| all | (own ^ other));
    Mask::zero(u64::from(differing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_filled() {
        assert_eq!(padded(&[1, 2], Padding::Bit)[..], [1, 2, 0x80, 0, 0, 0, 0, 0]);
        assert_eq!(padded(&[1, 2], Padding::Zeros)[..], [1, 2, 0, 0, 0, 0, 0, 0]);
        assert_eq!((padded(&[7; 8], Padding::Bit).len(), padded(&[7; 8], Padding::Zeros).len()), (16, 8));
        assert_eq!((padded(&[], Padding::Bit)[0], padded(&[], Padding::Zeros)[..] == [0; 8]), (0x80, true));
    }

    #[test]
    fn every_byte_gets_odd_parity() {
        for byte in 0..=255_u8 {
            let key = with_parity(&[byte; 16]);
            assert!(key[0].count_ones() % 2 == 1 && (key[0] ^ byte) < 2 && key == [key[0]; 16]);
        }
    }

    #[test]
    fn cryptograms_are_compared_whole() {
        let made = [1, 2, 3, 4, 5, 6, 7, 8];
        for length in 0..=8 {
            assert_eq!(verifies(&made, &made[..length]).holds(), length >= 4);
            for at in 0..length {
                let mut wrong = made;
                wrong[at] ^= 0x80;
                assert!(!verifies(&made, &wrong[..length]).holds());
            }
        }
        assert!(!verifies(&made, &[1, 2, 3, 4, 5, 6, 7, 8, 9]).holds());
    }
}

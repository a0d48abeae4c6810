//! The crate `fpe`: FF1 with AES-256 over decimal digits, in the caller's thread. Needs neither unsafe code nor an
//! installed library.

use aes::Aes256;
use fpe::ff1::{FF1, FlexibleNumeralString};

/// The library's name in reports.
pub const NAME: &str = "the crate fpe";

/// A prepared key, and the digits to encipher.
pub struct Digits {
    cipher: FF1<Aes256>,
    digits: FlexibleNumeralString,
}

impl Digits {
    /// Prepares a key of 32 bytes, and decimal digits in characters; `None` for another key length or another
    /// character.
    pub fn new(key: &[u8], text: &[u8]) -> Option<Self> {
        let digit = |character: &u8| character.is_ascii_digit().then(|| u16::from(character - b'0'));
        let digits: Vec<u16> = text.iter().map(digit).collect::<Option<_>>()?;
        let cipher = (key.len() == 32).then(|| FF1::new(key, 10).ok())??;
        Some(Self { cipher, digits: FlexibleNumeralString::from(digits) })
    }

    /// The digits enciphered with an empty tweak; `None` if the library refuses them.
    pub fn encipher(&self) -> Option<Vec<u8>> {
        let made = self.cipher.encrypt(&[], &self.digits).ok()?;
        let digits: Vec<u16> = made.into();
        Some(digits.into_iter().map(|digit| b'0' + digit as u8).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NIST's sample 7 of FF1.
    #[test]
    fn the_published_digits_come_out() {
        let key = [
            0x2B, 0x7E, 0x15, 0x16, 0x28, 0xAE, 0xD2, 0xA6, 0xAB, 0xF7, 0x15, 0x88, 0x09, 0xCF, 0x4F, 0x3C,
            0xEF, 0x43, 0x59, 0xD8, 0xD5, 0x80, 0xAA, 0x4F, 0x7F, 0x03, 0x6D, 0x6F, 0x04, 0xFC, 0x6A, 0x94,
        ];
        let digits = Digits::new(&key, b"0123456789").unwrap();
        assert_eq!(digits.encipher().unwrap(), b"6657667009");
        assert!(
            Digits::new(&key[..16], b"0123456789").is_none() && Digits::new(&key, b"012345678x").is_none()
        );
    }
}

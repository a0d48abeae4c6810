//! Alphabets: which character stands for which digit.

use super::number::Radix;
use crate::mask::Mask;
use zeroize::Zeroizing;

/// An alphabet of 2 to 255 characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alphabet {
    radix: Radix,
    characters: Vec<u8>,
}

/// Why characters form no alphabet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlphabetFault {
    /// The number of characters is not 2 to 255.
    Count,
    /// The character at this offset occurs before it.
    Twice(usize),
}

impl std::fmt::Display for AlphabetFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Count => f.write_str("an alphabet has 2 to 255 characters"),
            Self::Twice(at) => write!(f, "character {at} of the alphabet was there before"),
        }
    }
}

impl std::error::Error for AlphabetFault {}

impl Alphabet {
    /// The alphabet of these characters. The first one stands for zero.
    ///
    /// # Errors
    /// [`AlphabetFault`].
    pub fn new(characters: &[u8]) -> Result<Self, AlphabetFault> {
        let radix = u8::try_from(characters.len()).ok().and_then(Radix::new).ok_or(AlphabetFault::Count)?;
        let mut seen = [false; 256];
        for (at, character) in characters.iter().enumerate() {
            if std::mem::replace(&mut seen[usize::from(*character)], true) {
                return Err(AlphabetFault::Twice(at));
            }
        }
        Ok(Self { radix, characters: characters.to_vec() })
    }

    /// The number of characters.
    pub fn radix(&self) -> Radix {
        self.radix
    }

    /// The digits of a text, and whether all of its characters are in the alphabet; others become zero. For constant
    /// time, every character is compared with the whole alphabet.
    pub fn digits(&self, text: &[u8]) -> (Zeroizing<Vec<u8>>, Mask) {
        let mut all = Mask::YES;
        let digits = text.iter().map(|character| {
            let (mut digit, mut is_known) = (0, Mask::NO);
            for (own, value) in self.characters.iter().zip(0..) {
                let is_it = Mask::zero(u64::from(own ^ character));
                digit |= is_it.keep(value);
                is_known = is_known.or(is_it);
            }
            all = all.and(is_known);
            digit
        });
        (Zeroizing::new(digits.collect()), all)
    }

    /// The text of these digits, each below the radix.
    pub fn text(&self, digits: &[u8]) -> Zeroizing<Vec<u8>> {
        let character = |digit: &u8| {
            self.characters
                .iter()
                .zip(0_u8..)
                .fold(0, |found, (own, value)| found | Mask::zero(u64::from(value ^ digit)).keep(*own))
        };
        Zeroizing::new(digits.iter().map(character).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alphabets_are_read_and_refused() {
        assert_eq!(Alphabet::new(b""), Err(AlphabetFault::Count));
        assert_eq!(Alphabet::new(b"0"), Err(AlphabetFault::Count));
        assert_eq!(Alphabet::new(b"0120"), Err(AlphabetFault::Twice(3)));
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(Alphabet::new(&all), Err(AlphabetFault::Count));
        for count in 2..=255 {
            let alphabet = Alphabet::new(&all[256 - count..]).unwrap();
            assert_eq!(usize::from(alphabet.radix().value()), count);
            let digits: Vec<u8> = (0..count as u8).collect();
            let text = alphabet.text(&digits);
            assert_eq!(text[..], all[256 - count..]);
            let (read, is_known) = alphabet.digits(&text);
            assert!(is_known.holds() && read[..] == digits);
            let (read, is_known) = alphabet.digits(&all[255 - count..]);
            assert!(!is_known.holds() && read[0] == 0 && read[1..] == digits);
        }
    }
}

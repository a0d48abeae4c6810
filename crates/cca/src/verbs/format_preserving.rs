//! What the verbs of format-preserving encryption share: FF1 of SP 800-38G revision 1, under AES CIPHER keys of
//! variable length with FF1 or ANY-MODE.
//!
//! | keyword | text | tweak |
//! |---|---|---|
//! | BASE10 | digits; no alphabets are given | digits, or none |
//! | CUSTOM | of the characters of the alphabet, 2 to 255 | of those of its own alphabet, if that is given; any bytes otherwise |
//!
//! The tweak is used as the bytes that are given; an alphabet for it only refuses other characters. FF2 and FF2.1 are
//! refused.

use crate::ground::Refusal;
use payments::Mask;
use payments::ff1::{Alphabet, DIGITS_MAX, Direction, Fault, Ff1, TWEAK_BYTES_MAX};
use wire::verb::{FormatAlphabets, FormatMethod};
use wire::{Codes, code};
use zeroize::Zeroizing;

/// The characters of text and tweak: digits, or the caller's own alphabets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Characters {
    Digits,
    Own,
}

impl Characters {
    /// The characters that the keywords of Encipher or Decipher name.
    ///
    /// # Errors
    /// 8/33 for another method than FF1.
    pub(super) fn of(method: FormatMethod, alphabets: FormatAlphabets) -> Result<Self, Codes> {
        match (method, alphabets) {
            (FormatMethod::Ff1, FormatAlphabets::Digits) => Ok(Self::Digits),
            (FormatMethod::Ff1, FormatAlphabets::Own) => Ok(Self::Own),
            _ => Err(code::KEYWORD),
        }
    }
}

/// The alphabet and tweak of one side of a verb.
pub(super) struct Format<'a> {
    pub(super) alphabet: Alphabet,
    tweak: &'a [u8],
}

impl<'a> Format<'a> {
    /// Reads alphabet and tweak from the parameters of a verb.
    ///
    /// # Errors
    /// 8/21 for an invalid alphabet, or any alphabet with BASE10; for a tweak that is longer than FF1 takes here, or
    /// has characters outside its alphabet.
    pub(super) fn read(
        characters: Characters,
        alphabet: &[u8],
        tweak: &'a [u8],
        tweak_alphabet: &[u8],
    ) -> Result<Self, Codes> {
        let of = |characters: &[u8]| Alphabet::new(characters).map_err(|_| code::INVALID_PARAMETER);
        let (alphabet, tweak_alphabet) = match characters {
            Characters::Digits if alphabet.is_empty() && tweak_alphabet.is_empty() => {
                (of(DIGITS)?, Some(of(DIGITS)?))
            }
            Characters::Digits => return Err(code::INVALID_PARAMETER),
            Characters::Own if tweak_alphabet.is_empty() => (of(alphabet)?, None),
            Characters::Own => (of(alphabet)?, Some(of(tweak_alphabet)?)),
        };
        // Lengths that FF1 refuses are refused first, since looking up characters takes long.
        if tweak.len() > TWEAK_BYTES_MAX {
            return Err(code::INVALID_PARAMETER);
        }
        // A tweak is no secret.
        if tweak_alphabet.is_some_and(|own| !own.digits(tweak).1.holds()) {
            return Err(code::INVALID_PARAMETER);
        }
        Ok(Self { alphabet, tweak })
    }

    /// FF1 over a text of the caller's; its characters are no secret from the caller.
    ///
    /// # Errors
    /// As [`Format::begin`]; 8/21 for characters outside the alphabet.
    pub(super) fn text(&self, text: &[u8], direction: Direction) -> Result<Ff1, Codes> {
        if text.len() > DIGITS_MAX {
            return Err(code::TEXT_LENGTH);
        }
        let (digits, is_known) = self.alphabet.digits(text);
        let begun = self.begin(&digits, direction)?;
        if is_known.holds() { Ok(begun) } else { Err(code::INVALID_PARAMETER) }
    }

    /// FF1 in this format over a text from another format, and whether all its characters are in this alphabet.
    ///
    /// # Errors
    /// As [`Format::begin`].
    pub(super) fn from(&self, other: &Self, digits: &[u8]) -> Result<(Ff1, Mask), Codes> {
        let (digits, is_known) = if self.is_of_same_characters(other) {
            (Zeroizing::new(digits.to_vec()), Mask::YES)
        } else {
            self.alphabet.digits(&other.alphabet.text(digits))
        };
        Ok((self.begin(&digits, Direction::Encipher)?, is_known))
    }

    /// Refuses a text length that FF1 does not take with this alphabet and tweak.
    ///
    /// # Errors
    /// As [`Format::begin`].
    pub(super) fn check(&self, characters: usize) -> Result<(), Codes> {
        self.begin(&vec![0; characters.min(DIGITS_MAX + 1)], Direction::Encipher).map(drop)
    }

    /// Whether both have the same characters in the same order.
    pub(super) fn is_of_same_characters(&self, other: &Self) -> bool {
        self.alphabet == other.alphabet
    }

    /// # Errors
    /// 8/25 for a text so short that fewer than a million such texts exist, or of more than 512 characters; 8/21 for a
    /// tweak of more than 512 bytes.
    fn begin(&self, digits: &[u8], direction: Direction) -> Result<Ff1, Codes> {
        Ff1::new(self.alphabet.radix(), digits, self.tweak, direction).map_err(|fault| match fault {
            Fault::TooShort | Fault::TooLong => code::TEXT_LENGTH,
            Fault::Tweak => code::INVALID_PARAMETER,
        })
    }
}

/// The result of FF1 over a text under this key.
pub(super) async fn run(
    call: crate::call::Call<'_, '_>,
    key: &crate::key::Key,
    text: Ff1,
) -> Result<Zeroizing<Vec<u8>>, Refusal> {
    Ok(call.ask(crate::pass::Format { key: key.secret.clone(), text }).await?)
}

const DIGITS: &[u8] = b"0123456789";

//! Rule arrays: 8-byte, upper-case, left-justified, blank-padded keywords.

use wire::bounds::{KEYWORD_BYTES, KEYWORDS_MAX};
use wire::{Codes, code};

use crate::call::Call;

/// A keyword as one number: its 8 padded bytes.
pub(crate) type Word = u64;

pub(crate) use wire::point::keywords::word;

/// The keywords of one call; each is taken by the group that knows it.
pub(crate) struct Rules<'a> {
    words: &'a [[u8; KEYWORD_BYTES]],
    taken: u32,
}

const _: () = assert!(KEYWORDS_MAX <= u32::BITS as usize);

impl<'a> Rules<'a> {
    /// Reads the rule array of a call.
    ///
    /// # Errors
    /// 8/35 where the count lies outside of `least..=most` or is not that of the array; 8/90 where the role of the
    /// request does not permit what the keywords ask for.
    pub(crate) fn read(
        call: &Call<'_, 'a>,
        count: usize,
        array: usize,
        least: usize,
        most: usize,
    ) -> Result<Self, Codes> {
        let (words, rest) = call.bytes(array).as_chunks();
        let count = call.length(count, code::KEYWORD_COUNT)?;
        if count < least || count > most.min(KEYWORDS_MAX) || count != words.len() || !rest.is_empty() {
            return Err(code::KEYWORD_COUNT);
        }
        call.permit_keywords(words)?;
        Ok(Self { words, taken: 0 })
    }

    /// The one keyword of a group that was given; `None` where there is none of it.
    ///
    /// # Errors
    /// 8/34 where two keywords of the group are given.
    pub(crate) fn optional<T: Copy>(&mut self, group: &[(Word, T)]) -> Result<Option<T>, Codes> {
        let mut found = None;
        for (index, given) in self.words.iter().enumerate() {
            let given = Word::from_be_bytes(*given);
            let Some((_, meaning)) = group.iter().find(|(word, _)| *word == given) else { continue };
            if found.is_some() {
                return Err(code::KEYWORD_COMBINATION);
            }
            found = Some(*meaning);
            self.taken |= 1 << index;
        }
        Ok(found)
    }

    /// As [`Rules::optional`], with a default.
    pub(crate) fn one_or<T: Copy>(&mut self, group: &[(Word, T)], default: T) -> Result<T, Codes> {
        Ok(self.optional(group)?.unwrap_or(default))
    }

    /// As [`Rules::optional`], but one must be given.
    ///
    /// # Errors
    /// 8/34 also where none is.
    pub(crate) fn required<T: Copy>(&mut self, group: &[(Word, T)]) -> Result<T, Codes> {
        self.optional(group)?.ok_or(code::KEYWORD_COMBINATION)
    }

    /// Whether a keyword was given, taking it.
    pub(crate) fn flag(&mut self, keyword: Word) -> Result<bool, Codes> {
        Ok(self.optional(&[(keyword, ())])?.is_some())
    }

    /// Takes every keyword that is left, in order, as text without its padding.
    ///
    /// # Errors
    /// 8/33 where one is not text.
    pub(crate) fn rest(&mut self) -> Result<Vec<String>, Codes> {
        let mut rest = Vec::new();
        for (index, bytes) in self.words.iter().enumerate() {
            if self.taken & (1 << index) == 0 {
                let text = std::str::from_utf8(bytes).map_err(|_| code::KEYWORD)?;
                rest.push(text.trim_end_matches(' ').to_owned());
                self.taken |= 1 << index;
            }
        }
        Ok(rest)
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// 8/33 where no group knew a keyword.
    pub(crate) fn finish(self) -> Result<(), Codes> {
        if self.taken.count_ones() as usize == self.words.len() { Ok(()) } else { Err(code::KEYWORD) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padded<const N: usize>(words: [&str; N]) -> [[u8; KEYWORD_BYTES]; N] {
        words.map(|text| word(text).to_be_bytes())
    }

    fn rules(words: &[[u8; KEYWORD_BYTES]]) -> Rules<'_> {
        Rules { words, taken: 0 }
    }

    const GROUP: &[(Word, u8)] = &[(word("ONLY"), 1), (word("FIRST"), 2)];

    #[test]
    fn a_word_is_padded_with_blanks() {
        assert_eq!(word("CBC").to_be_bytes(), *b"CBC     ");
        assert_eq!(word("X9.19OPT").to_be_bytes(), *b"X9.19OPT");
    }

    #[test]
    fn groups_take_their_keywords() {
        let given = padded(["FIRST", "CBC"]);
        let mut read = rules(&given);
        assert_eq!(read.one_or(GROUP, 9), Ok(2));
        assert_eq!(read.flag(word("CBC")), Ok(true));
        assert_eq!(read.finish(), Ok(()));
        assert_eq!(rules(&padded([])).one_or(GROUP, 9), Ok(9));
        assert_eq!(rules(&padded([])).required(GROUP), Err(code::KEYWORD_COMBINATION));
    }

    #[test]
    fn unknown_and_contradicting_keywords_are_refused() {
        let given = padded(["FIRST", "ONLY"]);
        let mut read = rules(&given);
        assert_eq!(read.optional(GROUP), Err(code::KEYWORD_COMBINATION));
        let given = padded(["FIRST", "FIRST"]);
        let mut read = rules(&given);
        assert_eq!(read.optional(GROUP), Err(code::KEYWORD_COMBINATION));
        let given = padded(["FIRST", "first"]);
        let mut read = rules(&given);
        assert_eq!(read.optional(GROUP), Ok(Some(2)));
        assert_eq!(read.finish(), Err(code::KEYWORD));
    }
}

//! How many bytes a parameter has.

use super::Length;
use super::keywords::word;
use crate::bounds::{KEYWORD_BYTES, LABEL_BYTES, TOKEN_BYTES_MAX};

/// Where the header of a token holds the token's length: two bytes, big-endian.
const LENGTH: usize = 2;
/// Number of leading bytes that tell kind and length of a token, a label or a key block.
pub const TOKEN_HEADER_BYTES: usize = 9;
/// Version byte of variable-length symmetric tokens, and its place in the header.
const VARIABLE: u8 = 0x05;
const VERSION: usize = 4;

impl Length {
    /// Length of the field in bytes: from the integers of the call, its keywords, and the first
    /// bytes of the field, which are read only if nothing else gives the length. `None` if an
    /// integer is negative, or no length.
    pub fn bytes(
        self,
        integer: impl Fn(usize) -> i64,
        words: &[u64],
        header: impl FnOnce() -> [u8; TOKEN_HEADER_BYTES],
    ) -> Option<usize> {
        match self {
            Self::Fixed(bytes) => Some(bytes),
            Self::By(position) => usize::try_from(integer(position)).ok(),
            Self::Padded { by, block, with } => {
                let text = usize::try_from(integer(by)).ok()?;
                if words.contains(&word(with)) { (text / block + 1).checked_mul(block) } else { Some(text) }
            }
            Self::Bits(position) => usize::try_from(integer(position)).ok().map(|bits| bits.div_ceil(8)),
            Self::Words(position) => usize::try_from(integer(position)).ok()?.checked_mul(KEYWORD_BYTES),
            Self::Keyed(rows) => {
                let is_given = |text: &&str| words.contains(&word(text));
                rows.iter().find(|(given, _)| given.iter().all(is_given)).map(|(_, bytes)| *bytes)
            }
            Self::Own => Some(Self::own(&header())),
        }
    }

    /// Greatest length in bytes, if it is known without a call.
    pub fn longest(self) -> Option<usize> {
        match self {
            Self::Fixed(bytes) => Some(bytes),
            Self::Keyed(rows) => rows.iter().map(|(_, bytes)| *bytes).max(),
            Self::Own => Some(TOKEN_BYTES_MAX),
            Self::By(_) | Self::Padded { .. } | Self::Bits(_) | Self::Words(_) => None,
        }
    }

    /// Length of the token with this header: PKA tokens, variable-length symmetric tokens and key
    /// blocks give it; all others, and labels, have 64 bytes.
    pub fn own(header: &[u8; TOKEN_HEADER_BYTES]) -> usize {
        let said = usize::from(u16::from_be_bytes([header[LENGTH], header[LENGTH + 1]]));
        match header[0] {
            0x1E | 0x1F => said,
            0x01 | 0x02 if header[VERSION] == VARIABLE => said,
            _ => Self::of_key_block(header).unwrap_or(LABEL_BYTES),
        }
    }

    /// Length that the header of a key block of ASC X9 TR 31 gives, versions A to D. None for any
    /// other header, such as a label, whose first word has at most eight characters.
    pub fn of_key_block(header: &[u8; TOKEN_HEADER_BYTES]) -> Option<usize> {
        let [b'A'..=b'D', digits @ .., _, _, _, _] = header else { return None };
        let ends_word = |byte: &u8| matches!(byte, b'.' | b' ');
        if !digits.iter().all(u8::is_ascii_digit) || header.iter().any(ends_word) {
            return None;
        }
        Some(digits.iter().fold(0, |length, digit| 10 * length + usize::from(digit - b'0')))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::{Kind, MacFormat, Segment, Verb, mac_generate};

    const NO_HEADER: fn() -> [u8; TOKEN_HEADER_BYTES] = || panic!("no token is looked at");

    #[test]
    fn integers_say_bytes_or_bits() {
        let integer = |position| [0, 17, -1][position];
        let bytes = |length: Length| length.bytes(integer, &[], NO_HEADER);
        assert_eq!(
            (bytes(Length::Fixed(9)), bytes(Length::By(1)), bytes(Length::By(2))),
            (Some(9), Some(17), None)
        );
        assert_eq!(
            (bytes(Length::Words(1)), bytes(Length::Words(0)), bytes(Length::Words(2))),
            (Some(8 * 17), Some(0), None)
        );
        assert_eq!(
            (bytes(Length::Bits(1)), bytes(Length::Bits(0)), bytes(Length::Bits(2))),
            (Some(3), Some(0), None)
        );
    }

    #[test]
    fn a_keyword_pads_a_text() {
        let length = Length::Padded { by: 0, block: 8, with: "X9.23" };
        let bytes = |text, words: &[u64]| length.bytes(|_| text, words, NO_HEADER);
        assert_eq!((bytes(8, &[]), bytes(9, &[word("CBC")])), (Some(8), Some(9)));
        let padded = [word("CBC"), word("X9.23")];
        for (text, expected) in
            [(0, Some(8)), (7, Some(8)), (8, Some(16)), (-1, None), (i64::MAX, Some(1 << 63))]
        {
            assert_eq!(bytes(text, &padded), expected, "{text}");
        }
    }

    #[test]
    fn keywords_say_the_length_of_a_mac() {
        let Kind::Bytes(length) = Verb::MacGenerate.entry().parameters[mac_generate::MAC].kind else {
            panic!("a MAC is bytes");
        };
        let bytes = |words: &[u64]| length.bytes(|_| 0, words, NO_HEADER);
        assert_eq!(bytes(&[]), Some(4));
        assert_eq!(bytes(&[MacFormat::Hex9.keyword().word]), Some(9));
        assert_eq!(bytes(&[MacFormat::Bytes8.keyword().word, Segment::Last.keyword().word]), Some(8));
        assert_eq!(bytes(&[MacFormat::Bytes8.keyword().word, Segment::First.keyword().word]), Some(0));
    }

    #[test]
    fn tokens_say_their_own_length() {
        let own = |first: u8, version: u8| Length::own(&[first, 0, 1, 0x2C, version, 0, 0, 0, 0]);
        assert_eq!((own(0x1E, 0), own(0x1F, 0), own(0x01, 5), own(0x02, 5)), (300, 300, 300, 300));
        assert_eq!((own(0x01, 0), own(0x00, 5), own(b'A', 5)), (64, 64, 64));
        assert_eq!(Length::Own.bytes(|_| 0, &[], || [0x1E, 0, 0, 8, 0, 0, 0, 0, 0]), Some(8));
    }

    #[test]
    fn key_blocks_are_told_from_labels() {
        for (header, length) in
            [(b"B0104B0TX", Some(104)), (b"D9992P0AE", Some(9992)), (b"A0000D0DN", Some(0))]
        {
            assert_eq!(Length::of_key_block(header), length);
        }
        for header in [
            b"B0104B0T ",
            b"B0104B0T.",
            b"B0104.0TX",
            b"E0104B0TX",
            b"b0104B0TX",
            b"B010AB0TX",
            b"\x01\0\0\x40\0\0\0\0\0",
        ] {
            assert_eq!(Length::of_key_block(header), None);
        }
        assert_eq!((Length::own(b"B0104B0TX"), Length::own(b"B0104B0T.")), (104, 64));
    }

    // The last row of every list applies always.
    #[test]
    fn a_length_by_keywords_has_a_default() {
        for entry in crate::verb::TABLE {
            for parameter in entry.parameters {
                if let Kind::Bytes(length @ Length::Keyed(rows)) = parameter.kind {
                    assert!(length.bytes(|_| 0, &[], NO_HEADER).is_some(), "{}", entry.name);
                    let own: Vec<_> = entry.keywords.words().map(|keyword| keyword.text).collect();
                    assert!(rows.iter().flat_map(|(given, _)| *given).all(|text| own.contains(text)));
                }
            }
        }
    }
}

//! Lengths for writers: the pieces of a packet's body.

use crate::packet::header::write_length;
use crate::packet::{DEFINITE_BYTES_MAX, Length, PARTIAL_BITS_MAX, PARTIAL_BITS_MIN, header};
use pgp::types::Tag;

/// Makes the lengths of one packet while its body becomes known: pieces of 2^n bytes, the last of any length.
///
/// ```text
/// stream:       next(bytes at hand, false) until none, gather more ... next(rest, true)
/// known length: next(all that is left, true) until the piece says that it is the last
/// ```
#[derive(Clone, Debug)]
pub struct PartialLengths {
    tag: Tag,
    bits: u8,
    is_begun: bool,
    is_ended: bool,
}

/// A length to write, and the number of body bytes that follow it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The packet's header, or the length of a further piece: 1 to 6 bytes.
    pub header: Vec<u8>,
    /// Number of body bytes that follow.
    pub bytes: u64,
    /// Whether the packet ends with these bytes.
    pub is_last: bool,
}

impl PartialLengths {
    /// Lengths of a packet of this type, with pieces of 2^bits bytes while its end is not known.
    ///
    /// # Panics
    /// Unless `bits` is 9 to 30.
    pub fn new(tag: Tag, bits: u8) -> Self {
        assert!((PARTIAL_BITS_MIN..=PARTIAL_BITS_MAX).contains(&bits), "no piece has 2^{bits} bytes");
        Self { tag, bits, is_begun: false, is_ended: false }
    }

    /// Length of a piece in bytes.
    pub fn piece_bytes(&self) -> u64 {
        1 << self.bits
    }

    /// The next piece of a body of which `bytes` more bytes are at hand; with `is_all`, these are the last ones. `None`
    /// if they do not fill a piece yet, and after the last piece.
    ///
    /// The last bytes go into one last piece if a definite length can express it; otherwise pieces of 2^30 bytes come
    /// first.
    pub fn next(&mut self, bytes: u64, is_all: bool) -> Option<Piece> {
        if self.is_ended {
            return None;
        }
        let (length, bytes, is_last) = if is_all && bytes <= DEFINITE_BYTES_MAX {
            (Length::Definite(bytes), bytes, true)
        } else {
            let bits = if is_all { PARTIAL_BITS_MAX } else { self.bits };
            if bytes < 1 << bits {
                return None;
            }
            (Length::Partial(bits), 1 << bits, false)
        };
        let header = if self.is_begun { length_octets(length) } else { header(self.tag, length) };
        self.is_begun = true;
        self.is_ended = is_last;
        Some(Piece { header, bytes, is_last })
    }
}

fn length_octets(length: Length) -> Vec<u8> {
    let mut out = Vec::new();
    write_length(length, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_length_is_one_piece_up_to_four_gigabytes() {
        let mut lengths = PartialLengths::new(Tag::LiteralData, 16);
        let piece = lengths.next(DEFINITE_BYTES_MAX, true).unwrap();
        assert_eq!(piece.header, [0xcb, 0xff, 0xff, 0xff, 0xff, 0xff]);
        assert!(piece.is_last);
        assert_eq!(lengths.next(0, true), None);
    }

    #[test]
    fn beyond_it_pieces_of_a_gigabyte_go_first() {
        let mut lengths = PartialLengths::new(Tag::LiteralData, 16);
        let mut left = 2 * DEFINITE_BYTES_MAX;
        let mut pieces = Vec::new();
        while let Some(piece) = lengths.next(left, true) {
            left -= piece.bytes;
            pieces.push(piece);
        }
        assert_eq!(left, 0);
        assert_eq!(pieces[0].header, [0xcb, 0xfe]);
        assert_eq!(pieces[1].header, [0xfe]);
        assert_eq!(pieces.len(), 5);
        assert!(pieces[4].is_last && pieces[4].bytes == 2 * DEFINITE_BYTES_MAX - (4 << 30));
    }

    #[test]
    fn a_stream_waits_until_a_piece_is_full() {
        let mut lengths = PartialLengths::new(Tag::SymEncryptedProtectedData, 9);
        assert_eq!(lengths.next(511, false), None);
        let first = lengths.next(700, false).unwrap();
        assert_eq!((first.header, first.bytes, first.is_last), (vec![0xd2, 0xe9], 512, false));
        assert_eq!(lengths.next(188, false), None);
        let last = lengths.next(0, true).unwrap();
        assert_eq!((last.header, last.bytes, last.is_last), (vec![0], 0, true));
    }
}

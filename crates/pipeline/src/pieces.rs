//! Partial lengths of a packet whose length is not known at its beginning. Pieces have lengths of powers of two, chosen
//! so that hardly any bytes are held back from one block to the next.

use openpgp::packet::{DEFINITE_BYTES_MAX, Length, PARTIAL_BITS_MAX, PartialLengths, Tag, header};

/// Makes the lengths of one packet while its body arrives.
#[derive(Debug)]
pub(crate) struct Pieces {
    tag: Tag,
    is_begun: bool,
}

/// A length to write, and the number of body bytes that follow it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The encoded length, of 1 to 6 bytes.
    pub(crate) header: Vec<u8>,
    /// Number of body bytes.
    pub(crate) bytes: usize,
}

impl Pieces {
    pub(crate) fn new(tag: Tag) -> Self {
        Self { tag, is_begun: false }
    }

    /// Pieces for the first of `bytes` bytes. If the packet ends here (`is_all`), they cover all bytes; otherwise at
    /// most [`HELD_BYTES_MAX`] are left over.
    pub(crate) fn of(&mut self, mut bytes: usize, is_all: bool) -> Vec<Piece> {
        let mut pieces = Vec::new();
        while bytes > HELD_BYTES_MAX && (!is_all || bytes as u64 > DEFINITE_BYTES_MAX) {
            let bits = bytes.ilog2().min(PARTIAL_BITS_MAX.into());
            pieces.push(self.piece(Length::Partial(bits as u8), 1 << bits));
            bytes -= 1 << bits;
        }
        if is_all {
            pieces.push(self.piece(Length::Definite(bytes as u64), bytes));
        }
        pieces
    }

    fn piece(&mut self, length: Length, bytes: usize) -> Piece {
        let mut header = header(self.tag, length);
        if std::mem::replace(&mut self.is_begun, true) {
            header.remove(0);
        }
        Piece { header, bytes }
    }
}

/// Lengths of a packet whose length is known: a single one if possible, else pieces of a gibibyte and a last one for
/// the rest. The last one stays below 2 GiB: GnuPG takes a longer one after pieces for a negative number.
#[derive(Clone, Debug)]
pub(crate) struct KnownLength {
    lengths: PartialLengths,
    is_one: bool,
}

impl KnownLength {
    pub(crate) fn new(tag: Tag, bytes: u64) -> Self {
        let lengths = PartialLengths::new(tag, PARTIAL_BITS_MAX);
        Self { lengths, is_one: bytes <= DEFINITE_BYTES_MAX }
    }

    /// The next piece, if `left` bytes are left; `None` after the last piece.
    pub(crate) fn next(&mut self, left: u64) -> Option<openpgp::packet::Piece> {
        self.lengths.next(left, self.is_one || left < 1 << PARTIAL_BITS_MAX)
    }
}

/// At most this many bytes wait for more. A first piece must have at least 512 bytes (RFC 9580, 4.2.1.4); larger ones
/// make fewer pieces.
pub(crate) const HELD_BYTES_MAX: usize = 4095;

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(pieces: &[Piece]) -> Vec<usize> {
        pieces.iter().map(|piece| piece.bytes).collect()
    }

    #[test]
    fn pieces_shrink_and_little_is_held() {
        let mut pieces = Pieces::new(Tag::LiteralData);
        assert_eq!(lengths(&pieces.of(4095, false)), [0; 0]);
        let first = pieces.of(300_000, false);
        assert_eq!(lengths(&first), [262_144, 32_768, 4096]);
        assert_eq!(first[0].header, [0xcb, 0xf2]);
        assert_eq!(first[1].header, [0xef]);
        let last = pieces.of(992, true);
        assert_eq!((lengths(&last), &last[0].header[..]), (vec![992], &[0xc3, 0x20][..]));
    }

    #[test]
    fn what_no_length_can_say_ends_with_a_short_piece() {
        for (bytes, count) in [(0, 1), (DEFINITE_BYTES_MAX, 1), (1 << 32, 5), ((1 << 32) + 7, 5)] {
            let mut length = KnownLength::new(Tag::LiteralData, bytes);
            let (mut left, mut pieces) = (bytes, Vec::new());
            while let Some(piece) = length.next(left) {
                left -= piece.bytes;
                pieces.push(piece);
            }
            assert_eq!((left, pieces.len()), (0, count), "{bytes}");
            assert!(count == 1 || pieces.last().is_some_and(|last| last.is_last && last.bytes < 1 << 30));
        }
    }

    #[test]
    fn an_empty_body_has_a_length() {
        let last = Pieces::new(Tag::LiteralData).of(0, true);
        assert_eq!((lengths(&last), &last[0].header[..]), (vec![0], &[0xcb, 0][..]));
    }
}

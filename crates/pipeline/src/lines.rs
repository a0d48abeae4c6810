//! Line ends of a message's text: CR LF (RFC 9580, 5.9). GnuPG hashes a message's text without converting it, so it
//! takes a signature over text with other line ends as invalid.

use std::io;

/// Converts the line ends of text on its way into a message to CR LF.
#[derive(Default)]
pub(crate) struct NetworkLines {
    is_after_return: bool,
    ready: Vec<u8>,
    given: usize,
}

impl NetworkLines {
    /// Whether all converted text has been given out.
    pub(crate) fn is_empty(&self) -> bool {
        self.given == self.ready.len()
    }

    /// Converts the next piece, which becomes at most twice as long; all text before it must have been given out.
    pub(crate) fn take(&mut self, piece: &[u8]) {
        self.ready.clear();
        self.given = 0;
        for byte in piece {
            if *byte == b'\n' && !self.is_after_return {
                self.ready.push(b'\r');
            }
            self.ready.push(*byte);
            self.is_after_return = *byte == b'\r';
        }
    }

    /// Copies converted text into `memory` as far as there is room; returns the number of bytes.
    pub(crate) fn give(&mut self, memory: &mut [u8]) -> usize {
        let rest = &self.ready[self.given..];
        let count = rest.len().min(memory.len());
        memory[..count].copy_from_slice(&rest[..count]);
        self.given += count;
        count
    }
}

/// Converts the line ends of text on its way out of a message to LF.
#[derive(Default)]
pub(crate) struct LocalLines {
    /// Whether the last byte was CR, which is held back until the next byte is known.
    is_after_return: bool,
}

impl LocalLines {
    /// Converts the next piece and appends it to `out`.
    pub(crate) fn take(&mut self, piece: &[u8], is_last: bool, out: &mut Vec<u8>) {
        out.reserve(piece.len() + 1);
        for byte in piece {
            if self.is_after_return && *byte != b'\n' {
                out.push(b'\r');
            }
            self.is_after_return = *byte == b'\r';
            if !self.is_after_return {
                out.push(*byte);
            }
        }
        if is_last && std::mem::take(&mut self.is_after_return) {
            out.push(b'\r');
        }
    }
}

/// Checks that bytes, given in pieces, are UTF-8.
#[derive(Default)]
pub(crate) struct Utf8 {
    /// The beginning of a character whose other bytes are still to come: at most 3 bytes.
    open: Vec<u8>,
}

impl Utf8 {
    /// Checks the next piece; an empty one stands for the end.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if the text is not UTF-8.
    pub(crate) fn check(&mut self, piece: &[u8]) -> io::Result<()> {
        let not_text = || io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text");
        if piece.is_empty() {
            return if self.open.is_empty() { Ok(()) } else { Err(not_text()) };
        }
        let mut rest = piece;
        while !self.open.is_empty() && !rest.is_empty() {
            self.open.push(rest[0]);
            rest = &rest[1..];
            match std::str::from_utf8(&self.open) {
                Ok(_) => self.open.clear(),
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return Err(not_text()),
            }
        }
        match std::str::from_utf8(rest) {
            Ok(_) => Ok(()),
            Err(error) if error.error_len().is_none() => {
                self.open.extend_from_slice(&rest[error.valid_up_to()..]);
                Ok(())
            }
            Err(_) => Err(not_text()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_become_lf_however_the_text_is_cut() {
        let text = b"\r\na\r\nb\rc\n\r\r\n\r";
        let expected = b"\na\nb\rc\n\r\n\r";
        for piece_bytes in 1..=text.len() {
            let (mut lines, mut out) = (LocalLines::default(), Vec::new());
            let pieces: Vec<_> = text.chunks(piece_bytes).collect();
            for (index, piece) in pieces.iter().enumerate() {
                lines.take(piece, index + 1 == pieces.len(), &mut out);
            }
            assert_eq!(out, expected, "in pieces of {piece_bytes}");
        }
    }

    #[test]
    fn text_is_known_however_it_is_cut() {
        let checked = |bytes: &[u8], piece_bytes| {
            let mut utf8 = Utf8::default();
            bytes.chunks(piece_bytes).try_for_each(|piece| utf8.check(piece)).and_then(|()| utf8.check(&[]))
        };
        for piece_bytes in 1..8 {
            checked("aä€𝄞a".as_bytes(), piece_bytes).unwrap();
            for bytes in [&b"\xff"[..], b"a\xc3", b"\xc3a", b"\xed\xa0\x80", b"ok\xf0\x9d\x84"] {
                let error = checked(bytes, piece_bytes).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{bytes:?}");
            }
        }
    }

    #[test]
    fn line_ends_become_cr_lf_however_the_text_is_cut() {
        let text = b"\na\r\nb\rc\n\n\r\r\n";
        let expected = b"\r\na\r\nb\rc\r\n\r\n\r\r\n";
        for piece_bytes in 1..=text.len() {
            let (mut lines, mut out) = (NetworkLines::default(), Vec::new());
            for piece in text.chunks(piece_bytes) {
                lines.take(piece);
                while !lines.is_empty() {
                    let mut memory = [0; 3];
                    let count = lines.give(&mut memory);
                    out.extend_from_slice(&memory[..count]);
                }
            }
            assert_eq!(out, expected, "in pieces of {piece_bytes}");
        }
    }
}

//! Line ends as text in a message has them: CR LF (RFC 9580, 5.9). GnuPG hashes what it finds there as it is, so that a
//! signature over text with other line ends does not hold for it.

/// Text on its way into a message, with its line ends made CR LF.
#[derive(Default)]
pub(crate) struct NetworkLines {
    is_after_return: bool,
    ready: Vec<u8>,
    given: usize,
}

impl NetworkLines {
    /// Whether all that was taken has been given.
    pub(crate) fn is_empty(&self) -> bool {
        self.given == self.ready.len()
    }

    /// Takes the next piece, when all before it has been given: at most twice as long it becomes.
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

    /// Gives what there is room for.
    pub(crate) fn give(&mut self, memory: &mut [u8]) -> usize {
        let rest = &self.ready[self.given..];
        let count = rest.len().min(memory.len());
        memory[..count].copy_from_slice(&rest[..count]);
        self.given += count;
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

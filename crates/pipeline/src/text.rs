//! The text as a stream of packets: one-pass signatures, the literal packet's header, the text in its pieces.

use crate::block::Block;
use crate::error::Error;
use crate::pieces::KnownLength;
use crate::request::{Literal, LiteralMode};
use crate::run::Progress;
use crate::source::{LENGTH_CHANGED, Places, Reader};
use openpgp::body::grammar::{DataMode, LiteralHeader, literal_header};
use openpgp::packet::{Length, Tag, header};

/// The stream of packets, made in order.
pub(crate) struct Text<'a> {
    reader: Reader<'a>,
    progress: &'a dyn Progress,
    /// Bytes that precede the next piece of text.
    pending: Vec<u8>,
    literal: Vec<u8>,
    length: TextLength,
    /// Whether the text is left out, since other threads read it.
    is_planned: bool,
}

enum TextLength {
    /// The packet's length is known: `piece` bytes of its body are left in this piece, and `behind` bytes after it.
    Known {
        lengths: KnownLength,
        piece: u64,
        behind: u64,
    },
    Unknown {
        is_begun: bool,
    },
}

impl<'a> Text<'a> {
    /// A literal packet with the contents of an input, after the packets in `before`. The packet's length is known if
    /// the input's is.
    pub(crate) fn new(
        reader: Reader<'a>,
        progress: &'a dyn Progress,
        before: Vec<u8>,
        literal: &Literal,
    ) -> Result<Self, Error> {
        if literal.name.len() > NAME_BYTES_MAX {
            return Err(Error::request("the name in a message has at most 255 bytes"));
        }
        let mode = match literal.mode {
            LiteralMode::Binary => DataMode::Binary,
            LiteralMode::Utf8 => DataMode::Utf8,
        };
        let modified = literal.modified;
        let literal = literal_header(&LiteralHeader { mode, name: literal.name.clone(), modified });
        let bytes = reader.source().bytes().and_then(|bytes| bytes.checked_add(literal.len() as u64));
        let mut text = Self {
            reader,
            progress,
            pending: before,
            literal,
            length: TextLength::Unknown { is_begun: false },
            is_planned: false,
        };
        if let Some(bytes) = bytes {
            let lengths = KnownLength::new(Tag::LiteralData, bytes);
            text.length = TextLength::Known { lengths, piece: 0, behind: bytes };
            text.next_piece();
            let literal = std::mem::take(&mut text.literal);
            if let TextLength::Known { piece, .. } = &mut text.length {
                *piece -= literal.len() as u64;
            }
            text.pending.extend(literal);
        }
        Ok(text)
    }

    /// Leaves the text out of the blocks that are filled from now on, if the input can be read at any place. Returns
    /// that input; `None` if the text stays in the blocks.
    pub(crate) fn plan(&mut self) -> Option<Places> {
        let places = self.reader.places().filter(|_| self.is_known())?;
        self.is_planned = true;
        Some(places)
    }

    /// Length of the whole stream in bytes, if known.
    pub(crate) fn stream_bytes(&self) -> Option<u64> {
        let TextLength::Known { lengths, piece, behind } = &self.length else { return None };
        let (mut lengths, mut behind) = (lengths.clone(), *behind);
        let mut bytes = self.pending.len() as u64 + piece;
        while let Some(next) = lengths.next(behind) {
            bytes += next.header.len() as u64 + next.bytes;
            behind -= next.bytes;
        }
        Some(bytes)
    }

    /// Fills the memory of a block from `from` on. Returns the number of bytes, and whether the stream has ended. If
    /// the length is known, all of the memory is filled before the end.
    pub(crate) fn fill(&mut self, block: &mut Block, from: usize, to: usize) -> Result<(usize, bool), Error> {
        match self.length {
            TextLength::Known { .. } => self.fill_known(block, from, to),
            TextLength::Unknown { is_begun } => {
                self.length = TextLength::Unknown { is_begun: true };
                self.fill_unknown(block, from, to, is_begun)
            }
        }
    }

    fn fill_known(&mut self, block: &mut Block, from: usize, to: usize) -> Result<(usize, bool), Error> {
        let mut at = from;
        loop {
            let header = self.pending.len().min(to - at);
            block.memory(to)[at..at + header].copy_from_slice(&self.pending[..header]);
            self.pending.drain(..header);
            at += header;
            let TextLength::Known { piece, behind, .. } = &mut self.length else {
                return Ok((at - from, true));
            };
            let is_end = *piece == 0 && *behind == 0 && self.pending.is_empty();
            if is_end || at == to {
                if is_end {
                    self.expect_end()?;
                }
                return Ok((at - from, is_end));
            }
            if *piece == 0 {
                self.next_piece();
                continue;
            }
            let wanted = usize::try_from(*piece).map_or(to - at, |piece| piece.min(to - at));
            *piece -= wanted as u64;
            if self.is_planned {
                let input_at = self.reader.pass_over(wanted as u64);
                if block.texts.is_empty() {
                    block.input_at = input_at;
                }
            } else {
                self.read_exactly(&mut block.memory(to)[at..at + wanted])?;
            }
            block.texts.push(at..at + wanted);
            at += wanted;
        }
    }

    fn next_piece(&mut self) {
        if let TextLength::Known { lengths, piece, behind } = &mut self.length
            && let Some(next) = lengths.next(*behind)
        {
            self.pending.extend(next.header);
            *piece = next.bytes;
            *behind -= next.bytes;
        }
    }

    fn read_exactly(&mut self, memory: &mut [u8]) -> Result<(), Error> {
        let read = self.reader.fill(memory)?;
        self.progress.advance(read as u64);
        if read < memory.len() {
            return Err(self.changed());
        }
        Ok(())
    }

    fn expect_end(&mut self) -> Result<(), Error> {
        if self.reader.fill(&mut [0])? > 0 {
            return Err(self.changed());
        }
        Ok(())
    }

    fn changed(&self) -> Error {
        Error::Input {
            name: self.reader.source().name().to_owned(),
            operation: "read",
            cause: std::io::Error::other(LENGTH_CHANGED),
        }
    }

    /// Fills one piece of a packet of unknown length; its length is a power of two unless the text ends.
    fn fill_unknown(
        &mut self,
        block: &mut Block,
        from: usize,
        to: usize,
        is_begun: bool,
    ) -> Result<(usize, bool), Error> {
        let before = std::mem::take(&mut self.pending);
        let literal = std::mem::take(&mut self.literal);
        let begin = from + before.len() + LENGTH_BYTES_MAX;
        let bits = (to - begin).ilog2();
        let memory = block.memory(to);
        memory[begin..begin + literal.len()].copy_from_slice(&literal);
        let text = &mut memory[begin + literal.len()..begin + (1 << bits)];
        let read = self.reader.fill(text)?;
        let is_end = read < text.len();
        self.progress.advance(read as u64);
        let body = literal.len() + read;
        let length = if is_end { Length::Definite(body as u64) } else { Length::Partial(bits as u8) };
        let mut framing = before;
        framing.extend_from_slice(&header(Tag::LiteralData, length)[usize::from(is_begun)..]);
        // The framing ends where the text begins; the block's piece begins with the framing.
        let start = begin - framing.len();
        block.memory(to)[start..begin].copy_from_slice(&framing);
        block.texts.push(begin + literal.len()..begin + body);
        block.keep(start..begin + body);
        Ok((framing.len() + body, is_end))
    }

    /// Number of bytes that precede the text.
    pub(crate) fn pending_bytes(&self) -> usize {
        self.pending.len() + self.literal.len()
    }

    /// Whether the packet's length is known before the text is read.
    pub(crate) fn is_known(&self) -> bool {
        matches!(self.length, TextLength::Known { .. })
    }
}

/// Longest name in a literal packet in bytes (RFC 9580, 5.9).
const NAME_BYTES_MAX: usize = 255;
/// Room for a piece's packet header and length, in bytes.
const LENGTH_BYTES_MAX: usize = 6;

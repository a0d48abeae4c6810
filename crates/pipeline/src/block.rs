//! A block: the piece of a stream that travels through the stages, with its memory.

use crate::error::Error;
use std::ops::Range;
use zeroize::Zeroize;

/// A piece of a stream. Its memory is reused: a flow has a fixed number of them, which bounds what it holds.
pub(crate) struct Block {
    /// Number in its flow, from 0.
    pub(crate) index: u64,
    /// Whether it ends the stream.
    pub(crate) is_last: bool,
    /// The thread that filled it last, by its number: whose cache the memory lies in.
    pub(crate) owner: usize,
    /// What holds the piece; longer than the piece where it was reused.
    bytes: Vec<u8>,
    /// Where in `bytes` the piece lies.
    range: Range<usize>,
    /// Memory that a stage fills instead of changing `bytes` in place.
    spare: Vec<u8>,
    /// Whether `bytes` and `spare` stand in each other's places.
    is_swapped: bool,
    /// Text before the piece: what a stage that compresses looks back to; the last cipher text before it.
    pub(crate) before: Vec<u8>,
    /// Where in the memory text lies, besides framing.
    pub(crate) texts: Vec<Range<usize>>,
    /// Where in the input the first of them comes from; the others follow it.
    pub(crate) input_at: u64,
    /// What comes behind the piece: the authentication tag of all chunks.
    pub(crate) end: Vec<u8>,
    /// Bytes of the text before the piece.
    pub(crate) at: u64,
    /// Number of the first chunk in the piece.
    pub(crate) chunk: u64,
    /// Check value of the text that the piece was compressed from, and its length in bytes.
    pub(crate) sum: (deflate::Adler32, u64),
}

impl Block {
    /// Memory for pieces of this many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            index: 0,
            is_last: false,
            owner: 0,
            bytes: vec![0; bytes],
            range: 0..0,
            spare: Vec::new(),
            is_swapped: false,
            before: Vec::new(),
            texts: Vec::new(),
            input_at: 0,
            end: Vec::new(),
            at: 0,
            chunk: 0,
            sum: Default::default(),
        }
    }

    /// Empty, as the first stage finds it.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.is_swapped) {
            std::mem::swap(&mut self.bytes, &mut self.spare);
        }
        self.range = 0..0;
        self.is_last = false;
        self.before.clear();
        self.texts.clear();
        self.end.clear();
        self.at = 0;
        self.chunk = 0;
        self.sum = Default::default();
    }

    /// The piece.
    pub(crate) fn piece(&self) -> &[u8] {
        &self.bytes[self.range.clone()]
    }

    /// The piece, to be changed in place.
    pub(crate) fn piece_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.range.clone()]
    }

    /// The parts of the memory that hold text to sign.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &[u8]> {
        self.texts.iter().map(|range| &self.bytes[range.clone()])
    }

    /// Fills the texts, one after the other: `fill` takes memory and where its bytes come from.
    pub(crate) fn fill_texts(
        &mut self,
        mut fill: impl FnMut(&mut [u8], u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut at = self.input_at;
        for range in &self.texts {
            fill(&mut self.bytes[range.clone()], at)?;
            at += range.len() as u64;
        }
        Ok(())
    }

    /// Length of the piece in bytes.
    pub(crate) fn len(&self) -> usize {
        self.range.len()
    }

    /// All of the memory, at least this long, to be filled; [`Block::keep`] says afterwards with how much.
    pub(crate) fn memory(&mut self, bytes: usize) -> &mut [u8] {
        if self.bytes.capacity() < bytes {
            // Memory that is given back must not hold text.
            let mut larger = Vec::with_capacity(bytes);
            larger.extend_from_slice(&self.bytes);
            self.bytes.zeroize();
            self.bytes = larger;
        }
        if self.bytes.len() < bytes {
            self.bytes.resize(bytes, 0);
        }
        &mut self.bytes[..]
    }

    /// The piece is this part of the memory.
    pub(crate) fn keep(&mut self, range: Range<usize>) {
        debug_assert!(range.end <= self.bytes.len());
        self.range = range;
    }

    /// Where in its memory the piece lies.
    pub(crate) fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Shortens the piece from its end; gives what is cut off.
    pub(crate) fn cut(&mut self, bytes: usize) -> &[u8] {
        let end = self.range.end;
        self.range.end -= bytes;
        &self.bytes[self.range.end..end]
    }

    /// Shortens the piece from its begin.
    pub(crate) fn skip(&mut self, bytes: usize) {
        self.range.start += bytes;
    }

    /// Lengthens the piece at its end.
    pub(crate) fn append(&mut self, more: &[u8]) {
        let end = self.range.end + more.len();
        self.memory(end)[end - more.len()..end].copy_from_slice(more);
        self.range.end = end;
    }

    /// Replaces the piece by what `make` appends to the memory it is given, out of the piece and what was before it.
    pub(crate) fn replace<T>(&mut self, make: impl FnOnce(&[u8], &[u8], &mut Vec<u8>) -> T) -> T {
        self.spare.clear();
        let made = make(&self.before, &self.bytes[self.range.clone()], &mut self.spare);
        self.range = 0..self.spare.len();
        std::mem::swap(&mut self.bytes, &mut self.spare);
        self.is_swapped = !self.is_swapped;
        made
    }

    /// Empty memory to make another piece in, for [`Block::put_spare`].
    pub(crate) fn take_spare(&mut self) -> Vec<u8> {
        let mut spare = std::mem::take(&mut self.spare);
        spare.clear();
        spare
    }

    /// Replaces the piece by what was made.
    pub(crate) fn put_spare(&mut self, made: Vec<u8>) {
        self.range = 0..made.len();
        self.spare = std::mem::replace(&mut self.bytes, made);
        self.is_swapped = !self.is_swapped;
    }

    /// Takes over the piece of another block, which gets this one's memory.
    pub(crate) fn take_piece(&mut self, other: &mut Block) {
        std::mem::swap(&mut self.bytes, &mut other.bytes);
        std::mem::swap(&mut self.spare, &mut other.spare);
        std::mem::swap(&mut self.is_swapped, &mut other.is_swapped);
        std::mem::swap(&mut self.owner, &mut other.owner);
        self.range = std::mem::replace(&mut other.range, 0..0);
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // Text that was deciphered, or was to be enciphered, does not stay in freed memory.
        self.bytes.zeroize();
        self.spare.zeroize();
        self.before.zeroize();
    }
}

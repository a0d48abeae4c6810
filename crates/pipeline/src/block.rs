//! A block: a piece of a stream that travels through the stages, with its memory.

use crate::error::Error;
use std::ops::Range;
use zeroize::Zeroize;

/// A piece of a stream. Its memory is reused: a flow has a fixed number of blocks, which bounds its memory.
pub(crate) struct Block {
    /// The block's number in its flow, from 0.
    pub(crate) index: u64,
    /// Whether the piece ends the stream.
    pub(crate) is_last: bool,
    /// Number of the thread that last filled the block: the memory is in that thread's cache.
    pub(crate) owner: usize,
    /// Memory with the piece; it may be longer than the piece, since it is reused.
    bytes: Vec<u8>,
    /// Place of the piece within `bytes`.
    range: Range<usize>,
    /// Memory that a stage fills instead of changing `bytes` in place.
    spare: Vec<u8>,
    /// Whether `bytes` and `spare` have exchanged their places.
    is_swapped: bool,
    /// Text before the piece, which a stage that compresses looks back to; or the last cipher text before the piece.
    pub(crate) before: Vec<u8>,
    /// Parts of the memory that hold text rather than framing.
    pub(crate) texts: Vec<Range<usize>>,
    /// Place in the input of the first text in the block; the other texts follow it there.
    pub(crate) input_at: u64,
    /// Bytes that follow the piece: the authentication tag of all chunks.
    pub(crate) end: Vec<u8>,
    /// Number of text bytes before the piece.
    pub(crate) at: u64,
    /// Number of the first chunk in the piece, from 0.
    pub(crate) chunk: u64,
    /// Check value of the text that the piece was compressed from, and that text's length in bytes.
    pub(crate) sum: (deflate::Adler32, u64),
}

impl Block {
    /// A block with memory for a piece of `bytes` bytes.
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

    /// Empties the block for the first stage.
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

    /// The bytes of the piece, within the block's memory.
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

    /// Fills the texts, one after the other. `fill` gets memory, and the place in the input that its bytes come from.
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

    /// All of the memory, made at least `bytes` long, to be filled. [`Block::keep`] then says which part is the piece.
    pub(crate) fn memory(&mut self, bytes: usize) -> &mut [u8] {
        if self.bytes.capacity() < bytes {
            // Freed memory must not hold text.
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

    /// Makes this part of the memory the piece.
    pub(crate) fn keep(&mut self, range: Range<usize>) {
        debug_assert!(range.end <= self.bytes.len());
        self.range = range;
    }

    /// Place of the piece within its memory.
    pub(crate) fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Shortens the piece at its end by `bytes`; returns the bytes that were cut off.
    pub(crate) fn cut(&mut self, bytes: usize) -> &[u8] {
        let end = self.range.end;
        self.range.end -= bytes;
        &self.bytes[self.range.end..end]
    }

    /// Shortens the piece at its beginning by `bytes`.
    pub(crate) fn skip(&mut self, bytes: usize) {
        self.range.start += bytes;
    }

    /// Lengthens the piece at its end.
    pub(crate) fn append(&mut self, more: &[u8]) {
        let end = self.range.end + more.len();
        self.memory(end)[end - more.len()..end].copy_from_slice(more);
        self.range.end = end;
    }

    /// Replaces the piece by what `make` appends to the vector that it gets. `make` also gets the text before the
    /// piece, and the piece.
    pub(crate) fn replace<T>(&mut self, make: impl FnOnce(&[u8], &[u8], &mut Vec<u8>) -> T) -> T {
        self.spare.clear();
        let made = make(&self.before, &self.bytes[self.range.clone()], &mut self.spare);
        self.range = 0..self.spare.len();
        std::mem::swap(&mut self.bytes, &mut self.spare);
        self.is_swapped = !self.is_swapped;
        made
    }

    /// Empty memory to make another piece in, to be given to [`Block::put_spare`].
    pub(crate) fn take_spare(&mut self) -> Vec<u8> {
        let mut spare = std::mem::take(&mut self.spare);
        spare.clear();
        spare
    }

    /// Replaces the piece by `made`.
    pub(crate) fn put_spare(&mut self, made: Vec<u8>) {
        self.range = 0..made.len();
        self.spare = std::mem::replace(&mut self.bytes, made);
        self.is_swapped = !self.is_swapped;
    }

    /// Takes the piece of another block, which gets this block's memory in exchange.
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
        // Text, deciphered or to be enciphered, must not stay in freed memory.
        self.bytes.zeroize();
        self.spare.zeroize();
        self.before.zeroize();
    }
}

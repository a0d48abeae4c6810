//! Texts side by side that a kernel reads and writes where they lie.
//!
//! ```text
//! piece:    0         1         2
//! lane 0  | 64 bytes| 64 bytes| 64 bytes| ...      a line is eight blocks of one stream
//! lane 1  | 64 bytes| 64 bytes| 64 bytes| ...
//! ...
//! ```
//!
//! A form takes the same piece of every lane at a time and turns it, between memory and registers, into vectors that
//! hold one block of each of some streams. What is not a whole line of every lane goes through [`super::Piece`]s.

use super::{BLOCK_BYTES, PIECE_BLOCKS};

/// Eight consecutive blocks of one stream, where they lie.
pub(crate) type Line = [u8; PIECE_BLOCKS * BLOCK_BYTES];

/// The lines of some streams; at least one stream.
pub(crate) trait Lines {
    /// Whether ciphertext takes the place of what was read. If not, the chaining values alone count: a MAC.
    const WRITTEN: bool;

    /// How many streams there are.
    fn lanes(&self) -> usize;

    /// A line of a stream; for a lane that has none, that of the last one.
    fn line(&self, lane: usize, piece: usize) -> &Line;

    /// Where a line is written; None for a lane that has no stream, and for what is only read.
    fn line_mut(&mut self, lane: usize, piece: usize) -> Option<&mut Line>;
}

/// Enciphered in place.
impl Lines for [&mut [Line]] {
    const WRITTEN: bool = true;

    #[inline(always)]
    fn lanes(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn line(&self, lane: usize, piece: usize) -> &Line {
        &self[lane.min(self.len() - 1)][piece]
    }

    #[inline(always)]
    fn line_mut(&mut self, lane: usize, piece: usize) -> Option<&mut Line> {
        self.get_mut(lane)?.get_mut(piece)
    }
}

/// Only read.
impl Lines for [&[Line]] {
    const WRITTEN: bool = false;

    #[inline(always)]
    fn lanes(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn line(&self, lane: usize, piece: usize) -> &Line {
        &self[lane.min(self.len() - 1)][piece]
    }

    #[inline(always)]
    fn line_mut(&mut self, _: usize, _: usize) -> Option<&mut Line> {
        None
    }
}

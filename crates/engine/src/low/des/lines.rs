//! Texts side by side that a kernel reads and writes in place.
//!
//! ```text
//! piece:    0         1         2
//! lane 0  | 64 bytes| 64 bytes| 64 bytes| ...      a line is eight blocks of one stream
//! lane 1  | 64 bytes| 64 bytes| 64 bytes| ...
//! ...
//! ```
//!
//! A form takes the same piece of every lane at a time and transposes it, between memory and registers, into vectors of
//! one block each of some streams. Text that is not a whole line of every lane goes through [`super::Piece`]s.

use super::{BLOCK_BYTES, PIECE_BLOCKS};

/// Eight consecutive blocks of one stream, in place.
pub(crate) type Line = [u8; PIECE_BLOCKS * BLOCK_BYTES];

/// The lines of one or more streams.
pub(crate) trait Lines {
    /// Whether ciphertext overwrites the text. If not, only the chaining values are kept: a MAC.
    const WRITTEN: bool;

    /// The number of streams.
    fn lanes(&self) -> usize;

    /// A line of a stream; of the last stream if the lane has none.
    fn line(&self, lane: usize, piece: usize) -> &Line;

    /// The line to write; `None` if the lane has no stream, or if lines are only read.
    fn line_mut(&mut self, lane: usize, piece: usize) -> Option<&mut Line>;
}

/// Streams that are enciphered in place.
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

/// Streams that are only read.
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

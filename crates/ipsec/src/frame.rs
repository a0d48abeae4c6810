//! A packet within memory that has room around it, so that headers come and go without a copy.
//!
//! ```text
//! memory:  | head room |  the packet  | tail room |
//!                      start          end
//! ```

/// A packet and the room around it. What is outside the packet is anyone's: it is written when the packet grows.
#[derive(Debug)]
pub struct Frame<'a> {
    memory: &'a mut [u8],
    start: usize,
    end: usize,
}

/// Head room with which every packet can be sealed, outer headers included, or opened.
pub const HEAD_ROOM: usize = 96;
/// Tail room with which every packet can be sealed: padding, trailer and the longest ICV; TFC padding beside it.
pub const TAIL_ROOM: usize = 64;

impl<'a> Frame<'a> {
    /// The packet from `start` to `end`. None where that is not within the memory.
    pub fn new(memory: &'a mut [u8], start: usize, end: usize) -> Option<Frame<'a>> {
        (start <= end && end <= memory.len()).then_some(Frame { memory, start, end })
    }

    /// The packet.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.end]
    }

    /// The packet, to be changed.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.end]
    }

    /// Where it begins and ends within the memory.
    pub fn place(&self) -> (usize, usize) {
        (self.start, self.end)
    }

    /// Length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Takes so many bytes of the head room to its front; false where there are not as many.
    #[inline]
    #[must_use]
    pub fn grow_front(&mut self, bytes: usize) -> bool {
        let fits = bytes <= self.start;
        if fits {
            self.start -= bytes;
        }
        fits
    }

    /// Takes so many bytes of the tail room to its end; false where there are not as many.
    #[inline]
    #[must_use]
    pub fn grow_back(&mut self, bytes: usize) -> bool {
        let fits = bytes <= self.memory.len() - self.end;
        if fits {
            self.end += bytes;
        }
        fits
    }

    /// Moves so many bytes that end `from` before the packet to where they end `to` before it. The caller sees to it
    /// that there is room for both.
    pub(crate) fn move_before(&mut self, bytes: usize, from: usize, to: usize) {
        let (from, to) = (self.start - from, self.start - to);
        self.memory.copy_within(from - bytes..from, to - bytes);
    }

    /// Gives so many bytes of its front to the head room, all where it has not as many.
    #[inline]
    pub fn shrink_front(&mut self, bytes: usize) {
        self.start += bytes.min(self.len());
    }

    /// Ends after so many bytes, where it is longer.
    #[inline]
    pub fn truncate(&mut self, bytes: usize) {
        self.end = self.end.min(self.start.saturating_add(bytes));
    }

    /// Room before and behind it.
    pub fn room(&self) -> (usize, usize) {
        (self.start, self.memory.len() - self.end)
    }
}

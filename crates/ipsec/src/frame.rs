//! A packet within memory that has room around it, so that headers come and go without a copy.
//!
//! ```text
//! memory:  | head room |  the packet  | tail room |
//!                      start          end
//! ```

/// A packet and the room around it. The memory outside the packet holds nothing: the packet grows into it.
#[derive(Debug)]
pub struct Frame<'a> {
    memory: &'a mut [u8],
    start: usize,
    end: usize,
}

/// Head room, in bytes, with which every packet can be sealed, outer headers included, or opened.
pub const HEAD_ROOM: usize = 96;
/// Tail room, in bytes, with which every packet can be sealed: padding, trailer and the longest ICV; TFC padding comes
/// on top.
pub const TAIL_ROOM: usize = 64;

impl<'a> Frame<'a> {
    /// The packet from `start` to `end`; `None` if that is not within the memory.
    pub fn new(memory: &'a mut [u8], start: usize, end: usize) -> Option<Frame<'a>> {
        (start <= end && end <= memory.len()).then_some(Frame { memory, start, end })
    }

    /// The packet's bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.end]
    }

    /// The packet's bytes, to be changed.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.end]
    }

    /// Offsets of the packet's begin and end within the memory.
    pub fn place(&self) -> (usize, usize) {
        (self.start, self.end)
    }

    /// Length of the packet in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// Whether the packet has no bytes.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Extends the packet by `bytes` bytes at its front, into the head room; false if there are fewer.
    #[inline]
    #[must_use]
    pub fn grow_front(&mut self, bytes: usize) -> bool {
        let fits = bytes <= self.start;
        if fits {
            self.start -= bytes;
        }
        fits
    }

    /// Extends the packet by `bytes` bytes at its end, into the tail room; false if there are fewer.
    #[inline]
    #[must_use]
    pub fn grow_back(&mut self, bytes: usize) -> bool {
        let fits = bytes <= self.memory.len() - self.end;
        if fits {
            self.end += bytes;
        }
        fits
    }

    /// Moves the `bytes` bytes that end `from` bytes before the packet to where they end `to` bytes before it. The
    /// caller makes sure that there is room for both.
    pub(crate) fn move_before(&mut self, bytes: usize, from: usize, to: usize) {
        let (from, to) = (self.start - from, self.start - to);
        self.memory.copy_within(from - bytes..from, to - bytes);
    }

    /// Gives `bytes` bytes of the packet's front to the head room, or all if it has fewer.
    #[inline]
    pub fn shrink_front(&mut self, bytes: usize) {
        self.start += bytes.min(self.len());
    }

    /// Cuts the packet to `bytes` bytes, if it is longer.
    #[inline]
    pub fn truncate(&mut self, bytes: usize) {
        self.end = self.end.min(self.start.saturating_add(bytes));
    }

    /// Length of the room before and behind the packet, in bytes.
    pub fn room(&self) -> (usize, usize) {
        (self.start, self.memory.len() - self.end)
    }
}

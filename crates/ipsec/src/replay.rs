//! The replay window of an SA (RFC 4303, 3.4.3), moved by several threads at once without a lock.
//!
//! ```text
//! number:   .....high bits......|.entry.|.bit (5).|          entries: a power of two, a word each
//! word:     | age: 32 bits | one bit for each of 32 numbers |
//!
//! window:            top - size        top
//!     ... |xxxxxxxx|xxxx....|........|...     an entry is taken over by the block of numbers that is a whole ring
//!           too old                           further on, which happens only when the old one is outside the window
//! ```
//!
//! 1. As in RFC 6479 nothing is shifted: the window moves over a ring of words, with one word more than it needs.
//! 2. There a thread that moves the window clears words that another may set bits in. Here a word says of which block
//!    of numbers its bits are (`age`): whoever brings a newer block takes the word over and sets its bit in the same
//!    compare-and-exchange. So clearing is not a step of its own, and no order of threads lets a number be taken twice:
//!    each number has one word, in which its bit is set once, and once the word is of a newer block the number is too
//!    old for ever.
//! 3. `top` only rises. A thread that reads an old one may take a number that has just left the window, never one that
//!    was taken.
//! 4. Ages have 32 bits, and of two the one that is less than half of them ahead is newer: a word that no number
//!    reached while 2^37 others passed would be taken for a newer one. Whoever can hold back all packets of a block,
//!    again and again, can hold back the others.
//!
//! All loads and stores are relaxed: each promise is about one word.

use crate::atomics::{AtomicU64, Ordering};

/// Size of the smallest window, in numbers.
pub const WINDOW_MIN: u32 = 32;
/// Size of the largest window, in numbers.
pub const WINDOW_MAX: u32 = 4096;

/// Numbers for which a word has bits.
const BITS: u64 = 32;

/// The verdict of a window on a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The number was not taken before. After [`Window::accept`] it is taken; `advanced` says whether it is the highest
    /// so far.
    Fresh {
        /// Whether the window moves to this number.
        advanced: bool,
    },
    /// The number left the window.
    TooOld,
    /// The number was taken before.
    Seen,
}

/// A replay window. Threads share it.
#[derive(Debug)]
pub struct Window {
    top: AtomicU64,
    entries: Box<[AtomicU64]>,
    size: u64,
}

impl Window {
    /// A window of `size` numbers, before any packet; `None` unless the size is between [`WINDOW_MIN`] and
    /// [`WINDOW_MAX`].
    pub fn new(size: u32) -> Option<Window> {
        if !(WINDOW_MIN..=WINDOW_MAX).contains(&size) {
            return None;
        }
        let size = u64::from(size);
        let entries = (size.div_ceil(BITS) + 1).next_power_of_two();
        let entries = (0..entries).map(|_| AtomicU64::new(0)).collect();
        Some(Window { top: AtomicU64::new(0), entries, size })
    }

    /// As [`Window::new`], with `top` as the highest number taken. Nothing is known of the numbers before it: they may
    /// come.
    pub fn after(size: u32, top: u64) -> Option<Window> {
        let window = Window::new(size)?;
        let entries = window.entries.len() as u64;
        // Each word as if its last block had come, and none of its numbers.
        for (at, entry) in (0..).zip(&window.entries) {
            let last = (top / BITS).saturating_sub((top / BITS).wrapping_sub(at) & (entries - 1));
            entry.store((last / entries) << BITS, Ordering::Relaxed);
        }
        if top > 0 {
            window.accept(top);
        }
        Some(window)
    }

    /// Size of the window, in numbers.
    pub fn size(&self) -> u32 {
        self.size as u32
    }

    /// The highest number that was taken; 0 before any.
    pub fn top(&self) -> u64 {
        self.top.load(Ordering::Relaxed)
    }

    /// The verdict on a number before its packet is authenticated. Number 0 is never sent.
    #[inline]
    pub fn check(&self, number: u64) -> Verdict {
        let top = self.top();
        if number == 0 || number.saturating_add(self.size) <= top {
            return Verdict::TooOld;
        }
        let (entry, age, bit) = self.place(number);
        let word = self.entries[entry].load(Ordering::Relaxed);
        verdict(word, age, bit, number > top)
    }

    /// Takes the number of a packet that was authenticated; only one of all threads gets it as fresh.
    #[inline]
    pub fn accept(&self, number: u64) -> Verdict {
        let top = self.top();
        if number == 0 || number.saturating_add(self.size) <= top {
            return Verdict::TooOld;
        }
        let (entry, age, bit) = self.place(number);
        let entry = &self.entries[entry];
        let mut word = entry.load(Ordering::Relaxed);
        loop {
            let fresh = verdict(word, age, bit, number > top);
            let Verdict::Fresh { .. } = fresh else { return fresh };
            let bits = if word >> BITS == age { word } else { age << BITS };
            match entry.compare_exchange_weak(word, bits | bit, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        let before = if number > top { self.top.fetch_max(number, Ordering::Relaxed) } else { top };
        Verdict::Fresh { advanced: number > before }
    }

    /// The bits of the window as Linux shows them: bit 31 of the last word is `top`, the bits before it the numbers
    /// before it.
    pub fn bitmap(&self) -> (u64, Vec<u32>) {
        let top = self.top();
        let words = self.size.div_ceil(BITS) as usize;
        let mut map = vec![0_u32; words];
        for back in 0..self.size.min(top) {
            let (entry, age, bit) = self.place(top - back);
            let word = self.entries[entry].load(Ordering::Relaxed);
            if word >> BITS == age && word & bit != 0 {
                let place = words as u64 * BITS - 1 - back;
                map[(place / BITS) as usize] |= 1 << (place % BITS);
            }
        }
        (top, map)
    }

    #[inline]
    fn place(&self, number: u64) -> (usize, u64, u64) {
        let block = number / BITS;
        let entries = self.entries.len() as u64;
        // The age is the rest of the block's number, cut to 32 bits.
        ((block & (entries - 1)) as usize, (block / entries) & u64::from(u32::MAX), 1 << (number % BITS))
    }
}

/// The verdict of a word on a number. Ages are cut, so they are compared modulo 2^32.
#[inline]
fn verdict(word: u64, age: u64, bit: u64, advanced: bool) -> Verdict {
    match (age as u32).wrapping_sub((word >> BITS) as u32) {
        0 if word & bit != 0 => Verdict::Seen,
        ahead if ahead <= u32::MAX / 2 => Verdict::Fresh { advanced },
        _ => Verdict::TooOld,
    }
}

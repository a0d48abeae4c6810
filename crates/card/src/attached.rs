//! A queue of the card and what it may do; which of its slots wait, and which is taken next.

use link::CardQueue;
use wire::grant::Grant;

/// Whether a request shares a pass with cheap or with dear ones, by what such requests cost of late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Passes are short, and take many.
    Cheap = 0,
    /// Passes are as long as they must be for the lanes of their kernels.
    Dear = 1,
}

impl Class {
    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Self::Cheap => Self::Dear,
            Self::Dear => Self::Cheap,
        }
    }
}

/// A queue and what it may do.
pub struct Attached {
    /// The card's end of the link.
    pub queue: CardQueue,
    /// Decided by the daemon.
    pub grant: Grant,
    /// Index of the tenant in [`crate::turns::Turns`] and [`crate::limits::Limiter`].
    pub tenant: usize,
    /// Length of the grant in the message that tells a later daemon of it, in bytes.
    pub grant_bytes: usize,
    /// Slots that the last sweep found and that were not taken since.
    waiting: u64,
    /// Slots that the last sweep found and left to a later one, for a limit of the tenant's.
    held_back: u64,
    /// Of the slots that wait, those that were looked into, and those found dear.
    known: u64,
    dear: u64,
    /// The slot after the one taken last: every slot has its turn.
    next_slot: u32,
}

impl Attached {
    /// A queue of the tenant at this index, with a grant of so many bytes.
    pub fn new(queue: CardQueue, grant: Grant, grant_bytes: usize, tenant: usize) -> Self {
        Self { queue, grant, tenant, grant_bytes, waiting: 0, held_back: 0, known: 0, dear: 0, next_slot: 0 }
    }

    /// Looks which slots wait; returns how many.
    #[inline]
    pub fn sweep(&mut self) -> u32 {
        self.waiting = self.queue.pending();
        self.held_back = 0;
        self.known &= self.waiting;
        self.waiting.count_ones()
    }

    /// Leaves what the sweep found to a later one: it does not keep the card awake.
    pub fn hold_back(&mut self) {
        self.held_back = std::mem::take(&mut self.waiting);
    }

    /// Whether anything waits that was not held back.
    #[inline]
    pub fn has_news(&self) -> bool {
        self.queue.pending() & !self.held_back != 0
    }

    /// Whether anything was held back.
    pub fn holds_back(&self) -> bool {
        self.held_back != 0
    }

    /// Looks into the slots that wait and were not looked into yet; returns how many of all are dear.
    pub fn classify(&mut self, mut is_dear: impl FnMut(u16, u32) -> bool) -> u32 {
        let mut fresh = self.waiting & !self.known;
        while fresh != 0 {
            let slot = fresh.trailing_zeros();
            let (verb, payload_bytes) = self.queue.peek(slot);
            let bit = 1 << slot;
            self.dear = if is_dear(verb, payload_bytes) { self.dear | bit } else { self.dear & !bit };
            fresh &= fresh - 1;
        }
        self.known |= self.waiting;
        (self.waiting & self.dear).count_ones()
    }

    /// Takes all that waits for cheap.
    pub fn declassify(&mut self) {
        (self.known, self.dear) = (0, 0);
    }

    /// The next waiting slot of a class; it waits until [`Attached::took`] is told.
    #[inline]
    pub fn next(&self, class: Class) -> Option<u32> {
        let of_class = match class {
            Class::Cheap => self.waiting & !self.dear,
            Class::Dear => self.waiting & self.dear,
        };
        if of_class == 0 {
            return None;
        }
        let rotated = of_class.rotate_right(self.next_slot);
        Some((rotated.trailing_zeros() + self.next_slot) % u64::BITS)
    }

    /// The request in a slot is taken.
    #[inline]
    pub fn took(&mut self, slot: u32) {
        let bit = 1_u64 << (slot % u64::BITS);
        self.waiting &= !bit;
        self.known &= !bit;
        self.dear &= !bit;
        self.next_slot = (slot + 1) % u64::BITS;
    }

    /// Nothing of what the last sweep found is to be taken.
    pub fn abandon(&mut self) {
        self.waiting = 0;
    }
}

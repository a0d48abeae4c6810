//! Whose the request in each slot of a queue is, and which slots are answered.

use super::{Attached, Pool};
use link::InFlight;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wire::bounds::QUEUE_SLOTS_MAX;

/// A slot whose request is answered.
#[derive(Clone, Copy)]
pub(crate) struct AnsweredSlot {
    /// The queue, to be compared only.
    queue: *const Attached,
    slot: u32,
    /// What the owner noted.
    owner: u64,
}

/// Slots of one queue that a look found answered.
pub(crate) struct AnsweredSlots {
    slots: [AnsweredSlot; QUEUE_SLOTS_MAX],
    next: usize,
    count: usize,
}

impl Default for AnsweredSlots {
    fn default() -> Self {
        let none = AnsweredSlot { queue: std::ptr::null(), slot: 0, owner: 0 };
        Self { slots: [none; QUEUE_SLOTS_MAX], next: 0, count: 0 }
    }
}

impl AnsweredSlots {
    /// Forgets all.
    pub fn clear(&mut self) {
        (self.next, self.count) = (0, 0);
    }

    /// Takes the next one.
    pub fn take(&mut self) -> Option<AnsweredSlot> {
        let slot = self.slots[..self.count].get(self.next).copied()?;
        self.next += 1;
        Some(slot)
    }

    fn push(&mut self, slot: AnsweredSlot) {
        if let Some(place) = self.slots.get_mut(self.count) {
            *place = slot;
            self.count += 1;
        }
    }
}

impl AnsweredSlot {
    /// The position that the owner noted.
    pub fn position(&self) -> usize {
        self.owner as u32 as usize
    }

    /// Whether it is this request's.
    pub fn is_of(&self, flight: (&Arc<Attached>, &InFlight)) -> bool {
        std::ptr::eq(self.queue, &**flight.0) && self.slot == flight.1.slot()
    }
}

impl Pool {
    /// Finds the slots of a queue that are answered, and whose requests are the thread's; the queues take turns, which
    /// `turn` counts.
    #[inline]
    pub fn answered_of(&self, thread: u32, turn: &mut usize, found: &mut AnsweredSlots) {
        found.clear();
        let table = self.read();
        let count = table.len();
        for step in 0..count {
            let place = (*turn + step) % count;
            table[place].answered_of(thread).for_each(|slot| found.push(slot));
            if found.count != 0 {
                *turn = place + 1;
                return;
            }
        }
    }

    /// Forgets whose the request in a slot is.
    pub fn disown(&self, found: &AnsweredSlot) {
        let table = self.read();
        let attached = table.iter().find(|attached| std::ptr::eq(found.queue, &***attached));
        if let Some(owner) = attached.and_then(|attached| attached.owners.get(found.slot as usize)) {
            // The slot may be another thread's by now.
            let _ = owner.compare_exchange(found.owner, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

impl Attached {
    /// Notes whose the request in a slot is: a thread (not 0), and a position in its list.
    pub fn own(&self, slot: u32, thread: u32, position: u32) {
        if let Some(owner) = self.owners.get(slot as usize) {
            owner.store(u64::from(thread) << 32 | u64::from(position), Ordering::Relaxed);
        }
    }

    /// Whether a slot is answered whose request is the thread's.
    pub fn has_answer_of(&self, thread: u32) -> bool {
        self.answered_of(thread).next().is_some()
    }

    /// The slots that are answered, and whose requests are the thread's.
    fn answered_of(&self, thread: u32) -> impl Iterator<Item = AnsweredSlot> {
        let mut answered = self.queue.uncollected();
        std::iter::from_fn(move || {
            while answered != 0 {
                let slot = answered.trailing_zeros();
                answered &= answered - 1;
                let owner = self.owners[slot as usize % QUEUE_SLOTS_MAX].load(Ordering::Relaxed);
                if owner >> 32 == u64::from(thread) {
                    return Some(AnsweredSlot { queue: self, slot, owner });
                }
            }
            None
        })
    }
}

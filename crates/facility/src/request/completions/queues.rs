//! The queues of an event loop, and which request is in which slot.

use super::sources::{Source, Sources};
use crate::cards::pool::Attached;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Staged requests of a queue that are handed over before the round ends, so that a card need not wait for a long
/// round: twice the lanes of a kernel for expensive operations.
const STAGED_MAX: u32 = 16;
const NO_PLACE: u32 = u32::MAX;

struct Queue {
    attached: Arc<Attached>,
    /// Bit masks of slots: with requests that were not collected, and with those that the last look found answered.
    in_flight: u64,
    ready: u64,
    /// Requests written and not handed over.
    staged: u32,
    /// The number that the loop knows each slot's request by.
    owners: [u32; u64::BITS as usize],
}

/// All queues of a loop.
#[derive(Default)]
pub(super) struct Queues {
    /// Queues by place; a free place is used again.
    places: Vec<Option<Queue>>,
    /// The place that is looked at next.
    next: usize,
    /// Requests staged in all queues.
    staged: u32,
}

impl Queues {
    /// Notes that a request is staged in a queue, and watches the card of a queue that is new here.
    pub fn staged(&mut self, sources: &Sources, attached: &Arc<Attached>, slot: u32, key: u32) {
        let mut place = attached.place.load(Relaxed);
        if place == NO_PLACE {
            place = self.places.iter().position(Option::is_none).unwrap_or(self.places.len()) as u32;
            attached.place.store(place, Relaxed);
            let attached = Arc::clone(attached);
            // A card whose end is not told is found out when its queue is looked at.
            if let Some(pidfd) = attached.queue.pidfd() {
                let _ = sources.watch(pidfd, Source::Card(place));
            }
            let owners = [NO_PLACE; u64::BITS as usize];
            let queue = Queue { attached, in_flight: 0, ready: 0, staged: 0, owners };
            match self.places.get_mut(place as usize) {
                Some(free) => *free = Some(queue),
                None => self.places.push(Some(queue)),
            }
        }
        let Some(Some(queue)) = self.places.get_mut(place as usize) else { return };
        queue.in_flight |= 1 << slot;
        queue.owners[slot as usize] = key;
        queue.staged += 1;
        self.staged += 1;
        if queue.staged >= STAGED_MAX {
            self.hand_over();
        }
    }

    /// Hands over what is staged, and rings each card once.
    pub fn hand_over(&mut self) {
        if self.staged == 0 {
            return;
        }
        self.staged = 0;
        let mut cards = 0_u64;
        for queue in self.places.iter_mut().flatten().filter(|queue| queue.staged != 0) {
            queue.staged = 0;
            if queue.attached.queue.hand_over() {
                cards |= 1_u64.checked_shl(queue.attached.card).unwrap_or(0);
            }
        }
        for queue in self.places.iter().flatten() {
            let card = 1_u64.checked_shl(queue.attached.card).unwrap_or(0);
            if cards & card != 0 && !queue.attached.is_lost() {
                cards &= !card;
                queue.attached.queue.ring();
            }
        }
    }

    /// Looks at every queue once; whether any request is answered.
    pub fn sweep(&mut self) -> bool {
        let mut is_any = false;
        for queue in self.places.iter_mut().flatten().filter(|queue| queue.in_flight != 0) {
            queue.ready = queue.attached.queue.answered(queue.in_flight);
            is_any |= queue.ready != 0;
        }
        is_any
    }

    /// The next request that the last look found answered, queue by queue.
    pub fn next_ready(&mut self) -> Option<u32> {
        while let Some(place) = self.places.get_mut(self.next) {
            if let Some(queue) = place
                && queue.ready != 0
            {
                let slot = queue.ready.trailing_zeros();
                queue.ready &= queue.ready - 1;
                queue.in_flight &= !(1 << slot);
                return Some(queue.owners[slot as usize]);
            }
            self.next += 1;
        }
        self.next = 0;
        None
    }

    /// Says to every card that the loop goes to sleep.
    pub fn arm(&self, sleep: u64) {
        for queue in self.places.iter().flatten().filter(|queue| queue.in_flight != 0) {
            queue.attached.queue.arm(sleep);
        }
    }

    /// Says to every card that the loop is awake.
    pub fn disarm(&self) {
        for queue in self.places.iter().flatten() {
            queue.attached.queue.disarm();
        }
    }

    /// Whether anything is in flight.
    pub fn any_in_flight(&self) -> bool {
        self.places.iter().flatten().any(|queue| queue.in_flight != 0)
    }

    /// Whether a card that something is in flight on is awake on another processor.
    pub fn any_is_awake_elsewhere(&self) -> bool {
        let in_flight = self.places.iter().flatten().filter(|queue| queue.in_flight != 0);
        in_flight.into_iter().any(|queue| queue.attached.queue.card_is_awake_elsewhere())
    }

    /// Forgets a request whose answer is no longer waited for.
    pub fn forget(&mut self, attached: &Arc<Attached>, slot: u32) {
        if let Some(Some(queue)) = self.places.get_mut(attached.place.load(Relaxed) as usize) {
            queue.in_flight &= !(1 << slot);
            queue.ready &= !(1 << slot);
        }
    }

    /// The queue at a place.
    pub fn at(&self, place: u32) -> Option<Arc<Attached>> {
        self.places.get(place as usize)?.as_ref().map(|queue| Arc::clone(&queue.attached))
    }

    /// Places of the queues that have ended, are broken, or are lost and empty.
    pub fn ended(&self) -> Vec<u32> {
        let is_over = |queue: &Queue| {
            queue.attached.queue.has_ended()
                || crate::request::is_broken(&queue.attached)
                || (queue.in_flight == 0 && queue.attached.is_lost())
        };
        let places = self.places.iter().enumerate();
        let over = places.filter(|(_, queue)| queue.as_ref().is_some_and(is_over));
        over.map(|(place, _)| place as u32).collect()
    }

    /// Whether any queue was made over the connection of this number.
    pub fn any_of(&self, connection: u64) -> bool {
        self.places.iter().flatten().any(|queue| queue.attached.connection() == connection)
    }

    /// Removes the queue at a place, and returns its requests.
    pub fn remove(&mut self, sources: &Sources, place: u32) -> Vec<u32> {
        let Some(queue) = self.places.get_mut(place as usize).and_then(Option::take) else {
            return Vec::new();
        };
        if let Some(pidfd) = queue.attached.queue.pidfd() {
            sources.forget(pidfd);
        }
        self.staged -= queue.staged;
        let slots = (0..u64::BITS).filter(|slot| queue.in_flight & (1 << slot) != 0);
        slots.map(|slot| queue.owners[slot as usize]).collect()
    }

    /// In a child of fork: forgets all, and touches nothing.
    pub fn abandon(&mut self) {
        *self = Self::default();
    }
}

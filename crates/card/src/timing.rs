//! When the answers of a card may be seen: at once, or no sooner than a card of another speed would give them.
//!
//! A card that serves is [`Untimed`]. A laboratory has a program of its own whose cards follow a
//! [`Timing`]: they do the real work and hold each answer until it is due, so that a machine of few
//! processors can show what a house of many cards would do. While a request's answer is held its slot
//! stays taken, and the card sleeps or takes others, as many as there are free lanes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use wire::frame::ReplyHeader;
use zeroize::Zeroizing;

/// The lanes of a card and what a request costs in them. All times are counts of [`link::tsc`].
pub trait Timing {
    /// Whether answers are held at all; where not, nothing else here is called.
    const TIMED: bool;

    /// How many requests the card may take now, beside those it took before. A place in which a
    /// request waits for a lane may be counted as well, as hardware has them.
    fn free(&mut self, now_tsc: u64) -> usize;

    /// A request of the verb in this row of the table begins now: when its answer may be seen. Called
    /// once for each request of a pass, in their order, before the work is done.
    fn due(&mut self, now_tsc: u64, row: usize) -> u64;

    /// How long after one answer a full card gives the next, for requests of the verb in this row; 0 where
    /// it is not known.
    fn spacing(&self, _row: usize) -> u64 {
        0
    }

    /// When [`Timing::free`] grows next, where that is sooner than the next answer is due: a card
    /// without a free lane sleeps until the earlier of both.
    fn free_at(&mut self) -> u64 {
        u64::MAX
    }
}

/// Answers may be seen as soon as they are there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Untimed;

impl Timing for Untimed {
    const TIMED: bool = false;

    fn free(&mut self, _now_tsc: u64) -> usize {
        usize::MAX
    }

    fn due(&mut self, now_tsc: u64, _row: usize) -> u64 {
        now_tsc
    }
}

/// An answer that may not be seen yet.
pub struct HeldAnswer {
    /// When it may.
    pub due_tsc: u64,
    /// Number of its queue.
    pub queue: u64,
    /// The slot that it answers.
    pub slot: u32,
    /// What is said about it; the end is that of the holding.
    pub header: ReplyHeader,
    /// The answer itself.
    pub payload: Zeroizing<Vec<u8>>,
}

/// The answers that a card holds: at most one for each slot of its queues, since a slot stays taken
/// meanwhile.
#[derive(Default)]
pub struct Held {
    answers: BinaryHeap<Reverse<Ordered>>,
    count: u64,
}

/// By time, then in the order in which they were worked out.
struct Ordered {
    number: u64,
    answer: HeldAnswer,
}

impl Held {
    /// Holds an answer.
    pub fn hold(&mut self, answer: HeldAnswer) {
        self.count += 1;
        self.answers.push(Reverse(Ordered { number: self.count, answer }));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.answers.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// When the first one is due.
    pub fn next_due(&self) -> Option<u64> {
        self.answers.peek().map(|first| first.0.answer.due_tsc)
    }

    /// The first one that is due at this time.
    pub fn take_due(&mut self, now_tsc: u64) -> Option<HeldAnswer> {
        let is_due = self.next_due().is_some_and(|due| due <= now_tsc);
        is_due.then(|| self.answers.pop()).flatten().map(|first| first.0.answer)
    }

    /// Drops the answers for a queue that has ended; how many there were.
    pub fn forget_queue(&mut self, queue: u64) -> usize {
        let before = self.answers.len();
        self.answers.retain(|held| held.0.answer.queue != queue);
        before - self.answers.len()
    }
}

impl Ordered {
    fn key(&self) -> (u64, u64) {
        (self.answer.due_tsc, self.number)
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ordered {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Ordered {}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Codes;
    use wire::frame::{BULK_NONE, Outcome};

    fn answer(due_tsc: u64, queue: u64, slot: u32) -> HeldAnswer {
        let header = ReplyHeader {
            outcome: Outcome::Answered,
            codes: Codes::new(0, 0),
            payload_bytes: 0,
            sequence: 0,
            bulk: BULK_NONE,
            batch_fill: 1,
            start_tsc: 0,
            end_tsc: 0,
        };
        HeldAnswer { due_tsc, queue, slot, header, payload: Zeroizing::default() }
    }

    #[test]
    fn answers_come_when_they_are_due_and_in_the_order_of_the_work() {
        let mut held = Held::default();
        for (slot, due) in [30, 10, 20, 10, u64::MAX].into_iter().enumerate() {
            held.hold(answer(due, 1, slot as u32));
        }
        assert_eq!((held.len(), held.next_due()), (5, Some(10)));
        assert!(held.take_due(9).is_none());
        let mut taken = |now| std::iter::from_fn(|| held.take_due(now).map(|answer| answer.slot)).collect();
        let (first, then, last): (Vec<_>, Vec<_>, Vec<_>) = (taken(20), taken(30), taken(u64::MAX));
        assert_eq!((first, then, last), (vec![1, 3, 2], vec![0], vec![4]));
        assert!(held.is_empty());
    }

    #[test]
    fn the_answers_of_an_ended_queue_are_dropped() {
        let mut held = Held::default();
        for queue in [1, 2, 1, 3] {
            held.hold(answer(queue, queue, 0));
        }
        assert_eq!(held.forget_queue(1), 2);
        let queues: Vec<_> = std::iter::from_fn(|| held.take_due(10).map(|answer| answer.queue)).collect();
        assert_eq!(queues, [2, 3]);
    }
}

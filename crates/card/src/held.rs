//! Answers that are held: for a time, or until a record of them is durable.
//!
//! The work of a request is done and its answer is ready, but must not be seen yet. While the answer is held its slot
//! stays taken, and the card serves others. A [`Waits`] decides which answers are held. Installed cards have
//! none: they answer at once. The lab's cards hold answers for a time, to act like cards of another speed. An answer
//! that waits for a record is not shown before the card is told that the record is durable, and is lost with
//! the card rather than shown without one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use wire::frame::ReplyHeader;
use zeroize::Zeroizing;

/// The condition until which an answer is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// No condition: the answer is shown at once.
    Now,
    /// The time-stamp counter has reached this count of [`link::tsc`].
    Time(u64),
    /// The record of this sequence number, and all records before it, are durable.
    Recorded(u64),
}

/// The rules by which answers are held. All times are counts of [`link::tsc`].
pub trait Waits {
    /// The condition for the answer of a request that begins now, and whose verb has this slot of the verb table.
    /// Called once for each request of a pass, in order, before the work is done.
    fn until(&mut self, now_tsc: u64, slot: usize) -> Until;

    /// The sequence number up to which records are durable. The card asks whenever it looks for answers to show; the
    /// code that makes records durable rings the card's doorbell after that.
    fn durable(&self) -> u64 {
        0
    }

    /// Number of further requests that the card may take now.
    fn room(&mut self, _now_tsc: u64) -> usize {
        usize::MAX
    }

    /// When [`Waits::room`] grows next, if that is sooner than the next answer is shown: a card without room sleeps
    /// until the earlier of both.
    fn room_at(&mut self) -> u64 {
        u64::MAX
    }

    /// Whether the card stands for one that has lanes of its own. Then requests are charged with how long their answers
    /// waited, rather than with their part of a pass, and passes begin with whatever requests are there.
    fn has_own_lanes(&self) -> bool {
        false
    }

    /// For a card with lanes of its own: the time from one answer to the next of a full card, for requests of the verb
    /// with this slot; 0 if it is not known.
    fn spacing(&self, _slot: usize) -> u64 {
        0
    }
}

/// Rules by which no answer is held.
#[derive(Clone, Copy, Debug, Default)]
pub struct AtOnce;

impl Waits for AtOnce {
    fn until(&mut self, _now_tsc: u64, _slot: usize) -> Until {
        Until::Now
    }
}

/// An answer that may not be seen yet.
pub struct HeldAnswer {
    /// The condition until which it is held.
    pub until: Until,
    /// Number of its queue.
    pub queue: u64,
    /// The slot that it answers.
    pub slot: u32,
    /// Header of the reply; its end is when the holding ends.
    pub header: ReplyHeader,
    /// Payload of the reply.
    pub payload: Zeroizing<Vec<u8>>,
}

/// The answers that a card is holding: at most one for each slot of its queues, since a slot stays taken
/// meanwhile.
#[derive(Default)]
pub struct Held {
    by_time: BinaryHeap<Reverse<Ordered>>,
    by_record: BinaryHeap<Reverse<Ordered>>,
    count: u64,
}

/// An answer, ordered by time or record, then in the order in which answers were worked out.
struct Ordered {
    key: (u64, u64),
    answer: HeldAnswer,
}

impl Held {
    /// Holds an answer; one that waits for nothing is due at once.
    pub fn hold(&mut self, answer: HeldAnswer) {
        self.count += 1;
        let (line, first) = match answer.until {
            Until::Now => (&mut self.by_time, 0),
            Until::Time(tsc) => (&mut self.by_time, tsc),
            Until::Recorded(sequence) => (&mut self.by_record, sequence),
        };
        line.push(Reverse(Ordered { key: (first, self.count), answer }));
    }

    /// Number of held answers.
    pub fn len(&self) -> usize {
        self.by_time.len() + self.by_record.len()
    }

    /// Whether no answer is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// When the first answer that waits for a time is due, as a count of [`link::tsc`].
    pub fn next_due(&self) -> Option<u64> {
        self.by_time.peek().map(|first| first.0.key.0)
    }

    /// Whether an answer that waits for a record may be shown, if records are durable up to this sequence number.
    pub fn is_recorded(&self, durable: u64) -> bool {
        self.by_record.peek().is_some_and(|first| first.0.key.0 <= durable)
    }

    /// Takes the first answer that may be shown at this time, with records durable up to this sequence number.
    pub fn take_due(&mut self, now_tsc: u64, durable: u64) -> Option<HeldAnswer> {
        [(&mut self.by_time, now_tsc), (&mut self.by_record, durable)].into_iter().find_map(
            |(line, reached)| {
                let is_due = line.peek().is_some_and(|first| first.0.key.0 <= reached);
                is_due.then(|| line.pop()).flatten().map(|first| first.0.answer)
            },
        )
    }

    /// Drops the answers for a queue that has ended, and returns how many there were.
    pub fn forget_queue(&mut self, queue: u64) -> usize {
        let before = self.len();
        for line in [&mut self.by_time, &mut self.by_record] {
            line.retain(|held| held.0.answer.queue != queue);
        }
        before - self.len()
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ordered {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Ordered {}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Codes;
    use wire::frame::{BULK_NONE, Outcome};

    fn answer(until: Until, queue: u64, slot: u32) -> HeldAnswer {
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
        HeldAnswer { until, queue, slot, header, payload: Zeroizing::default() }
    }

    #[test]
    fn answers_come_when_they_are_due_and_in_the_order_of_the_work() {
        let mut held = Held::default();
        for (slot, due) in [30, 10, 20, 10, u64::MAX].into_iter().enumerate() {
            held.hold(answer(Until::Time(due), 1, slot as u32));
        }
        assert_eq!((held.len(), held.next_due()), (5, Some(10)));
        assert!(held.take_due(9, u64::MAX).is_none());
        let mut taken =
            |now| std::iter::from_fn(|| held.take_due(now, 0).map(|answer| answer.slot)).collect();
        let (first, then, last): (Vec<_>, Vec<_>, Vec<_>) = (taken(20), taken(30), taken(u64::MAX));
        assert_eq!((first, then, last), (vec![1, 3, 2], vec![0], vec![4]));
        assert!(held.is_empty());
    }

    #[test]
    fn the_answers_of_an_ended_queue_are_dropped() {
        let mut held = Held::default();
        for queue in [1, 2, 1, 3] {
            held.hold(answer(Until::Time(queue), queue, 0));
            held.hold(answer(Until::Recorded(queue), queue, 0));
        }
        assert_eq!(held.forget_queue(1), 4);
        let queues: Vec<_> =
            std::iter::from_fn(|| held.take_due(10, 10).map(|answer| answer.queue)).collect();
        assert_eq!(queues, [2, 3, 2, 3]);
    }

    #[test]
    fn what_waits_for_a_record_is_not_shown_before_it_is_durable_however_late_it_is() {
        let mut held = Held::default();
        for (slot, sequence) in [7, 5, 6, 5].into_iter().enumerate() {
            held.hold(answer(Until::Recorded(sequence), 1, slot as u32));
        }
        held.hold(answer(Until::Now, 1, 9));
        assert_eq!((held.len(), held.next_due()), (5, Some(0)));
        let mut taken = |durable| {
            std::iter::from_fn(|| held.take_due(u64::MAX, durable).map(|answer| answer.slot)).collect()
        };
        let (none, first, last): (Vec<_>, Vec<_>, Vec<_>) = (taken(4), taken(6), taken(7));
        assert_eq!((none, first, last), (vec![9], vec![1, 3, 2], vec![0]));
        assert!(held.is_empty() && held.next_due().is_none());
    }
}

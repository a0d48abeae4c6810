//! Verifications of PINs in the request loop: the failures that the daemon is told, and the answers and requests that
//! wait for it.
//!
//! | request | what becomes of it |
//! |---|---|
//! | a right PIN | answered at once |
//! | a wrong one | its answer is [held](crate::held) until the daemon says that the failure is durable |
//! | of a subject with a verification under way | left in its slot, as if not taken, until the earlier one is settled |
//!
//! A failure that was told and is not durable yet is told again to a later daemon: it may be counted twice, but is
//! never lost.

use super::Server;
use crate::attached::Attached;
use cca::{Count, Failures, Processor};
use link::FailureView;
use std::collections::{HashMap, VecDeque};
use wire::bounds::GUESSES_PER_NOTICE_MAX;
use wire::pin::{CountingKey, Digest, Guess, Standing, Told};

/// A card's state for counting verifications.
#[derive(Default)]
pub(super) struct Counting {
    /// Failures that are yet to be told.
    unsent: VecDeque<Told>,
    /// Failures that were told and are not durable yet, in order.
    sent: VecDeque<Told>,
    /// Number of the last failure.
    last: u64,
    /// Requests that wait, by the subject that they wait for: each as the number of its queue, and its slot.
    parked: HashMap<Digest, Vec<(u64, u32)>>,
}

impl Counting {
    /// Whether there are failures that are yet to be told.
    pub fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Takes the failures for the next notice, at most [`GUESSES_PER_NOTICE_MAX`].
    pub fn next_told(&mut self) -> Vec<Told> {
        let count = self.unsent.len().min(GUESSES_PER_NOTICE_MAX);
        let told: Vec<Told> = self.unsent.drain(..count).collect();
        self.sent.extend(&told);
        told
    }

    /// Has the failures that are not durable yet told again, to another daemon.
    pub fn tell_again(&mut self) {
        let sent = std::mem::take(&mut self.sent);
        let later = std::mem::replace(&mut self.unsent, sent);
        self.unsent.extend(later);
    }

    /// Notes that a PIN was wrong, and returns the number of the failure.
    fn failed(&mut self, guess: Guess, tenant: u32) -> u64 {
        self.last += 1;
        self.unsent.push_back(Told { number: self.last, guess, tenant });
        self.last
    }
}

/// The daemon's table of standings, as verbs look into it.
struct Table(FailureView);

impl Failures for Table {
    fn standing(&self, digest: &Digest) -> Standing {
        if self.0.refuses_everybody() { Standing::Refused } else { self.0.standing(digest) }
    }
}

/// Whether verifications of this tenant are refused: for its failures, or because there is no table to count them with.
pub(super) fn refuses(processor: &Processor, tenant: u32) -> bool {
    processor.standing(&Digest::of_tenant(tenant)).is_none_or(|standing| standing == Standing::Refused)
}

impl Server {
    /// Counts failures from now on, with this key of the digests and this table.
    pub fn begin_counting(&mut self, key: &CountingKey, table: FailureView) {
        self.processor.count_failures(key, Box::new(Table(table)));
    }

    /// Notes what the request at this place of the batch counts as. Returns the number of the failure that its answer
    /// waits for; a request that waits for its subject is put back.
    pub(super) fn count(&mut self, place: usize, count: Count) -> Option<u64> {
        let taken = self.collecting.taken[place];
        let attached = &mut self.queues[taken.queue];
        match count {
            Count::Failed(guess) => return Some(self.counting.failed(guess, attached.grant.tenant)),
            Count::Waits(subject) => {
                attached.park(taken.slot);
                let place = (attached.grant.queue, taken.slot);
                self.counting.parked.entry(subject).or_default().push(place);
            }
        }
        None
    }

    /// Notes that failures are durable up to this number: their answers may be shown, and the next verifications
    /// judged.
    pub fn counted(&mut self, number: u64) {
        self.holding.recorded(number);
        while let Some(told) = self.counting.sent.front().filter(|told| told.number <= number) {
            self.processor.counted(&told.guess, told.tenant);
            self.counting.sent.pop_front();
        }
        self.unpark();
    }

    /// Lets requests be taken again whose subjects are settled.
    pub(super) fn unpark(&mut self) {
        for subject in self.processor.released() {
            for (queue, slot) in self.counting.parked.remove(&subject).unwrap_or_default() {
                let is_its = |attached: &&mut Attached| attached.grant.queue == queue;
                if let Some(attached) = self.queues.iter_mut().find(is_its) {
                    attached.unpark(slot);
                }
            }
        }
        self.processor.set_waited_for(!self.counting.parked.is_empty());
    }

    /// Forgets the waiting requests of a queue that has ended.
    pub(super) fn forget_parked(&mut self, queue: u64) {
        self.counting.parked.retain(|_, places| {
            places.retain(|(of, _)| *of != queue);
            !places.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUESS: Guess = Guess { key: Digest([1; 16]), subject: Digest([2; 16]), block: None };

    fn numbers(told: &[Told]) -> Vec<u64> {
        told.iter().map(|told| told.number).collect()
    }

    #[test]
    fn what_is_not_durable_is_told_again_in_order() {
        let mut counting = Counting::default();
        assert_eq!(counting.failed(GUESS, 5), 1);
        assert_eq!(counting.failed(GUESS, 5), 2);
        assert_eq!((numbers(&counting.next_told()), counting.has_unsent()), (vec![1, 2], false));
        assert_eq!(counting.failed(GUESS, 5), 3);
        counting.tell_again();
        assert_eq!(numbers(&counting.next_told()), [1, 2, 3]);
        counting.sent.pop_front();
        counting.tell_again();
        assert_eq!(numbers(&counting.next_told()), [2, 3]);
    }

    #[test]
    fn messages_are_bounded() {
        let mut counting = Counting::default();
        const FAILURES: usize = 3 * GUESSES_PER_NOTICE_MAX + 1;
        (0..FAILURES).for_each(|_| assert_ne!(counting.failed(GUESS, 5), 0));
        let told: Vec<usize> =
            std::iter::from_fn(|| counting.has_unsent().then(|| counting.next_told().len())).collect();
        assert_eq!(told, [[GUESSES_PER_NOTICE_MAX; 3].as_slice(), &[1]].concat());
    }
}

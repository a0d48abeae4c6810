//! What a share of this process remembers about one card: figures of its status page, and the number of its own
//! requests there. Other shares are others, as other processes are.
//!
//! A card writes its page once a pass, and every cache line of it must come from another processor. So a page is
//! read about once a pass, and between two readings a choice costs only loads from this process's memory:
//!
//! | figure | from | between two readings |
//! |---|---|---|
//! | requests of others | queue length less own requests, when the card last said it | stays |
//! | queues that those are in | queues with requests less own ones, likewise | stays |
//! | own requests | counted here, exact | counted |
//! | time of a pass, requests in it | moving averages of the verb | stays |
//! | how much longer than that the running pass takes | the card's heartbeat | stays |
//!
//! The time of a *pass* is remembered, not that of a request: the latter falls with the fill of the
//! passes, so a card that happens to run emptier passes would seem slow, get fewer requests, and run still emptier
//! ones. The former rises with the fill, so a card that gets more requests promises later answers.
//!
//! A measured time that no request has renewed for [`AGES_NS`] is halved repeatedly, down to that of the best
//! card, so a card that was slow once is tried again with one request now and then.

use crate::cards::route::Candidate;
use link::ServiceTime;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use wire::bounds::{QUEUE_SLOTS_DEFAULT, VERB_SLOTS};

/// Bounds of the time for which figures are used before the page is read again, in nanoseconds; within them it is a
/// pass.
const FRESH_NS_MIN: u64 = 20_000;
const FRESH_NS_MAX: u64 = 1_000_000;
/// How long a measured time stays as it is if no request for the verb renews it.
const AGES_NS: u64 = 100_000_000;
/// Halvings after which a time has aged as far as it can.
const HALVINGS_MAX: u32 = 32;
/// Assumed requests per pass if the card never had more waiting than it took.
const TOGETHER_DEFAULT: u64 = 8;
/// Refilling queues: at most this many times the others' present requests are assumed to go before an own one.
const REFILLS: u64 = 4;
/// A pass counts as late once it has taken this many times its usual time.
const LATE: u64 = 2;

/// One reading of a card's status page.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    /// Whether the card serves.
    pub is_ready: bool,
    /// Requests that wait or run, whoever sent them.
    pub queue_length: u64,
    /// Queues with requests that wait or run, when the last pass began; 0 if unknown.
    pub claimants: u64,
    /// The heartbeat of the status page: changes with every pass.
    pub heartbeat: u64,
    /// Time since the last heartbeat, in nanoseconds.
    pub since_heartbeat_ns: u64,
    /// Processor that the card runs on.
    pub processor: Option<u32>,
    /// The requested verb.
    pub service: ServiceTime,
}

/// Measured times of one verb on one card.
#[derive(Debug, Default)]
struct Service {
    read_ns: AtomicU64,
    /// Served requests at the last reading, and the time at which this count last changed.
    requests: AtomicU64,
    changed_ns: AtomicU64,
    pass_ns: AtomicU64,
    together: AtomicU64,
}

/// What is remembered about one process of a card. The threads of a share share it: each word is independent, and a
/// mix of words from two moments only costs a request a worse choice.
#[derive(Debug)]
pub(crate) struct Figures {
    own: AtomicU64,
    is_ready: AtomicBool,
    /// Hash of heartbeat and queue length of the last reading: tells whether the card has written its page since.
    said: AtomicU64,
    others: AtomicU64,
    /// Queues of other processes that hold the requests in `others`.
    other_queues: AtomicU64,
    late_ns: AtomicU64,
    /// Since when requests of this process wait of which the card took none; 0 if none wait.
    waits_since_ns: AtomicU64,
    /// One bit: the processor modulo 64; 0 if unknown.
    processor: AtomicU64,
    verbs: Box<[Service]>,
}

impl Figures {
    /// Figures of a card about which nothing is known.
    pub fn new() -> Self {
        Self {
            own: AtomicU64::new(0),
            is_ready: AtomicBool::new(true),
            said: AtomicU64::new(u64::MAX),
            others: AtomicU64::new(0),
            other_queues: AtomicU64::new(0),
            late_ns: AtomicU64::new(0),
            waits_since_ns: AtomicU64::new(0),
            processor: AtomicU64::new(0),
            verbs: (0..VERB_SLOTS).map(|_| Service::default()).collect(),
        }
    }

    /// Requests of this process in flight on the card.
    pub fn own(&self) -> u64 {
        self.own.load(Relaxed)
    }

    /// A bit for the processor that the card was last seen on; 0 if unknown.
    pub fn processor(&self) -> u64 {
        self.processor.load(Relaxed)
    }

    /// Counts one more request of this process.
    pub fn sent(&self) {
        self.own.fetch_add(1, Relaxed);
    }

    /// Counts one request less: answered, abandoned, or lost with the card.
    pub fn done(&self) {
        self.own.fetch_sub(1, Relaxed);
    }

    /// How long requests of this process have waited of which the card took none meanwhile, in nanoseconds, as far as
    /// looks at it show: these are to be made for each choice. `waits` says whether that is so now.
    pub fn waited_ns(&self, waits: bool, now_ns: u64) -> u64 {
        let since_ns = self.waits_since_ns.load(Relaxed);
        match (waits, since_ns) {
            (false, 0) => 0,
            (false, _) => {
                self.waits_since_ns.store(0, Relaxed);
                0
            }
            (true, 0) => {
                self.waits_since_ns.store(now_ns, Relaxed);
                0
            }
            (true, _) => now_ns.saturating_sub(since_ns),
        }
    }

    /// The card as a candidate for a request for the verb with this slot of the verb table, at a time in nanoseconds by
    /// any clock that is above zero; `read` reads its page and is called about once a pass. None where the card does
    /// not serve.
    #[inline]
    pub fn candidate(&self, slot: usize, now_ns: u64, read: impl FnOnce() -> Reading) -> Option<Candidate> {
        let figures = self.verbs.get(slot)?;
        let pass_ns = figures.pass_ns.load(Relaxed);
        let read_ns = figures.read_ns.load(Relaxed);
        if read_ns == 0 || now_ns.saturating_sub(read_ns) >= pass_ns.clamp(FRESH_NS_MIN, FRESH_NS_MAX) {
            self.take_in(figures, now_ns, &read());
        }
        if !self.is_ready.load(Relaxed) {
            return None;
        }
        let pass_ns = figures.pass_ns.load(Relaxed);
        let idle_ns = now_ns.saturating_sub(figures.changed_ns.load(Relaxed));
        let halvings = u32::try_from(idle_ns / AGES_NS).unwrap_or(HALVINGS_MAX).min(HALVINGS_MAX);
        let (own, others) = (self.own(), self.others.load(Relaxed));
        Some(Candidate {
            before: others.saturating_add(own),
            others,
            ahead: ahead(own, others, self.other_queues.load(Relaxed)),
            pass_ns: if pass_ns == 0 { 0 } else { (pass_ns >> halvings).max(1) },
            is_stale: halvings != 0,
            together: figures.together.load(Relaxed).max(1),
            late_ns: self.late_ns.load(Relaxed),
            processor: self.processor.load(Relaxed),
            ..Candidate::default()
        })
    }

    fn take_in(&self, figures: &Service, now_ns: u64, reading: &Reading) {
        figures.read_ns.store(now_ns, Relaxed);
        self.is_ready.store(reading.is_ready, Relaxed);
        let said = reading.heartbeat.rotate_left(24) ^ reading.queue_length;
        if self.said.swap(said, Relaxed) != said {
            let own = self.own();
            let others = reading.queue_length.saturating_sub(own);
            // A queue is full before another one is made.
            let own_queues = own.div_ceil(QUEUE_SLOTS_DEFAULT as u64);
            let other_queues = match reading.claimants {
                0 => others,
                claimants => claimants.saturating_sub(own_queues).clamp(1, others.max(1)),
            };
            self.others.store(others, Relaxed);
            self.other_queues.store(other_queues, Relaxed);
        }
        let service = &reading.service;
        let fill = service.fill_16ths.div_ceil(16).max(1);
        let pass_ns = match service.full_16ths {
            // One after the other, as far as anyone can tell.
            1..=16 => service.average_ns,
            _ => service.pass_ns,
        };
        if figures.requests.swap(service.requests, Relaxed) != service.requests
            || figures.changed_ns.load(Relaxed) == 0
        {
            figures.changed_ns.store(now_ns, Relaxed);
        }
        figures.pass_ns.store(pass_ns, Relaxed);
        let together = match service.full_16ths {
            0 => TOGETHER_DEFAULT.max(fill),
            full => full.div_ceil(16),
        };
        figures.together.store(together, Relaxed);
        let is_late = reading.queue_length > 0 && pass_ns > 0 && reading.since_heartbeat_ns / LATE > pass_ns;
        self.late_ns.store(if is_late { reading.since_heartbeat_ns } else { 0 }, Relaxed);
        self.processor.store(reading.processor.map_or(0, |number| 1 << (number % 64)), Relaxed);
    }
}

/// Requests that go before a further one by the turns that queues have: as many rounds as this process has
/// requests there and one more, each with one request of every other queue that has any. Queues refill, so
/// that may be more than are there now, up to [`REFILLS`] times. A process with five requests on a card waits for its
/// sixth longer than a process with none waits for its first, however many requests are there in all.
fn ahead(own: u64, others: u64, other_queues: u64) -> u64 {
    let rounds = other_queues.saturating_mul(own.saturating_add(1));
    own.saturating_add(rounds.min(others.saturating_mul(REFILLS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(queue_length: u64, heartbeat: u64, average_ns: u64, fill: u64, full: u64) -> Reading {
        let service = ServiceTime {
            requests: heartbeat,
            average_ns,
            pass_ns: average_ns * fill,
            fill_16ths: fill * 16,
            full_16ths: full * 16,
            ..ServiceTime::default()
        };
        Reading { is_ready: true, queue_length, heartbeat, service, ..Reading::default() }
    }

    #[test]
    fn a_page_is_read_once_a_pass() {
        let figures = Figures::new();
        let reads = std::cell::Cell::new(0);
        let look = |now_ns| {
            let read = || {
                reads.set(reads.get() + 1);
                reading(0, 1, 25_000, 4, 0)
            };
            figures.candidate(0, now_ns, read).unwrap();
            reads.get()
        };
        assert_eq!((look(1), look(50_000), look(100_000), look(100_001), look(150_000)), (1, 1, 1, 2, 2));
    }

    #[test]
    fn requests_of_others_are_what_the_card_says_less_the_own() {
        let figures = Figures::new();
        (0..3).for_each(|_| figures.sent());
        let at = |now_ns, reading| figures.candidate(0, now_ns, || reading).unwrap();
        assert_eq!(at(1, reading(10, 1, 1000, 1, 0)).before, 10);
        // Own ones that the page does not show yet come on top, until the card says something new.
        (0..4).for_each(|_| figures.sent());
        assert_eq!(at(2, reading(0, 2, 1000, 1, 0)).before, 14);
        assert_eq!(at(1_000_000, reading(10, 1, 1000, 1, 0)).before, 14);
        let seen = at(2_000_000, reading(9, 1, 1000, 1, 0));
        assert_eq!((seen.before, seen.others), (9, 2));
        (0..7).for_each(|_| figures.done());
        assert_eq!(at(2_000_001, Reading::default()).before, 2);
    }

    #[test]
    fn what_goes_before_a_request_is_what_turns_put_there() {
        let ahead_of = |own: u64, queue_length, claimants| {
            let figures = Figures::new();
            (0..own).for_each(|_| figures.sent());
            let reading = Reading { claimants, ..reading(queue_length, 1, 1000, 1, 0) };
            figures.candidate(0, 1, || reading).unwrap().ahead
        };
        // Alone with the card.
        assert_eq!((ahead_of(0, 0, 0), ahead_of(5, 5, 1)), (0, 5));
        // One queue of 40: every other turn is this process's.
        assert_eq!((ahead_of(0, 40, 1), ahead_of(3, 43, 2)), (1, 7));
        // Seven queues of four each, and as many or more of its own: they refill while it waits.
        assert_eq!((ahead_of(4, 32, 8), ahead_of(6, 34, 8)), (39, 55));
        // Up to a bound, and never more queues than requests.
        assert_eq!((ahead_of(20, 27, 8), ahead_of(0, 3, 50)), (48, 3));
        // The card does not say.
        assert_eq!(ahead_of(0, 40, 0), 40);
    }

    #[test]
    fn the_time_is_that_of_a_pass_and_a_pass_takes_what_it_took_when_it_was_full() {
        let figures = Figures::new();
        let mut now_ns = 1;
        let mut at = |reading| {
            now_ns += FRESH_NS_MAX;
            let seen = figures.candidate(0, now_ns, || reading).unwrap();
            (seen.pass_ns, seen.together)
        };
        assert_eq!(at(reading(1, 1, 0, 0, 0)), (0, TOGETHER_DEFAULT));
        assert_eq!(at(reading(1, 2, 200_000, 1, 0)), (200_000, TOGETHER_DEFAULT));
        assert_eq!(at(reading(9, 3, 50_000, 8, 8)), (400_000, 8));
        // Fill 12 was never full: it may take more.
        assert_eq!(at(reading(9, 4, 1_000, 12, 0)), (12_000, 12));
        assert_eq!(at(reading(9, 5, 1_000, 1, 1)), (1_000, 1));
    }

    #[test]
    fn requests_that_no_card_takes_wait_ever_longer() {
        let figures = Figures::new();
        assert_eq!(
            [(false, 5), (true, 10), (true, 30)].map(|(waits, now)| figures.waited_ns(waits, now)),
            [0, 0, 20]
        );
        // The card took some, and the next ones wait anew.
        assert_eq!(
            [(false, 40), (true, 50), (true, 51)].map(|(waits, now)| figures.waited_ns(waits, now)),
            [0, 0, 1]
        );
    }

    #[test]
    fn times_that_nobody_makes_anew_age_and_come_back() {
        let figures = Figures::new();
        let at = |now_ns, heartbeat| {
            let seen = figures.candidate(0, now_ns, || reading(0, heartbeat, 64_000, 1, 0)).unwrap();
            (seen.pass_ns, seen.is_stale)
        };
        assert_eq!(at(1, 1), (64_000, false));
        assert_eq!(at(AGES_NS, 1), (64_000, false));
        assert_eq!(at(2 * AGES_NS + 1, 1), (16_000, true));
        assert_eq!(at(1000 * AGES_NS, 1), (1, true));
        assert_eq!(at(1001 * AGES_NS, 2), (64_000, false));
    }

    #[test]
    fn a_card_in_a_long_pass_is_late_and_one_that_quiesces_is_none() {
        let figures = Figures::new();
        let at = |now_ns, is_ready, since_heartbeat_ns, queue_length| {
            let reading = reading(queue_length, 1, 64_000, 1, 0);
            figures.candidate(0, now_ns, || Reading { is_ready, since_heartbeat_ns, ..reading })
        };
        assert_eq!(at(1, true, 100_000, 1).unwrap().late_ns, 0);
        assert_eq!(at(FRESH_NS_MAX, true, 9_000_000, 1).unwrap().late_ns, 9_000_000);
        assert_eq!(at(2 * FRESH_NS_MAX, true, 9_000_000, 0).unwrap().late_ns, 0);
        assert!(at(3 * FRESH_NS_MAX, false, 0, 0).is_none());
        assert!(at(4 * FRESH_NS_MAX, true, 0, 0).is_some());
    }
}

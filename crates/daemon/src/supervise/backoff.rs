//! How long to wait before a process that ended unasked is started again.
//!
//! Two kinds of ends are told apart. A process that served and was then ended by a signal, from a person or from a
//! kernel short of memory, is not at fault. It is started again at once, until such ends come faster than the process
//! can have been of use. Any other end is likely to come again: before the process served, by a fault of its own, or by
//! a request. Each such end in a row doubles the wait. The wait stays short for a process that served, whatever ended
//! it, and for one without which nobody serves ([`WAIT_ALONE_MAX`]): waits spare the machine, and must not take its
//! cards away.

use link::Ended;
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// How long the process had served; `None` if it never did.
    pub served: Option<Duration>,
    /// Whether a signal from outside ended the process.
    pub outside: bool,
}

impl End {
    /// The end of a process that never came as far as serving.
    pub const AT_START: Self = Self { served: None, outside: false };

    /// The end of a process as the system reports it; `ended` is none for a process that is not a child.
    pub fn of(served: Option<Duration>, ended: Option<Ended>) -> Self {
        let signals = [Signal::KILL, Signal::TERM, Signal::INT, Signal::HUP];
        let outside = matches!(ended, Some(Ended::Signal(number))
            if signals.iter().any(|signal| signal.as_raw() == number));
        Self { served, outside }
    }
}

/// Counts ends of a process, and forgets them again as the process serves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Counts an end at `now`, and returns when to start the next process.
    pub fn after(&mut self, end: End, now: Instant) -> Instant {
        let (at_once, wait_max) = match end {
            End { served: Some(_), outside: true } => (KILLS_AT_ONCE, WAIT_KILLED_MAX),
            End { served: Some(_), outside: false } => (1, WAIT_SERVED_MAX),
            End { served: None, .. } => (1, WAIT_MAX),
        };
        self.forget(end);
        let wait = match self.failures.checked_sub(at_once) {
            None => Duration::ZERO,
            Some(beyond) => WAIT_MIN.saturating_mul(1 << beyond.min(16)).min(wait_max),
        };
        self.failures = self.failures.saturating_add(1).min(FAILURES_MAX);
        now + wait
    }

    fn forget(&mut self, end: End) {
        let served = end.served.unwrap_or_default();
        let forgotten = match served {
            served if served >= LASTING => FAILURES_MAX,
            served if end.outside => (served.as_millis() / FORGOTTEN_EVERY.as_millis()) as u32,
            _ => 0,
        };
        self.failures = self.failures.saturating_sub(forgotten);
    }

    /// Number of ends in a row that are not forgotten.
    pub fn failures(&self) -> u32 {
        self.failures
    }
}

const WAIT_MIN: Duration = Duration::from_millis(100);
/// Longest wait between two starts of a process that does not come as far as serving.
pub const WAIT_MAX: Duration = Duration::from_secs(30);
/// Longest wait after a process that served was ended from outside. A start takes some 40 ms of a processor: starts at
/// this rate take a sixth of it.
pub const WAIT_KILLED_MAX: Duration = Duration::from_millis(250);
/// Longest wait after a process that served ended by itself: somebody who knows a request that ends cards must not keep
/// everyone else from them. The wait and the start together are less than two seconds.
pub const WAIT_SERVED_MAX: Duration = Duration::from_secs(1);
/// Longest wait if no other process serves in its place.
pub const WAIT_ALONE_MAX: Duration = Duration::from_secs(1);
const _: () =
    assert!(WAIT_ALONE_MAX.as_millis() + START_MS < 2_000 && WAIT_SERVED_MAX.as_millis() + START_MS < 2_000);
/// Time that a start takes on a machine that has much else to do, in milliseconds.
const START_MS: u128 = 500;
/// A process that served this long before its end has all earlier ends forgotten.
pub const LASTING: Duration = Duration::from_secs(20);
/// One end is forgotten for each such span that a process served before it was ended from outside.
const FORGOTTEN_EVERY: Duration = Duration::from_millis(400);
/// Number of ends from outside in a row after each of which the next process is started at once.
const KILLS_AT_ONCE: u32 = 5;
/// Upper bound of the ends that are remembered.
const FAILURES_MAX: u32 = 40;

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(end: End, count: usize) -> Vec<Duration> {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        (0..count).map(|_| backoff.after(end, now) - now).collect()
    }

    fn killed(served_ms: u64) -> End {
        End::of(Some(Duration::from_millis(served_ms)), Some(Ended::Signal(Signal::KILL.as_raw())))
    }

    #[test]
    fn failures_at_the_start_wait_longer_and_longer() {
        let waits = waits(End::AT_START, 12);
        assert_eq!((waits[0], waits[1], waits[11]), (Duration::ZERO, WAIT_MIN, WAIT_MAX));
        assert!(waits.windows(2).all(|pair| pair[0] <= pair[1]));
    }

    #[test]
    fn a_process_that_served_well_and_is_killed_every_second_is_always_back_at_once() {
        assert!(waits(killed(900), 1000).iter().all(Duration::is_zero));
        // Killed at random among others, twice in a row now and then.
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        for round in 0..1000 {
            let end = killed(if round % 3 == 0 { 100 } else { 900 });
            assert_eq!(backoff.after(end, now), now, "round {round}");
        }
    }

    #[test]
    fn a_process_that_is_killed_as_soon_as_it_serves_waits_in_the_end() {
        let waits = waits(killed(10), 20);
        assert!(waits[..KILLS_AT_ONCE as usize].iter().all(Duration::is_zero));
        assert_eq!((waits[KILLS_AT_ONCE as usize], waits[19]), (WAIT_MIN, WAIT_KILLED_MAX));
    }

    #[test]
    fn two_hundred_kills_as_soon_as_all_are_back_take_less_than_a_minute_of_waits() {
        let begin = Instant::now();
        let (mut now, mut chance) = (begin, 990_u32);
        let mut cards = [(Backoff::default(), now); 2];
        for _ in 0..200 {
            chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (backoff, since) = &mut cards[(chance >> 31) as usize];
            let served = (now - *since).as_millis() as u64;
            now = backoff.after(killed(served), now) + Duration::from_millis(20);
            *since = now;
        }
        assert!(now - begin < Duration::from_secs(60), "{:?}", now - begin);
    }

    #[test]
    fn a_process_that_dies_of_what_it_is_asked_waits_but_not_for_long() {
        let crash = End::of(Some(Duration::from_secs(5)), Some(Ended::Signal(Signal::SEGV.as_raw())));
        assert!(!crash.outside);
        let waits = waits(crash, 12);
        assert_eq!((waits[0], waits[1], waits[11]), (Duration::ZERO, WAIT_MIN, WAIT_SERVED_MAX));
    }

    #[test]
    fn what_lasted_has_nothing_against_it() {
        let now = Instant::now();
        for ended in [None, Some(Ended::Code(4)), Some(Ended::Signal(Signal::KILL.as_raw()))] {
            let mut backoff = Backoff { failures: FAILURES_MAX };
            assert_eq!(backoff.after(End::of(Some(LASTING), ended), now), now, "{ended:?}");
            assert_eq!(backoff.failures(), 1);
        }
    }

    #[test]
    fn an_end_whose_cause_is_not_known_is_its_own() {
        assert!(!End::of(Some(Duration::ZERO), None).outside);
        assert!(!End::of(None, Some(Ended::Code(0))).outside);
    }

    #[test]
    fn no_number_of_ends_overflows() {
        let now = Instant::now();
        let mut backoff = Backoff { failures: u32::MAX };
        assert_eq!(backoff.after(End::AT_START, now), now + WAIT_MAX);
    }
}

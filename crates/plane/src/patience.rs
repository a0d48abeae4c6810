//! How long a thread polls before it sleeps.
//!
//! Sleeping and waking takes a thread and its waker some 10 to 20 microseconds of processor time: more if a processor
//! has gone idle, and most in a virtual machine. A short packet takes less in all. So a thread that has nothing to do
//! looks again for a while, and lets others run in between (`sched_yield`), as long as waits are so short that this
//! takes less than sleeping.
//!
//! The ends of a connection wait for each other: while both sleep, waits are long for that reason alone. So polling is
//! tried before waits are short, and kept if it makes them short. Packets that come at a steady rate stay as far apart
//! as before: then the thread sleeps again. If many packets come together, one sleep for all of them is cheap, and more
//! gather meanwhile: then the thread does not poll.

use std::time::Duration;

/// Longest time of polling in a row.
const POLL_MAX: Duration = Duration::from_micros(50);
/// Number of waits whose mean decides whether to poll.
const WINDOW: u32 = 32;
/// Polling is tried if waits are at most this long on average, in nanoseconds.
const TRY_NS: u64 = 45_000;
/// Polling is kept if waits are at most this long on average, in nanoseconds: about the time of a sleep.
const KEEP_NS: u64 = 25_000;
/// Polling is for packets that come alone: upper bound of packets in a window, two for each wait.
const PACKETS_MAX: u64 = 2 * WINDOW as u64;
/// Upper bound of what one wait counts, in nanoseconds, so that one pause decides nothing.
const WAIT_NS_MAX: u64 = 200_000;
/// Windows between a trial that failed and the next: at first, and at most. Each failure doubles them.
const REST_MIN: u32 = 2;
const REST_MAX: u32 = 128;

/// The waits of one thread, and whether it polls.
#[derive(Debug)]
pub(crate) struct Patience {
    is_polling: bool,
    /// Number of waits in this window, and their sum in nanoseconds.
    waits: u32,
    sum_ns: u64,
    /// Number of packets that had been sent or received when the window began.
    packets: u64,
    /// Windows until polling may be tried.
    rest: u32,
    /// Windows of rest after a trial that fails.
    next_rest: u32,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { is_polling: false, waits: 0, sum_ns: 0, packets: 0, rest: 0, next_rest: REST_MIN }
    }
}

impl Patience {
    /// How long to poll before sleeping.
    #[inline]
    pub(crate) fn limit(&self) -> Duration {
        if self.is_polling { POLL_MAX } else { Duration::ZERO }
    }

    /// Takes in how long a wait was, from when nothing was left to do until something came. `packets` is the number of
    /// packets sent and received so far.
    #[inline]
    pub(crate) fn waited(&mut self, wait: Duration, packets: u64) {
        self.sum_ns += u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX).min(WAIT_NS_MAX);
        self.waits += 1;
        if self.waits == WINDOW {
            let are_alone = packets.saturating_sub(self.packets) <= PACKETS_MAX;
            self.judge(if are_alone { self.sum_ns / u64::from(WINDOW) } else { WAIT_NS_MAX });
            (self.waits, self.sum_ns, self.packets) = (0, 0, packets);
        }
    }

    fn judge(&mut self, mean_ns: u64) {
        if !self.is_polling {
            self.rest = self.rest.saturating_sub(1);
            self.is_polling = self.rest == 0 && mean_ns <= TRY_NS;
        } else if mean_ns <= KEEP_NS {
            self.next_rest = REST_MIN;
        } else {
            self.is_polling = false;
            self.rest = self.next_rest;
            self.next_rest = (2 * self.rest).min(REST_MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(patience: &mut Patience, count: u32, wait: Duration) {
        (0..count * WINDOW).for_each(|_| patience.waited(wait, patience.packets + u64::from(WINDOW)));
    }

    #[test]
    fn short_waits_are_polled_and_long_ones_are_slept() {
        let mut patience = Patience::default();
        windows(&mut patience, 1, Duration::from_nanos(TRY_NS + 1));
        assert_eq!(patience.limit(), Duration::ZERO);
        windows(&mut patience, 1, Duration::from_nanos(TRY_NS));
        assert_eq!(patience.limit(), POLL_MAX);
        windows(&mut patience, 1000, Duration::from_nanos(KEEP_NS));
        assert_eq!(patience.limit(), POLL_MAX);
        windows(&mut patience, 1, Duration::MAX);
        assert_eq!(patience.limit(), Duration::ZERO);
    }

    #[test]
    fn one_pause_does_not_end_polling() {
        let mut patience = Patience::default();
        windows(&mut patience, 1, Duration::from_micros(10));
        patience.waited(Duration::from_secs(3600), 0);
        (1..WINDOW).for_each(|_| patience.waited(Duration::from_micros(10), 0));
        assert_eq!(patience.limit(), POLL_MAX);
    }

    #[test]
    fn nothing_is_polled_while_many_packets_come_together() {
        let mut patience = Patience::default();
        windows(&mut patience, 1, Duration::ZERO);
        assert_eq!(patience.limit(), POLL_MAX);
        (0..WINDOW).for_each(|_| patience.waited(Duration::ZERO, patience.packets + PACKETS_MAX + 1));
        assert_eq!(patience.limit(), Duration::ZERO);
    }

    #[test]
    fn a_steady_rate_that_polling_does_not_change_is_tried_ever_more_rarely() {
        let mut patience = Patience::default();
        let mut polled = 0;
        for _ in 0..10 * REST_MAX {
            let before = patience.limit();
            windows(&mut patience, 1, Duration::from_nanos(TRY_NS));
            polled += u32::from(before > Duration::ZERO);
        }
        // Rests of 2, 4, 8 and so on to the longest; then each rest is the longest.
        let growing = (REST_MAX / REST_MIN).ilog2();
        assert!((growing..growing + 11).contains(&polled), "{polled}");
        // One trial that succeeds makes the next rest short again.
        while patience.limit() == Duration::ZERO {
            windows(&mut patience, 1, Duration::from_nanos(TRY_NS));
        }
        windows(&mut patience, 1, Duration::ZERO);
        windows(&mut patience, 1, Duration::MAX);
        windows(&mut patience, REST_MIN, Duration::ZERO);
        assert_eq!(patience.limit(), POLL_MAX);
    }
}

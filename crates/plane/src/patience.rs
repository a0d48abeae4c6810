//! How long a thread polls before it sleeps.
//!
//! To sleep and be woken takes a thread, and whoever wakes it, some 10 to 20 microseconds of processor time, the more
//! where a processor has begun to idle, and most in a virtual machine: longer than a short packet takes in all. So a
//! thread that has nothing to do looks again for a while, and lets everybody else run in between (`sched_yield`), as
//! long as waits are so short that this takes less than sleeping.
//!
//! Each end of a connection waits for the other: while both sleep, waits are long because both sleep. So polling is
//! tried where waits are not yet short, and kept if that makes them short; what comes at a steady rate is as far apart
//! as before, and is left to sleep. Where many packets come together, one sleep for all of them is cheap, and more of
//! them gather meanwhile: then nothing is polled.

use std::time::Duration;

/// Longest time of polling in a row.
const POLL_MAX: Duration = Duration::from_micros(50);
/// Waits whose mean decides.
const WINDOW: u32 = 32;
/// Polling is tried where waits are as short as this on average, in nanoseconds.
const TRY_NS: u64 = 45_000;
/// It is kept where they are as short as this, in nanoseconds: about what a sleep takes.
const KEEP_NS: u64 = 25_000;
/// Polling is for packets that come alone: at most so many of them in a window.
const PACKETS_MAX: u64 = 2 * WINDOW as u64;
/// The longest that a wait counts for, in nanoseconds, so that one pause decides nothing.
const WAIT_NS_MAX: u64 = 200_000;
/// Windows from a trial that failed to the next: the first time, and at most. After each failure it is twice as many.
const REST_MIN: u32 = 2;
const REST_MAX: u32 = 128;

/// What one thread learnt of its waits.
#[derive(Debug)]
pub(crate) struct Patience {
    is_polling: bool,
    /// Waits of this window, and their sum in nanoseconds.
    waits: u32,
    sum_ns: u64,
    /// Packets at the beginning of the window, of all that were sent or came.
    packets: u64,
    /// Windows until polling may be tried.
    rest: u32,
    /// The rest after a trial that fails.
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

    /// Takes in how long a wait was, from when there was nothing left to do until something came, and how many packets
    /// were sent or came before it in all.
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
        // 2, 4, 8 and so on to the longest rest, then one in each of them.
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

//! How long to wait before a process that failed is started again.

use std::time::{Duration, Instant};

/// Counts failures in a row. The first is answered at once, each further one after twice the wait,
/// up to [`WAIT_MAX`]; a process that lasted [`LASTING`] clears the count.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// A process that ran from `started` until `now` is gone: when to start the next one.
    pub fn after_failure(&mut self, started: Instant, now: Instant) -> Instant {
        if now.saturating_duration_since(started) >= LASTING {
            self.failures = 0;
        }
        let wait = match self.failures {
            0 => Duration::ZERO,
            failures => WAIT_MIN.saturating_mul(1 << (failures - 1).min(16)).min(WAIT_MAX),
        };
        self.failures = self.failures.saturating_add(1);
        now + wait
    }

    /// Failures in a row.
    pub fn failures(&self) -> u32 {
        self.failures
    }
}

const WAIT_MIN: Duration = Duration::from_millis(100);
/// Longest wait between two starts.
pub const WAIT_MAX: Duration = Duration::from_secs(30);
/// A process that ran this long did not fail at its start.
pub const LASTING: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_failures_wait_longer_and_longer() {
        let start = Instant::now();
        let mut backoff = Backoff::default();
        let waits: Vec<_> = (0..12).map(|_| backoff.after_failure(start, start) - start).collect();
        assert_eq!(waits[0], Duration::ZERO);
        assert_eq!(waits[1], WAIT_MIN);
        assert!(waits.windows(2).all(|pair| pair[0] <= pair[1]));
        assert_eq!(waits[11], WAIT_MAX);
        let later = start + LASTING;
        assert_eq!(backoff.after_failure(start, later), later);
    }

    #[test]
    fn no_number_of_failures_overflows() {
        let start = Instant::now();
        let mut backoff = Backoff { failures: u32::MAX };
        assert_eq!(backoff.after_failure(start, start), start + WAIT_MAX);
    }
}

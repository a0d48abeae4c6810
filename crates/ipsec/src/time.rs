//! Time as the caller counts it.

use std::time::Duration;

/// A time since an instant that the caller chose, never going back. Nothing here reads a clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Time(pub Duration);

impl Time {
    /// `seconds` seconds after the caller's instant.
    pub const fn seconds(seconds: u64) -> Time {
        Time(Duration::from_secs(seconds))
    }

    /// The time since an earlier one; zero if that one is later.
    pub fn since(self, earlier: Time) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// This time, `seconds` seconds later.
    pub fn after_seconds(self, seconds: u64) -> Time {
        Time(self.0.saturating_add(Duration::from_secs(seconds)))
    }

    pub(crate) fn nanos(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }

    pub(crate) fn of_nanos(nanos: u64) -> Time {
        Time(Duration::from_nanos(nanos))
    }
}

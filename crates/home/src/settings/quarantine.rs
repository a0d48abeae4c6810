//! The table `[quarantine]`: what happens to a tenant whose requests end cards.

use super::{Settings, SettingsError};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use wire::bounds::{QUARANTINE_DEATHS_MAX, QUARANTINE_SPAN_MAX_S};

/// When the requests of a tenant are refused because cards ended with them, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quarantine {
    /// Deaths of cards within the window that put a tenant into quarantine; 0 for never.
    pub deaths: u32,
    /// Length of the window in seconds; passes are also kept apart for so long after one death.
    pub window_s: u64,
    /// Length of the first quarantine in seconds. Each further one is twice as long.
    pub first_s: u64,
    /// Length of the longest quarantine in seconds; earlier quarantines are also remembered for so
    /// long after the end of one.
    pub longest_s: u64,
}

impl Default for Quarantine {
    fn default() -> Self {
        Self { deaths: 3, window_s: 600, first_s: 60, longest_s: 86_400 }
    }
}

impl Quarantine {
    /// Length of a quarantine that follows this number of others.
    pub fn span(&self, before: u32) -> Duration {
        let doubled = self.first_s.saturating_mul(1_u64.checked_shl(before).unwrap_or(u64::MAX));
        Duration::from_secs(doubled.min(self.longest_s))
    }
}

impl Settings {
    pub(super) fn check_quarantine(&self) -> Result<(), SettingsError> {
        let Quarantine { deaths, window_s, first_s, longest_s } = self.quarantine;
        let wrong = |key, cause| Err(SettingsError::Quarantine { key, cause });
        if deaths > QUARANTINE_DEATHS_MAX {
            return wrong("deaths", format!("{deaths}; at most {QUARANTINE_DEATHS_MAX}"));
        }
        for (key, seconds) in [("window_s", window_s), ("first_s", first_s), ("longest_s", longest_s)] {
            if !(1..=QUARANTINE_SPAN_MAX_S).contains(&seconds) {
                return wrong(key, format!("{seconds}; allowed are 1 to {QUARANTINE_SPAN_MAX_S} (30 days)"));
            }
        }
        if first_s > longest_s {
            return wrong("first_s", format!("{first_s}, which is longer than longest_s = {longest_s}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarantine_is_twice_as_long_as_the_one_before_up_to_the_longest() {
        let rules = Quarantine { first_s: 60, longest_s: 1_000, ..Quarantine::default() };
        let spans: Vec<u64> = [0, 1, 2, 3, 4, 5, 63, 64, u32::MAX].map(|n| rules.span(n).as_secs()).into();
        assert_eq!(spans, [60, 120, 240, 480, 960, 1_000, 1_000, 1_000, 1_000]);
    }
}

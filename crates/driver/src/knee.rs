//! The knee: the highest rate at which a server still answers within the bound.

use crate::plan::RATE_MAX;
use crate::tally::Tally;
use pacing::Search;
use std::time::Duration;

/// The quantile whose time must stay within the bound, and the share of starts that may be late.
const QUANTILE: f64 = 0.99;
const LATE_SHARE: f64 = 0.01;
/// The search ends once the lowest rate that failed exceeds the highest rate that held by no more than this share.
const PRECISION: f64 = 0.02;
/// Below this number of starts in a step, percentiles mean nothing.
const STARTS_MIN: f64 = 10.0;

/// A rate that was tried, with its result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    /// Starts a second.
    pub(crate) rate: f64,
    /// Completed transactions a second.
    pub(crate) per_second: f64,
    /// 99 of 100 transactions took at most this long from their intended start, in microseconds.
    pub(crate) p99_us: f64,
    /// Starts that were late or never happened.
    pub(crate) late: u64,
    /// Transactions that failed.
    pub(crate) errors: u64,
    /// Whether the rate held: no errors, times within the bound, few late starts.
    pub(crate) holds: bool,
}

impl Step {
    /// Judges a rate by its counts and by the transactions completed a second.
    pub(crate) fn of(rate: f64, tally: &Tally, per_second: f64, bound: Duration) -> Self {
        let p99_us = tally.transaction.quantile_us(QUANTILE);
        let (late, errors) = (tally.late + tally.never, tally.failed());
        let is_in_time = p99_us <= bound.as_secs_f64() * 1e6;
        let is_begun = late as f64 <= LATE_SHARE * (tally.begun + tally.never) as f64;
        let holds = tally.transactions > 0 && errors == 0 && is_in_time && is_begun;
        Self { rate, per_second, p99_us, late, errors, holds }
    }
}

/// The search that begins at the rate `first`; each rate is tried for `seconds`.
pub(crate) fn search(first: f64, seconds: f64) -> Search<Step> {
    Search::new(first.min(RATE_MAX), (STARTS_MIN / seconds).min(first)..=RATE_MAX, PRECISION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_bounded() {
        assert_eq!(search(1e12, 1.0), Search::new(RATE_MAX, 10.0..=RATE_MAX, PRECISION));
        assert_eq!(search(2.0, 1.0), Search::new(2.0, 2.0..=RATE_MAX, PRECISION));
    }
}

//! Search for the knee: the highest rate at which a server still answers within the bound.

use crate::plan::RATE_MAX;
use crate::tally::Tally;
use std::time::Duration;

/// The quantile whose time must stay within the bound, and the share of starts that may be late.
const QUANTILE: f64 = 0.99;
const LATE_SHARE: f64 = 0.01;
/// The search ends once the lowest rate that failed exceeds the highest rate that held by no more than this share.
const PRECISION: f64 = 0.02;
/// Below this number of starts in a step, percentiles mean nothing.
const STARTS_MIN: f64 = 10.0;
/// Upper bound of rates that are tried.
const STEPS_MAX: usize = 24;

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

/// A search: the rate doubles until one fails, or halves until one holds, and then the interval between the two is
/// halved.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Search {
    first: f64,
    least: f64,
    held: Option<f64>,
    failed: Option<f64>,
    pub(crate) steps: Vec<Step>,
}

impl Search {
    /// Begins at the rate `first`; each rate is tried for `seconds`.
    pub(crate) fn new(first: f64, seconds: f64) -> Self {
        let least = (STARTS_MIN / seconds).min(first);
        Self { first: first.min(RATE_MAX), least, held: None, failed: None, steps: Vec::new() }
    }

    /// The rate to try next; None once the knee is known, or the bounds of the search are reached.
    pub(crate) fn next(&self) -> Option<f64> {
        if self.steps.len() >= STEPS_MAX {
            return None;
        }
        match (self.held, self.failed) {
            (None, None) => Some(self.first),
            (Some(held), None) => Some(held * 2.0).filter(|rate| *rate <= RATE_MAX),
            (None, Some(failed)) => Some(failed / 2.0).filter(|rate| *rate >= self.least),
            (Some(held), Some(failed)) if failed <= held * (1.0 + PRECISION) => None,
            (Some(held), Some(failed)) => Some((held + failed) / 2.0),
        }
    }

    /// Notes the result of a rate that was tried.
    pub(crate) fn take(&mut self, step: Step) {
        let side = if step.holds { &mut self.held } else { &mut self.failed };
        *side = Some(step.rate);
        self.steps.push(step);
    }

    /// The highest rate that held so far; None if none did.
    pub(crate) fn knee(&self) -> Option<f64> {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(first: f64, knee: f64) -> Search {
        let mut search = Search::new(first, 1.0);
        while let Some(rate) = search.next() {
            let holds = rate <= knee;
            search.take(Step { rate, per_second: rate, p99_us: 1.0, late: 0, errors: 0, holds });
        }
        search
    }

    #[test]
    fn knees_are_found_from_above_and_from_below() {
        for (first, knee) in [(1000.0, 970.0), (1000.0, 1000.0), (10.0, 1234.0), (5000.0, 30.0)] {
            let search = found(first, knee);
            let rate = search.knee().unwrap();
            assert!(rate <= knee && rate >= knee / 1.03, "{first}, {knee}: {rate}");
            assert!(search.steps.len() < STEPS_MAX, "{first}, {knee}: {}", search.steps.len());
        }
    }

    #[test]
    fn a_search_without_a_knee_ends() {
        let search = found(1e12, 0.0);
        assert_eq!(search.knee(), None);
        assert!(search.steps.len() <= STEPS_MAX && search.steps[0].rate <= RATE_MAX);
        // Ten starts in a second are the fewest that allow a judgement.
        assert_eq!(found(1000.0, 0.0).steps.last().map(|step| step.rate), Some(15.625));
        assert_eq!(found(2.0, 0.0).steps.len(), 1);
        let search = found(1e6, f64::INFINITY);
        assert!(search.knee().unwrap() > RATE_MAX / 2.0);
    }
}

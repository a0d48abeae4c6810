//! The search for the knee of a load curve: the highest rate that holds.

use std::ops::RangeInclusive;

/// Upper bound of rates that are tried.
const STEPS_MAX: usize = 24;

/// A search: the rate doubles until one fails, or halves until one holds, and then the interval between the two is
/// halved, until it is this share of the rate that held.
#[derive(Clone, Debug, PartialEq)]
pub struct Search<T> {
    first: f64,
    rates: RangeInclusive<f64>,
    precision: f64,
    failed: Option<f64>,
    /// The highest rate that held so far; `None` if none did.
    pub knee: Option<f64>,
    /// What each rate gave that was tried.
    pub steps: Vec<T>,
}

impl<T> Search<T> {
    /// Begins at the rate `first`, and tries none outside `rates`.
    pub fn new(first: f64, rates: RangeInclusive<f64>, precision: f64) -> Self {
        Self { first, rates, precision, failed: None, knee: None, steps: Vec::new() }
    }

    /// The rate to try next; `None` once the knee is known, or the bounds of the search are reached.
    pub fn next(&self) -> Option<f64> {
        let next = match (self.knee, self.failed) {
            (None, None) => self.first,
            (Some(held), None) => held * 2.0,
            (None, Some(failed)) => failed / 2.0,
            (Some(held), Some(failed)) if failed <= held * (1.0 + self.precision) => return None,
            (Some(held), Some(failed)) => (held + failed) / 2.0,
        };
        (self.steps.len() < STEPS_MAX && self.rates.contains(&next)).then_some(next)
    }

    /// Notes whether a rate held, and what it gave.
    pub fn take(&mut self, rate: f64, holds: bool, step: T) {
        *if holds { &mut self.knee } else { &mut self.failed } = Some(rate);
        self.steps.push(step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(first: f64, knee: f64) -> Search<f64> {
        let mut search = Search::new(first, 10.0..=1e7, 0.02);
        while let Some(rate) = search.next() {
            search.take(rate, rate <= knee, rate);
        }
        search
    }

    #[test]
    fn a_search_finds_the_knee_from_above_and_from_below_or_ends_without_one() {
        for (first, knee) in [(1000.0, 970.0), (1000.0, 1000.0), (10.0, 1234.0), (5000.0, 30.0)] {
            let search = found(first, knee);
            let rate = search.knee.unwrap();
            assert!(rate <= knee && rate >= knee / 1.03, "{first}, {knee}: {rate}");
            assert!(search.steps.len() < STEPS_MAX, "{first}, {knee}: {}", search.steps.len());
        }
        assert_eq!((found(1e7, 0.0).knee, found(1000.0, 0.0).steps.last()), (None, Some(&15.625)));
        assert!(found(1e6, f64::INFINITY).knee.unwrap() > 5e6);
    }
}

//! Medians with their spread, ratios taken in one run, and length sweeps as a line.
//!
//! Figures of one machine drift by several per cent within minutes. So a figure is a median with its
//! spread, and a comparison is a ratio of runs that stood next to each other.

use serde::{Deserialize, Serialize};

/// Summary of several runs of one case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of runs.
    pub runs: usize,
    /// The middle value; between the middle two for an even number of runs.
    pub median: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// Median of the distances from the median.
    pub mad: f64,
}

impl Summary {
    /// Sums up the runs; none without runs, or if a value is not a number.
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() || values.iter().any(|value| value.is_nan()) {
            return None;
        }
        let median = median(values);
        let distances: Vec<f64> = values.iter().map(|value| (value - median).abs()).collect();
        Some(Self {
            runs: values.len(),
            median,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            mad: self::median(&distances),
        })
    }

    /// A figure without spread.
    pub fn exact(value: f64) -> Self {
        Self { runs: 1, median: value, min: value, max: value, mad: 0.0 }
    }

    /// The summary in another unit: all figures times `by`.
    pub fn scaled(&self, by: f64) -> Self {
        let Self { runs, median, min, max, mad } = *self;
        Self { runs, median: median * by, min: min * by, max: max * by, mad: mad * by }
    }

    /// Distance between smallest and largest value, as a share of the median; 0 where that is 0.
    pub fn spread(&self) -> f64 {
        if self.median == 0.0 { 0.0 } else { (self.max - self.min) / self.median }
    }
}

/// The middle of the values; 0 without values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// Two sides measured in turn, round by round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The first side.
    pub ours: Summary,
    /// The second side.
    pub peer: Summary,
    /// First over second, each round for itself.
    pub ratio: Summary,
}

/// Runs two sides in turn and compares them round by round. The order changes from round to round,
/// so that a drift of the machine falls on both.
///
/// # Errors
/// The first error of a side; [`Comparison`] needs at least one round, so `rounds` of 0 counts as 1.
pub fn interleaved<E>(
    rounds: usize,
    mut ours: impl FnMut() -> Result<f64, E>,
    mut peer: impl FnMut() -> Result<f64, E>,
) -> Result<Option<Comparison>, E> {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for round in 0..rounds.max(1) {
        if round % 2 == 0 {
            left.push(ours()?);
            right.push(peer()?);
        } else {
            right.push(peer()?);
            left.push(ours()?);
        }
    }
    Ok(compare(&left, &right))
}

/// Compares runs that stood next to each other; none without runs, or if a rate is 0.
pub fn compare(ours: &[f64], peer: &[f64]) -> Option<Comparison> {
    if peer.contains(&0.0) {
        return None;
    }
    let ratios: Vec<f64> = ours.iter().zip(peer).map(|(a, b)| a / b).collect();
    Some(Comparison { ours: Summary::of(ours)?, peer: Summary::of(peer)?, ratio: Summary::of(&ratios)? })
}

/// The ratios of runs that stood next to each other, as far as both sides have them; none without runs, or if a rate is
/// 0.
pub fn ratio(over: &[f64], under: &[f64]) -> Option<Summary> {
    let count = over.len().min(under.len());
    Some(compare(&over[..count], &under[..count])?.ratio)
}

/// A length sweep as a line: the time of one operation is `start + per_byte * bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// Seconds that an operation costs before its first byte.
    pub start: f64,
    /// Seconds for each byte.
    pub per_byte: f64,
    /// Largest distance of a point from the line, as a share of the point.
    pub error_max: f64,
}

/// Fits the line through points of (bytes, seconds for one operation), each weighted by its own
/// size: short operations count as much as long ones. None where fewer than two lengths differ, or
/// where a time is not above 0.
pub fn fit(points: &[(f64, f64)]) -> Option<Fit> {
    if points.iter().any(|(_, seconds)| seconds.is_nan() || *seconds <= 0.0) {
        return None;
    }
    // Weighted least squares with weight 1/t^2 minimises the relative error.
    let (mut w, mut wx, mut wy, mut wxx, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for &(x, y) in points {
        let weight = 1.0 / (y * y);
        w += weight;
        wx += weight * x;
        wy += weight * y;
        wxx += weight * x * x;
        wxy += weight * x * y;
    }
    let determinant = w * wxx - wx * wx;
    if determinant.abs() <= f64::EPSILON * w * wxx || determinant.is_nan() {
        return None;
    }
    let per_byte = (w * wxy - wx * wy) / determinant;
    let start = (wy - per_byte * wx) / w;
    let error = |&(x, y): &(f64, f64)| ((start + per_byte * x) / y - 1.0).abs();
    let error_max = points.iter().map(error).fold(0.0, f64::max);
    Some(Fit { start, per_byte, error_max })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_summary_of_known_runs() {
        let summary = Summary::of(&[5.0, 1.0, 2.0, 4.0, 100.0]).unwrap();
        assert_eq!((summary.runs, summary.median, summary.min, summary.max), (5, 4.0, 1.0, 100.0));
        assert_eq!(summary.mad, 2.0);
        assert_eq!(summary.spread(), 99.0 / 4.0);
        assert_eq!(Summary::of(&[1.0, 3.0]).unwrap().median, 2.0);
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn sides_run_in_turn_and_are_compared_by_round() {
        let order = std::cell::RefCell::new(Vec::new());
        let mut drift = [1.0, 2.0, 4.0].into_iter();
        let mut drift_peer = [1.0, 2.0, 4.0].into_iter();
        let result: Result<_, ()> = interleaved(
            3,
            || {
                order.borrow_mut().push('a');
                Ok(3.0 * drift.next().unwrap())
            },
            || {
                order.borrow_mut().push('b');
                Ok(2.0 * drift_peer.next().unwrap())
            },
        );
        let comparison = result.unwrap().unwrap();
        assert_eq!(order.into_inner(), ['a', 'b', 'b', 'a', 'a', 'b']);
        assert_eq!((comparison.ratio.min, comparison.ratio.max), (1.5, 1.5));
        assert_eq!((comparison.ours.median, comparison.peer.median), (6.0, 4.0));
        assert_eq!(compare(&[1.0], &[0.0]), None);
        assert_eq!(interleaved(1, || Err("broken"), || Ok(1.0)).unwrap_err(), "broken");
    }

    #[test]
    fn a_line_is_found_again() {
        let points: Vec<(f64, f64)> =
            [64.0, 256.0, 1024.0, 65536.0].iter().map(|&n| (n, 3e-6 + 2e-9 * n)).collect();
        let fit = fit(&points).unwrap();
        assert!((fit.start - 3e-6).abs() < 1e-12 && (fit.per_byte - 2e-9).abs() < 1e-15);
        assert!(fit.error_max < 1e-6);
        assert_eq!(super::fit(&[(64.0, 1.0), (64.0, 1.1)]), None);
        assert_eq!(super::fit(&[(64.0, 1.0), (128.0, 0.0)]), None);
    }

    proptest! {
        #[test]
        fn the_median_lies_between_its_ends(values in prop::collection::vec(0.0..1e9f64, 1..20)) {
            let summary = Summary::of(&values).unwrap();
            prop_assert!(summary.min <= summary.median && summary.median <= summary.max);
            prop_assert!(summary.mad <= summary.max - summary.min);
        }
    }
}

//! A histogram of times, and its percentiles.

use hdrhistogram::Histogram;
use std::time::Duration;

/// One hour in nanoseconds: longer times count as this one.
const NS_MAX: u64 = 3_600_000_000_000;

/// A start that begins more than this long after it was due counts as late.
pub const LATE: Duration = Duration::from_millis(1);

/// A histogram of times, to three significant digits.
#[derive(Clone, Debug)]
pub struct Times(Option<Histogram<u64>>);

impl Default for Times {
    fn default() -> Self {
        Self::new()
    }
}

impl Times {
    /// An empty histogram.
    pub fn new() -> Self {
        // These bounds are valid, as the test shows.
        Self(Histogram::new_with_bounds(1, NS_MAX, 3).ok())
    }

    /// Records a time. Times above one hour count as one hour.
    pub fn record(&mut self, time: Duration) {
        if let Some(histogram) = &mut self.0 {
            histogram.saturating_record(u64::try_from(time.as_nanos()).unwrap_or(NS_MAX).min(NS_MAX));
        }
    }

    /// Adds the times of another histogram.
    pub fn add(&mut self, other: &Self) {
        if let (Some(histogram), Some(other)) = (&mut self.0, &other.0) {
            let _ = histogram.add(other);
        }
    }

    /// Whether no time was recorded.
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(Histogram::is_empty)
    }

    /// The time in microseconds that the fraction `quantile` (0 to 1) of all times does not exceed; 0 if none was
    /// recorded.
    pub fn quantile_us(&self, quantile: f64) -> f64 {
        self.0.as_ref().map_or(0.0, |histogram| histogram.value_at_quantile(quantile) as f64 / 1000.0)
    }

    /// The longest time in microseconds; 0 if none was recorded.
    pub fn max_us(&self) -> f64 {
        self.0.as_ref().map_or(0.0, |histogram| histogram.max() as f64 / 1000.0)
    }

    /// The mean time in microseconds; 0 if none was recorded.
    pub fn mean_us(&self) -> f64 {
        self.0.as_ref().filter(|histogram| !histogram.is_empty()).map_or(0.0, |all| all.mean() / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_to_three_digits() {
        let mut times = Times::new();
        assert!(times.is_empty() && times.mean_us() == 0.0);
        for us in 1..=1000 {
            times.record(Duration::from_micros(us));
        }
        let mut both = Times::new();
        both.add(&times);
        both.record(Duration::from_secs(1 << 40));
        // The 501st of 1,001.
        assert!((both.quantile_us(0.5) - 501.0).abs() < 1.0, "{}", both.quantile_us(0.5));
        assert!(both.max_us() >= 3.5e9);
        assert!((times.mean_us() - 500.5).abs() < 2.0, "{}", times.mean_us());
    }
}

//! The knee of an operation: the highest rate that keeps a latency.

use super::{LabError, Measurement, Workload};
use pacing::Search;

/// The search ends once a rate that failed exceeds one that kept the latency by no more than this share.
const PRECISION: f64 = 0.05;

/// Finds the highest rate at which 99 of 100 requests take at most `p99_ns`, in open loops below the rate of the closed
/// one. Gives the run at that rate, or the closed run if it keeps the latency at full load. None if no rate down to a
/// hundredth of that keeps it.
///
/// # Errors
/// Those of `run`.
pub fn find_knee(
    workload: &Workload,
    p99_ns: u64,
    run: &mut dyn FnMut(&Workload) -> Result<Measurement, LabError>,
) -> Result<Option<Measurement>, LabError> {
    let closed = run(&Workload { rate: None, ..workload.clone() })?;
    if closed.p99_ns <= p99_ns {
        return Ok(Some(closed));
    }
    let full = closed.ops_per_s;
    let mut search = Search::new(full / 2.0, full / 100.0..=full, PRECISION);
    while let Some(rate) = search.next() {
        let measured = run(&Workload { rate: Some(rate), ..workload.clone() })?;
        // A loop that falls behind its schedule does not sustain the rate, whatever its latencies.
        let kept = measured.p99_ns <= p99_ns && measured.ops_per_s >= 0.98 * rate;
        search.take(rate, kept, kept.then_some(measured));
    }
    Ok(search.steps.into_iter().flatten().last())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::made_up::measurement;

    /// A single server of 1000 requests per second: latency grows as 1 / (capacity - rate).
    fn server(workload: &Workload) -> Result<Measurement, LabError> {
        let mut run = measurement(workload.rate.unwrap_or(1000.0));
        run.p99_ns = workload.rate.map_or(50_000_000, |rate| (1e9 * 4.6 / (1000.0 - rate)) as u64);
        Ok(run)
    }

    #[test]
    fn the_knee_of_a_server_is_found() {
        let workload = Workload::of(measurement(1.0).operation);
        let knee = find_knee(&workload, 20_000_000, &mut server).unwrap().unwrap();
        // 4.6 / (1000 - rate) = 20 ms at a rate of 770.
        assert!((700.0..=770.0).contains(&knee.ops_per_s), "{}", knee.ops_per_s);
        let none = find_knee(&workload, 1_000_000, &mut server).unwrap();
        assert_eq!(none, None);
        let all = find_knee(&workload, 60_000_000, &mut server).unwrap().unwrap();
        assert_eq!(all.ops_per_s, 1000.0);
    }
}

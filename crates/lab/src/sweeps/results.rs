//! The results of a report's cases, summed up over their runs.

use crate::kit::statistics::{Summary, compare, median};
use crate::load::{Measurement, Workload};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One case with all of its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// Name of the case.
    pub case: String,
    /// The workload that was run.
    pub workload: Workload,
    /// Level that did the work: of the engine, or of the cards.
    pub level: String,
    /// Requests that the engine prefers in one batch.
    pub lanes: usize,
    /// Operations per second.
    pub ops_per_s: Summary,
    /// Median latency in nanoseconds.
    pub p50_ns: Summary,
    /// 99th percentile of latency in nanoseconds.
    pub p99_ns: Summary,
    /// Processor time of the caller for one operation, in nanoseconds; median.
    pub caller_ns: f64,
    /// Processor time of the daemon for one operation, in nanoseconds; median.
    pub daemon_ns: f64,
    /// Processor time of the cards for one operation, in nanoseconds; median.
    pub cards_ns: f64,
    /// Processor time as a share of all processors; median.
    pub utilisation: f64,
    /// Operations per second at full utilisation; median.
    pub itr: f64,
    /// The rate of each run, in the order of the passes: runs of the same pass are neighbours.
    pub rates: Vec<f64>,
}

impl CaseResult {
    /// Sums up the runs of a case; none without runs.
    pub fn new(workload: &Workload, runs: &[Measurement]) -> Option<Self> {
        let first = runs.first()?;
        let values = |value: fn(&Measurement) -> f64| runs.iter().map(value).collect::<Vec<f64>>();
        let rates = values(|run| run.ops_per_s);
        Some(Self {
            case: workload.case(),
            workload: workload.clone(),
            level: first.level.clone(),
            lanes: first.lanes,
            ops_per_s: Summary::of(&rates)?,
            p50_ns: Summary::of(&values(|run| run.p50_ns as f64))?,
            p99_ns: Summary::of(&values(|run| run.p99_ns as f64))?,
            caller_ns: median(&values(|run| per_operation_ns(run, run.processor_s.caller))),
            daemon_ns: median(&values(|run| per_operation_ns(run, run.processor_s.daemon))),
            cards_ns: median(&values(|run| per_operation_ns(run, run.processor_s.cards))),
            utilisation: median(&values(|run| run.utilisation)),
            itr: median(&values(|run| run.itr)),
            rates,
        })
    }

    /// Bytes per second; 0 for operations without data.
    pub fn bytes_per_s(&self) -> f64 {
        if self.workload.operation.takes_bytes() {
            self.ops_per_s.median * self.workload.bytes as f64
        } else {
            0.0
        }
    }
}

fn per_operation_ns(run: &Measurement, seconds: f64) -> f64 {
    if run.operations == 0 { 0.0 } else { seconds * 1e9 / run.operations as f64 }
}

/// All cases of a report, by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Results(pub BTreeMap<String, CaseResult>);

impl Results {
    /// The result of a workload; none if it was not run.
    pub fn of(&self, workload: &Workload) -> Option<&CaseResult> {
        self.0.get(&workload.case())
    }

    /// Rate of one workload over that of another: the ratios of neighbouring runs.
    pub fn ratios(&self, over: &Workload, under: &Workload) -> Option<Summary> {
        Some(compare(&self.of(over)?.rates, &self.of(under)?.rates)?.ratio)
    }

    /// The median of [`Results::ratios`].
    pub fn ratio(&self, over: &Workload, under: &Workload) -> Option<f64> {
        Some(self.ratios(over, under)?.median)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::made_up::measurement;

    #[test]
    fn runs_are_summed_up() {
        let workload = Workload::of(measurement(1.0).operation);
        let runs = [measurement(100.0), measurement(300.0), measurement(200.0)];
        let result = CaseResult::new(&workload, &runs).unwrap();
        assert_eq!((result.ops_per_s.median, result.ops_per_s.min), (200.0, 100.0));
        assert_eq!(result.rates, [100.0, 300.0, 200.0]);
        assert!(CaseResult::new(&workload, &[]).is_none());
        let other = Workload { jobs: 2, ..workload.clone() };
        let results = Results(
            [(workload.case(), result), (other.case(), CaseResult::new(&other, &runs[..1]).unwrap())].into(),
        );
        assert_eq!(results.ratio(&workload, &other), Some(1.0));
        assert_eq!(results.ratio(&workload, &Workload { jobs: 3, ..workload.clone() }), None);
    }
}

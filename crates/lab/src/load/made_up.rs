//! A made-up bench: it measures nothing, so that tests can run all code that reads measurements.

use super::{Bench, Interface, LabError, Measurement, ProcessorSeconds, Refusal, Workload};
use std::collections::BTreeMap;

/// A measurement with this rate.
pub(crate) fn measurement(ops_per_s: f64) -> Measurement {
    Measurement {
        operation: "des-cbc-encipher".parse().unwrap(),
        bytes: 64,
        jobs: 1,
        processors: 1,
        interface: Interface::Native,
        level: "avx512".to_owned(),
        lanes: 1,
        cards: 0,
        personality: None,
        ops_per_s,
        bytes_per_s: 64.0 * ops_per_s,
        p50_ns: 100,
        p99_ns: 200,
        operations: 1000,
        answers_compared: 10,
        seconds: 1.0,
        rate: None,
        prepared: false,
        processor_s: ProcessorSeconds { caller: 1.0, daemon: 0.0, cards: 0.0 },
        utilisation: 0.5,
        itr: 2.0 * ops_per_s,
    }
}

/// A bench that answers at once, counts its runs, and can be interrupted.
pub(crate) struct MadeUp {
    pub runs: BTreeMap<String, usize>,
    pub interrupt_after: usize,
    pub factor: f64,
    pub fail: fn(&str) -> bool,
}

impl MadeUp {
    pub fn new() -> Self {
        Self { runs: BTreeMap::new(), interrupt_after: usize::MAX, factor: 1.0, fail: |_| false }
    }
}

impl Bench for MadeUp {
    fn run(&mut self, workload: &Workload) -> Result<Measurement, LabError> {
        if self.runs.values().sum::<usize>() == self.interrupt_after {
            return Err(LabError::Interrupted);
        }
        if workload.case().contains("symmetric-key-import") {
            return Err(LabError::Refused(Refusal::NoHome));
        }
        if (self.fail)(&workload.case()) {
            let what = "differs";
            return Err(LabError::WrongAnswer { operation: workload.operation, job: 0, what });
        }
        *self.runs.entry(workload.case()).or_default() += 1;
        let start = match workload.interface {
            Interface::Native => 2e-7,
            Interface::Facility => 4e-7,
            Interface::Card => 5e-6,
        };
        let software = if workload.level.is_some() { 3.0 } else { 1.0 };
        let rate = workload.jobs as f64 / (software * (start + workload.bytes as f64 * 1e-9));
        let mut run = measurement(self.factor * rate);
        (run.operation, run.bytes, run.jobs) = (workload.operation, workload.bytes, workload.jobs);
        Ok(run)
    }

    fn level(&self) -> String {
        "avx512".to_owned()
    }
}

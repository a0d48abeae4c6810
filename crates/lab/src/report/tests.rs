//! Reports of a made-up bench: nothing is measured, every path of the report is.

use super::*;
use crate::workload::{Interface, ProcessorSeconds, Refusal};
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

fn plan() -> Plan {
    let thoroughness = Thoroughness { passes: 3, seconds: 0.1, seconds_max: None };
    Plan::with_peer(&published::measurements(), thoroughness, true)
}

#[test]
fn an_interrupted_report_continues_where_it_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan();
    let mut first = MadeUp { interrupt_after: 100, ..MadeUp::new() };
    let mut last = None;
    let result = run(&plan, &mut first, folder.path(), &mut |progress| last = Some(progress.clone()));
    assert!(matches!(result, Err(LabError::Interrupted)));
    let last = last.unwrap();
    assert!(last.seconds_left > 1.0 && last.total == 3 * plan.cases.len());
    let mut second = MadeUp::new();
    let mut first_progress = None;
    let report = run(&plan, &mut second, folder.path(), &mut |progress| {
        first_progress.get_or_insert(progress.done);
    })
    .unwrap();
    assert_eq!(first_progress, Some(100));
    let runs: usize = first.runs.values().chain(second.runs.values()).sum();
    let left_out = report.left_out.len();
    assert_eq!(runs, 3 * (plan.cases.len() - left_out));
    assert!(left_out > 0 && report.left_out[0].case.contains("symmetric-key-import"));
    assert!(report.results.0.values().all(|case| case.ops_per_s.runs == 3));
    // Nothing is left to do a third time.
    let mut third = MadeUp::new();
    run(&plan, &mut third, folder.path(), &mut |_| ()).unwrap();
    assert!(third.runs.is_empty());
}

#[test]
fn a_bounded_report_keeps_within_its_time() {
    let bounded = Thoroughness { passes: 3, seconds: 0.05, seconds_max: Some(100.0) };
    let plan = Plan::new(&published::measurements(), bounded);
    let cases = &plan.cases[..];
    let first = time_for_one(&plan, cases, 0, 0.0).unwrap();
    assert!(first > 0.0 && first <= 0.05);
    assert_eq!(time_for_one(&plan, cases, 1, 101.0), None);
    // The first pass always runs: a case without any figure would be a hole in the report.
    assert!(time_for_one(&plan, cases, 0, 101.0).is_some());
}

#[test]
fn a_report_is_written_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let report = run(&plan(), &mut MadeUp::new(), folder.path(), &mut |_| ()).unwrap();
    let files = report.write(folder.path()).unwrap();
    assert!(Report::read(&files.json).unwrap() == report);
    assert!(Report::read(folder.path()).unwrap() == report);
    let text = fs::read_to_string(&files.json).unwrap();
    fs::write(&files.json, text.replacen("\"version\": 1", "\"version\": 2", 1)).unwrap();
    assert!(Report::read(&files.json).is_err());
    assert!(files.html.metadata().unwrap().len() > 10_000);
}

#[test]
fn a_failing_case_is_left_out_and_a_failing_house_ends_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let mut bench = MadeUp { fail: |case| case.starts_with("sha1/native/64B"), ..MadeUp::new() };
    let report = run(&plan(), &mut bench, &folder.path().join("one"), &mut |_| ()).unwrap();
    let faults: Vec<_> = report.left_out.iter().filter(|left| left.fault).collect();
    assert_eq!(faults.len(), 3, "one case by all three providers");
    assert!(faults[0].why.contains("no figure is given"));
    let mut bench = MadeUp { fail: |_| true, ..MadeUp::new() };
    let result = run(&plan(), &mut bench, &folder.path().join("all"), &mut |_| ());
    assert!(matches!(result, Err(LabError::WrongAnswer { .. })));
}

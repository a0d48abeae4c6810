//! The published sweeps: their tables run again, cell by cell, and the reports' statements on scaling.
//!
//! A report runs its cases in passes - every case once, then every case again -, so that a drift of the machine falls
//! on all of them and neighbouring runs can be compared.

pub mod claims;
mod page;
pub mod plan;
pub mod results;
mod rows;
pub mod sweep;

pub(crate) use page::{contents, section, tiles};
pub use plan::{FULL, Plan, QUICK};
pub(crate) use rows::{Measured, rows};

pub use crate::experiment::seconds;
use crate::experiment::{self, LeftOut, Progress, Thoroughness};
use crate::load::{Bench, LabError, Measurement, Workload};
use results::{CaseResult, Results};
use std::path::Path;

/// The journal within the folder of a report.
pub const JOURNAL: &str = "journal.jsonl";

impl experiment::Plan for Plan {
    fn thoroughness(&self) -> Thoroughness {
        self.thoroughness
    }

    fn order(&self) -> Vec<(usize, usize)> {
        experiment::by_groups([self.cases.len()], self.thoroughness.passes)
    }

    fn name(&self, case: usize) -> String {
        self.cases[case].case()
    }

    fn cost(&self, case: usize, seconds: f64) -> f64 {
        plan::case_seconds(&self.cases[case], seconds)
    }

    fn seconds_min(&self) -> f64 {
        0.01
    }
}

/// Runs a plan, or what an interrupted run of it in the same folder left over.
///
/// # Errors
/// As [`experiment::run`].
pub fn run(
    plan: &Plan,
    bench: &mut dyn Bench,
    folder: &Path,
    progress: &mut dyn FnMut(&Progress),
) -> Result<(Results, Vec<LeftOut>), LabError> {
    let level = bench.level();
    let mut one = |case: usize, seconds| bench.run(&Workload { seconds, ..plan.cases[case].clone() });
    let (runs, left_out) = experiment::run(plan, &mut one, &level, &folder.join(JOURNAL), progress)?;
    let mut results = Results::default();
    for workload in &plan.cases {
        let case = workload.case();
        let of_case: Vec<Measurement> =
            runs.get(&case).map(|passes| passes.values().cloned().collect()).unwrap_or_default();
        if let Some(result) = CaseResult::new(workload, &of_case) {
            results.0.insert(case, result);
        }
    }
    Ok((results, left_out))
}

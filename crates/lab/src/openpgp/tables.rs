//! The published tables of the Encryption Facility, run again: one message of the published length, compressed and
//! enciphered by software and by the engine, on one processor and on all, with stages on threads of their own and
//! without, offloaded, at level 1 and at level 9.
//!
//! Offloading stands where the originals had a second kind of processor: compression and cipher run on all processors
//! but the caller's, and both are booked apart.

mod case;
mod page;
mod rows;
mod statements;

pub use case::{Case, Processors, cases};
pub(crate) use page::{ANCHOR, TITLE, is_part, section, tiles};
pub(crate) use rows::rows;
pub(crate) use statements::judge;

use super::desk::Desk;
use super::file::Mode;
use super::process::{Job, Usage};
use super::{cases as forms, input};
use crate::experiment::{self, LeftOut, Progress, Thoroughness, outcome};
use crate::kit::machine::processors_online;
use crate::load::LabError;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The journal within the folder of a report.
pub const JOURNAL: &str = "openpgp.jsonl";

/// The plan of the part.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Passes and seconds.
    pub thoroughness: Thoroughness,
    /// The cases to run.
    pub cases: Vec<Case>,
    /// Length of the text in bytes.
    pub bytes: u64,
}

impl Plan {
    /// Some seconds: a part of the text, one pass.
    pub const QUICK: Thoroughness = Thoroughness { passes: 1, seconds: 0.0, seconds_max: None };
    /// The whole text, three times; at level 9 once.
    pub const FULL: Thoroughness = Thoroughness { passes: 3, seconds: 0.0, seconds_max: None };
    /// Divisor of the text's length in a quick report.
    const PART: u64 = 64;

    /// A plan of every case; of a part of the text once, if `is_quick`.
    pub fn new(is_quick: bool) -> Self {
        let (thoroughness, bytes) = match is_quick {
            true => (Self::QUICK, input::PUBLISHED_BYTES / Self::PART),
            false => (Self::FULL, input::PUBLISHED_BYTES),
        };
        Self { thoroughness, cases: cases(), bytes }
    }

    /// A plan without cases.
    pub fn empty() -> Self {
        Self { thoroughness: Self::QUICK, cases: Vec::new(), bytes: 0 }
    }

    fn passes(&self, case: &Case) -> usize {
        if case.level > 1 { 1 } else { self.thoroughness.passes }
    }
}

/// One run of a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Length of the text in bytes.
    pub input_bytes: u64,
    /// Length of the message in bytes.
    pub output_bytes: u64,
    /// Elapsed time in seconds.
    pub elapsed_s: f64,
    /// Processor time in seconds, on all processors.
    pub cpu_s: f64,
    /// Processor time on the processors that work was offloaded to, in seconds; a part of `cpu_s`.
    pub offloaded_s: f64,
    /// Processor time of compression and cipher, in seconds, on the caller's processors.
    pub work_by_caller_s: f64,
    /// Peak resident memory, in bytes.
    pub peak_bytes: u64,
}

impl Run {
    fn new(usage: &Usage, input_bytes: u64, output_bytes: u64) -> Self {
        let booked = Booked::read(&usage.printed);
        Self {
            input_bytes,
            output_bytes,
            elapsed_s: usage.wall_s,
            cpu_s: usage.cpu_s(),
            offloaded_s: booked.offloaded_s,
            work_by_caller_s: booked.work_by_caller_s,
            peak_bytes: usage.peak_bytes,
        }
    }

    /// Length of the text in megabytes of 2^20 bytes, as in the published tables.
    pub fn megabytes(&self) -> f64 {
        self.input_bytes as f64 / f64::from(1 << 20)
    }
}

/// Times by stage in the summary of a message; 0 if the summary has none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Booked {
    offloaded_s: f64,
    work_by_caller_s: f64,
}

impl Booked {
    fn read(printed: &str) -> Self {
        let summary: serde_json::Value = serde_json::from_str(printed).unwrap_or_default();
        let number = |value: &serde_json::Value, name: &str| value[name].as_f64().unwrap_or(0.0);
        let stages = summary["stages"].as_array().cloned().unwrap_or_default();
        let works =
            |stage: &&serde_json::Value| matches!(stage["stage"].as_str(), Some("compress" | "cipher"));
        Self {
            offloaded_s: (number(&summary, "cpu_seconds_all") - number(&summary, "cpu_seconds_caller"))
                .max(0.0),
            work_by_caller_s: stages
                .iter()
                .filter(works)
                .map(|stage| number(stage, "cpu_seconds_caller"))
                .sum(),
        }
    }
}

/// The runs of a case.
pub type OpenpgpOutcome = outcome::CaseOutcome<Run>;
/// The outcomes of a report.
pub type Outcomes = outcome::Outcomes<Run>;

impl Outcomes {
    /// The outcome of a case; none if it has no run.
    pub fn of(&self, case: &Case) -> Option<&OpenpgpOutcome> {
        self.named(&case.name())
    }
}

impl experiment::Plan for Plan {
    fn thoroughness(&self) -> Thoroughness {
        self.thoroughness
    }

    fn order(&self) -> Vec<(usize, usize)> {
        let mut order = experiment::by_groups([self.cases.len()], self.thoroughness.passes);
        order.retain(|(case, pass)| *pass < self.passes(&self.cases[*case]));
        order
    }

    fn name(&self, case: usize) -> String {
        self.cases[case].name()
    }

    fn cost(&self, case: usize, _: f64) -> f64 {
        self.cases[case].seconds_per_gigabyte() * self.bytes as f64 / 1e9
    }

    fn seconds_min(&self) -> f64 {
        0.0
    }
}

/// Estimated seconds that a plan takes, its text included.
pub fn seconds(plan: &Plan) -> f64 {
    experiment::seconds(plan) + 3.0 * plan.bytes as f64 / 1e9
}

/// Runs a plan, or the rest of an interrupted run in the same folder. If the text cannot be made, nothing runs, and the
/// reason is left out under the part's name.
///
/// # Errors
/// As [`experiment::run`].
pub fn run(
    plan: &Plan,
    level: &str,
    folder: &Path,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&Progress),
) -> Result<(Outcomes, Vec<LeftOut>), LabError> {
    let mut one = |desk: &mut Desk, case: usize, _| run_case(&plan.cases[case], desk, stop);
    let make = || Desk::new(plan.bytes, stop);
    outcome::outcomes(plan, ("openpgp", make), &mut one, (level, &folder.join(JOURNAL)), progress)
}

fn run_case(case: &Case, desk: &Desk, stop: &AtomicBool) -> Result<Run, LabError> {
    let out = desk.path("out");
    let form = forms::aes128(Mode::Cfb, Some(case.level));
    let program = desk.encrypt(super::desk::Tool::Cryptand, form, &desk.text(), &out)?;
    let program = program.with(["--json"]).with(case.arguments(processors_online()));
    let job = Job { programs: vec![program], processors: case.bound_to() };
    let usage = job.run(stop)?;
    let output_bytes = fs::metadata(&out).map_err(LabError::io("look at a message"))?.len();
    desk.remove(&out);
    Ok(Run::new(&usage, desk.bytes(), output_bytes))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Outcomes of every case, twice as fast with each step: the engine over software, a second processor over one.
    pub(crate) fn made_up() -> Outcomes {
        let run = |case: &Case| {
            let slow = if case.is_software { 2.0 } else { 1.0 } * f64::from(case.level);
            let fast = if case.processors == Processors::All && case.stages { 2.0 } else { 1.0 };
            let cpu_s = 2.0 * slow;
            Run {
                input_bytes: input::PUBLISHED_BYTES,
                output_bytes: input::PUBLISHED_BYTES * 23 / 100,
                elapsed_s: cpu_s / fast,
                cpu_s,
                offloaded_s: if case.offload { 0.9 * cpu_s } else { 0.0 },
                work_by_caller_s: 0.0,
                peak_bytes: 20 << 20,
            }
        };
        outcome::Outcomes(
            cases()
                .iter()
                .map(|case| OpenpgpOutcome { case: case.name(), runs: vec![run(case); 2] })
                .collect(),
        )
    }

    #[test]
    fn a_summary_tells_what_was_offloaded() {
        let printed = r#"{"cpu_seconds_caller":0.5,"cpu_seconds_all":2.0,"stages":[
            {"stage":"read","cpu_seconds_caller":0.3,"cpu_seconds_offloaded":0},
            {"stage":"compress","cpu_seconds_caller":0.125,"cpu_seconds_offloaded":1.0},
            {"stage":"cipher","cpu_seconds_caller":0.25,"cpu_seconds_offloaded":0.5}]}"#;
        assert_eq!(Booked::read(printed), Booked { offloaded_s: 1.5, work_by_caller_s: 0.375 });
        assert_eq!(Booked::read("no summary"), Booked::default());
    }

    #[test]
    fn a_quick_plan_is_quick_and_a_full_one_takes_the_published_length() {
        assert!(seconds(&Plan::new(true)) < 12.0, "{}", seconds(&Plan::new(true)));
        assert_eq!(Plan::new(false).bytes, 1_506_431_796);
        assert_eq!(seconds(&Plan::empty()), 0.0);
    }
}

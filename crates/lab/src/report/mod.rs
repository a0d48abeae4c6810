//! `cryptand report`: the published sweeps on this machine, and a report that people look at.
//!
//! A report runs its cases in passes - every case once, then every case again -, so that a drift of
//! the machine falls on all of them and neighbouring runs can be compared. Every finished run is in
//! the journal at once: an interrupted report continues where it stopped.

pub(crate) mod chart;
mod compare;
pub(crate) mod csv;
mod html;
pub(crate) mod journal;
mod plan;

pub(crate) use chart::escape;
pub use compare::compare;
pub(crate) use html::STYLE;
pub use html::page;
pub use plan::{Plan, Thoroughness};

use crate::claims::{self, Judged};
use crate::container::{self, Compared};
use crate::machine::{self, Machine, processors_online, unix_seconds};
use crate::openpgp::tables;
use crate::published;
use crate::results::{CaseResult, Results};
use crate::tenancy::{self, Experiment, Outcomes};
use crate::workload::{LabError, Measurement, Workload};
use journal::{Conditions, Journal, Runs};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Version of the JSON that a report is kept as.
pub const REPORT_VERSION: u32 = 1;
/// The journal within the folder of a report.
pub const JOURNAL: &str = "journal.jsonl";

/// Whoever runs the cases of a report.
pub trait Bench {
    /// Runs one workload.
    ///
    /// # Errors
    /// [`LabError`]; a refusal leaves the case out, anything else ends the report.
    fn run(&mut self, workload: &Workload) -> Result<Measurement, LabError>;
    /// Name of the engine's level.
    fn level(&self) -> String;
}

/// A report: everything that its page, its CSV and its comparison with another are made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`REPORT_VERSION`].
    pub version: u32,
    /// Program and version that made it.
    pub program: String,
    /// When it was finished, in seconds since 1970.
    pub made_unix_s: u64,
    /// What it was measured on.
    pub machine: Machine,
    /// Level of the engine.
    pub level: String,
    /// How thoroughly it measured.
    pub thoroughness: Thoroughness,
    /// Load of the machine before it began: what others asked of it.
    pub load_before: f64,
    /// How long this run took, in seconds.
    pub seconds: f64,
    /// Every case.
    pub results: Results,
    /// Cases that have no figure.
    pub left_out: Vec<LeftOut>,
    /// The published statements held against the results.
    pub judged: Vec<Judged>,
    /// Native against a tenant in a container of its own, where that was compared.
    #[serde(default)]
    pub container: Option<Compared>,
    /// Queues and tenants.
    #[serde(default)]
    pub queues: Outcomes,
    /// OpenPGP files.
    #[serde(default)]
    pub openpgp: tables::Outcomes,
}

/// A part of a report that can be asked for alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Only {
    /// An experiment on queues and tenants.
    Queues(Experiment),
    /// OpenPGP files.
    Openpgp,
}

/// A case without a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Name of the case.
    pub case: String,
    /// Why it has none.
    pub why: String,
    /// Whether something went wrong: a refusal is an answer, a wrong answer or a failure is not.
    pub fault: bool,
}

/// How far a report has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Runs done, those of an earlier start included.
    pub done: usize,
    /// Runs in all.
    pub total: usize,
    /// Seconds until the end, as far as can be told.
    pub seconds_left: f64,
    /// The case that runs now.
    pub case: String,
}

/// The files of a finished report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The page.
    pub html: PathBuf,
    /// The figures in the published columns.
    pub csv: PathBuf,
    /// Everything, for [`compare()`].
    pub json: PathBuf,
}

/// Cases in a row that may fail before the report gives up.
const FAULTS_IN_A_ROW_MAX: usize = 8;

/// Runs a plan, or what an interrupted run of it in the same folder left over. A case that is refused or
/// fails is left out and named in the report.
///
/// # Errors
/// [`LabError::Interrupted`] where the bench was interrupted: starting again continues. [`LabError::Io`]
/// of the journal, and the last error where [several cases in a row](FAULTS_IN_A_ROW_MAX) fail.
pub fn run(
    plan: &Plan,
    bench: &mut dyn Bench,
    folder: &Path,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Report, LabError> {
    let (begin, load_before) = (Instant::now(), machine::load());
    fs::create_dir_all(folder).map_err(LabError::io("make the folder of the report"))?;
    let level = bench.level();
    let conditions = Conditions::this(&level, plan.thoroughness);
    let (mut journal, mut runs): (_, Runs<Measurement>) = Journal::open(&folder.join(JOURNAL), &conditions)?;
    let mut left_out: Vec<LeftOut> = Vec::new();
    let mut faults = 0;
    let total = plan.cases.len() * plan.thoroughness.passes;
    let mut done: usize = runs.values().map(|passes| passes.len()).sum();
    for pass in 0..plan.thoroughness.passes {
        let open = |runs: &Runs<Measurement>, case: &str| {
            !runs.get(case).is_some_and(|passes| passes.contains_key(&pass))
        };
        for (index, workload) in plan.cases.iter().enumerate() {
            let case = workload.case();
            if !open(&runs, &case) {
                continue;
            }
            if left_out.iter().any(|left| left.case == case) {
                done += 1;
                continue;
            }
            let rest = &plan.cases[index..];
            let seconds = match time_for_one(plan, rest, pass, begin.elapsed().as_secs_f64()) {
                Some(seconds) => seconds,
                None => {
                    done += 1;
                    continue;
                }
            };
            let ahead: f64 = rest.iter().map(|case| plan.case_seconds(case, seconds)).sum();
            let passes_left = plan.thoroughness.passes - pass - 1;
            let all: f64 = plan.cases.iter().map(|case| plan.case_seconds(case, seconds)).sum();
            progress(&Progress {
                done,
                total,
                seconds_left: ahead + all * passes_left as f64,
                case: case.clone(),
            });
            match bench.run(&Workload { seconds, ..workload.clone() }) {
                Ok(measurement) => {
                    journal.add(&case, pass, &measurement)?;
                    runs.entry(case).or_default().insert(pass, measurement);
                    faults = 0;
                }
                Err(LabError::Interrupted) => return Err(LabError::Interrupted),
                Err(error) => {
                    let fault = !matches!(error, LabError::Refused(_));
                    faults += usize::from(fault);
                    if faults == FAULTS_IN_A_ROW_MAX {
                        return Err(error);
                    }
                    left_out.push(LeftOut { case, why: error.to_string(), fault });
                }
            }
            done += 1;
        }
    }
    progress(&Progress { done: total, total, seconds_left: 0.0, case: String::new() });
    let mut report = sum_up(plan, &runs, level);
    report.left_out = left_out;
    report.load_before = load_before;
    report.seconds = begin.elapsed().as_secs_f64();
    Ok(report)
}

/// How long the next case may measure, in seconds; none where a bounded report has no time left for
/// another run of a case that has one already.
fn time_for_one(plan: &Plan, rest: &[Workload], pass: usize, elapsed: f64) -> Option<f64> {
    let Some(most) = plan.thoroughness.seconds_max else { return Some(plan.thoroughness.seconds) };
    let left = most - elapsed;
    let passes_left = (plan.thoroughness.passes - pass - 1) as f64;
    let fixed = |cases: &[Workload]| cases.iter().map(|case| plan.case_seconds(case, 0.0)).sum::<f64>();
    if pass > 0 && left <= plan.case_seconds(&rest[0], 0.0) {
        return None;
    }
    // What is left is shared among the runs to come, after what they cost at the least.
    let runs_left = rest.len() as f64 + passes_left * plan.cases.len() as f64;
    let spare = left - fixed(rest) - passes_left * fixed(&plan.cases);
    const SECONDS_MIN: f64 = 0.01;
    Some((spare / runs_left).clamp(SECONDS_MIN, plan.thoroughness.seconds))
}

fn sum_up(plan: &Plan, runs: &Runs<Measurement>, level: String) -> Report {
    let mut results = Results::default();
    for workload in &plan.cases {
        let case = workload.case();
        let of_case: Vec<Measurement> =
            runs.get(&case).map(|passes| passes.values().cloned().collect()).unwrap_or_default();
        if let Some(result) = CaseResult::new(workload, &of_case) {
            results.0.insert(case, result);
        }
    }
    let judged = claims::judge(&published::claims(), &results, processors_online());
    Report {
        version: REPORT_VERSION,
        program: format!("cryptand {}", env!("CARGO_PKG_VERSION")),
        made_unix_s: unix_seconds(),
        machine: Machine::this(),
        level,
        thoroughness: plan.thoroughness,
        load_before: 0.0,
        seconds: 0.0,
        results,
        left_out: Vec::new(),
        judged,
        container: None,
        queues: Outcomes::default(),
        openpgp: tables::Outcomes::default(),
    }
}

impl Report {
    /// Takes in what was compared with a container, in place of what it had of that.
    pub fn take_container(&mut self, compared: Compared) {
        let judged = container::judge(&published::claims(), &compared);
        self.judged.retain(|old| judged.iter().all(|new| new.id != old.id));
        self.judged.extend(judged);
        self.container = Some(compared);
    }

    /// Takes in what the experiments on queues and tenants gave, and holds the published statements against it.
    pub fn take_queues(&mut self, queues: Outcomes, left_out: Vec<LeftOut>, seconds: f64) {
        self.judged.extend(tenancy::judge(&published::claims(), &queues));
        self.queues = queues;
        self.left_out.extend(left_out);
        self.seconds += seconds;
    }

    /// Takes in what OpenPGP files gave, and holds the published statements against it.
    pub fn take_openpgp(&mut self, openpgp: tables::Outcomes, left_out: Vec<LeftOut>, seconds: f64) {
        self.judged.extend(tables::judge(&published::claims(), &openpgp, processors_online()));
        self.openpgp = openpgp;
        self.left_out.extend(left_out);
        self.seconds += seconds;
    }

    /// Writes page, CSV and JSON into a folder.
    ///
    /// # Errors
    /// [`LabError::Io`].
    pub fn write(&self, folder: &Path) -> Result<Files, LabError> {
        let files = Files {
            html: folder.join("report.html"),
            csv: folder.join("report.csv"),
            json: folder.join("report.json"),
        };
        let rows = published::measurements();
        let json = serde_json::to_string_pretty(self)
            .map_err(|error| LabError::Io { what: "write the report as JSON", cause: error.into() })?;
        for (path, text) in [
            (&files.html, html::page(self, &rows)),
            (&files.csv, csv::rows(self, &rows)),
            (&files.json, json),
        ] {
            fs::write(path, text).map_err(LabError::io("write the files of the report"))?;
        }
        Ok(files)
    }

    /// Reads the JSON of a report: the file, or the folder that holds it.
    ///
    /// # Errors
    /// [`LabError::Io`], also for another version.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        let path = if path.is_dir() { path.join("report.json") } else { path.to_owned() };
        let unfit = |cause: &dyn std::fmt::Display| {
            let cause = std::io::Error::other(format!("{}: {cause}", path.display()));
            LabError::Io { what: "read a report", cause }
        };
        let text = fs::read_to_string(&path).map_err(|error| unfit(&error))?;
        let report: Self = serde_json::from_str(&text).map_err(|error| unfit(&error))?;
        if report.version != REPORT_VERSION {
            let version = report.version;
            return Err(unfit(&format!("it is of version {version}, this program reads {REPORT_VERSION}")));
        }
        Ok(report)
    }
}

#[cfg(test)]
pub(crate) mod tests;

//! One PIN translation at a time, through the facility and through the Python package; two cards beside one.

use super::packages::{Process, found, hex};
use super::rates::workload;
use super::{Effort, JOBS};
use crate::cards::{bound, own};
use crate::experiment::promise::{Measure, Promise};
use crate::kit::statistics::interleaved;
use crate::load::operation::{Operation, Payment};
use crate::load::target::{Needs, Target};
use crate::load::{Interface, LabError, Workload};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use tempfile::TempDir;
use wire::verb::encrypted_pin_translate::{
    INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER, OUTPUT_PIN_ENCRYPTING_KEY_IDENTIFIER,
};

/// Names of the rows.
pub(super) const ALONE_RUST: &str = "one PIN translate alone, the facility";
pub(super) const ALONE_PYTHON: &str = "one PIN translate alone, the Python package";
pub(super) const TWO_CARDS: &str = "PIN translate on two cards, for each second of their processors";

const TRANSLATE: Operation = Operation::Payment(Payment::PinTranslate);
const MEDIAN: &str = "ns, median";
/// Nanoseconds that one translation takes at most, from call to answer.
const RUST_NS: f64 = 4_000.0;
const PYTHON_NS: f64 = 8_000.0;
/// Least share of one card's rate, by processor time, that two cards must reach.
const SHARE: f64 = 0.95;

/// One request at a time: by calls of the facility, and of the Python package, in turn.
///
/// # Errors
/// [`LabError`] where the card fails or answers wrongly.
pub(super) fn one(target: &mut Target, effort: Effort<'_>) -> Result<Vec<Measure>, LabError> {
    let alone = Workload { jobs: 1, interface: Interface::Facility, ..workload(TRANSLATE, effort.seconds) };
    let mut python = Python::start(target, &alone);
    let (mut rust_ns, mut python_ns) = (Vec::new(), Vec::new());
    for _ in 0..effort.rounds {
        effort.go_on()?;
        rust_ns.push(bound(own(0), || target.run(&alone))?.p50_ns as f64);
        effort.go_on()?;
        let asked = python.and_then(|mut python| Ok((python.median_ns(effort.seconds)?, python)));
        python = asked.map(|(nanoseconds, python)| {
            python_ns.push(nanoseconds);
            python
        });
    }
    let hoped = |case: &str, runs: &[f64], nanoseconds| Measure {
        stretch: Some(nanoseconds),
        ..Measure::alone(case, MEDIAN, runs, None)
    };
    let rust = hoped(ALONE_RUST, &rust_ns, RUST_NS);
    let python = match python {
        Ok(_) => hoped(ALONE_PYTHON, &python_ns, PYTHON_NS),
        Err(LabError::Interrupted) => return Err(LabError::Interrupted),
        // A promise that could not be measured counts as not kept.
        Err(why) => {
            let case = format!("{ALONE_PYTHON}: not measured");
            Measure::alone(&case, "-", &[0.0], Some(Promise::Above(0.0))).bounded_by(why.to_string())
        }
    };
    Ok(vec![rust, python])
}

/// The Python package in a process of its own, which makes the calls of the facility's request.
struct Python {
    process: Process,
    line: String,
    _package: TempDir,
}

impl Python {
    fn start(target: &mut Target, alone: &Workload) -> Result<Self, LabError> {
        let missing = |what: &str| LabError::Program(format!("{what} is missing: `make bench` makes it"));
        let python = found("payments/bin/python3")
            .ok_or_else(|| missing("the environment of packages (target/payments)"))?;
        let wheel = wheel().ok_or_else(|| missing("the wheel of the package (target/cryptand-*.whl)"))?;
        let package =
            TempDir::with_prefix("cryptand-lab-").map_err(LabError::io("make a temporary folder"))?;
        unpack(&python, &wheel, package.path())?;
        let request = target.request(alone)?;
        let case = request.case().ok_or_else(|| LabError::Program("a request without a case".to_owned()))?;
        let tokens = [INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER, OUTPUT_PIN_ENCRYPTING_KEY_IDENTIFIER];
        let [inbound, outbound] = tokens.map(|position| hex(request.given(position)));
        let (block, pan) = (hex(&case.given[2]), hex(&case.given[3]));
        let line = format!("{inbound} {outbound} {block} {pan} {}", hex(&case.answer));
        let home = target.folder().ok_or(crate::load::Refusal::NoHome)?;
        let variables = [("PYTHONPATH", package.path()), ("CRYPTAND_HOME", home)];
        // On the caller's processor, like the facility's calls.
        let process = bound(own(0), || Process::python(&variables))?;
        let process = process.ok_or_else(|| missing("Python"))?;
        Ok(Self { process, line, _package: package })
    }

    fn median_ns(&mut self, seconds: f64) -> Result<f64, LabError> {
        let said = self.process.ask(&format!("alone {seconds} {}", self.line))?;
        said.parse().map_err(|_| LabError::Program(format!("the package says {said:?} in place of a time")))
    }
}

/// The wheel that `make build` made; none without one.
fn wheel() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let wheels = own.ancestors().skip(1).take(4).filter_map(|folder| folder.read_dir().ok()).flatten();
    let paths = wheels.flatten().map(|entry| entry.path());
    paths.into_iter().find(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("cryptand-") && name.ends_with(".whl")
    })
}

fn unpack(python: &Path, wheel: &Path, into: &Path) -> Result<(), LabError> {
    let mut command = Command::new(python);
    command.args(["-m", "zipfile", "-e"]).arg(wheel).arg(into).stdin(Stdio::null());
    let output = command.output().map_err(LabError::io("unpack the Python package"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(LabError::Program(format!("{} does not unpack: {}", wheel.display(), said.trim())))
}

/// The requests of two cards for each second of their processor time, beside one card.
///
/// # Errors
/// [`LabError`] where a card fails or answers wrongly.
pub(super) fn two_cards(effort: Effort<'_>) -> Result<Measure, LabError> {
    let needs = Needs { coprocessors: 2, ..Needs::default() };
    let target = std::cell::RefCell::new(Target::throwaway(&needs, Arc::clone(effort.stop))?);
    let rate = |cards: usize| {
        effort.go_on()?;
        let workload = Workload { cards, jobs: cards * JOBS, ..workload(TRANSLATE, effort.seconds) };
        let run = target.borrow_mut().run(&workload)?;
        let seconds = run.processor_s.cards;
        Ok::<f64, LabError>(if seconds > 0.0 { run.operations as f64 / seconds } else { 0.0 })
    };
    let compared = interleaved(effort.rounds, || rate(2), || rate(1))?;
    let peer = format!("one card, {JOBS} outstanding as on each of the two");
    let promise = Some(Promise::RatioAtLeast(SHARE));
    Ok(Measure::compared(TWO_CARDS, "ops/processor s", &peer, compared, promise))
}

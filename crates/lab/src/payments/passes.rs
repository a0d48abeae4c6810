//! The steps of a request's time: those of a batch in process, and the rest of a card's processor time.

use super::Effort;
use super::packages::found;
use crate::cards::{bound, own};
use crate::experiment::promise::{Measure, Other};
use crate::kit::statistics::median;
use crate::load::LabError;
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

/// The words that `--filter` finds these rows by.
pub(super) const GROUP: &str = "time per pass";
/// Unit of these rows.
pub(crate) const UNIT: &str = "ns a request";
/// Name of the time of a request alone, in a row.
pub(crate) const ALONE: &str = "alone";
/// Path of the program that runs the verbs in process, within cargo's build folder.
const PROGRAM: &str = "examples/pin_passes";
/// Requests of the batch that the figures describe.
const BATCH: usize = super::JOBS;

/// The cards' processor time while operations were measured: seconds and requests by operation.
#[derive(Default)]
pub(super) struct Taken(BTreeMap<String, (f64, u64)>);

impl Taken {
    pub fn note(&mut self, operation: &str, seconds: f64, requests: u64) {
        let (all_seconds, all_requests) = self.0.entry(operation.to_owned()).or_default();
        *all_seconds += seconds;
        *all_requests += requests;
    }

    /// Processor nanoseconds of a request of an operation; none if it was not measured.
    fn of(&self, operation: &str) -> Option<f64> {
        let (seconds, requests) = self.0.get(operation)?;
        (*requests > 0).then(|| seconds * 1e9 / *requests as f64)
    }
}

/// A line of the program: round, operation, requests of a batch, step, nanoseconds a request.
type Line = (usize, String, usize, String, f64);

/// Measures the steps of the operations that the program has.
///
/// # Errors
/// [`LabError::Program`] where it is there and fails.
pub(super) fn run(effort: Effort<'_>, taken: &Taken) -> Result<Vec<Measure>, LabError> {
    let Some(program) = found(PROGRAM) else {
        let how = "`cargo build --release -p cca --example pin_passes` builds what measures it";
        return Ok(vec![Measure::alone("not measured", UNIT, &[0.0], None).bounded_by(how)]);
    };
    effort.go_on()?;
    let mut command = Command::new(program);
    command.args([effort.rounds.to_string(), effort.seconds.to_string()]).stdin(Stdio::null());
    let output = bound(own(1), || command.output()).map_err(LabError::io("run the verbs in process"))?;
    if !output.status.success() {
        effort.go_on()?;
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(LabError::Program(format!("{PROGRAM}: {}", said.trim())));
    }
    let reader = csv::ReaderBuilder::new().has_headers(false).from_reader(&output.stdout[..]);
    let lines: Result<Vec<Line>, _> = reader.into_deserialize().collect();
    Ok(rows(&lines.map_err(LabError::io("read what steps take"))?, taken))
}

/// The rows of each operation: its steps, their sum, and the rest.
fn rows(lines: &[Line], taken: &Taken) -> Vec<Measure> {
    let mut operations: Vec<&str> = Vec::new();
    for (_, operation, ..) in lines {
        if !operations.contains(&operation.as_str()) {
            operations.push(operation);
        }
    }
    operations.into_iter().flat_map(|operation| rows_of(operation, lines, taken)).collect()
}

fn rows_of(operation: &str, lines: &[Line], taken: &Taken) -> Vec<Measure> {
    // Nanoseconds of each step, round by round, in batches of `batch` requests.
    let steps = |batch: usize| {
        let mut steps: Vec<(&str, Vec<f64>)> = Vec::new();
        for (_, of, requests, step, nanoseconds) in lines {
            if of != operation || *requests != batch {
                continue;
            }
            match steps.iter_mut().find(|(name, _)| name == step) {
                Some((_, runs)) => runs.push(*nanoseconds),
                None => steps.push((step, vec![*nanoseconds])),
            }
        }
        steps
    };
    let sums = |steps: &[(&str, Vec<f64>)]| -> Vec<f64> {
        let rounds = steps.first().map_or(0, |(_, runs)| runs.len());
        (0..rounds).map(|round| steps.iter().filter_map(|(_, runs)| runs.get(round)).sum()).collect()
    };
    let (many, one) = (steps(BATCH), steps(1));
    let (all, all_alone) = (sums(&many), sums(&one));
    let row = |step: &str, runs: &[f64], alone: &[f64]| {
        let measure = Measure::alone(&format!("{operation}: {step}"), UNIT, runs, None);
        let alone = Other { name: ALONE.to_owned(), value: median(alone), ..Other::default() };
        Measure { others: vec![alone], ..measure.beside("all steps", median(&all)) }
    };
    let mut out: Vec<Measure> = many
        .iter()
        .map(|(step, runs)| {
            let alone = one.iter().find(|(name, _)| name == step).map_or(&[][..], |(_, runs)| runs);
            row(step, runs, alone)
        })
        .collect();
    let largest = out.iter().max_by(|a, b| a.ours.total_cmp(&b.ours));
    let bound = largest.map_or(String::new(), |row| {
        let (_, step) = row.case.split_once(": ").unwrap_or_default();
        format!("most of it: {step}, {:.0} %", 100.0 * row.ratio.unwrap_or(0.0))
    });
    out.push(row("all steps", &all, &all_alone).bounded_by(bound));
    if let Some(of_card) = taken.of(operation) {
        let beyond = of_card - median(&all);
        let measure = Measure::alone(&format!("{operation}: beyond them, on a card"), UNIT, &[beyond], None);
        let share = 100.0 * beyond / of_card;
        let bound =
            format!("{share:.0} % of the {of_card:.0} ns that the card's processor takes for a request");
        out.push(measure.beside("all steps", median(&all)).bounded_by(bound));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_add_up_and_the_largest_bounds() {
        let line = |round, requests, step: &str, nanoseconds| {
            (round, "pin-translate".to_owned(), requests, step.to_owned(), nanoseconds)
        };
        let lines = [
            line(0, 64, "read", 100.0),
            line(0, 64, "keys, unwrapped", 300.0),
            line(0, 1, "read", 50.0),
            line(1, 64, "read", 200.0),
            line(1, 64, "keys, unwrapped", 500.0),
            line(1, 1, "read", 70.0),
        ];
        let mut taken = Taken::default();
        taken.note("pin-translate", 0.5e-3, 500);
        taken.note("pin-translate", 1.5e-3, 500);
        let [read, keys, all, beyond] = rows(&lines, &taken).try_into().unwrap();
        assert_eq!((read.ours, read.others[0].value), (150.0, 60.0));
        assert_eq!((keys.ours, keys.ratio, keys.others[0].value), (400.0, Some(400.0 / 550.0), 0.0));
        assert_eq!((all.ours, all.spread), (550.0, Some((400.0, 700.0))));
        assert_eq!(all.bound, "most of it: keys, unwrapped, 73 %");
        assert_eq!(beyond.ours, 1450.0);
        assert!(beyond.bound.starts_with("72 % of the 2000 ns"), "{}", beyond.bound);
        assert_eq!(rows(&lines, &Taken::default()).len(), 3);
    }
}

//! Queues: rates and times of cards that are full, shared, limited, unequal or called by a single job.
//!
//! Each group of rows makes its own throw-away home. Sides run in turn, round by round, with the order turned
//! over each time; every answer is looked at by the loops of [`crate::load`]. The load is RSA-2048 with
//! clear keys where nothing else is said.

mod full;
mod groups;
pub(crate) mod growth;
mod hostile;
mod jobs;
mod labels;
mod loops;
mod poll;
pub(crate) mod scale;
mod tenants;
mod unequal;

pub(crate) use full::isolated_case;
pub(crate) use groups::Groups;

use crate::experiment::promise::{Measure, Options, Part, Promise};
use crate::kit::machine::processors_online;
use crate::kit::statistics::{Summary, compare};
use crate::load::operation::{Operation, RsaForm};
use crate::load::target::{Needs, Target};
use crate::load::{LabError, Load, LoadOutcome, Workload};
use facility::{Facility, Selection};
use home::Settings;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wire::control::{Personality, PollMode};

/// The load of most rows.
const RSA: Operation = Operation::Rsa { bits: 2048, form: RsaForm::Crt };
/// A side of a queue row works this many times as long as a side of an engine row: its threads must meet first.
const LONGER: f64 = 5.0;

/// Rounds and seconds with which rows are measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Rounds of each side.
    pub rounds: usize,
    /// Seconds that each side works in a round.
    pub seconds: f64,
}

impl Effort {
    pub(crate) fn of(options: &Options) -> Self {
        Self { rounds: options.rounds, seconds: options.seconds * LONGER }
    }

    /// At most `rounds` rounds, for rows of many cases.
    fn at_most(self, rounds: usize) -> Self {
        Self { rounds: self.rounds.min(rounds), ..self }
    }

    /// Longer rounds, for rates that are compared to a few parts in a hundred: the requests in flight at the end, and
    /// the order of the start, must weigh less than that.
    fn longer(self) -> Self {
        Self { seconds: self.seconds * LONGER, ..self }
    }

    fn work(&self, operation: Operation, jobs: usize) -> Workload {
        Workload { jobs, seconds: self.seconds, ..Workload::of(operation) }
    }
}

/// A function that measures the rows of a group.
type Group = fn(Effort, &Arc<AtomicBool>) -> Result<Vec<Measure>, LabError>;

/// The groups, each with the words that `--filter` finds it by.
const GROUPS: [(&str, Group); 13] = [
    ("full cards: 12 cards, 96 jobs", full::cards),
    ("isolated on cards beside OpenSSL in process", full::isolated),
    ("job counts through the facility", jobs::counts),
    ("lonely secure key", jobs::lonely),
    ("event loop: fill of passes", loops::fill),
    ("event loop: empty verbs", loops::empty),
    ("event loop: one after another", loops::lonely),
    ("first request of a new process", loops::first),
    ("poll modes", poll::modes),
    ("fairness among tenants", tenants::fairness),
    ("limits of tenants", tenants::limits),
    ("hostile neighbours", hostile::neighbours),
    ("unequal timed cards", unequal::cards),
];

/// Runs the groups that the filter wants; `progress` is told what comes next.
///
/// # Errors
/// [`LabError`] of the first group that fails.
pub fn run(
    options: &Options,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>, LabError> {
    of_groups(&GROUPS, Part::Queues, Effort::of(options), options, stop, progress)
}

/// Runs those of these groups that the filter wants, as rows of a part.
fn of_groups(
    groups: &[(&str, Group)],
    part: Part,
    effort: Effort,
    options: &Options,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>, LabError> {
    let mut rows = Vec::new();
    for (name, group) in groups.iter().filter(|(name, _)| options.wants(name)) {
        progress(name);
        rows.extend(group(effort, stop)?);
    }
    rows.iter_mut().for_each(|row| row.part = part);
    Ok(rows)
}

/// Opens the home as a program whose clear-key requests go to cards.
fn on_cards(target: &Target, poll: PollMode) -> Result<Facility, LabError> {
    target.open_again(facility::Options { poll, ..cards_only() })
}

/// Options of a program whose clear-key requests go to cards.
fn cards_only() -> facility::Options {
    facility::Options { in_caller: false, ..facility::Options::default() }
}

/// A home of its own with changed settings, opened as a program whose clear-key requests go to cards.
fn home_of(
    needs: &Needs,
    stop: &Arc<AtomicBool>,
    change: impl FnOnce(&mut Settings),
) -> Result<(Target, Facility), LabError> {
    let change = |_: &Path, settings: &mut Settings| {
        change(settings);
        Ok(())
    };
    let target = Target::throwaway_with(needs, Arc::clone(stop), change)?;
    let facility = target.open_again(cards_only())?;
    Ok((target, facility))
}

/// Opens the home as a program with default options.
fn as_it_comes(target: &Target) -> Result<Facility, LabError> {
    target.open_again(facility::Options::default())
}

/// The selection of accelerators only.
fn accelerators() -> Selection {
    Selection::personality(Personality::Accelerator)
}

/// Indices of the ready cards of a personality.
fn indices(target: &Target, personality: Personality) -> Result<Vec<u32>, LabError> {
    let rows = target.status()?.cards;
    let ready = rows.iter().filter(|row| row.personality == personality && row.state.serves());
    Ok(ready.map(|row| row.index).collect())
}

/// Runs one load.
fn one(target: &mut Target, facility: &Facility, workload: &Workload) -> Result<LoadOutcome, LabError> {
    let mut together = target.together(&[Load::of(facility, workload)])?;
    let mut outcome = together.each.pop().unwrap_or_else(LoadOutcome::new);
    outcome.cards_s = together.cards_s;
    Ok(outcome)
}

/// Number of threads that carry these jobs on this machine.
fn threads(jobs: usize) -> usize {
    jobs.min(processors_online())
}

/// A row of two sides that ran in turn; `rounds` has the figures of both sides.
fn of_rounds(case: &str, unit: &str, peer: &str, rounds: &[(f64, f64)], promise: Promise) -> Measure {
    let (ours, theirs): (Vec<f64>, Vec<f64>) = rounds.iter().copied().unzip();
    Measure::compared(case, unit, peer, compare(&ours, &theirs), Some(promise))
}

/// Runs both sides in each round, the second first in every other one.
fn in_turn<T: Copy>(
    rounds: usize,
    mut side: impl FnMut(bool) -> Result<T, LabError>,
) -> Result<Vec<(T, T)>, LabError> {
    (0..rounds.max(1))
        .map(|round| {
            let first = round % 2 == 0;
            let (a, b) = (side(first)?, side(!first)?);
            Ok(if first { (a, b) } else { (b, a) })
        })
        .collect()
}

/// The largest value less the smallest, in percent of the median.
fn spread_percent(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let summary = Summary::of(values);
    summary.filter(|_| mean > 0.0).map_or(f64::NAN, |summary| 100.0 * (summary.max - summary.min) / mean)
}

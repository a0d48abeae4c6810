//! One process with more threads, tickets, cards and keys than one: what each further one gives, and what it costs. How
//! rates grow with them is measured in [`growth`].

use super::labels::labels;
use super::{Effort, Group, growth, home_of, in_turn, of_groups, one};
use crate::experiment::promise::{Measure, Options, Part, Promise};
use crate::kit::machine::processors_online;
use crate::kit::statistics::compare;
use crate::load::operation::{Mac, Operation};
use crate::load::target::{Needs, Target};
use crate::load::{Interface, LabError, LoadOutcome, Workload};
use facility::{Facility, Selection};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wire::verb::Verb;

/// Requests that a thread keeps in flight on each card.
const JOBS: usize = 64;
/// Cards that tickets are spread over.
const CARDS: usize = 8;
/// Rounds at most.
const ROUNDS_MAX: usize = 5;

/// The loads: a name, and the operation.
const LOADS: [(&str, Operation); 2] = [
    ("empty verbs", Operation::Verb { verb: Verb::Null, key: None }),
    ("X9.19 of 64 bytes", Operation::Mac(Mac::X919)),
];

/// The groups, each with the words that `--filter` finds it by.
const GROUPS: [(&str, Group); 3] =
    [("threads of one process", threads), ("tickets over cards", tickets), ("keys under labels", labels)];

/// Rounds and seconds with which the rows are measured.
pub(crate) fn effort(options: &Options) -> Effort {
    Effort::of(options).at_most(ROUNDS_MAX)
}

/// Runs the groups that the filter wants; `progress` is told what comes next.
///
/// # Errors
/// [`LabError`] of the first group that fails.
pub(crate) fn run(
    options: &Options,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>, LabError> {
    let effort = effort(options);
    let mut rows = of_groups(&GROUPS, Part::Scale, effort, options, stop, progress)?;
    let grown = growth::run(effort, options, stop, progress)?;
    rows.extend(grown.into_iter().map(|row| Measure { part: Part::Scale, ..row }));
    Ok(rows)
}

fn work(effort: Effort, operation: Operation, threads: usize, jobs: usize) -> Workload {
    let bytes = if matches!(operation, Operation::Mac(_)) { 64 } else { 0 };
    Workload { bytes, processors: threads, interface: Interface::Card, ..effort.work(operation, jobs) }
}

fn home(coprocessors: usize, stop: &Arc<AtomicBool>) -> Result<(Target, Facility), LabError> {
    home_of(&Needs { coprocessors, ..Needs::default() }, stop, |_| ())
}

/// The first `count` cards, which are all coprocessors here.
pub(super) fn first_cards(facility: &Facility, count: usize) -> Facility {
    facility.with_selection(Selection { cards: Some((1 << count) - 1), ..Selection::default() })
}

/// As many requests in flight by eight threads as by two, on two cards.
fn threads(effort: Effort, stop: &Arc<AtomicBool>) -> Result<Vec<Measure>, LabError> {
    const FEW: usize = 2;
    const MANY: usize = 8;
    let (mut target, facility) = home(2, stop)?;
    let mut rows = Vec::new();
    for (name, operation) in LOADS {
        let rounds = in_turn(effort.rounds, |is_many| {
            let threads = if is_many { MANY } else { FEW };
            let work = work(effort, operation, threads, 2 * JOBS);
            Ok(one(&mut target, &facility, &work)?.ops_per_s)
        })?;
        let (many, few): (Vec<f64>, Vec<f64>) = rounds.into_iter().unzip();
        let case = format!("{name}, one process, 2 cards, {} in flight: {MANY} threads", 2 * JOBS);
        let promise = Some(Promise::RatioAtLeast(0.95));
        let row = Measure::compared(&case, "ops/s", &format!("{FEW} threads"), compare(&many, &few), promise);
        rows.push(row.bounded_by(format!("switches between threads of {} processors", processors_online())));
    }
    Ok(rows)
}

/// One thread with 64 tickets on each of eight cards, beside 64 on one: what an answer costs the caller.
fn tickets(effort: Effort, stop: &Arc<AtomicBool>) -> Result<Vec<Measure>, LabError> {
    let (mut target, facility) = home(CARDS, stop)?;
    let mut rows = Vec::new();
    for (name, operation) in LOADS {
        let rounds = in_turn(effort.rounds, |is_many| {
            let cards = if is_many { CARDS } else { 1 };
            let work = work(effort, operation, 1, cards * JOBS);
            Ok(per_caller_second(&one(&mut target, &first_cards(&facility, cards), &work)?))
        })?;
        let (many, few): (Vec<f64>, Vec<f64>) = rounds.into_iter().unzip();
        let case =
            format!("{name}, one thread, {} tickets over {CARDS} cards, per caller second", CARDS * JOBS);
        let peer = format!("{JOBS} over one card");
        let promise = Some(Promise::RatioAtLeast(0.9));
        let row = Measure::compared(&case, "ops/s", &peer, compare(&many, &few), promise);
        rows.push(row.bounded_by("lines of each request that come from the processor of its card; caches"));
    }
    Ok(rows)
}

/// Answers for each second of the calling threads' processor time.
fn per_caller_second(outcome: &LoadOutcome) -> f64 {
    if outcome.caller_s > 0.0 { outcome.operations as f64 / outcome.caller_s } else { 0.0 }
}

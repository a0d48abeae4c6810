//! One event loop: how full it keeps the passes of a card, empty verbs, and the first request of a new process.

use super::groups::Groups;
use super::{Effort, RSA, accelerators, compare, full, in_turn, indices, on_cards, one};
use crate::cards::{bound, own};
use crate::experiment::promise::{Measure, Promise};
use crate::load::LabError;
use crate::load::helper;
use crate::load::operation::Operation;
use crate::load::target::{Needs, Target};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wire::control::{CardRow, Personality, PollMode};
use wire::verb::Verb;

const JOBS: usize = 64;
/// Processes whose first request is timed.
const PROCESSES: usize = 11;

/// 64 RSA-2048 operations in flight from one loop: loop and card on one processor, on one each, and on one in
/// scheduling groups of unequal weight.
pub(super) fn fill(effort: Effort, stop: &Arc<AtomicBool>) -> Result<Vec<Measure>, LabError> {
    let places = [
        ("on one processor", own(0), None),
        ("on two processors", own(1), None),
        ("on one processor, weights 1:3", own(0), Some((1, 3))),
        ("on one processor, weights 3:1", own(0), Some((3, 1))),
    ];
    let mut rows = Vec::new();
    for (where_, card_on, weights) in places {
        let needs = Needs { accelerators: 1, processor: card_on, ..Needs::default() };
        let mut target = Target::throwaway(&needs, Arc::clone(stop))?;
        let facility = on_cards(&target, PollMode::Adaptive)?.with_selection(accelerators());
        let cards = indices(&target, Personality::Accelerator)?;
        let process = |row: &CardRow| (row.personality == Personality::Accelerator).then_some(row.pid);
        let process = target.status()?.cards.iter().find_map(process);
        let work = effort.work(RSA, JOBS);
        let mut measure = || -> Result<(Vec<f64>, String), LabError> {
            let groups = weights.zip(process).map(|(weights, process)| Groups::of(weights, process));
            let groups = groups.transpose()?;
            let fills = (0..effort.rounds).map(|_| {
                let before = full::taken(&facility, &cards)?;
                target.looped(&facility, &work, true)?;
                let after = full::taken(&facility, &cards)?;
                Ok((after.0 - before.0) / (after.1 - before.1))
            });
            let means = groups.as_ref().map_or(String::new(), |groups| format!(" ({})", groups.means));
            Ok((fills.collect::<Result<_, LabError>>()?, means))
        };
        // In a thread of its own, which ends with the nice values that its group leaves behind.
        let measured = std::thread::scope(|scope| scope.spawn(|| bound(own(0), &mut measure)).join());
        let (fills, means) = measured.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let case = format!("event loop, {JOBS} RSA-2048 in flight, loop and card {where_}: mean fill");
        let row = Measure::alone(&case, "of 8", &fills, Some(Promise::AtLeast(6.0)));
        let bound = format!("who has the processor when the loop has handed over a round{means}");
        rows.push(row.bounded_by(bound));
    }
    Ok(rows)
}

/// Empty verbs through one card, caller and card a processor each: kept in flight by a loop, and by tickets.
pub(super) fn empty(effort: Effort, stop: &Arc<AtomicBool>) -> Result<Vec<Measure>, LabError> {
    let mut target = Target::throwaway(&Needs { processor: own(1), ..Needs::default() }, Arc::clone(stop))?;
    let facility = on_cards(&target, PollMode::Adaptive)?;
    let work = effort.work(Operation::Verb { verb: Verb::Null, key: None }, JOBS);
    let rounds = in_turn(effort.rounds, |looped| {
        bound(own(0), || {
            Ok(match looped {
                true => target.looped(&facility, &work, true)?.ops_per_s,
                false => one(&mut target, &facility, &work)?.ops_per_s,
            })
        })
    })?;
    let (looped, tickets): (Vec<f64>, Vec<f64>) = rounds.into_iter().unzip();
    let case = format!("empty verbs through one card, {JOBS} jobs");
    let row = Measure::alone(&format!("{case}, event loop"), "ops/s", &looped, None);
    let row = Measure { stretch: Some(2.5e6), ..row };
    let row = row.beside("the same by tickets", crate::kit::statistics::median(&tickets));
    Ok(vec![
        row.bounded_by("lines that go to and fro between two processors, and the card's time for a request"),
    ])
}

/// One empty verb after another through one card, caller and card a processor each: by a loop that never sleeps, and
/// by calls that wait. What the loop takes longer is what the steps of a request cost beside a call.
pub(super) fn lonely(effort: Effort, stop: &Arc<AtomicBool>) -> Result<Vec<Measure>, LabError> {
    let mut target = Target::throwaway(&Needs { processor: own(1), ..Needs::default() }, Arc::clone(stop))?;
    let facility = on_cards(&target, PollMode::Adaptive)?;
    let work = effort.work(Operation::Verb { verb: Verb::Null, key: None }, 1);
    let rounds = in_turn(effort.rounds, |looped| {
        bound(own(0), || {
            let outcome = match looped {
                true => target.looped(&facility, &work, false)?,
                false => one(&mut target, &facility, &work)?,
            };
            Ok(1e9 / outcome.ops_per_s)
        })
    })?;
    let (looped, calls): (Vec<f64>, Vec<f64>) = rounds.into_iter().unzip();
    let case = "empty verbs through one card, 1 job, event loop that never sleeps";
    let row = Measure::compared(case, "ns", "the same by calls", compare(&looped, &calls), None);
    Ok(vec![row.bounded_by("hand-overs between two processors; the steps of a request between looks")])
}

/// From the start of a program's own code to the answer of its first request: greeting, attach and call.
pub(super) fn first(_: Effort, stop: &Arc<AtomicBool>) -> Result<Vec<Measure>, LabError> {
    let target = Target::throwaway(&Needs::default(), Arc::clone(stop))?;
    let folder = target.folder().ok_or(crate::load::Refusal::NoHome)?;
    let times = (0..PROCESSES).map(|_| helper::first_request(folder)).collect::<Result<Vec<f64>, _>>()?;
    let case = "first request of a new process, attach included";
    let row = Measure::alone(case, "us", &times, Some(Promise::Below(1000.0)));
    Ok(vec![row.bounded_by("messages to daemon and card, mapping the queue, waking up")])
}

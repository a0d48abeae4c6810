//! One loop that keeps many requests in flight on one card: how full its passes are where both share a processor,
//! and where each has its own.

use super::full::taken;
use super::{Effort, RSA, accelerators, indices, on_cards, one};
use crate::bench::cards::{bound, own};
use crate::bench::{Measure, Promise};
use crate::target::{Needs, Target};
use crate::workload::LabError;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wire::control::{Personality, PollMode};

/// Requests in flight.
const JOBS: usize = 64;
const ROUNDS_MAX: usize = 5;
/// How often the counters are looked at until they tell of the last pass.
const LOOKS_MAX: usize = 100_000;

/// A row for each place of the card.
pub(super) fn one_loop(effort: Effort, stop: &Arc<AtomicBool>) -> Result<Vec<Measure>, LabError> {
    let effort = effort.at_most(ROUNDS_MAX);
    let mut rows = Vec::new();
    for (index, place) in [(0, "on the processor of its card"), (1, "on another processor than its card")] {
        let needs = Needs { accelerators: 1, processor: own(index), ..Needs::default() };
        let mut target = Target::throwaway(&needs, Arc::clone(stop))?;
        let facility = on_cards(&target, PollMode::Adaptive)?.with_selection(accelerators());
        let cards = indices(&target, Personality::Accelerator)?;
        let workload = effort.work(RSA, JOBS);
        let mut fills = Vec::new();
        for _ in 0..effort.rounds.max(1) {
            let before = taken(&facility, &cards)?;
            let run = bound(own(0), || one(&mut target, &facility, &workload))?;
            // Before the loop begins, each request is made once by itself, and its answer looked at.
            let expected = before.0 + run.operations as f64 + JOBS as f64;
            let mut after = taken(&facility, &cards)?;
            for _ in 0..LOOKS_MAX {
                // A pass is booked after its answers are out.
                if after.0 >= expected {
                    break;
                }
                std::thread::yield_now();
                after = taken(&facility, &cards)?;
            }
            fills.push(run.operations as f64 / (after.1 - before.1 - JOBS as f64));
        }
        let case = format!("RSA-2048, {JOBS} in flight by one loop {place}: mean fill");
        let row = Measure::alone(&case, "of 8", &fills, Some(Promise::AtLeast(6.0)));
        rows.push(row.bounded_by("how many the loop brings before the card has the processor"));
    }
    Ok(rows)
}

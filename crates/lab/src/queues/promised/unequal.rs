//! Two timed cards of which one is three times as fast: whether both are kept busy.

use super::{Effort, RSA, in_turn, indices, of_rounds, on_cards, one};
use crate::experiment::promise::{Measure, Promise};
use crate::load::LabError;
use crate::load::target::{Needs, Target};
use crate::queues::timed;
use facility::Selection;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wire::control::{Personality, PollMode};

/// Time of a request on each accelerator, in microseconds; each carries [`LANES`] side by side. Together they need a
/// sixth of what one processor can do.
const SERVICE_US: [f64; 2] = [6000.0, 2000.0];
const LANES: usize = 8;
/// Jobs: more than both cards have lanes, so an idle card means that the facility has passed it over.
const JOBS: usize = 32;
/// Rounds are this many times as long, because passes are long here.
const LONGER: f64 = 2.0;
const ROUNDS_MAX: usize = 5;

/// Both cards at once beside the sum of what each does alone.
pub(super) fn cards(effort: Effort, stop: &Arc<AtomicBool>) -> Result<Vec<Measure>, LabError> {
    let effort = Effort { seconds: effort.seconds * LONGER, ..effort.at_most(ROUNDS_MAX) };
    let needs = Needs { accelerators: SERVICE_US.len(), ..Needs::default() };
    let mut target = Target::throwaway_with(&needs, Arc::clone(stop), |folder, settings| {
        timed(&mut settings.programs, folder, &timings())
    })?;
    let cards = indices(&target, Personality::Accelerator)?;
    let facility = on_cards(&target, PollMode::Adaptive)?;
    let workload = effort.work(RSA, JOBS);
    let rounds = in_turn(effort.rounds, |together| {
        let mut rate = |cards: &[u32]| {
            let chosen = cards.iter().fold(0, |bits, card| bits | 1 << card);
            let selection = Selection { personality: Some(Personality::Accelerator), cards: Some(chosen) };
            Ok::<f64, LabError>(one(&mut target, &facility.with_selection(selection), &workload)?.ops_per_s)
        };
        if together { rate(&cards) } else { cards.iter().map(|card| rate(&[*card])).sum() }
    })?;
    let case = format!("two timed cards, 1 : 3 in speed, {JOBS} jobs");
    let row = of_rounds(&case, "ops/s", "the sum of each alone", &rounds, Promise::RatioAtLeast(0.95));
    Ok(vec![row.bounded_by("how soon routing sees that a card is behind; the last answers of a run")])
}

/// The cards' indexes follow that of the coprocessor, which has no entry and answers at once.
fn timings() -> String {
    let card = |(index, service_us): (usize, f64)| {
        format!(
            "[[card]]\nindex = {}\ndepth = {}\n[card.verbs]\nclear-rsa-private = {{ service_us = {service_us:.1}, \
             parallelism = {LANES}.0 }}\n",
            index + 1,
            2 * LANES
        )
    };
    SERVICE_US.into_iter().enumerate().map(card).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_accelerators_have_timings() {
        let timings = timings();
        assert!(timings.contains("index = 1") && timings.contains("index = 2"), "{timings}");
        assert!(
            timings.contains("service_us = 6000.0") && timings.contains("service_us = 2000.0"),
            "{timings}"
        );
    }
}

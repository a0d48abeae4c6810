//! The ways in which a card and its client wait: rate, and processor time of each way.

use super::{Effort, RSA, on_cards, one};
use crate::cards::{bound, own};
use crate::experiment::promise::{Measure, Other};
use crate::kit::statistics::{Summary, median};
use crate::load::LabError;
use crate::load::target::{Needs, Target};
use facility::Selection;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wire::control::{Personality, PollMode};

/// The tick of the originals' timer, in microseconds.
const TICK_US: u32 = 10_000;
const MODES: [PollMode; 4] =
    [PollMode::Spin, PollMode::Adaptive, PollMode::Sleep, PollMode::Every { interval_us: TICK_US }];
const ROUNDS_MAX: usize = 3;

/// Every way of the card with every way of the client: one job, each on a processor of its own.
pub(super) fn modes(effort: Effort, stop: &Arc<AtomicBool>) -> Result<Vec<Measure>, LabError> {
    let effort = effort.at_most(ROUNDS_MAX);
    let mut rows = Vec::new();
    for card in MODES {
        // No further card: one that spins would take a processor for nothing.
        let needs = Needs { poll: card, processor: own(1), ..Needs::default() };
        let mut target = Target::throwaway(&needs, Arc::clone(stop))?;
        let coprocessor = Selection::personality(Personality::Coprocessor);
        let clients: Result<Vec<_>, LabError> = MODES
            .map(|client| Ok((client, on_cards(&target, client)?.with_selection(coprocessor))))
            .into_iter()
            .collect();
        let clients = clients?;
        let mut runs = vec![Vec::new(); clients.len()];
        for _ in 0..effort.rounds {
            for ((_, facility), runs) in clients.iter().zip(&mut runs) {
                let outcome = bound(own(0), || one(&mut target, facility, &effort.work(RSA, 1)))?;
                let operations = outcome.operations.max(1) as f64;
                let us = |seconds: f64| seconds * 1e6 / operations;
                runs.push((outcome.ops_per_s, us(outcome.caller_s), us(outcome.cards_s)));
            }
        }
        rows.extend(clients.iter().zip(runs).map(|((client, _), runs)| row(card, *client, &runs)));
    }
    Ok(rows)
}

/// Rate, and processor time of caller and card for one operation in microseconds, run by run.
type Run = (f64, f64, f64);

fn row(card: PollMode, client: PollMode, runs: &[Run]) -> Measure {
    let of = |figure: fn(&Run) -> f64| runs.iter().map(figure).collect::<Vec<f64>>();
    let case = format!("RSA-2048, 1 job: card {}, client {}", name(card), name(client));
    let part = |name: &str, values: Vec<f64>| {
        let spread = Summary::of(&values).map(|summary| (summary.min, summary.max));
        Other { name: name.to_owned(), value: median(&values), spread, ..Other::default() }
    };
    let others = vec![part(CALLER, of(|run| run.1)), part(CARD, of(|run| run.2))];
    let ticks = matches!((card, client), (PollMode::Every { .. }, _) | (_, PollMode::Every { .. }));
    let bound = if ticks { "one tick of 10 ms for each request" } else { "one private operation, 200 us" };
    Measure { others, ..Measure::alone(&case, "ops/s", &of(|run| run.0), None) }.bounded_by(bound)
}

fn name(mode: PollMode) -> String {
    match mode {
        PollMode::Spin => "spin".to_owned(),
        PollMode::Adaptive => "adaptive".to_owned(),
        PollMode::Sleep => "sleep".to_owned(),
        PollMode::Every { interval_us } => format!("every {} ms", interval_us / 1000),
    }
}

/// Names of the figures beside the rate.
const CALLER: &str = "caller, us of processor time";
const CARD: &str = "card, us of processor time";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_who_used_the_processor() {
        let every = PollMode::Every { interval_us: TICK_US };
        let row = row(every, PollMode::Sleep, &[(99.0, 5.0, 230.0), (101.0, 7.0, 210.0)]);
        assert_eq!(row.case, "RSA-2048, 1 job: card every 10 ms, client sleep");
        assert_eq!((row.ours, row.spread), (100.0, Some((99.0, 101.0))));
        assert_eq!((row.others[0].value, row.others[1].value), (6.0, 220.0));
        assert!(row.is_kept() && row.bound.contains("tick"));
    }
}

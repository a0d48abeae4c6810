//! The facility as a program uses it, beside the engine with the same number of jobs; and one job whose key lives only
//! on a card.

use super::{Effort, RSA, as_it_comes, in_turn, of_rounds, on_cards, one, threads};
use crate::cards::{bound, own};
use crate::experiment::promise::{Measure, Promise};
use crate::kit::machine::processors_online;
use crate::load::operation::{Operation, RsaForm};
use crate::load::target::{Needs, Target};
use crate::load::{Interface, LabError, Workload};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wire::control::PollMode;
use wire::verb::Verb;

/// Numbers of jobs that are measured.
const COUNTS: [usize; 13] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96];
const ROUNDS_MAX: usize = 5;
/// Share of other rows' time: there are many cases.
const SHORTER: f64 = 0.5;

/// Rows of each number of jobs, and of the worst. Both sides carry the jobs with the same number of threads, one for
/// each processor; the home has as many accelerators.
pub(super) fn counts(effort: Effort, stop: &Arc<AtomicBool>) -> Result<Vec<Measure>, LabError> {
    let effort = Effort { seconds: effort.seconds * SHORTER, ..effort.at_most(ROUNDS_MAX) };
    let needs = Needs { accelerators: processors_online(), ..Needs::default() };
    let mut target = Target::throwaway(&needs, Arc::clone(stop))?;
    let facility = as_it_comes(&target)?;
    let mut rows = Vec::new();
    for jobs in COUNTS {
        let engine = Workload { processors: threads(jobs), ..effort.work(RSA, jobs) };
        let rounds = in_turn(effort.rounds, |through_facility| {
            Ok(match through_facility {
                true => one(&mut target, &facility, &engine)?.ops_per_s,
                false => target.run(&Workload { interface: Interface::Native, ..engine.clone() })?.ops_per_s,
            })
        })?;
        let peer = format!("engine, {} threads, {jobs} jobs", threads(jobs));
        let case = format!("RSA-2048 through the facility, {jobs} jobs");
        let row = of_rounds(&case, "ops/s", &peer, &rounds, Promise::RatioAtLeast(0.9));
        rows.push(Measure { promise: None, ..row });
    }
    rows.push(worst(&rows));
    Ok(rows)
}

/// The row with the smallest ratio, which carries the promise.
fn worst(rows: &[Measure]) -> Measure {
    let of = |row: &&Measure| row.ratio.unwrap_or(f64::NEG_INFINITY);
    let least = rows.iter().min_by(|a, b| of(a).total_cmp(&of(b)));
    Measure {
        case: "RSA-2048 through the facility, 1 to 96 jobs: the count that it does worst at".to_owned(),
        promise: Some(Promise::RatioAtLeast(0.9)),
        ..least.cloned().unwrap_or_default()
    }
    .bounded_by("below 8 jobs, whether a request stays with its caller; from 8 on, hand-off and switches")
}

/// One job with a key that lives only on a card: the time that the way to the card and back adds to the engine's.
pub(super) fn lonely(effort: Effort, stop: &Arc<AtomicBool>) -> Result<Vec<Measure>, LabError> {
    let mut target = Target::throwaway(&Needs { processor: own(1), ..Needs::default() }, Arc::clone(stop))?;
    let facility = on_cards(&target, PollMode::Adaptive)?;
    let sign = Operation::rsa_verb(Verb::DigitalSignatureGenerate, 2048, RsaForm::Crt);
    let rounds = in_turn(effort.rounds, |on_card| {
        bound(own(0), || {
            Ok(match on_card {
                true => {
                    let outcome = one(&mut target, &facility, &effort.work(sign, 1))?;
                    outcome.latency_ns.value_at_quantile(0.5) as f64
                }
                false => target.run(&effort.work(RSA, 1))?.p50_ns as f64,
            })
        })
    })?;
    let added: Vec<f64> = rounds.iter().map(|(card, engine)| (card - engine) / 1000.0).collect();
    let case = "RSA-2048 signature under a key that lives only on a card, 1 job: median over the engine's";
    let engine: Vec<f64> = rounds.iter().map(|(_, engine)| engine / 1000.0).collect();
    let row = Measure::alone(case, "us", &added, Some(Promise::Below(25.0)));
    let row = Measure {
        peer: "engine, the bare private operation, us".to_owned(),
        peer_value: Some(crate::kit::statistics::median(&engine)),
        ..row
    };
    Ok(vec![row.bounded_by("waking the card and the caller once each, where a pass is too long to spin for")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_count_is_what_is_judged() {
        let row = |ratio| Measure { ratio, peer: format!("{ratio:?}"), ..Measure::default() };
        let judged = worst(&[row(Some(1.1)), row(Some(0.85)), row(Some(0.95))]);
        assert_eq!((judged.ratio, judged.is_kept()), (Some(0.85), false));
        assert_eq!(judged.peer, "Some(0.85)");
        // A count without a figure makes the promise not kept.
        assert!(!worst(&[row(Some(1.1)), row(None)]).is_kept());
        assert!(!worst(&[]).is_kept());
    }
}

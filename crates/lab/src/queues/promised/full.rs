//! Cards with as many jobs as they can take, beside the engine in the process and OpenSSL in the process.

use super::{Effort, RSA, accelerators, in_turn, indices, of_rounds, on_cards, one, threads};
use crate::cards::{bound, own};
use crate::engine::plain;
use crate::experiment::promise::{Measure, Promise};
use crate::kit::machine::processors_online;
use crate::load::target::{Needs, Target};
use crate::load::{Interface, LabError, Workload, keys};
use facility::Facility;
use peers::openssl_ffi::{self, OpenSsl};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use wire::control::{Personality, PollMode};

const CARDS: usize = 12;
const JOBS: usize = 96;

/// The figures of one side of the full cards.
#[derive(Clone, Copy)]
struct Side {
    per_second: f64,
    per_processor_second: f64,
    fill: f64,
}

/// Twelve cards with eight jobs each, beside the engine with the same number of jobs.
pub(super) fn cards(effort: Effort, stop: &Arc<AtomicBool>) -> Result<Vec<Measure>, LabError> {
    let mut target = Target::throwaway(&Needs { accelerators: CARDS, ..Needs::default() }, Arc::clone(stop))?;
    let facility = on_cards(&target, PollMode::Adaptive)?.with_selection(accelerators());
    let on_cards = effort.work(RSA, JOBS);
    let in_process = Workload { processors: threads(JOBS), interface: Interface::Native, ..on_cards.clone() };
    let cards = indices(&target, Personality::Accelerator)?;
    // Each card prepares each key at its first use, and the engine's side begins with prepared keys.
    one(&mut target, &facility, &on_cards)?;
    let rounds = in_turn(effort.rounds, |cards_first| {
        if !cards_first {
            let run = target.run(&in_process)?;
            let per_processor_second = run.operations as f64 / run.processor_s.caller;
            return Ok(Side { per_second: run.ops_per_s, per_processor_second, fill: 0.0 });
        }
        let before = taken(&facility, &cards)?;
        let run = one(&mut target, &facility, &on_cards)?;
        let after = taken(&facility, &cards)?;
        Ok(Side {
            per_second: run.ops_per_s,
            per_processor_second: run.operations as f64 / run.cards_s,
            fill: (after.0 - before.0) / (after.1 - before.1),
        })
    })?;
    let of = |figure: fn(&Side) -> f64| -> Vec<(f64, f64)> {
        rounds.iter().map(|(cards, engine)| (figure(cards), figure(engine))).collect()
    };
    let fills: Vec<f64> = rounds.iter().map(|(cards, _)| cards.fill).collect();
    let name = format!("RSA-2048, {CARDS} cards, {JOBS} jobs");
    let peer = format!("engine, {} threads, {JOBS} jobs", threads(JOBS));
    let at_least = Promise::RatioAtLeast;
    Ok(vec![
        of_rounds(
            &format!("{name}: per processor second of the cards"),
            "ops/s",
            &peer,
            &of(|side| side.per_processor_second),
            at_least(0.97),
        )
        .bounded_by("copying, checks and replies of the card, sweeps that find nothing, caches shared with the caller"),
        of_rounds(&format!("{name}: wall time"), "ops/s", &peer, &of(|side| side.per_second), at_least(0.90))
            .bounded_by("the caller's time for each request, and switches between the processes of one processor"),
        Measure::alone(&format!("{name}: mean fill"), "of 8", &fills, Some(Promise::AtLeast(7.5)))
            .bounded_by("jobs that are with the caller while a pass begins"),
    ])
}

/// The name of a row of [`isolated`].
pub(crate) fn isolated_case(cards: usize, jobs: usize, processors: usize) -> String {
    let (cards, processors) = (several(cards, "card"), several(processors, "processor"));
    format!("RSA-2048 isolated on {cards}, {jobs} jobs, {processors}")
}

fn several(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Answered requests and batches of these cards so far.
pub(super) fn taken(facility: &Facility, cards: &[u32]) -> Result<(f64, f64), LabError> {
    let mut sum = (0.0, 0.0);
    for card in cards {
        let counters = facility.counters(*card).map_err(LabError::facility("read the counters of a card"))?;
        sum = (sum.0 + counters.requests as f64, sum.1 + counters.batches as f64);
    }
    Ok(sum)
}

/// RSA on cards beside OpenSSL in the process, on the same processors.
pub(super) fn isolated(effort: Effort, stop: &Arc<AtomicBool>) -> Result<Vec<Measure>, LabError> {
    let online = processors_online();
    let mut rows = Vec::new();
    let mut cases = vec![(1, 8, own(0)), (online, 8 * online, None)];
    cases.dedup_by_key(|(_, jobs, _)| *jobs);
    for (cards, jobs, processor) in cases {
        let needs = Needs { accelerators: cards, processor, ..Needs::default() };
        let mut target = Target::throwaway(&needs, Arc::clone(stop))?;
        let facility = on_cards(&target, PollMode::Adaptive)?.with_selection(accelerators());
        let workload = effort.work(RSA, jobs);
        let processors = if processor.is_some() { 1 } else { online };
        let peer = format!("OpenSSL in process, {}", several(processors, "thread"));
        let case = isolated_case(cards, jobs, processors);
        let promise = Promise::RatioAtLeast(3.0);
        let Ok(library) = openssl_ffi::openssl() else {
            let runs: Result<Vec<f64>, LabError> = (0..effort.rounds)
                .map(|_| Ok(bound(processor, || one(&mut target, &facility, &workload))?.ops_per_s))
                .collect();
            rows.push(Measure { peer, ..Measure::alone(&case, "ops/s", &runs?, Some(promise)) });
            continue;
        };
        let rounds = in_turn(effort.rounds, |on_cards| {
            bound(processor, || match on_cards {
                true => Ok(one(&mut target, &facility, &workload)?.ops_per_s),
                false => openssl_rate(library, processors, jobs, effort.seconds, stop),
            })
        })?;
        rows.push(
            of_rounds(&case, "ops/s", &peer, &rounds, promise)
                .bounded_by("the engine's own ratio to OpenSSL, less the way to the card and back"),
        );
    }
    Ok(rows)
}

/// Private operations a second of OpenSSL in threads of this process; each answer is checked.
fn openssl_rate(
    library: &'static OpenSsl,
    threads: usize,
    keys: usize,
    seconds: f64,
    stop: &AtomicBool,
) -> Result<f64, LabError> {
    let rates: Vec<Result<f64, LabError>> = std::thread::scope(|scope| {
        let run = |thread: usize| {
            let share = thread * keys / threads..(thread + 1) * keys / threads;
            scope.spawn(move || openssl_thread(library, share, seconds, stop))
        };
        let threads: Vec<_> = (0..threads).map(run).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    rates.into_iter().sum()
}

fn openssl_thread(
    library: &'static OpenSsl,
    jobs: std::ops::Range<usize>,
    seconds: f64,
    stop: &AtomicBool,
) -> Result<f64, LabError> {
    let wrong =
        |job| LabError::WrongAnswer { operation: RSA, job, what: "OpenSSL's answer does not lead back" };
    let mut sides = Vec::new();
    for job in jobs {
        let key = keys::rsa_test_key(2048, job).ok_or_else(|| wrong(job))?;
        let mut side = openssl_ffi::Rsa::new(library, &plain(&key, true)).ok_or_else(|| wrong(job))?;
        let mut input = keys::test_bytes(0x45A, job, key.n.len());
        input[0] = 0;
        let (mut answer, mut back) = (vec![0; input.len()], vec![0; input.len()]);
        side.private(&input, &mut answer);
        side.public(&answer, &mut back);
        if back != input {
            return Err(wrong(job));
        }
        sides.push((job, side, input, answer));
    }
    let mut output = vec![0; 256];
    let (begin, mut operations) = (Instant::now(), 0u64);
    while begin.elapsed().as_secs_f64() < seconds {
        for (job, side, input, answer) in &mut sides {
            side.private(input, &mut output);
            if output != *answer {
                return Err(wrong(*job));
            }
            operations += 1;
        }
        if stop.load(Ordering::Relaxed) {
            return Err(LabError::Interrupted);
        }
    }
    Ok(operations as f64 / begin.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openssl_does_what_it_is_measured_by() {
        let Ok(library) = openssl_ffi::openssl() else { return };
        let rate = openssl_rate(library, 2, 3, 0.01, &AtomicBool::new(false)).unwrap();
        assert!(rate > 0.0);
        let stopped = openssl_rate(library, 1, 1, 1e6, &AtomicBool::new(true));
        assert!(matches!(stopped, Err(LabError::Interrupted)));
    }
}

//! Clear-key calls through the facility and through cards: what the way to the engine costs.
//!
//! The two sides of a ratio run in turn, round by round. A measure without a peer states its bound
//! instead; one without either is stated for the record.

pub mod rates;

use crate::experiment::promise::{Measure, Promise};
use crate::kit::machine::processors_online;
use crate::kit::statistics::interleaved;
use crate::load::operation::{Cipher, Direction, Mac, Operation, RsaForm};
use crate::load::target::{Needs, Target};
use crate::load::{Interface, LabError, Workload, resident_bytes};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wire::control::{Personality, PollMode};
use wire::verb::Verb;

/// How long one run measures, in seconds.
pub(crate) const SECONDS: f64 = 0.5;
/// Names of the rows of an empty verb through a card, and of secure keys.
pub(crate) const EMPTY_VERB: &str = "empty verb through a card, both ends active";
pub(crate) const SECURE_MAC: &str = "X9.19 MAC 64 B under a secure key, one card, 8 jobs";
/// Runs of each side.
pub(crate) const ROUNDS: usize = 7;

/// Runs all measures; `progress` is told the name of the next one.
///
/// # Errors
/// [`LabError`] of the first measure that fails.
pub fn run(stop: &Arc<AtomicBool>, progress: &mut dyn FnMut(&str)) -> Result<Vec<Measure>, LabError> {
    let mut measures = Vec::new();
    progress("clear-key calls of 64 bytes");
    let mut native = Target::native(Arc::clone(stop))?;
    for (name, cipher) in [("AES-128-CBC", Cipher::Aes128), ("DES-CBC", Cipher::Des)] {
        measures.extend(facility_against_native(&mut native, name, cipher)?);
    }
    {
        progress("the way through a card");
        // Client and card are each bound to a processor of its own, if the machine has two: the promise is about that
        // case.
        let mut target =
            Target::throwaway(&Needs { processor: own(1), ..Needs::default() }, Arc::clone(stop))?;
        measures.push(start_to_ready(&target)?);
        measures.extend(resident(&mut target)?);
        let empty = round_trip(&mut target, EMPTY_VERB, None)?;
        measures.push(Measure { stretch: Some(1200.0), ..empty });
        measures.push(secure_mac(&mut target)?);
    }
    {
        progress("what sleeping costs");
        let needs = Needs { poll: PollMode::Sleep, processor: own(1), ..Needs::default() };
        let mut target = Target::throwaway(&needs, Arc::clone(stop))?;
        measures.push(round_trip(&mut target, "empty verb through a card, both ends sleep", None)?);
    }
    progress("RSA-2048, two cards against two threads");
    let needs = Needs { accelerators: 2, ..Needs::default() };
    let mut target = Target::throwaway(&needs, Arc::clone(stop))?;
    measures.push(rsa_cards(&mut target)?);
    Ok(measures)
}

fn timed(workload: Workload) -> Workload {
    Workload { seconds: SECONDS, ..workload }
}

fn facility_against_native(
    target: &mut Target,
    name: &str,
    cipher: Cipher,
) -> Result<Vec<Measure>, LabError> {
    const PEER: &str = "native, raw key";
    let native = timed(Workload { bytes: 64, ..Workload::of(Operation::cbc(cipher, Direction::Encipher)) });
    let facility = Workload { interface: Interface::Facility, ..native.clone() };
    let prepared = Workload { prepared: true, ..native.clone() };
    let target = std::cell::RefCell::new(target);
    let rate = |workload: &Workload| Ok::<f64, LabError>(target.borrow_mut().run(workload)?.ops_per_s);
    let compared = interleaved(ROUNDS, || rate(&facility), || rate(&native))?;
    let Some(native) = compared.as_ref().map(|compared| compared.peer.median) else { return Ok(Vec::new()) };
    let runs = (0..ROUNDS).map(|_| rate(&prepared)).collect::<Result<Vec<f64>, _>>()?;
    let (case, promise) = (format!("{name} 64 B, facility, raw key"), Promise::RatioAtLeast(0.75));
    let beside = Measure::alone(&format!("{name} 64 B, native, prepared key"), "ops/s", &runs, None);
    Ok(vec![Measure::compared(&case, "ops/s", PEER, compared, Some(promise)), beside.beside(PEER, native)])
}

fn round_trip(target: &mut Target, case: &str, promise: Option<Promise>) -> Result<Measure, LabError> {
    let null = Operation::Verb { verb: Verb::Null, key: None };
    let workload = timed(Workload { interface: Interface::Facility, ..Workload::of(null) });
    let runs: Result<Vec<f64>, _> =
        bound(own(0), || (0..ROUNDS).map(|_| target.run(&workload).map(|run| run.p50_ns as f64)).collect());
    Ok(Measure::alone(case, "ns, median", &runs?, promise))
}

/// The `index`-th processor that this process may use; none if it may use fewer than two.
pub(crate) fn own(index: usize) -> Option<u32> {
    let allowed = sched_getaffinity(None).ok()?;
    let mut processors = (0..CpuSet::MAX_CPU).filter(|processor| allowed.is_set(*processor));
    let two: Vec<usize> = processors.by_ref().take(2).collect();
    if two.len() < 2 { None } else { two.get(index).map(|processor| *processor as u32) }
}

/// Runs a closure while this thread, and threads that it starts, are bound to a processor. If the system refuses to
/// bind, the closure runs unbound, which the spread then shows.
pub(crate) fn bound<T>(processor: Option<u32>, run: impl FnOnce() -> T) -> T {
    // The number of processors is read (and kept) before the binding hides all but one.
    processors_online();
    let (Some(processor), Ok(before)) = (processor, sched_getaffinity(None)) else { return run() };
    let mut alone = CpuSet::new();
    alone.set(processor as usize);
    let _ = sched_setaffinity(None, &alone);
    let result = run();
    let _ = sched_setaffinity(None, &before);
    result
}

fn secure_mac(target: &mut Target) -> Result<Measure, LabError> {
    /// z990 5.2.1: single-DES MAC of 64 bytes on one PCIXCC, 7 jobs.
    const ORIGINAL: f64 = 1491.0;
    let workload = timed(Workload {
        bytes: 64,
        jobs: 8,
        interface: Interface::Card,
        ..Workload::of(Operation::Mac(Mac::X919))
    });
    let runs: Result<Vec<f64>, _> =
        bound(own(0), || (0..ROUNDS).map(|_| target.run(&workload).map(|run| run.ops_per_s)).collect());
    let measure = Measure { stretch: Some(300_000.0), ..Measure::alone(SECURE_MAC, "ops/s", &runs?, None) };
    Ok(measure.beside("one PCIXCC, single-DES MAC, 7 jobs (published)", ORIGINAL))
}

fn rsa_cards(target: &mut Target) -> Result<Measure, LabError> {
    const JOBS: usize = 16;
    let operation = Operation::Rsa { bits: 2048, form: RsaForm::Crt };
    let threads = timed(Workload { jobs: JOBS, processors: 2, ..Workload::of(operation) });
    let cards = Workload {
        processors: 1,
        interface: Interface::Card,
        cards: 2,
        personality: Some(Personality::Accelerator),
        ..threads.clone()
    };
    let target = std::cell::RefCell::new(target);
    let rate = |workload: &Workload| Ok::<f64, LabError>(target.borrow_mut().run(workload)?.ops_per_s);
    let compared = interleaved(ROUNDS, || rate(&cards), || rate(&threads))?;
    let (case, peer) = ("RSA-2048 CRT, clear key, two cards, 16 jobs", "two engine threads, 16 jobs");
    Ok(Measure::compared(case, "ops/s", peer, compared, Some(Promise::RatioAtLeast(0.93))))
}

fn start_to_ready(target: &Target) -> Result<Measure, LabError> {
    let status = target.status()?;
    let starts: Vec<f64> = status.cards.iter().map(|card| card.start_us as f64 / 1000.0).collect();
    Ok(Measure::alone("card, start to ready", "ms", &starts, Some(Promise::Below(50.0))))
}

fn resident(target: &mut Target) -> Result<Vec<Measure>, LabError> {
    // A client that is already attached and has called once.
    let null = Operation::Verb { verb: Verb::Null, key: None };
    target.run(&Workload { seconds: 0.01, interface: Interface::Card, ..Workload::of(null) })?;
    let status = target.status()?;
    let mib = |bytes: u64| bytes as f64 / (1 << 20) as f64;
    let cards: Vec<f64> = status.cards.iter().filter_map(|card| resident_bytes(card.pid)).map(mib).collect();
    let of = |pid| resident_bytes(pid).map(mib).into_iter().collect::<Vec<f64>>();
    Ok(vec![
        Measure::alone("resident memory, card", "MiB", &cards, None),
        Measure::alone("resident memory, daemon", "MiB", &of(status.daemon_pid), None),
        Measure::alone(
            "resident memory, attached client (this program)",
            "MiB",
            &of(std::process::id()),
            None,
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_bound_for_a_while() {
        let allowed = || sched_getaffinity(None).unwrap().count();
        let before = allowed();
        let within = bound(own(0), allowed);
        assert_eq!(within, if own(0).is_some() { 1 } else { before });
        assert_eq!(allowed(), before);
        assert!(own(0).is_none() || own(0) != own(1));
    }
}

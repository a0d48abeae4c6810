//! `make bench`: the measures that this house promises, as ratios taken in one run.
//!
//! The two sides of a ratio run in turn, round by round. A measure without a peer states its bound
//! instead; one without either is stated for the record.

use crate::machine::{self, Machine, unix_seconds, utc_text};
use crate::operation::{Cipher, Direction, Mac, Operation, RsaForm};
use crate::statistics::{Summary, interleaved, median};
use crate::target::{Needs, Target};
use crate::workload::{Interface, LabError, Workload, resident_bytes};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wire::control::{Personality, PollMode};
use wire::verb::Verb;

/// How long one run measures, in seconds.
const SECONDS: f64 = 0.5;
/// Runs of each side.
const ROUNDS: usize = 7;

/// One measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// What is measured.
    pub case: String,
    /// Our figure: the median of the runs.
    pub ours: f64,
    /// Unit of both figures.
    pub unit: String,
    /// What it is compared with; empty where with nothing.
    pub peer: String,
    /// The figure of that.
    pub peer_value: Option<f64>,
    /// Ours over the peer's: the median of the rounds.
    pub ratio: Option<f64>,
    /// The runs of ours, as smallest and largest.
    #[serde(default)]
    pub spread: Option<(f64, f64)>,
    /// What is promised; none for figures stated for the record.
    #[serde(default)]
    pub promise: Option<Promise>,
}

/// What is promised of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Promise {
    /// The ratio is at least this.
    RatioAtLeast(f64),
    /// Our figure is above this.
    Above(f64),
    /// Our figure is below this.
    Below(f64),
}

impl Measure {
    fn alone(case: &str, unit: &str, runs: &[f64], promise: Option<Promise>) -> Self {
        let summary = Summary::of(runs);
        Self {
            case: case.to_owned(),
            ours: median(runs),
            unit: unit.to_owned(),
            peer: String::new(),
            peer_value: None,
            ratio: None,
            spread: summary.map(|summary| (summary.min, summary.max)),
            promise,
        }
    }

    fn beside(self, peer: &str, peer_value: f64) -> Self {
        let ratio = (peer_value > 0.0).then(|| self.ours / peer_value);
        Self { peer: peer.to_owned(), peer_value: Some(peer_value), ratio, ..self }
    }

    /// Whether the promise is kept; true where there is none.
    pub fn is_kept(&self) -> bool {
        match self.promise {
            None => true,
            Some(Promise::RatioAtLeast(least)) => self.ratio.is_some_and(|ratio| ratio >= least),
            Some(Promise::Above(bound)) => self.ours > bound,
            Some(Promise::Below(bound)) => self.ours < bound,
        }
    }
}

/// The measures with what they were made under.
#[derive(Clone, Debug, PartialEq)]
pub struct Measures {
    /// The measures.
    pub rows: Vec<Measure>,
    /// Load of the machine before they began.
    pub load_before: f64,
}

impl std::ops::Deref for Measures {
    type Target = [Measure];

    fn deref(&self) -> &[Measure] {
        &self.rows
    }
}

/// Runs all measures; `progress` is told what comes next.
///
/// # Errors
/// [`LabError`] of the first measure that fails; [`LabError::Interrupted`].
pub fn run(stop: &Arc<AtomicBool>, progress: &mut dyn FnMut(&str)) -> Result<Measures, LabError> {
    let load_before = machine::load();
    let mut measures = Vec::new();
    progress("clear-key calls of 64 bytes");
    let mut native = Target::native(Arc::clone(stop))?;
    for (name, cipher) in [("AES-128-CBC", Cipher::Aes128), ("DES-CBC", Cipher::Des)] {
        measures.extend(facility_against_native(&mut native, name, cipher)?);
    }
    {
        progress("the way through a card");
        // Client and card each on a processor of its own, where there are two: that is what is promised.
        let mut target =
            Target::throwaway(&Needs { processor: own(1), ..Needs::default() }, Arc::clone(stop))?;
        measures.push(start_to_ready(&target)?);
        measures.extend(resident(&mut target)?);
        measures.push(round_trip(
            &mut target,
            "empty verb through a card, both ends active",
            Some(Promise::Below(1200.0)),
        )?);
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
    if stop.load(Ordering::Relaxed) {
        return Err(LabError::Interrupted);
    }
    Ok(Measures { rows: measures, load_before })
}

fn timed(workload: Workload) -> Workload {
    Workload { seconds: SECONDS, ..workload }
}

fn facility_against_native(
    target: &mut Target,
    name: &str,
    cipher: Cipher,
) -> Result<Vec<Measure>, LabError> {
    let native = timed(Workload { bytes: 64, ..Workload::of(Operation::cbc(cipher, Direction::Encipher)) });
    let facility = Workload { interface: Interface::Facility, ..native.clone() };
    let prepared = Workload { prepared: true, ..native.clone() };
    let target = std::cell::RefCell::new(target);
    let rate = |workload: &Workload| Ok::<f64, LabError>(target.borrow_mut().run(workload)?.ops_per_s);
    let compared = interleaved(ROUNDS, || rate(&facility), || rate(&native))?;
    let mut out = Vec::new();
    if let Some(compared) = compared {
        let case = format!("{name} 64 B, facility, raw key");
        out.push(Measure {
            case,
            ours: compared.ours.median,
            unit: "ops/s".to_owned(),
            peer: "native, raw key".to_owned(),
            peer_value: Some(compared.peer.median),
            ratio: Some(compared.ratio.median),
            spread: Some((compared.ours.min, compared.ours.max)),
            promise: Some(Promise::RatioAtLeast(0.5)),
        });
        let runs = (0..ROUNDS).map(|_| rate(&prepared)).collect::<Result<Vec<f64>, _>>()?;
        let beside = Measure::alone(&format!("{name} 64 B, native, prepared key"), "ops/s", &runs, None);
        out.push(beside.beside("native, raw key", compared.peer.median));
    }
    Ok(out)
}

fn round_trip(target: &mut Target, case: &str, promise: Option<Promise>) -> Result<Measure, LabError> {
    let null = Operation::Verb { verb: Verb::Null, key: None };
    let workload = timed(Workload { interface: Interface::Facility, ..Workload::of(null) });
    let runs: Result<Vec<f64>, _> =
        bound(own(0), || (0..ROUNDS).map(|_| target.run(&workload).map(|run| run.p50_ns as f64)).collect());
    Ok(Measure::alone(case, "ns, median", &runs?, promise))
}

/// The processor of this index among those that this process may use; none where there are fewer than two.
fn own(index: usize) -> Option<u32> {
    let allowed = sched_getaffinity(None).ok()?;
    let mut processors = (0..CpuSet::MAX_CPU).filter(|processor| allowed.is_set(*processor));
    let two: Vec<usize> = processors.by_ref().take(2).collect();
    if two.len() < 2 { None } else { two.get(index).map(|processor| *processor as u32) }
}

/// Does something while this thread, and those that it starts, are bound to a processor. Where binding is
/// not allowed it is done all the same: the spread then shows it.
fn bound<T>(processor: Option<u32>, run: impl FnOnce() -> T) -> T {
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
        ..Workload::of(Operation::Mac(Mac::Tdes))
    });
    let runs: Result<Vec<f64>, _> =
        bound(own(0), || (0..ROUNDS).map(|_| target.run(&workload).map(|run| run.ops_per_s)).collect());
    let case = "X9.19 MAC 64 B under a secure key, one card, 8 jobs";
    let measure = Measure::alone(case, "ops/s", &runs?, Some(Promise::Above(300_000.0)));
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
    let case = "RSA-2048 CRT, clear key, two cards, 16 jobs";
    let Some(compared) = compared else { return Ok(Measure::alone(case, "ops/s", &[], None)) };
    Ok(Measure {
        case: case.to_owned(),
        ours: compared.ours.median,
        unit: "ops/s".to_owned(),
        peer: "two engine threads, 16 jobs".to_owned(),
        peer_value: Some(compared.peer.median),
        ratio: Some(compared.ratio.median),
        spread: Some((compared.ours.min, compared.ours.max)),
        promise: Some(Promise::RatioAtLeast(0.93)),
    })
}

fn start_to_ready(target: &Target) -> Result<Measure, LabError> {
    let status = target.status()?;
    let starts: Vec<f64> = status.cards.iter().map(|card| card.start_us as f64 / 1000.0).collect();
    Ok(Measure::alone("card, start to ready", "ms", &starts, Some(Promise::Below(50.0))))
}

fn resident(target: &mut Target) -> Result<Vec<Measure>, LabError> {
    // A client that has attached and called once.
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

/// The measures as a table for people.
pub fn table(measures: &Measures) -> String {
    let measures = &measures.rows;
    let mut out = String::new();
    let width = measures.iter().map(|measure| measure.case.chars().count()).max().unwrap_or(4);
    for measure in measures {
        let promise = match (measure.promise, measure.is_kept()) {
            (None, _) => String::new(),
            (Some(promise), kept) => {
                format!("{} {}", promise_text(promise), if kept { "kept" } else { "NOT KEPT" })
            }
        };
        let ratio = measure.ratio.map_or(String::new(), |ratio| format!("{ratio:.3} of {}", measure.peer));
        let _ = writeln!(
            out,
            "{:width$}  {:>14} {:10}  {promise:26}  {ratio}",
            measure.case,
            figure(measure.ours),
            measure.unit
        );
    }
    out
}

fn promise_text(promise: Promise) -> String {
    match promise {
        Promise::RatioAtLeast(least) => format!("ratio >= {least}:"),
        Promise::Above(bound) => format!("> {}:", figure(bound)),
        Promise::Below(bound) => format!("< {}:", figure(bound)),
    }
}

fn figure(value: f64) -> String {
    if value >= 1000.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// Writes `target/performance.json` and `docs/performance.md` below a folder.
///
/// # Errors
/// [`LabError::Io`].
pub fn write(measures: &Measures, folder: &Path) -> Result<(), LabError> {
    let what = "write the measures";
    let json = serde_json::to_string_pretty(&measures.rows)
        .map_err(|error| LabError::Io { what, cause: error.into() })?;
    for (path, text) in [("target/performance.json", json), ("docs/performance.md", page(measures))] {
        let path = folder.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(LabError::io(what))?;
        }
        fs::write(path, text).map_err(LabError::io(what))?;
    }
    Ok(())
}

fn page(measures: &Measures) -> String {
    let machine = Machine::this();
    let mut out = String::from("# Performance\n\nWritten by `make bench`; do not edit.\n\n");
    let _ = writeln!(
        out,
        "Machine: {}, {} processors online, {:.1} GiB, {}, Linux {}. Engine level: {}. \
         Load before: {:.2} (above a few tenths, others took part). {}.\n",
        machine.processor,
        machine.processors_online,
        machine.memory_bytes as f64 / (1u64 << 30) as f64,
        machine.system,
        machine.kernel,
        engine::LibraryFeatures::read().level().name(),
        measures.load_before,
        utc_text(unix_seconds())
    );
    let _ = writeln!(
        out,
        "Each figure is the median of {ROUNDS} runs of {SECONDS} s, its spread the smallest and the largest; a ratio \
         is the median over rounds in which both sides ran in turn. Absolute figures drift with the machine: quote \
         the ratios.\n"
    );
    out.push_str("| measure | figure | spread | compared with | its figure | ratio | promised |\n|---|---|---|---|---|---|---|\n");
    for measure in &measures.rows {
        let spread = measure
            .spread
            .map_or(String::new(), |(low, high)| format!("{} to {}", figure(low), figure(high)));
        let promised = measure.promise.map_or(String::new(), |promise| {
            format!("{} {}", promise_text(promise), if measure.is_kept() { "kept" } else { "**not kept**" })
        });
        let _ = writeln!(
            out,
            "| {} | {} {} | {spread} | {} | {} | {} | {promised} |",
            measure.case,
            figure(measure.ours),
            measure.unit,
            measure.peer,
            measure.peer_value.map_or(String::new(), figure),
            measure.ratio.map_or(String::new(), |ratio| format!("{ratio:.3}"))
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measures() -> Measures {
        let mac = Measure::alone(
            "mac",
            "ops/s",
            &[300_000.0, 400_000.0, 500_000.0],
            Some(Promise::Above(300_000.0)),
        );
        let rows = vec![
            mac.beside("one PCIXCC", 1000.0),
            Measure::alone("start", "ms", &[60.0], Some(Promise::Below(50.0))),
            Measure::alone("memory", "MiB", &[10.0], None),
        ];
        Measures { rows, load_before: 0.25 }
    }

    #[test]
    fn a_thread_is_bound_for_a_while() {
        let allowed = || sched_getaffinity(None).unwrap().count();
        let before = allowed();
        let within = bound(own(0), allowed);
        assert_eq!(within, if own(0).is_some() { 1 } else { before });
        assert_eq!(allowed(), before);
        assert!(own(0).is_none() || own(0) != own(1));
    }

    #[test]
    fn promises_are_judged() {
        let [mac, start, memory] = measures().rows.try_into().unwrap();
        assert!(mac.is_kept() && !start.is_kept() && memory.is_kept());
        assert_eq!((mac.ratio, mac.spread), (Some(400.0), Some((300_000.0, 500_000.0))));
        let half = Measure { promise: Some(Promise::RatioAtLeast(0.5)), ratio: Some(0.49), ..memory };
        assert!(!half.is_kept());
        assert!(!Measure { ratio: None, ..half }.is_kept());
    }

    #[test]
    fn measures_are_written_for_people_and_programs() {
        let folder = tempfile::tempdir().unwrap();
        write(&measures(), folder.path()).unwrap();
        let json = fs::read_to_string(folder.path().join("target/performance.json")).unwrap();
        let rows: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
        assert_eq!(rows.len(), 3);
        for key in ["case", "ours", "unit", "peer", "peer_value", "ratio"] {
            assert!(rows[0].get(key).is_some(), "{key}");
        }
        assert_eq!(serde_json::from_str::<Vec<Measure>>(&json).unwrap(), measures().rows);
        let page = fs::read_to_string(folder.path().join("docs/performance.md")).unwrap();
        assert!(page.contains(
            "| mac | 400000 ops/s | 300000 to 500000 | one PCIXCC | 1000 | 400.000 | > 300000: kept |"
        ));
        assert!(page.contains("**not kept**") && page.contains("Load before: 0.25"));
        assert!(table(&measures()).contains("NOT KEPT"));
    }
}

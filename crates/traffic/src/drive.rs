//! A run from begin to end.

use crate::client::{Share, Shared, Stage, Tally};
use crate::failure::DriveFailure;
use crate::plan::Plan;
use crate::report::{Booked, Report};
use pacing::usage::{self, Seconds, Used};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often progress is reported, and an interruption is looked for.
const LOOK: Duration = Duration::from_millis(50);
const INTERRUPTED: &str = "interrupted: this is what was measured until then";

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Whether this part of the run is measured; else it is the warm-up.
    pub is_measured: bool,
    /// Time since this part of the run began.
    pub passed: Duration,
    /// Length of this part.
    pub whole: Duration,
    /// Transactions or datagrams so far.
    pub done: u64,
    /// Bytes of streams so far.
    pub bytes: u64,
    /// Errors so far.
    pub failed: u64,
}

/// Runs a plan, and reports the measured part. `progress` is called every 50 ms; if `interrupted` becomes true, the
/// run ends early with a report so far.
///
/// # Errors
/// [`DriveFailure`]: contents that were wrong fail the run, errors of single connections are counted.
pub fn drive(
    plan: &Plan,
    interrupted: &AtomicBool,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Report, DriveFailure> {
    let shared = Shared::new().map_err(DriveFailure::system("make what wakes threads"))?;
    if plan.warm_up.is_zero() {
        shared.set(Stage::Measured);
    }
    let numbers: Vec<AtomicU32> = (0..plan.threads).map(|_| AtomicU32::new(0)).collect();
    let (ended, ends) = mpsc::channel();
    std::thread::scope(|scope| {
        let (shared, numbers) = (&shared, &numbers);
        for (number, thread) in numbers.iter().enumerate() {
            let more = usize::from(number < plan.connections % plan.threads);
            let connections = plan.connections / plan.threads + more;
            let ended = ended.clone();
            scope.spawn(move || {
                thread.store(rustix::thread::gettid().as_raw_pid() as u32, Ordering::Release);
                let done = Share { plan, shared, connections, number }.run();
                // The conducting thread receives the result of every loop.
                let _ = ended.send(done);
            });
        }
        // Without this sender the channel ends even if a thread dies without a result.
        drop(ended);
        let mut watch = Watch { shared, interrupted, ends: &ends, progress, early: Vec::new() };
        if !plan.warm_up.is_zero() {
            watch.wait(plan.warm_up, false);
        }
        let begin = Booking::now(plan, numbers);
        if !watch.is_over() {
            shared.set(Stage::Measured);
            watch.wait(plan.seconds, true);
        }
        let end = Booking::now(plan, numbers);
        shared.set(Stage::Over);
        let mut tally = Tally::default();
        let early = std::mem::take(&mut watch.early);
        let late = ends.iter().take(plan.threads - early.len());
        for done in early.into_iter().chain(late) {
            tally.add(&done?);
        }
        let mut report = Report::new(plan, end.at - begin.at, &tally, &booked(plan, &begin, &end));
        if interrupted.load(Ordering::Relaxed) {
            report.warnings.push(INTERRUPTED.to_owned());
        }
        if report.is_empty() { Err(DriveFailure::Nothing) } else { Ok(report) }
    })
}

type Ended = Result<Tally, DriveFailure>;

fn thread_ns(number: usize, numbers: &[AtomicU32]) -> Option<u64> {
    usage::nanoseconds(std::process::id(), numbers.get(number)?.load(Ordering::Acquire))
}

/// Watches the loops while a part of the run lasts.
struct Watch<'a> {
    shared: &'a Shared,
    interrupted: &'a AtomicBool,
    ends: &'a mpsc::Receiver<Ended>,
    progress: &'a mut dyn FnMut(&Progress),
    /// Results of loops that ended before the run did, by an error.
    early: Vec<Ended>,
}

impl Watch<'_> {
    fn is_over(&self) -> bool {
        !self.early.is_empty() || self.interrupted.load(Ordering::Relaxed)
    }

    /// Waits for the time `whole`, for a loop that fails, or for an interruption.
    fn wait(&mut self, whole: Duration, is_measured: bool) {
        let began = Instant::now();
        loop {
            let passed = began.elapsed();
            let of = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
            let (done, bytes) = (of(&self.shared.done), of(&self.shared.bytes));
            let failed = of(&self.shared.failed);
            (self.progress)(&Progress { is_measured, passed, whole, done, bytes, failed });
            let rest = whole.saturating_sub(passed);
            if rest.is_zero() || self.is_over() {
                return;
            }
            match self.ends.recv_timeout(rest.min(LOOK)) {
                Ok(ended) => self.early.push(ended),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }
}

/// Processor times that the kernel has counted at one moment.
struct Booking {
    at: Instant,
    own: Option<Used>,
    threads: Vec<Option<u64>>,
    others: Vec<Option<Used>>,
}

impl Booking {
    fn now(plan: &Plan, threads: &[AtomicU32]) -> Self {
        let threads = (0..threads.len()).map(|number| thread_ns(number, threads)).collect();
        let others = plan.booked.iter().map(|booked| Used::of(booked.pid)).collect();
        Self { at: Instant::now(), own: Used::of(std::process::id()), threads, others }
    }
}

fn booked(plan: &Plan, begin: &Booking, end: &Booking) -> Booked {
    let between = |before: &Option<Used>, after: &Option<Used>| -> Option<Seconds> {
        Some(after.as_ref()?.since(before.as_ref()?))
    };
    let threads = begin.threads.iter().zip(&end.threads);
    let ns: u64 = threads.map(|(before, after)| after.unwrap_or(0).saturating_sub(before.unwrap_or(0))).sum();
    let whole = (end.at - begin.at).as_nanos() as f64 * plan.threads as f64;
    Booked {
        driver: between(&begin.own, &end.own).unwrap_or_default(),
        busy: if whole > 0.0 { (ns as f64 / whole).min(1.0) } else { 0.0 },
        processes: begin.others.iter().zip(&end.others).map(|(a, b)| between(a, b)).collect(),
    }
}

#[cfg(test)]
mod tests;

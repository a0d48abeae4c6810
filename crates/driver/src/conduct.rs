//! A run from begin to end.

use crate::gnutls_ffi::Settings;
use crate::knee::{self, Step};
use crate::library::Library;
use crate::looped::{Looped, Shared, Stage};
use crate::plan::{End, Plan};
use crate::report::{self, DriveOutcome, Process};
use crate::tally::Tally;
use options::tls::Drive;
use pacing::usage::{self, Seconds, Used};
use rustix::io::Errno;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tls::{Initiator, Trust};

/// How often the end of a wait is checked.
const LOOK: Duration = Duration::from_millis(5);
/// How often the progress bar is drawn.
const DRAWN: Duration = Duration::from_millis(200);
/// Busy share of the driver's threads from which the driver counts as the bottleneck.
const BUSY: f64 = 0.95;
const INTERRUPTED: &str = "interrupted: this is what was measured until then";

/// Why a run has no result.
#[derive(Debug)]
pub enum DriveFailure {
    /// The options make no sense.
    Usage(String),
    /// An operation of the system failed.
    System(Errno),
    /// The certificates of `--ca` or of the client, or the TLS library, cannot be used.
    Library(tls::InitiatorError),
    /// GnuTLS is missing or too old, or refuses its settings.
    Gnutls(String),
    /// No transaction was completed; the reason has been printed.
    Nothing,
    /// The search found no rate that holds.
    NoKnee,
    /// The result could not be written.
    Output(io::Error),
}

impl DriveFailure {
    /// The exit code: 2 for options that make no sense, 1 for the rest.
    pub fn exit_code(&self) -> u8 {
        if matches!(self, Self::Usage(_)) { 2 } else { 1 }
    }
}

impl fmt::Display for DriveFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(why) | Self::Gnutls(why) => f.write_str(why),
            Self::System(errno) => write!(f, "{errno}"),
            Self::Library(error @ tls::InitiatorError::Roots(_)) => write!(f, "--ca: {error}"),
            Self::Library(error) => write!(f, "{error}"),
            Self::Nothing => f.write_str("not one transaction was done"),
            Self::NoKnee => f.write_str("no rate was found at which answers came in time"),
            Self::Output(error) => write!(f, "cannot write the result: {error}"),
        }
    }
}

impl std::error::Error for DriveFailure {}

/// Puts load on a server as the options say ([`Drive`], as JSON), and writes the report to standard output.
///
/// # Errors
/// [`DriveFailure`].
pub fn run(json: &str) -> Result<(), DriveFailure> {
    let typed: Drive = serde_json::from_str(json).map_err(|error| DriveFailure::Usage(error.to_string()))?;
    let plan = Plan::new(&typed).map_err(DriveFailure::Usage)?;
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // A second signal ends the process at once.
        let registered =
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&interrupted))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&interrupted)));
        registered.map_err(DriveFailure::Output)?;
    }
    let library = match &plan.priorities {
        Some(priorities) => Library::Gnutls(gnutls(&plan, priorities).map_err(DriveFailure::Gnutls)?),
        None => Library::S2n(
            Initiator::new(plan.offer, &plan.trust, plan.sessions, plan.own.as_ref())
                .map_err(DriveFailure::Library)?,
        ),
    };
    let outcome = match plan.knee {
        Some(bound) => find_knee(&plan, &library, &interrupted, bound)?,
        None => drive(&plan, &library, &interrupted, plan.rate)?,
    };
    let text = if plan.is_json { report::json(&plan, &outcome) } else { report::table(&plan, &outcome) };
    io::stdout().write_all(text.as_bytes()).map_err(DriveFailure::Output)?;
    if outcome.tally.transactions == 0 && outcome.tally.messages == 0 {
        Err(DriveFailure::Nothing)
    } else if outcome.search.as_ref().is_some_and(|(search, _)| search.knee.is_none()) {
        Err(DriveFailure::NoKnee)
    } else {
        Ok(())
    }
}

fn gnutls(plan: &Plan, priorities: &str) -> Result<Settings, String> {
    let roots = match &plan.trust {
        Trust::Everybody => None,
        Trust::Roots(pem) => Some(pem.as_slice()),
    };
    let own = plan.own_pem.as_ref().map(|(chain, key)| (chain.as_slice(), key.as_slice()));
    Settings::new(priorities, roots, own, plan.sessions == tls::Resuming::Tickets)
}

/// Processor times that the kernel has counted at one moment.
struct Booking {
    at: Instant,
    own: Option<Used>,
    loops: Vec<Option<u64>>,
    others: Vec<Option<Used>>,
}

impl Booking {
    fn now(plan: &Plan, threads: &[AtomicU32]) -> Self {
        let own = std::process::id();
        let loops = threads.iter().map(|thread| usage::nanoseconds(own, thread.load(Ordering::Acquire)));
        Self {
            loops: loops.collect(),
            own: Used::of(own),
            others: plan.booked.iter().map(|booked| Used::of(booked.pid)).collect(),
            at: Instant::now(),
        }
    }
}

/// Searches the highest rate that holds, and returns its results; if no rate holds, those of the last rate tried.
/// Without a first rate, a closed loop determines it.
fn find_knee(
    plan: &Plan,
    library: &Library,
    interrupted: &AtomicBool,
    bound: Duration,
) -> Result<DriveOutcome, DriveFailure> {
    let (mut best, closed) = match plan.rate {
        Some(_) => (None, None),
        None => {
            let closed = drive(plan, library, interrupted, None)?;
            if closed.tally.transactions == 0 {
                return Ok(closed);
            }
            let per_second = closed.per_second();
            (Some(closed), Some(per_second))
        }
    };
    let seconds = match plan.end {
        End::After(time) => time.as_secs_f64(),
        End::Transactions(_) => 1.0,
    };
    let mut search = knee::search(plan.rate.or(closed).unwrap_or_default(), seconds);
    while let Some(rate) = search.next().filter(|_| !interrupted.load(Ordering::Relaxed)) {
        let outcome = drive(plan, library, interrupted, Some(rate))?;
        // An interrupted run is no judgement of its rate.
        if interrupted.load(Ordering::Relaxed) {
            match &mut best {
                Some(best) => best.warnings.push(INTERRUPTED.to_owned()),
                None => best = Some(outcome),
            }
            break;
        }
        let step = Step::of(rate, &outcome.tally, outcome.per_second(), bound);
        if step.holds || search.knee.is_none() {
            best = Some(outcome);
        }
        search.take(rate, step.holds, step);
    }
    // The search tries at least the first rate, unless it is interrupted before.
    let mut outcome = best.ok_or(DriveFailure::Nothing)?;
    outcome.search = Some((search, closed));
    Ok(outcome)
}

fn drive(
    plan: &Plan,
    library: &Library,
    interrupted: &AtomicBool,
    rate: Option<f64>,
) -> Result<DriveOutcome, DriveFailure> {
    let shared = Shared::new();
    if plan.warm_up.is_zero() {
        shared.set(Stage::Measured);
    }
    let numbers: Vec<AtomicU32> = (0..plan.threads).map(|_| AtomicU32::new(0)).collect();
    std::thread::scope(|scope| {
        let mut loops = Vec::new();
        for (number, thread) in numbers.iter().enumerate() {
            let connections =
                plan.connections / plan.threads + usize::from(number < plan.connections % plan.threads);
            let shared = &shared;
            let looped = move || {
                thread.store(rustix::thread::gettid().as_raw_pid() as u32, Ordering::Release);
                let one = Looped::new(plan, shared, library, connections, number, rate);
                let done = one.and_then(Looped::run);
                shared.ended.fetch_add(1, Ordering::Release);
                done
            };
            let started = std::thread::Builder::new().spawn_scoped(scope, looped);
            let started = started.inspect_err(|_| shared.set(Stage::Over));
            loops.push(started.map_err(|cause| {
                DriveFailure::System(Errno::from_io_error(&cause).unwrap_or(Errno::AGAIN))
            })?);
        }
        while numbers.iter().any(|thread| thread.load(Ordering::Acquire) == 0) {
            std::thread::yield_now();
        }
        let watch = Watch { plan, shared: &shared, interrupted };
        let measured = rate.map_or("measured".to_owned(), |rate| format!("measured at {rate:.0} a second"));
        let begin = if plan.warm_up.is_zero() {
            Booking::now(plan, &numbers)
        } else {
            watch.wait(Some(plan.warm_up), "warming up");
            let begin = Booking::now(plan, &numbers);
            shared.set(Stage::Measured);
            begin
        };
        let until = match plan.end {
            End::After(time) => Some(time),
            End::Transactions(_) => None,
        };
        watch.wait(until, &measured);
        // Read before the loops end: a thread that has ended has no time of its own, only a part of the process's.
        let end = Booking::now(plan, &numbers);
        shared.set(Stage::Over);
        let mut tally = Tally::new();
        for one in loops {
            let done = one.join().unwrap_or(Err(Errno::IO)).map_err(DriveFailure::System)?;
            tally.add(&done);
        }
        let mut outcome = outcome(plan, tally, &begin, &end);
        outcome.rate = rate;
        outcome.warnings.extend(overload(&outcome));
        if interrupted.load(Ordering::Relaxed) {
            outcome.warnings.push(INTERRUPTED.to_owned());
        }
        Ok(outcome)
    })
}

/// Watches the loops while a part of the run lasts.
struct Watch<'a> {
    plan: &'a Plan,
    shared: &'a Shared,
    interrupted: &'a AtomicBool,
}

impl Watch<'_> {
    /// Waits for this time, for the end of all loops, or for a signal.
    fn wait(&self, time: Option<Duration>, what: &str) {
        let began = Instant::now();
        let is_drawn = !self.plan.is_json && io::stderr().is_terminal();
        let mut drawn = began;
        loop {
            let passed = began.elapsed();
            let ended = self.shared.ended.load(Ordering::Acquire) as usize;
            let is_over = time.is_some_and(|time| passed >= time)
                || ended == self.plan.threads
                || self.interrupted.load(Ordering::Relaxed);
            if is_drawn && (is_over || drawn.elapsed() >= DRAWN) {
                drawn = Instant::now();
                self.draw(passed, time, what, is_over);
            }
            if is_over {
                return;
            }
            let rest = time.map_or(LOOK, |time| time.saturating_sub(passed).min(LOOK));
            std::thread::sleep(rest);
        }
    }

    fn draw(&self, passed: Duration, time: Option<Duration>, what: &str, is_over: bool) {
        const WIDTH: usize = 30;
        let done = self.shared.done.load(Ordering::Relaxed);
        let failed = self.shared.failed.load(Ordering::Relaxed);
        let share = match (time, self.plan.end) {
            (Some(time), _) => passed.as_secs_f64() / time.as_secs_f64().max(1e-9),
            (None, End::Transactions(count)) => (done + failed) as f64 / count as f64,
            (None, End::After(_)) => 0.0,
        };
        let filled = (share.clamp(0.0, 1.0) * WIDTH as f64) as usize;
        let bar: String = (0..WIDTH).map(|at| if at < filled { '#' } else { '.' }).collect();
        let errors = if failed > 0 { format!(", {failed} failed") } else { String::new() };
        let text = format!("\r[{bar}] {what} {:.1} s, {done} done{errors} ", passed.as_secs_f64());
        let end = if is_over { "\r\x1b[K" } else { "" };
        let _ = io::stderr().write_all(format!("{text}{end}").as_bytes());
    }
}

fn outcome(plan: &Plan, tally: Tally, begin: &Booking, end: &Booking) -> DriveOutcome {
    let seconds = (end.at - begin.at).as_secs_f64();
    let between = |before: &Option<Used>, after: &Option<Used>| match (before, after) {
        (Some(before), Some(after)) => Some(after.since(before)),
        _ => None,
    };
    let own = between(&begin.own, &end.own).unwrap_or_default();
    // For loops that have ended only the time of the whole process is known.
    let of_loops = begin.loops.iter().zip(&end.loops).map(|pair| match pair {
        (Some(before), Some(after)) => Some(after.saturating_sub(*before) as f64 * 1e-9),
        _ => None,
    });
    let of_loops = of_loops.sum::<Option<f64>>().unwrap_or(own.total());
    let busy = if seconds > 0.0 { (of_loops / (seconds * plan.threads as f64)).min(1.0) } else { 0.0 };
    let processes: Vec<Process> = plan
        .booked
        .iter()
        .zip(begin.others.iter().zip(&end.others))
        .map(|(booked, (before, after))| Process {
            pid: booked.pid,
            name: booked.name.clone(),
            used: between(before, after),
        })
        .collect();
    let mut warnings = Vec::new();
    // Without a completed transaction there is no bottleneck to report.
    let is_limit = busy >= BUSY && tally.transactions > 0;
    if is_limit {
        warnings.push(format!(
            "the driver is the limit: its threads were busy for {:.0} % of the time; give it --threads, or a processor of its own",
            busy * 100.0
        ));
    }
    warnings.extend(shared_processors(&processes, own, seconds));
    for process in processes.iter().filter(|process| process.used.is_none()) {
        warnings.push(format!("process {} ({}) ended: its time is not known", process.pid, process.name));
    }
    DriveOutcome { seconds, tally, own, busy, is_limit, processes, warnings, rate: None, search: None }
}

/// A warning if the rate was more than the server, the driver or the connections in flight could do.
fn overload(outcome: &DriveOutcome) -> Option<String> {
    let (tally, rate) = (&outcome.tally, outcome.rate?);
    let (late, due) = (tally.late + tally.never, tally.begun + tally.never);
    (late * 100 > due).then(|| {
        let done = outcome.per_second();
        format!(
            "overload: {rate:.1} starts a second were asked for and {done:.1} transactions done; {late} of {due} starts were late or never came, because all --connections were in flight or the driver was busy"
        )
    })
}

/// Warnings if driver and a counted process may have hindered each other: the two share processors, and all together
/// used most of their time.
fn shared_processors(processes: &[Process], own: Seconds, seconds: f64) -> Vec<String> {
    let of_driver = usage::processors(std::process::id());
    let mut warnings = Vec::new();
    for process in processes {
        let (theirs, Some(used)) = (usage::processors(process.pid), process.used) else { continue };
        let both: Vec<_> = of_driver.union(&theirs).collect();
        let common: Vec<_> = of_driver.intersection(&theirs).map(u32::to_string).collect();
        let all: f64 = processes.iter().filter_map(|process| process.used).map(Seconds::total).sum();
        let is_full = own.total() + all >= 0.9 * seconds * both.len() as f64;
        if !common.is_empty() && is_full && used.total() > 0.0 {
            warnings.push(format!(
                "the driver shares processor {} with process {} ({}), and both used most of it; pin them apart with taskset",
                common.join(","),
                process.pid,
                process.name
            ));
        }
    }
    warnings
}

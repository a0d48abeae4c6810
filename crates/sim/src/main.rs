//! `sim`: runs seeds of the simulation, or one of them with a trace.

use sim::{Plan, SimulationOutcome};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const HELP: &str = "\
Runs facility, link, daemon and cards in one process, with time, order and faults from a seed.

Usage: sim [--from N | --from random | --from today] [--seeds N] [--jobs N] [--twice] [--seed N [--trace]]

  --from N   the first seed (default 1); `random` draws one, `today` takes a million times the days since 1970 (UTC), and both
             say which
  --seeds N  how many (default 200)
  --jobs N   runs at a time (default: processors of the machine)
  --twice    run each seed twice: a second run that takes other steps than the first is a finding
  --seed N   only this one
  --trace    say what happens at every step, on standard error
";

struct Arguments {
    from: u64,
    seeds: u64,
    jobs: u64,
    trace: bool,
    /// Each seed is run a second time, and must take the same steps.
    twice: bool,
    /// Whether the first seed was drawn, not typed.
    is_drawn: bool,
}

/// Range from which a first seed is drawn: far above the seeds that are run every time, and short enough to be typed.
const SEEDS_DRAWN: std::ops::Range<u64> = 1_000_000_000..1_000_000_000_000;
/// Size of the range of seeds that belongs to one day.
const SEEDS_A_DAY: u64 = 1_000_000;
/// Seconds of a day.
const DAY_S: u64 = 86_400;
/// How often the progress of a run is shown.
const PROGRESS_EVERY: Duration = Duration::from_secs(30);

fn arguments() -> Option<Arguments> {
    let jobs = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let mut read = Arguments { from: 1, seeds: 200, jobs, trace: false, twice: false, is_drawn: false };
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        if name == "--trace" {
            read.trace = true;
            continue;
        }
        if name == "--twice" {
            read.twice = true;
            continue;
        }
        let text = given.next()?;
        let number = match (name.as_str(), text.as_str()) {
            ("--from", "random") => fastrand::u64(SEEDS_DRAWN),
            ("--from", "today") => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
                since.as_secs() / DAY_S * SEEDS_A_DAY
            }
            (_, number) => number.parse().ok()?,
        };
        match name.as_str() {
            "--from" => (read.from, read.is_drawn) = (number, number.to_string() != text),
            "--seeds" => read.seeds = number,
            "--jobs" => read.jobs = number.max(1),
            "--seed" => (read.from, read.seeds) = (number, 1),
            _ => return None,
        }
    }
    Some(read)
}

fn main() -> ExitCode {
    let Some(arguments) = arguments() else {
        eprint!("{HELP}");
        return ExitCode::from(2);
    };
    if arguments.trace {
        let builder = tracing_subscriber::fmt().with_ansi(false).with_target(false).without_time();
        builder.with_max_level(tracing::Level::DEBUG).with_writer(std::io::stderr).init();
    }
    if !arguments.trace {
        let builder = tracing_subscriber::fmt().with_ansi(false).with_target(false).without_time();
        builder.with_max_level(tracing::Level::WARN).with_writer(sim::said::ToRun).init();
    }
    let begin = Instant::now();
    let next = AtomicU64::new(arguments.from);
    let end = arguments.from.saturating_add(arguments.seeds);
    println!("{} seeds from {}", arguments.seeds, arguments.from);
    if arguments.is_drawn {
        let Arguments { from, seeds, .. } = arguments;
        println!("  again: cd crates/sim && cargo run --release -- --from {from} --seeds {seeds}");
    }
    let outcomes = Mutex::new(Vec::new());
    let said = Mutex::new(begin);
    std::thread::scope(|scope| {
        for _ in 0..arguments.jobs.min(arguments.seeds) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        return;
                    }
                    let run = || {
                        let outcome = sim::run(Plan::new(seed), arguments.trace);
                        outcome.unwrap_or_else(|error| panic!("seed {seed}: {error}"))
                    };
                    let mut outcome = run();
                    if arguments.twice {
                        let again = run();
                        let differs = again.differs(&outcome);
                        outcome.said.extend(differs.iter().flat_map(|_| again.said.iter().cloned()));
                        outcome.findings.extend(differs);
                    }
                    tell(&outcome);
                    outcome.said.clear();
                    let mut outcomes = outcomes.lock().expect("no one panics with it");
                    outcomes.push(outcome);
                    let mut said = said.lock().expect("no one panics with it");
                    if said.elapsed() >= PROGRESS_EVERY {
                        *said = Instant::now();
                        tell_progress(&outcomes, arguments.seeds, begin.elapsed());
                    }
                }
            });
        }
    });
    let outcomes = outcomes.into_inner().expect("no one panicked with it");
    summarise(&outcomes, begin.elapsed().as_secs_f64());
    let failed = outcomes.iter().any(|outcome| !outcome.findings.is_empty());
    ExitCode::from(u8::from(failed))
}

fn tell(outcome: &SimulationOutcome) {
    for finding in &outcome.findings {
        let SimulationOutcome { seed, steps, ns, .. } = outcome;
        println!("seed {seed}, step {steps}, {:.3} ms: {finding}", *ns as f64 / 1e6);
        println!("  again, with every step: cd crates/sim && cargo run --release -- --seed {seed} --trace");
    }
    if !outcome.findings.is_empty() && !outcome.said.is_empty() {
        println!("  what its programs said last:");
        outcome.said.iter().for_each(|line| println!("    {line}"));
    }
}

/// Writes the progress of a long run to standard error.
fn tell_progress(outcomes: &[SimulationOutcome], seeds: u64, taken: Duration) {
    let failed = outcomes.iter().filter(|outcome| !outcome.findings.is_empty()).count();
    let (done, taken) = (outcomes.len(), taken.as_secs_f64());
    let left = taken / done as f64 * (seeds as f64 - done as f64);
    eprintln!("{done} of {seeds} seeds, {failed} with findings, {taken:.0} s; {left:.0} s to go");
}

fn summarise(outcomes: &[SimulationOutcome], seconds: f64) {
    let sum = |of: fn(&SimulationOutcome) -> u64| outcomes.iter().map(of).sum::<u64>();
    let failed = outcomes.iter().filter(|outcome| !outcome.findings.is_empty()).count();
    println!(
        "{} seeds, {failed} with findings, {:.1} s ({:.0} ms each); {} steps, {:.0} s of their own time",
        outcomes.len(),
        seconds,
        seconds * 1e3 / outcomes.len().max(1) as f64,
        sum(|outcome| outcome.steps),
        sum(|outcome| outcome.ns) as f64 / 1e9,
    );
    println!(
        "{} requests: {} answered, {} refused, {} failed and not run, {} failed and maybe run, {} run twice; {} faults",
        sum(|outcome| outcome.counts.requests),
        sum(|outcome| outcome.counts.answered),
        sum(|outcome| outcome.counts.refused),
        sum(|outcome| outcome.counts.not_run),
        sum(|outcome| outcome.counts.maybe_run),
        sum(|outcome| outcome.counts.twice),
        sum(|outcome| outcome.counts.faults),
    );
    println!(
        "{} requests that tenants may not make, {} with the key of another host, {} whose answers waited for a record, {} batches at a tenant's limit, {} requests with clear keys, {} event loops, {} looks at records, {} with old master keys, {} without one; {} cards died of a hostile tenant's requests, which was in quarantine {} times; {} threads of clients ended, {} answers were collected by another; {} homes kept keys that nobody had sealed",
        sum(|outcome| outcome.counts.forbidden),
        sum(|outcome| outcome.counts.outside),
        sum(|outcome| outcome.counts.recorded),
        sum(|outcome| outcome.counts.bound),
        sum(|outcome| outcome.counts.clear),
        sum(|outcome| outcome.counts.loops),
        sum(|outcome| outcome.counts.observed),
        sum(|outcome| outcome.counts.old_keys),
        sum(|outcome| outcome.counts.without_key),
        sum(|outcome| outcome.counts.poisoned),
        sum(|outcome| outcome.counts.quarantines),
        sum(|outcome| outcome.counts.threads),
        sum(|outcome| outcome.counts.inherited),
        sum(|outcome| outcome.counts.kept),
    );
    if let [outcome] = outcomes {
        println!("trace hash {:016x}", outcome.hash);
    }
}

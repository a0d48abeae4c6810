//! The loops around a caller: closed and open, with latencies and a time limit.
//!
//! A [`Caller`] answers in the thread (the engine, the facility's clear calls). In the closed loop one
//! call in 64 is timed, unless calls are long: reading the clock around each would cost as much as
//! the shortest operations themselves. As often, a call is made on known input and its answer compared in
//! full; the time of that is taken out.

use super::usage::thread_seconds;
use super::{LabError, Workload};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

/// Short calls are timed and compared once in this many.
const ROUND: u32 = 64;
/// A call of at least this length is timed each time.
const LONG_CALL: Duration = Duration::from_micros(20);
/// Longest latency that is recorded, in nanoseconds; longer ones count as this one.
const LATENCY_NS_MAX: u64 = 600_000_000_000;

/// One thread's jobs, answered in the thread.
pub(crate) trait Caller {
    /// Jobs that one call can carry.
    fn jobs(&self) -> usize;
    /// Whether every call is long enough to be timed, because it leaves the process.
    fn is_far(&self) -> bool {
        false
    }
    /// Carries this many jobs, at least one, in one call.
    fn call(&mut self, jobs: usize) -> Result<(), LabError>;
    /// Makes one call on known input for every job that the next call would carry, and compares the answers in full;
    /// gives their number.
    fn call_compared(&mut self) -> Result<u64, LabError>;
}

/// Jobs that are called one after the other. `call` gets the job's number, the job, and whether to compare the answer.
pub(crate) struct InTurn<J, F> {
    pub jobs: Vec<J>,
    /// Number of the first job.
    pub first: usize,
    /// Place of the job that is called next.
    pub turn: usize,
    pub is_far: bool,
    pub call: F,
}

impl<J, F: FnMut(usize, &mut J, bool) -> Result<(), LabError>> InTurn<J, F> {
    #[inline]
    fn next(&mut self, is_compared: bool) -> Result<(), LabError> {
        let turn = self.turn;
        self.turn = if turn + 1 == self.jobs.len() { 0 } else { turn + 1 };
        (self.call)(self.first + turn, &mut self.jobs[turn], is_compared)
    }
}

impl<J, F: FnMut(usize, &mut J, bool) -> Result<(), LabError>> Caller for InTurn<J, F> {
    fn jobs(&self) -> usize {
        1
    }

    fn is_far(&self) -> bool {
        self.is_far
    }

    #[inline]
    fn call(&mut self, _: usize) -> Result<(), LabError> {
        self.next(false)
    }

    fn call_compared(&mut self) -> Result<u64, LabError> {
        self.next(true).map(|()| 1)
    }
}

/// The sums of all threads' loops.
pub(crate) struct LoadOutcome {
    pub operations: u64,
    pub answers_compared: u64,
    pub ops_per_s: f64,
    pub seconds: f64,
    pub caller_s: f64,
    pub daemon_s: f64,
    pub cards_s: f64,
    pub latency_ns: Histogram<u64>,
    /// Operations by index of the card that did them; empty if that was not counted.
    pub by_card: BTreeMap<u32, u64>,
}

impl LoadOutcome {
    pub fn new() -> Self {
        Self {
            operations: 0,
            answers_compared: 0,
            ops_per_s: 0.0,
            seconds: 0.0,
            caller_s: 0.0,
            daemon_s: 0.0,
            cards_s: 0.0,
            latency_ns: Histogram::new_with_bounds(1, LATENCY_NS_MAX, 3).expect("bounds are in order"),
            by_card: BTreeMap::new(),
        }
    }

    pub fn record(&mut self, latency: Duration) {
        self.latency_ns.saturating_record(u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX));
    }

    pub fn add(&mut self, other: Self) {
        self.operations += other.operations;
        self.answers_compared += other.answers_compared;
        self.ops_per_s += other.ops_per_s;
        self.seconds = self.seconds.max(other.seconds);
        self.caller_s += other.caller_s;
        self.latency_ns += other.latency_ns;
        for (card, count) in other.by_card {
            *self.by_card.entry(card).or_default() += count;
        }
    }
}

/// The surroundings of a workload's loops, besides their callers.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    /// Raised to end the run.
    pub stop: &'a AtomicBool,
    /// Reads the processor time so far of the daemon and of all cards, in seconds: called at the start and at the end
    /// of the counted time.
    pub others: &'a (dyn Fn() -> (f64, f64) + Sync),
    /// The counted time; none counts all answers.
    pub window: Option<Window>,
}

/// The counted time: the same for all threads, so that tenants can be compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// From the common start to the opening.
    pub warm: Duration,
    /// From the opening to the close.
    pub open: Duration,
}

/// How often a waiting thread checks whether the run is to end.
const LOOK_WAIT: Duration = Duration::from_millis(100);

impl Context<'_> {
    /// # Errors
    /// [`LabError::Interrupted`] where the run is to end.
    pub fn go_on(&self) -> Result<(), LabError> {
        if self.stop.load(Ordering::Relaxed) { Err(LabError::Interrupted) } else { Ok(()) }
    }

    /// Sleeps until a time, or until the run is to end.
    fn sleep_until(&self, at: Instant) {
        while self.go_on().is_ok() && Instant::now() < at {
            std::thread::sleep(at.saturating_duration_since(Instant::now()).min(LOOK_WAIT));
        }
    }
}

/// The gate at which all threads meet when they are warm: work before it is not counted.
struct Gate {
    barrier: Barrier,
    begin: OnceLock<Instant>,
}

impl Gate {
    /// Waits until every thread is here and the watching thread has opened the gate; gives the time of the opening.
    fn pass(&self) -> Instant {
        self.barrier.wait();
        self.barrier.wait();
        *self.begin.get_or_init(Instant::now)
    }
}

/// A thread's pass through the gate. If a thread fails before the gate, dropping its pass lets the others through.
pub(crate) struct Pass<'a> {
    gate: &'a Gate,
    passed: bool,
}

impl Pass<'_> {
    /// Waits until every thread is here; gives the time at which all began.
    pub fn go(&mut self) -> Instant {
        self.passed = true;
        self.gate.pass()
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if !self.passed {
            self.gate.pass();
        }
    }
}

/// Runs one loop in each thread at the same time, and sums up their outcomes.
pub(crate) fn in_threads<C: Send>(
    context: Context<'_>,
    callers: Vec<C>,
    run: impl Fn(Pass<'_>, C) -> Result<LoadOutcome, LabError> + Sync,
) -> Result<LoadOutcome, LabError> {
    let (each, others_s) = each_in_threads(context, callers, run)?;
    let mut total = LoadOutcome::new();
    each.into_iter().for_each(|outcome| total.add(outcome));
    (total.daemon_s, total.cards_s) = others_s;
    Ok(total)
}

/// Runs one loop in each thread at the same time: the outcome of each, in order, and the processor time of the daemon
/// and of all cards meanwhile, in seconds.
pub(crate) fn each_in_threads<C: Send>(
    context: Context<'_>,
    callers: Vec<C>,
    run: impl Fn(Pass<'_>, C) -> Result<LoadOutcome, LabError> + Sync,
) -> Result<(Vec<LoadOutcome>, (f64, f64)), LabError> {
    let gate = Gate { barrier: Barrier::new(callers.len() + 1), begin: OnceLock::new() };
    let (gate, run) = (&gate, &run);
    std::thread::scope(|scope| {
        let threads: Vec<_> = callers
            .into_iter()
            .map(|caller| scope.spawn(move || run(Pass { gate, passed: false }, caller)))
            .collect();
        gate.barrier.wait();
        let mut before = (context.others)();
        let begin = *gate.begin.get_or_init(Instant::now);
        gate.barrier.wait();
        let mut within = None;
        if let Some(Window { warm, open }) = context.window {
            context.sleep_until(begin + warm);
            before = (context.others)();
            context.sleep_until(begin + warm + open);
            within = Some((context.others)());
        }
        let outcomes: Vec<Result<LoadOutcome, LabError>> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect();
        let after = within.unwrap_or_else(|| (context.others)());
        let each = outcomes.into_iter().collect::<Result<Vec<LoadOutcome>, LabError>>()?;
        Ok((each, (after.0 - before.0, after.1 - before.1)))
    })
}

/// Splits jobs over threads as evenly as possible.
pub(crate) fn shares(workload: &Workload) -> Vec<std::ops::Range<usize>> {
    let (jobs, threads) = (workload.jobs, workload.processors);
    (0..threads).map(|thread| thread * jobs / threads..(thread + 1) * jobs / threads).collect()
}

/// Keeps a caller busy for the time of the workload.
pub(crate) fn run(
    mut pass: Pass<'_>,
    workload: &Workload,
    mut caller: impl Caller,
    context: Context<'_>,
) -> Result<LoadOutcome, LabError> {
    // The first call warms up and is not counted.
    caller.call_compared()?;
    pass.go();
    match workload.rate {
        None => closed(workload.seconds, caller, context),
        Some(rate) => open(workload.seconds, rate / workload.processors as f64, caller, context),
    }
}

fn closed(seconds: f64, mut caller: impl Caller, context: Context<'_>) -> Result<LoadOutcome, LabError> {
    let mut outcome = LoadOutcome::new();
    let jobs = caller.jobs();
    let limit = Duration::from_secs_f64(seconds);
    let (begin, begin_s) = (Instant::now(), thread_seconds());
    let mut taken_out = Duration::ZERO;
    let mut taken_out_s = 0.0;
    loop {
        let (compare, compare_s) = (Instant::now(), thread_seconds());
        outcome.answers_compared += caller.call_compared()?;
        taken_out_s += thread_seconds() - compare_s;
        let mut now = Instant::now();
        taken_out += now - compare;
        for round in 0..ROUND {
            if round > 0 && now - begin >= limit + taken_out {
                break;
            }
            caller.call(jobs)?;
            outcome.operations += jobs as u64;
            let before = std::mem::replace(&mut now, Instant::now());
            outcome.record(now - before);
            if !caller.is_far() && now - before < LONG_CALL && now - begin < limit + taken_out {
                for _ in 0..ROUND - round - 1 {
                    caller.call(jobs)?;
                    outcome.operations += jobs as u64;
                }
                now = Instant::now();
                break;
            }
        }
        context.go_on()?;
        if now - begin >= limit + taken_out {
            break;
        }
    }
    outcome.seconds = (begin.elapsed() - taken_out).as_secs_f64();
    outcome.ops_per_s = outcome.operations as f64 / outcome.seconds;
    outcome.caller_s = thread_seconds() - begin_s - taken_out_s;
    Ok(outcome)
}

/// Requests that an open loop has due: the intended start of each, whatever the answers do.
pub(crate) struct Schedule {
    begin: Instant,
    interval: f64,
    sent: u64,
    due: u64,
}

impl Schedule {
    pub fn new(begin: Instant, rate: f64, seconds: f64) -> Self {
        Self { begin, interval: 1.0 / rate, sent: 0, due: (rate * seconds).ceil().max(1.0) as u64 }
    }

    /// Intended start of the next request; none when all have been sent.
    pub fn next(&self) -> Option<Instant> {
        (self.sent < self.due).then(|| self.begin + Duration::from_secs_f64(self.sent as f64 * self.interval))
    }

    /// Requests that should have been sent by now and were not.
    pub fn late(&self, now: Instant) -> u64 {
        let since = now.saturating_duration_since(self.begin).as_secs_f64();
        (((since / self.interval) as u64) + 1).min(self.due).saturating_sub(self.sent)
    }

    pub fn sent(&mut self) {
        self.sent += 1;
    }
}

fn open(
    seconds: f64,
    rate: f64,
    mut caller: impl Caller,
    context: Context<'_>,
) -> Result<LoadOutcome, LabError> {
    let mut outcome = LoadOutcome::new();
    let (begin, begin_s) = (Instant::now(), thread_seconds());
    let mut schedule = Schedule::new(begin, rate, seconds);
    let mut calls = 0u32;
    while let Some(intended) = schedule.next() {
        wait_until(intended);
        // All requests that are due go in one call, up to the jobs that a call carries.
        let jobs = schedule.late(Instant::now()).clamp(1, caller.jobs() as u64) as usize;
        calls = calls.wrapping_add(1);
        if calls % ROUND == 1 && schedule.late(Instant::now()) <= 1 {
            // A compared call answers no request of the schedule: it is made while none is late.
            outcome.answers_compared += caller.call_compared()?;
        }
        caller.call(jobs)?;
        let now = Instant::now();
        for _ in 0..jobs {
            if let Some(intended) = schedule.next() {
                outcome.record(now - intended);
                schedule.sent();
                outcome.operations += 1;
            }
        }
        context.go_on()?;
    }
    outcome.seconds = begin.elapsed().as_secs_f64().max(seconds);
    outcome.caller_s = thread_seconds() - begin_s;
    outcome.ops_per_s = outcome.operations as f64 / outcome.seconds;
    Ok(outcome)
}

/// Sleeps while the time is far off, spins at the end: a sleep ends tens of microseconds late.
pub(crate) fn wait_until(when: Instant) {
    const SPIN: Duration = Duration::from_micros(100);
    loop {
        let left = when.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        if left > SPIN {
            std::thread::sleep(left - SPIN);
        } else {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counting {
        calls: u64,
        compared: u64,
        fails_at: u64,
        stall: Option<(u64, Duration)>,
    }

    impl Caller for &mut Counting {
        fn jobs(&self) -> usize {
            4
        }
        fn call(&mut self, jobs: usize) -> Result<(), LabError> {
            assert!((1..=4).contains(&jobs));
            self.calls += 1;
            if let Some((at, length)) = self.stall
                && self.calls == at
            {
                let begin = Instant::now();
                while begin.elapsed() < length {
                    std::hint::spin_loop();
                }
            }
            Ok(())
        }
        fn call_compared(&mut self) -> Result<u64, LabError> {
            self.compared += 1;
            if self.compared == self.fails_at {
                let operation = crate::load::operation::Operation::Hmac(crate::load::operation::Hash::Sha1);
                return Err(LabError::WrongAnswer { operation, job: 0, what: "differs" });
            }
            Ok(4)
        }
    }

    fn counting() -> Counting {
        Counting { calls: 0, compared: 0, fails_at: u64::MAX, stall: None }
    }

    fn workload(rate: Option<f64>) -> Workload {
        Workload {
            seconds: 0.02,
            rate,
            jobs: 4,
            ..Workload::of(crate::load::operation::Operation::Hmac(crate::load::operation::Hash::Sha1))
        }
    }

    fn alone(workload: &Workload, caller: &mut Counting, stop: bool) -> Result<LoadOutcome, LabError> {
        let context = Context { stop: &AtomicBool::new(stop), others: &|| (0.0, 0.0), window: None };
        in_threads(context, vec![caller], |pass, caller| run(pass, workload, caller, context))
    }

    #[test]
    fn a_thread_that_fails_early_does_not_hold_the_others() {
        let mut callers = [Counting { fails_at: 1, ..counting() }, counting()];
        let workload = Workload { processors: 2, ..workload(None) };
        let sampled = std::sync::atomic::AtomicUsize::new(0);
        let others = || (0.0, sampled.fetch_add(1, Ordering::Relaxed) as f64);
        let context = Context { stop: &AtomicBool::new(false), others: &others, window: None };
        let result = in_threads(context, callers.iter_mut().collect(), |pass, caller: &mut Counting| {
            run(pass, &workload, caller, context)
        });
        assert!(matches!(result, Err(LabError::WrongAnswer { .. })));
        assert!(callers[1].calls > 0);
        let outcome = in_threads(context, vec![&mut callers[1]], |pass, caller: &mut Counting| {
            run(pass, &workload, caller, context)
        });
        assert_eq!(outcome.unwrap().cards_s, 1.0);
    }

    #[test]
    fn the_closed_loop_counts_its_calls_and_compares_among_them() {
        let mut caller = counting();
        let outcome = alone(&workload(None), &mut caller, false).unwrap();
        assert_eq!(outcome.operations, 4 * caller.calls);
        assert_eq!(outcome.answers_compared, 4 * (caller.compared - 1));
        assert!(outcome.answers_compared > 0 && !outcome.latency_ns.is_empty());
        assert!((outcome.ops_per_s * outcome.seconds / outcome.operations as f64 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_wrong_answer_ends_the_loop() {
        for rate in [None, Some(1000.0)] {
            let mut caller = Counting { fails_at: 2, ..counting() };
            let result = alone(&workload(rate), &mut caller, false);
            assert!(matches!(result, Err(LabError::WrongAnswer { .. })));
        }
    }

    #[test]
    fn a_stop_ends_the_loop() {
        let endless = Workload { seconds: 1e6, ..workload(None) };
        assert!(matches!(alone(&endless, &mut counting(), true), Err(LabError::Interrupted)));
    }

    #[test]
    fn the_open_loop_sends_what_is_due_and_counts_from_the_intended_start() {
        let mut caller = Counting { stall: Some((3, Duration::from_millis(10))), ..counting() };
        let outcome = alone(&workload(Some(10_000.0)), &mut caller, false).unwrap();
        assert_eq!(outcome.operations, 200);
        // The stall of 10 ms delays some 100 requests, and each of their latencies shows it.
        let delayed = outcome.latency_ns.count_between(1_000_000, LATENCY_NS_MAX);
        assert!(delayed >= 80, "{delayed}");
    }

    #[test]
    fn jobs_are_split_evenly() {
        let split = |jobs, processors| {
            let workload = Workload { jobs, processors, ..workload(None) };
            shares(&workload).into_iter().map(|share| share.len()).collect::<Vec<_>>()
        };
        assert_eq!(split(7, 2), [3, 4]);
        assert_eq!(split(8, 3).iter().sum::<usize>(), 8);
        assert_eq!(split(1, 1), [1]);
    }
}

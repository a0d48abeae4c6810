//! The load: a thread for each tenant that keeps its jobs under way, and a window that counts.
//!
//! Everyone begins together; what is answered before the window opens warms up queues and lanes, what comes
//! after it closes is waited for and not counted. So each tenant is measured over the same time, and no request
//! is left behind. Every answer is compared with what it must be. A rate is the number of answers over the time
//! from the last one before the window to the last one within it: whole turns, however few.

use super::outcome::LoadRun;
use crate::load::operation::Operation;
use crate::load::requests::{DOMAIN, Request};
use crate::load::{LabError, Workload, thread_seconds};
use engine::Engine;
use facility::{Facility, FacilityError, Reply, Ticket};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

/// Longest latency that is told apart.
const LATENCY_NS_MAX: u64 = 60_000_000_000;
/// How long a caller whose slots are all taken waits before it tries again.
const FULL_WAIT: Duration = Duration::from_micros(200);
/// How often the watcher looks whether anything failed.
const LOOK_WAIT: Duration = Duration::from_millis(100);

/// Jobs that one thread carries, at the most: it looks at all of them in turn.
const JOBS_OF_A_THREAD: usize = 16;

/// One tenant at work.
pub(super) struct Tenant {
    /// Its way to the cards.
    pub facility: Facility,
    /// What it asks for.
    pub operation: Operation,
    /// One for each job.
    pub requests: Vec<Request>,
}

/// When is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// From the start of everyone to the opening.
    pub warm: Duration,
    /// From the opening to the close.
    pub open: Duration,
}

/// What the threads share.
struct Common<'a> {
    engine: &'a Engine,
    window: Window,
    start: Barrier,
    began: OnceLock<Instant>,
    failed: AtomicBool,
    stop: &'a AtomicBool,
}

/// Runs the loads of all tenants; `watch` is called at the opening and at the close of the window. Gives what each
/// tenant got, their processor time in seconds, and the number of answers compared.
///
/// # Errors
/// The first error of a tenant; [`LabError::Interrupted`].
pub(super) fn run(
    engine: &Engine,
    tenants: Vec<Tenant>,
    window: Window,
    stop: &AtomicBool,
    mut watch: impl FnMut(),
) -> Result<(Vec<LoadRun>, f64, u64), LabError> {
    let carriers: Vec<(usize, Tenant)> = tenants.into_iter().enumerate().flat_map(in_threads).collect();
    let common = Common {
        engine,
        window,
        start: Barrier::new(carriers.len() + 1),
        began: OnceLock::new(),
        failed: AtomicBool::new(false),
        stop,
    };
    let common = &common;
    let carried = std::thread::scope(|scope| {
        let threads: Vec<_> = carriers
            .into_iter()
            .map(|(index, tenant)| {
                let carry = move || {
                    let carrier = Carrier::new(common, tenant);
                    common.start.wait();
                    let carried = carrier.run();
                    if carried.is_err() {
                        common.failed.store(true, Ordering::Relaxed);
                    }
                    carried
                };
                (index, scope.spawn(carry))
            })
            .collect();
        let begin = *common.began.get_or_init(Instant::now);
        common.start.wait();
        for at in [begin + window.warm, begin + window.warm + window.open] {
            while !common.is_over() && Instant::now() < at {
                std::thread::sleep(at.saturating_duration_since(Instant::now()).min(LOOK_WAIT));
            }
            watch();
        }
        let joined = threads.into_iter().map(|(index, thread)| {
            (index, thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        joined.collect::<Vec<_>>()
    });
    sum_up(carried)
}

/// Shares a tenant's jobs among threads.
fn in_threads((index, mut tenant): (usize, Tenant)) -> Vec<(usize, Tenant)> {
    let mut threads = Vec::new();
    loop {
        let rest = tenant.requests.split_off(tenant.requests.len().min(JOBS_OF_A_THREAD));
        let (facility, operation) = (tenant.facility.clone(), tenant.operation);
        threads.push((index, tenant));
        if rest.is_empty() {
            return threads;
        }
        tenant = Tenant { facility, operation, requests: rest };
    }
}

/// Puts together what the threads of each tenant carried, which stand in the tenants' order.
fn sum_up(carried: Vec<(usize, Result<Carried, LabError>)>) -> Result<(Vec<LoadRun>, f64, u64), LabError> {
    let (mut all, mut seconds, mut compared) = (Vec::<(usize, Carried)>::new(), 0.0, 0);
    let mut interrupted = false;
    for (index, carried) in carried {
        let carried = match carried {
            // Where one tenant failed, the others are stopped: that is not the cause.
            Err(LabError::Interrupted) => {
                interrupted = true;
                continue;
            }
            other => other?,
        };
        seconds += carried.caller_s;
        compared += carried.compared;
        match all.last_mut().filter(|(last, _)| *last == index) {
            Some((_, own)) => own.add(&carried),
            None => all.push((index, carried)),
        }
    }
    if interrupted {
        return Err(LabError::Interrupted);
    }
    Ok((all.into_iter().map(|(_, carried)| carried.run()).collect(), seconds, compared))
}

/// What one thread carried.
struct Carried {
    latency_ns: Histogram<u64>,
    ops_per_s: f64,
    by_card: BTreeMap<u32, u64>,
    caller_s: f64,
    compared: u64,
}

impl Carried {
    fn add(&mut self, other: &Self) {
        // The bounds of the two are the same.
        let _ = self.latency_ns.add(&other.latency_ns);
        self.ops_per_s += other.ops_per_s;
        for (card, count) in &other.by_card {
            *self.by_card.entry(*card).or_default() += count;
        }
    }

    fn run(self) -> LoadRun {
        let per_answer = self.ops_per_s / (self.latency_ns.len().max(1) as f64);
        LoadRun {
            ops_per_s: self.ops_per_s,
            p50_ns: self.latency_ns.value_at_quantile(0.5),
            p99_ns: self.latency_ns.value_at_quantile(0.99),
            by_card: self.by_card.iter().map(|(card, count)| (*card, *count as f64 * per_answer)).collect(),
        }
    }
}

impl Common<'_> {
    fn is_over(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed)
    }
}

/// One tenant's thread.
struct Carrier<'a> {
    common: &'a Common<'a>,
    facility: Facility,
    workload: Workload,
    requests: Vec<Request>,
    tickets: Vec<Ticket>,
    /// When each request was sent, and to which card.
    sent: Vec<(Instant, Option<u32>)>,
    latency_ns: Histogram<u64>,
    by_card: BTreeMap<u32, u64>,
    compared: u64,
}

impl<'a> Carrier<'a> {
    fn new(common: &'a Common<'a>, tenant: Tenant) -> Self {
        let mut latency_ns = Histogram::new_with_max(LATENCY_NS_MAX, 3).expect("the bounds are constants");
        latency_ns.auto(false);
        let jobs = tenant.requests.len();
        Self {
            common,
            facility: tenant.facility,
            workload: Workload { jobs, ..Workload::of(tenant.operation) },
            requests: tenant.requests,
            tickets: Vec::with_capacity(jobs),
            sent: Vec::with_capacity(jobs),
            latency_ns,
            by_card: BTreeMap::new(),
            compared: 0,
        }
    }

    fn run(mut self) -> Result<Carried, LabError> {
        let begin = *self.common.began.get_or_init(Instant::now);
        let opens = begin + self.common.window.warm;
        let closes = opens + self.common.window.open;
        for job in 0..self.requests.len() {
            let ticket = self.submit(job)?;
            self.sent.push((Instant::now(), ticket.card()));
            self.tickets.push(ticket);
        }
        let mut reply = Reply::new();
        let (mut begin_s, mut end_s) = (None, None);
        let (mut before_open, mut last_within) = (opens, opens);
        let mut answered = 0;
        while answered < self.tickets.len() {
            let Some(first) = Ticket::wait_any(&mut self.tickets) else { break };
            let now = Instant::now();
            if now >= opens && begin_s.is_none() {
                begin_s = Some(thread_seconds());
            }
            if now >= closes && end_s.is_none() {
                end_s = Some(thread_seconds());
            }
            // Whatever else is there is taken in the same round; the lowest job must not starve the rest.
            for job in (first..self.tickets.len()).chain(0..first) {
                if job != first && !self.tickets[job].is_done() {
                    continue;
                }
                let Some(result) = self.tickets[job].try_wait_into(&mut reply) else { continue };
                result.map_err(failed)?;
                let now = Instant::now();
                let (before, card) = self.sent[job];
                if now < closes {
                    self.submit_again(job)?;
                    self.sent[job] = (now, self.tickets[job].card());
                } else {
                    answered += 1;
                }
                let compared = self.requests[job].check(self.common.engine, &self.workload, job, &reply)?;
                self.compared += u64::from(compared);
                if now < opens {
                    before_open = now;
                } else if now < closes {
                    last_within = now;
                    self.latency_ns.saturating_record((now - before).as_nanos() as u64);
                    if let Some(card) = card {
                        *self.by_card.entry(card).or_default() += 1;
                    }
                }
            }
            if self.common.is_over() {
                return Err(LabError::Interrupted);
            }
        }
        let caller_s = match (begin_s, end_s) {
            (Some(begin), Some(end)) => end - begin,
            _ => 0.0,
        };
        let seconds = (last_within - before_open).as_secs_f64();
        let count = self.latency_ns.len() as f64;
        let ops_per_s = if seconds > 0.0 { count / seconds } else { 0.0 };
        let Self { latency_ns, by_card, compared, .. } = self;
        Ok(Carried { latency_ns, ops_per_s, by_card, caller_s, compared })
    }

    fn submit(&self, job: usize) -> Result<Ticket, LabError> {
        loop {
            match self.facility.submit(DOMAIN, &self.requests[job].arguments()) {
                Err(FacilityError::Full { .. }) => self.wait_for_a_slot()?,
                result => return result.map_err(failed),
            }
        }
    }

    fn submit_again(&mut self, job: usize) -> Result<(), LabError> {
        loop {
            let arguments = self.requests[job].arguments();
            match self.facility.submit_into(&mut self.tickets[job], DOMAIN, &arguments) {
                Err(FacilityError::Full { .. }) => self.wait_for_a_slot()?,
                result => return result.map_err(failed),
            }
        }
    }

    fn wait_for_a_slot(&self) -> Result<(), LabError> {
        if self.common.is_over() {
            return Err(LabError::Interrupted);
        }
        std::thread::sleep(FULL_WAIT);
        Ok(())
    }
}

fn failed(error: FacilityError) -> LabError {
    LabError::Facility { what: "carry a tenant's load", cause: error.to_string() }
}

//! Jobs kept in the slots of cards, or called through the facility one after the other.
//!
//! The facility chooses the card of each request among the cards of the workload, as it does for programs. Every
//! answer's codes are checked, and its content is compared with the expected content.

use super::pacing::{
    Context, InTurn, LoadOutcome, Pass, Schedule, Window, each_in_threads, run, shares, wait_until,
};
use super::requests::{DOMAIN, Maker, Request, Tokens};
use super::usage::thread_seconds;
use super::{Interface, LabError, Workload};
use engine::Engine;
use facility::{Facility, FacilityError, Reply, Ticket};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// One of several loads that run at the same time, each through a facility of its own: a tenant, or a way of
/// waiting.
pub(crate) struct Load<'a> {
    /// The facility whose cards serve the load; it also decides how the load waits.
    pub facility: &'a Facility,
    /// The workload: by calls or in slots of cards, as its interface says. With the engine's interface, a thread with
    /// one job calls, and a thread with more jobs keeps them in flight.
    pub workload: &'a Workload,
    /// Number of requests with different keys; further jobs use these requests again.
    pub keys: usize,
}

impl<'a> Load<'a> {
    /// A load with one key for each job.
    pub fn of(facility: &'a Facility, workload: &'a Workload) -> Self {
        Self { facility, workload, keys: usize::MAX }
    }
}

/// The result of loads that ran at the same time.
pub(crate) struct Together {
    /// The outcome of each load, in order; without the processor time of daemon and cards.
    pub each: Vec<LoadOutcome>,
    /// Processor time of the daemon, in seconds.
    pub daemon_s: f64,
    /// Processor time of all cards, in seconds.
    pub cards_s: f64,
}

/// Runs one load; the outcome includes the processor time of daemon and cards.
pub(super) fn measure_alone(
    load: Load<'_>,
    engine: &Engine,
    home: &Facility,
    tokens: &mut Tokens,
    context: Context<'_>,
) -> Result<LoadOutcome, LabError> {
    let mut together = measure_together(&[load], engine, home, tokens, context)?;
    let mut outcome = together.each.pop().unwrap_or_else(LoadOutcome::new);
    (outcome.daemon_s, outcome.cards_s) = (together.daemon_s, together.cards_s);
    Ok(outcome)
}

/// Runs loads at the same time. Their requests are made through `home`, which must reach a coprocessor.
pub(super) fn measure_together(
    loads: &[Load<'_>],
    engine: &Engine,
    home: &Facility,
    tokens: &mut Tokens,
    context: Context<'_>,
) -> Result<Together, LabError> {
    let mut callers = Vec::new();
    for (index, load) in loads.iter().enumerate() {
        let threads = requests(load.workload, load.keys, engine, home, tokens)?;
        callers.extend(threads.into_iter().map(|(first, jobs)| (index, first, jobs)));
    }
    let of_thread: Vec<usize> = callers.iter().map(|(index, ..)| *index).collect();
    let (threads, (daemon_s, cards_s)) =
        each_in_threads(context, callers, |pass, (index, first, mut jobs)| {
            let Load { facility, workload, .. } = loads[index];
            let in_slots = match workload.interface {
                Interface::Card => true,
                Interface::Facility => false,
                Interface::Native => jobs.len() > 1 || workload.rate.is_some() || context.window.is_some(),
            };
            if in_slots {
                return Slots { workload, engine, facility, first }.run(pass, &mut jobs, context);
            }
            let mut reply = Reply::new();
            // Every call compares its answer.
            let call = |number, request: &mut Request, _| {
                facility.call_into(DOMAIN, &request.arguments(), &mut reply).map_err(failed)?;
                request.check(engine, workload, number, &reply).map(drop)
            };
            run(pass, workload, InTurn { jobs, first, turn: 0, is_far: true, call }, context)
        })?;
    let mut each: Vec<LoadOutcome> = loads.iter().map(|_| LoadOutcome::new()).collect();
    for (index, outcome) in of_thread.into_iter().zip(threads) {
        each[index].add(outcome);
    }
    Ok(Together { each, daemon_s, cards_s })
}

/// Each thread's requests, with the number of its first job.
pub(super) fn requests(
    workload: &Workload,
    keys: usize,
    engine: &Engine,
    facility: &Facility,
    tokens: &mut Tokens,
) -> Result<Vec<(usize, Vec<Request>)>, LabError> {
    let mut maker = Maker::new(engine, facility, tokens);
    let threads = shares(workload).into_iter().map(|share| {
        let first = share.start;
        Ok((first, share.map(|job| maker.request(workload, job % keys)).collect::<Result<_, _>>()?))
    });
    threads.collect()
}

pub(super) fn failed(error: FacilityError) -> LabError {
    LabError::facility("run the workload")(error)
}

/// How often a caller whose slots are all taken tries again at once, and how long it sleeps between later tries.
const FULL_TRIES: u32 = 64;
const FULL_WAIT: Duration = Duration::from_micros(200);

/// One thread's jobs in slots.
struct Slots<'a> {
    workload: &'a Workload,
    engine: &'a Engine,
    facility: &'a Facility,
    first: usize,
}

impl Slots<'_> {
    fn run(
        &self,
        mut pass: Pass<'_>,
        jobs: &mut [Request],
        context: Context<'_>,
    ) -> Result<LoadOutcome, LabError> {
        // The first round makes the queues and shows that every job gets the right answer. A window leaves time for
        // that.
        let mut reply = Reply::new();
        for (index, job) in jobs.iter_mut().enumerate().filter(|_| context.window.is_none()) {
            self.facility.call_into(DOMAIN, &job.arguments(), &mut reply).map_err(failed)?;
            job.check(self.engine, self.workload, self.first + index, &reply)?;
        }
        let begin = pass.go();
        match self.workload.rate {
            None => self.closed(jobs, begin, context),
            Some(rate) => self.open(jobs, rate / self.workload.processors as f64, context),
        }
    }

    /// A closed loop. Answers before the window opens warm up; answers after it closes are collected but not counted,
    /// so that no request is left behind. The rate is the number of answers over the time from the last answer before
    /// the window to the last answer within it: whole turns, however few. Without a window all answers count, the last
    /// of each job included.
    fn closed(
        &self,
        jobs: &mut [Request],
        begin: Instant,
        context: Context<'_>,
    ) -> Result<LoadOutcome, LabError> {
        let mut outcome = LoadOutcome::new();
        let mut reply = Reply::new();
        let all = Window { warm: Duration::ZERO, open: Duration::from_secs_f64(self.workload.seconds) };
        let Window { warm, open } = context.window.unwrap_or(all);
        let (opens, closes) = (begin + warm, begin + warm + open);
        let (mut is_open, mut begin_s, mut end_s) = (warm.is_zero(), thread_seconds(), None);
        let mut sent = Vec::with_capacity(jobs.len());
        let mut tickets = Vec::with_capacity(jobs.len());
        for job in jobs.iter() {
            let ticket = self.when_free(context, || self.facility.submit(DOMAIN, &job.arguments()))?;
            sent.push((Instant::now(), ticket.card()));
            tickets.push(ticket);
        }
        let (mut answered, mut from, mut to) = (0, opens, opens);
        while answered < tickets.len() {
            let Some(index) = Ticket::wait_any(&mut tickets) else { break };
            let now = Instant::now();
            if !is_open && now >= opens {
                (is_open, begin_s) = (true, thread_seconds());
            }
            if context.window.is_some() && now >= closes && end_s.is_none() {
                end_s = Some(thread_seconds());
            }
            let Some(result) = tickets[index].try_wait_into(&mut reply) else { continue };
            result.map_err(failed)?;
            let (before, card) = sent[index];
            if now >= closes {
                answered += 1;
            } else {
                let (job, ticket) = (&jobs[index], &mut tickets[index]);
                self.when_free(context, || self.facility.submit_into(ticket, DOMAIN, &job.arguments()))?;
                sent[index] = (now, tickets[index].card());
            }
            // The answer is compared while the card works on the next request.
            let compared = jobs[index].check(self.engine, self.workload, self.first + index, &reply)?;
            outcome.answers_compared += u64::from(compared);
            if now < opens {
                from = now;
            } else if now < closes || context.window.is_none() {
                to = now;
                outcome.record(now - before);
                outcome.operations += 1;
                if let Some(card) = card.filter(|_| context.window.is_some()) {
                    *outcome.by_card.entry(card).or_default() += 1;
                }
            }
            context.go_on()?;
        }
        outcome.seconds = (to - from).as_secs_f64();
        outcome.caller_s = end_s.unwrap_or_else(thread_seconds) - begin_s;
        outcome.ops_per_s =
            if outcome.seconds > 0.0 { outcome.operations as f64 / outcome.seconds } else { 0.0 };
        Ok(outcome)
    }

    fn open(&self, jobs: &mut [Request], rate: f64, context: Context<'_>) -> Result<LoadOutcome, LabError> {
        let mut outcome = LoadOutcome::new();
        let mut reply = Reply::new();
        let (begin, begin_s) = (Instant::now(), thread_seconds());
        let mut schedule = Schedule::new(begin, rate, self.workload.seconds);
        let mut free: VecDeque<usize> = (0..jobs.len()).collect();
        let mut tickets: Vec<Option<(Ticket, Instant)>> = jobs.iter().map(|_| None).collect();
        loop {
            // Requests that are due go out while a job is free to carry them; the others wait, and their latency runs
            // from their intended start.
            while let Some(intended) = schedule.next() {
                if intended > Instant::now() {
                    break;
                }
                let Some(job) = free.pop_front() else { break };
                let request = jobs[job].arguments();
                let ticket = self.when_free(context, || self.facility.submit(DOMAIN, &request))?;
                tickets[job] = Some((ticket, intended));
                schedule.sent();
            }
            let mut answered = false;
            for (job, place) in tickets.iter_mut().enumerate() {
                let Some((ticket, intended)) = place else { continue };
                let Some(result) = ticket.try_wait_into(&mut reply) else { continue };
                result.map_err(failed)?;
                outcome.record(Instant::now() - *intended);
                let compared = jobs[job].check(self.engine, self.workload, self.first + job, &reply)?;
                outcome.answers_compared += u64::from(compared);
                outcome.operations += 1;
                *place = None;
                free.push_back(job);
                answered = true;
            }
            context.go_on()?;
            match schedule.next() {
                None if free.len() == jobs.len() => break,
                Some(intended) if free.len() == jobs.len() => wait_until(intended),
                _ if !answered => std::thread::yield_now(),
                _ => {}
            }
        }
        outcome.seconds = begin.elapsed().as_secs_f64().max(self.workload.seconds);
        outcome.caller_s = thread_seconds() - begin_s;
        outcome.ops_per_s = outcome.operations as f64 / outcome.seconds;
        Ok(outcome)
    }

    /// Sends a request once a slot is free: with more jobs than slots, the next answer frees one.
    fn when_free<T>(
        &self,
        context: Context<'_>,
        mut send: impl FnMut() -> Result<T, FacilityError>,
    ) -> Result<T, LabError> {
        for tries in 0.. {
            match send() {
                Err(FacilityError::Full { .. }) if tries < FULL_TRIES => std::thread::yield_now(),
                Err(FacilityError::Full { .. }) => std::thread::sleep(FULL_WAIT),
                result => return result.map_err(failed),
            }
            context.go_on()?;
        }
        Err(LabError::Interrupted)
    }
}

//! Jobs kept in the slots of cards, or called through the facility one after the other.
//!
//! Which card a request goes to is the facility's choice among the cards of the workload, as it is
//! for programs. Every answer's codes are looked at and its content compared with what it must be.

use super::pacing::{
    Caller, Context, Outcome, Pass, Schedule, each_in_threads, in_threads, run, shares, wait_until,
};
use super::requests::{DOMAIN, Maker, Request, Tokens};
use super::usage::thread_seconds;
use super::{LabError, Workload};
use engine::Engine;
use facility::{Facility, FacilityError, Reply, Selection, Ticket};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use wire::control::CardRow;

/// Runs a workload of the card interface on these cards.
pub(super) fn measure_card(
    workload: &Workload,
    engine: &Engine,
    facility: &Facility,
    cards: &[CardRow],
    tokens: &mut Tokens,
    context: Context<'_>,
) -> Result<Outcome, LabError> {
    let chosen = cards.iter().fold(0u64, |bits, card| bits | 1 << card.index);
    let selection = Selection { personality: Some(workload.personality()), cards: Some(chosen) };
    let on_cards = facility.with_selection(selection);
    let jobs = requests(workload, engine, facility, tokens)?;
    in_threads(context, jobs, |pass, (first, mut jobs)| {
        let slots = Slots { workload, engine, facility: &on_cards, first };
        slots.run(pass, &mut jobs, context)
    })
}

/// Runs a verb through the facility's synchronous call.
pub(super) fn measure_verb(
    workload: &Workload,
    engine: &Engine,
    facility: &Facility,
    tokens: &mut Tokens,
    context: Context<'_>,
) -> Result<Outcome, LabError> {
    let jobs = requests(workload, engine, facility, tokens)?;
    in_threads(context, jobs, |pass, (first, mut jobs)| {
        let caller =
            InTurn { workload, engine, facility, first, jobs: &mut jobs, turn: 0, reply: Reply::new() };
        run(pass, workload, caller, context)
    })
}

/// One of several loads that run at the same time, each through a facility of its own: a tenant, or a way of
/// waiting.
pub(crate) struct Load<'a> {
    /// Whose cards serve it, and how it waits.
    pub facility: &'a Facility,
    /// What it does, whatever its interface; a thread with one job calls, one with more keeps them in flight.
    pub workload: &'a Workload,
}

/// What loads gave that ran at the same time.
pub(crate) struct Together {
    /// Each load, in order; without the processor time of daemon and cards.
    pub each: Vec<Outcome>,
    /// Processor time of all cards, in seconds.
    pub cards_s: f64,
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
        let threads = requests(load.workload, engine, home, tokens)?;
        callers.extend(threads.into_iter().map(|(first, jobs)| (index, first, jobs)));
    }
    let of_thread: Vec<usize> = callers.iter().map(|(index, ..)| *index).collect();
    let (threads, (_, cards_s)) = each_in_threads(context, callers, |pass, (index, first, mut jobs)| {
        let Load { facility, workload } = loads[index];
        if jobs.len() > 1 || workload.rate.is_some() {
            return Slots { workload, engine, facility, first }.run(pass, &mut jobs, context);
        }
        let caller =
            InTurn { workload, engine, facility, first, jobs: &mut jobs, turn: 0, reply: Reply::new() };
        run(pass, workload, caller, context)
    })?;
    let mut each: Vec<Outcome> = loads.iter().map(|_| Outcome::new()).collect();
    for (index, outcome) in of_thread.into_iter().zip(threads) {
        each[index].add(outcome);
    }
    Ok(Together { each, cards_s })
}

/// Each thread's requests, with the number of its first job.
fn requests(
    workload: &Workload,
    engine: &Engine,
    facility: &Facility,
    tokens: &mut Tokens,
) -> Result<Vec<(usize, Vec<Request>)>, LabError> {
    let mut maker = Maker::new(engine, facility, tokens);
    let threads = shares(workload).into_iter().map(|share| {
        let first = share.start;
        Ok((first, share.map(|job| maker.request(workload, job)).collect::<Result<_, _>>()?))
    });
    threads.collect()
}

pub(super) fn failed(error: FacilityError) -> LabError {
    LabError::Facility { what: "run the workload", cause: error.to_string() }
}

struct InTurn<'a> {
    workload: &'a Workload,
    engine: &'a Engine,
    facility: &'a Facility,
    first: usize,
    jobs: &'a mut [Request],
    turn: usize,
    reply: Reply,
}

impl Caller for InTurn<'_> {
    fn jobs(&self) -> usize {
        1
    }

    fn is_far(&self) -> bool {
        true
    }

    fn call(&mut self, _: usize) -> Result<(), LabError> {
        let job = self.turn;
        self.turn = (job + 1) % self.jobs.len();
        let request = &mut self.jobs[job];
        self.facility.call_into(DOMAIN, &request.arguments(), &mut self.reply).map_err(failed)?;
        request.check(self.engine, self.workload, self.first + job, &self.reply).map(drop)
    }

    fn call_compared(&mut self) -> Result<u64, LabError> {
        // Every call compares.
        self.call(1)?;
        Ok(1)
    }
}

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
    ) -> Result<Outcome, LabError> {
        // The first round makes the queues and shows that every job is answered rightly.
        let mut reply = Reply::new();
        for (index, job) in jobs.iter_mut().enumerate() {
            self.facility.call_into(DOMAIN, &job.arguments(), &mut reply).map_err(failed)?;
            job.check(self.engine, self.workload, self.first + index, &reply)?;
        }
        pass.go();
        match self.workload.rate {
            None => self.closed(jobs, context),
            Some(rate) => self.open(jobs, rate / self.workload.processors as f64, context),
        }
    }

    fn closed(&self, jobs: &mut [Request], context: Context<'_>) -> Result<Outcome, LabError> {
        let mut outcome = Outcome::new();
        let mut reply = Reply::new();
        let (begin, begin_s) = (Instant::now(), thread_seconds());
        let limit = Duration::from_secs_f64(self.workload.seconds);
        let mut sent = Vec::with_capacity(jobs.len());
        let mut tickets = Vec::with_capacity(jobs.len());
        for job in jobs.iter() {
            tickets.push(self.submit(job)?);
            sent.push(Instant::now());
        }
        let mut answered = 0;
        let mut ended = begin;
        while answered < tickets.len() {
            let Some(first) = Ticket::wait_any(&mut tickets) else { break };
            // Whatever else is there is taken in the same round; the lowest job must not starve the rest.
            for index in (first..tickets.len()).chain(0..first) {
                if index != first && !tickets[index].is_done() {
                    continue;
                }
                let Some(result) = tickets[index].try_wait_into(&mut reply) else { continue };
                result.map_err(failed)?;
                let now = Instant::now();
                let before = std::mem::replace(&mut sent[index], now);
                if now - begin >= limit {
                    answered += 1;
                } else {
                    self.submit_again(&mut tickets[index], &jobs[index])?;
                }
                // While the card has the next request.
                outcome.record(now - before);
                let compared = jobs[index].check(self.engine, self.workload, self.first + index, &reply)?;
                outcome.answers_compared += u64::from(compared);
                outcome.operations += 1;
                ended = now;
                context.go_on()?;
            }
        }
        outcome.seconds = (ended - begin).as_secs_f64();
        outcome.caller_s = thread_seconds() - begin_s;
        outcome.ops_per_s = outcome.operations as f64 / outcome.seconds;
        Ok(outcome)
    }

    fn open(&self, jobs: &mut [Request], rate: f64, context: Context<'_>) -> Result<Outcome, LabError> {
        let mut outcome = Outcome::new();
        let mut reply = Reply::new();
        let (begin, begin_s) = (Instant::now(), thread_seconds());
        let mut schedule = Schedule::new(begin, rate, self.workload.seconds);
        let mut free: VecDeque<usize> = (0..jobs.len()).collect();
        let mut tickets: Vec<Option<(Ticket, Instant)>> = jobs.iter().map(|_| None).collect();
        loop {
            // Requests that are due go out while a job is free to carry them; the others wait, and
            // their latency runs from the time at which they should have gone.
            while let Some(intended) = schedule.next() {
                if intended > Instant::now() {
                    break;
                }
                let Some(job) = free.pop_front() else { break };
                tickets[job] = Some((self.submit(&jobs[job])?, intended));
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

    fn submit(&self, request: &Request) -> Result<Ticket, LabError> {
        loop {
            match self.facility.submit(DOMAIN, &request.arguments()) {
                // More jobs than slots: the next answer frees one.
                Err(FacilityError::Full { .. }) => std::thread::yield_now(),
                result => return result.map_err(failed),
            }
        }
    }

    fn submit_again(&self, ticket: &mut Ticket, request: &Request) -> Result<(), LabError> {
        loop {
            match self.facility.submit_into(ticket, DOMAIN, &request.arguments()) {
                Err(FacilityError::Full { .. }) => std::thread::yield_now(),
                result => return result.map_err(failed),
            }
        }
    }
}

//! Jobs kept in flight by one event loop.

use super::card::failed;
use super::pacing::{Context, LoadOutcome};
use super::requests::{DOMAIN, Maker, Tokens};
use super::usage::thread_seconds;
use super::{LabError, Workload};
use engine::Engine;
use facility::{Facility, Reply};
use std::time::{Duration, Instant};

/// Keeps a workload's jobs in flight from one loop, which sleeps on its descriptor while no answer is ready, or looks
/// again at once unless it `sleeps`. Requests are made through `home`, which must reach a coprocessor.
pub(super) fn measure(
    workload: &Workload,
    engine: &Engine,
    facility: &Facility,
    home: &Facility,
    tokens: &mut Tokens,
    context: Context<'_>,
    sleeps: bool,
) -> Result<LoadOutcome, LabError> {
    let mut maker = Maker::new(engine, home, tokens);
    let jobs = (0..workload.jobs).map(|job| maker.request(workload, job));
    let mut jobs = jobs.collect::<Result<Vec<_>, _>>()?;
    let mut completions = facility.completions().map_err(failed)?;
    let mut reply = Reply::new();
    // The first round makes the queues and shows that every job gets the right answer.
    for round in 0..2 {
        for (number, job) in jobs.iter().enumerate() {
            completions.submit(number as u64, DOMAIN, &job.arguments()).map_err(failed)?;
        }
        while round == 0 && completions.in_flight() > 0 {
            while let Some((number, answer)) = completions.collect(&mut reply) {
                answer.map_err(failed)?;
                jobs[number as usize].check(engine, workload, number as usize, &reply)?;
            }
            completions.wait(None);
        }
    }
    let mut outcome = LoadOutcome::new();
    let (begin, begin_s) = (Instant::now(), thread_seconds());
    let limit = Duration::from_secs_f64(workload.seconds);
    let mut sent = vec![begin; jobs.len()];
    let mut ended = begin;
    while completions.in_flight() > 0 {
        while let Some((number, answer)) = completions.collect(&mut reply) {
            answer.map_err(failed)?;
            let job = number as usize;
            let now = Instant::now();
            let before = std::mem::replace(&mut sent[job], now);
            if now - begin < limit {
                completions.submit(number, DOMAIN, &jobs[job].arguments()).map_err(failed)?;
            }
            outcome.record(now - before);
            outcome.answers_compared += u64::from(jobs[job].check(engine, workload, job, &reply)?);
            outcome.operations += 1;
            ended = now;
        }
        context.go_on()?;
        if sleeps && completions.in_flight() > 0 {
            completions.wait(None);
        }
    }
    outcome.seconds = (ended - begin).as_secs_f64();
    outcome.caller_s = thread_seconds() - begin_s;
    outcome.ops_per_s = outcome.operations as f64 / outcome.seconds;
    Ok(outcome)
}

//! Jobs kept in flight by event loops.

use super::card::{failed, requests};
use super::pacing::{Context, LoadOutcome, Pass, in_threads};
use super::requests::{DOMAIN, Request, Tokens};
use super::usage::thread_seconds;
use super::{LabError, Workload};
use engine::Engine;
use facility::{Facility, Reply};
use std::time::{Duration, Instant};

/// Keeps a workload's jobs in flight from as many loops as it has threads, each of which sleeps on its descriptor while
/// no answer is ready, or looks again at once unless it `sleeps`. Requests are made through `home`, which must reach a
/// coprocessor.
pub(super) fn measure(
    workload: &Workload,
    engine: &Engine,
    facility: &Facility,
    home: &Facility,
    tokens: &mut Tokens,
    context: Context<'_>,
    sleeps: bool,
) -> Result<LoadOutcome, LabError> {
    let loops = requests(workload, usize::MAX, engine, home, tokens)?;
    in_threads(context, loops, |pass, (first, mut jobs)| {
        EventLoop { workload, engine, facility, first, sleeps }.run(pass, &mut jobs, context)
    })
}

/// One loop, and the number of its first job.
struct EventLoop<'a> {
    workload: &'a Workload,
    engine: &'a Engine,
    facility: &'a Facility,
    first: usize,
    sleeps: bool,
}

impl EventLoop<'_> {
    fn run(
        &self,
        mut pass: Pass<'_>,
        jobs: &mut [Request],
        context: Context<'_>,
    ) -> Result<LoadOutcome, LabError> {
        let mut completions = self.facility.completions().map_err(failed)?;
        let mut reply = Reply::new();
        // The first round makes the queues and shows that every job gets the right answer.
        for round in 0..2 {
            if round == 1 {
                pass.go();
            }
            for (number, job) in jobs.iter().enumerate() {
                completions.submit(number as u64, DOMAIN, &job.arguments()).map_err(failed)?;
            }
            while round == 0 && completions.in_flight() > 0 {
                while let Some((number, answer)) = completions.collect(&mut reply) {
                    answer.map_err(failed)?;
                    let job = number as usize;
                    jobs[job].check(self.engine, self.workload, self.first + job, &reply)?;
                }
                completions.wait(None);
            }
        }
        let mut outcome = LoadOutcome::new();
        let (begin, begin_s) = (Instant::now(), thread_seconds());
        let limit = Duration::from_secs_f64(self.workload.seconds);
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
                let compared = jobs[job].check(self.engine, self.workload, self.first + job, &reply)?;
                outcome.answers_compared += u64::from(compared);
                outcome.operations += 1;
                ended = now;
            }
            context.go_on()?;
            if self.sleeps && completions.in_flight() > 0 {
                completions.wait(None);
            }
        }
        outcome.seconds = (ended - begin).as_secs_f64();
        outcome.caller_s = thread_seconds() - begin_s;
        outcome.ops_per_s = outcome.operations as f64 / outcome.seconds;
        Ok(outcome)
    }
}

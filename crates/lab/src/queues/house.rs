//! A rig as running processes: a throw-away home with its cards, timed if the rig says so, and its tenants.

use super::case::{Case, Load, Rig, bits};
use super::outcome::{CardRun, LoadRun, Run};
use crate::load::operation::Operation;
use crate::load::target::{Needs, Processes, Target};
use crate::load::{LabError, LoadOutcome, ProcessorSeconds, Window, Workload};
use facility::{CardCounters, Facility, Selection};
use home::{CardSettings, Programs};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use wire::control::PollMode;

/// The program of timed cards, beside the released one.
const TIMED_PROGRAM: &str = "cryptand-card-timed";
/// Number of requests with different keys; further jobs use these requests again.
const KEYS: usize = 8;
/// Maximum number of jobs of a thread.
const JOBS_OF_A_THREAD: usize = 16;
/// Warm-up: a share of the window, and a minimum.
const WARM_SHARE: f64 = 0.2;
const WARM_MIN: Duration = Duration::from_millis(60);
/// Turns of all requests in flight that warm up.
const ROUNDS_WARM: u32 = 2;

/// A running rig.
pub struct House {
    rig: Rig,
    target: Target,
}

impl House {
    /// Starts the rig in a throw-away home.
    ///
    /// # Errors
    /// [`LabError::Io`] where the program of timed cards is missing; as [`Target::throwaway`].
    pub fn start(rig: &Rig, stop: &Arc<AtomicBool>) -> Result<Self, LabError> {
        let needs = Needs { accelerators: rig.cards.len(), ..Needs::default() };
        let target = Target::throwaway_with(&needs, Arc::clone(stop), |folder, settings| {
            if rig.is_timed() {
                timed(&mut settings.programs, folder, &rig.timing_text())?;
            }
            settings.cards.poll = rig.poll;
            // The coprocessor carries no load: spinning, it would take a processor from those that do.
            settings.card =
                vec![CardSettings { index: 0, poll: Some(PollMode::Adaptive), ..CardSettings::default() }];
            Ok(())
        })?;
        Ok(Self { rig: rig.clone(), target })
    }

    /// The rig of the running house.
    pub fn rig(&self) -> &Rig {
        &self.rig
    }

    /// Runs a case of this rig for `seconds`.
    ///
    /// # Errors
    /// [`LabError`] of the first load that fails.
    pub fn run(&mut self, case: &Case, seconds: f64) -> Result<Run, LabError> {
        self.target.bring(&case.rig.tenants)?;
        let ways = case.loads.iter().map(|load| self.open(case, load)).collect::<Result<Vec<_>, _>>()?;
        let works: Vec<Workload> = case.loads.iter().map(workload).collect();
        let loads: Vec<_> = ways
            .iter()
            .zip(&works)
            .map(|(facility, workload)| crate::load::Load { facility, workload, keys: KEYS })
            .collect();
        let cards = bits(case.cards());
        let round = Duration::from_secs_f64(case.round_seconds());
        let open = Duration::from_secs_f64(case.window_seconds(seconds));
        let warm = open.mul_f64(WARM_SHARE).max(WARM_MIN).max(round * ROUNDS_WARM);
        // A card may belong to one tenant alone, so it is read through a tenant that uses it.
        let watched = cards.iter().filter_map(|card| {
            let place = case.loads.iter().position(|load| load.cards >> card & 1 == 1)?;
            Some((*card, &ways[place]))
        });
        let watched: Vec<_> = watched.collect();
        let looks = Mutex::new(Vec::new());
        let processes = Processes::of(&self.target.status()?);
        let look = || {
            let counters = watched.iter().map(|(card, way)| way.counters(*card)).collect::<Result<_, _>>();
            let seconds = processes.seconds();
            looks.lock().unwrap_or_else(PoisonError::into_inner).push((Instant::now(), counters));
            seconds
        };
        let together = self.target.together_within(Some(Window { warm, open }), &loads, &look)?;
        let looks: Vec<(Instant, Result<Vec<CardCounters>, _>)> =
            looks.into_inner().unwrap_or_else(PoisonError::into_inner);
        // The first reading, before the window, made the attachments that the other two use.
        let [_, (opened, before), (closed, after)] = looks.try_into().map_err(|_| LabError::Interrupted)?;
        let failed = LabError::facility("read the counters of a card");
        let before: Vec<CardCounters> = before.map_err(failed)?;
        let after: Vec<CardCounters> = after.map_err(LabError::facility("read the counters of a card"))?;
        let (seconds, elapsed) = (open.as_secs_f64(), (closed - opened).as_secs_f64());
        let share = seconds / elapsed.max(seconds);
        let mut run = Run {
            seconds,
            loads: together.each.iter().map(load_run).collect(),
            cards: Vec::new(),
            processor_s: ProcessorSeconds {
                caller: together.each.iter().map(|each| each.caller_s).sum(),
                daemon: together.daemon_s * share,
                cards: together.cards_s * share,
            },
            answers_compared: together.each.iter().map(|each| each.answers_compared).sum(),
        };
        run.cards = cards
            .iter()
            .zip(before.iter().zip(&after))
            .map(|(card, (before, after))| self.card_run(case, *card, &run, (before, after), elapsed))
            .collect();
        Ok(run)
    }

    /// Opens the home as the tenant of a load, with that load's cards.
    fn open(&self, case: &Case, load: &Load) -> Result<Facility, LabError> {
        let options = facility::Options { poll: self.rig.caller_poll, ..Default::default() };
        let way = self.target.open_as(&case.rig.tenants[load.tenant].name, options)?;
        Ok(way.with_selection(Selection { personality: None, cards: Some(load.cards) }))
    }

    fn card_run(
        &self,
        case: &Case,
        card: u32,
        run: &Run,
        (before, after): (&CardCounters, &CardCounters),
        elapsed: f64,
    ) -> CardRun {
        let loads = || case.loads.iter().zip(&run.loads);
        let rate = |load: &super::outcome::LoadRun| load.by_card.get(&card).copied().unwrap_or(0.0);
        let used = |operation: Operation| {
            self.rig.card(card).and_then(|timed| timed.rates(operation)).map_or(0.0, |rates| 1.0 / rates.full)
        };
        let batches = after.batches.saturating_sub(before.batches).max(1);
        let utilisation = match self.rig.card(card) {
            Some(_) => loads().map(|(load, got)| rate(got) * used(load.operation)).sum(),
            None => after.busy_ns.saturating_sub(before.busy_ns) as f64 * 1e-9 / elapsed,
        };
        CardRun {
            card,
            ops_per_s: loads().map(|(_, got)| rate(got)).sum(),
            utilisation,
            fill: after.requests.saturating_sub(before.requests) as f64 / batches as f64,
        }
    }
}

/// The workload of a load: each thread carries a share of its jobs in turn.
fn workload(load: &Load) -> Workload {
    let processors = load.jobs.div_ceil(JOBS_OF_A_THREAD);
    Workload { jobs: load.jobs, processors, ..Workload::of(load.operation) }
}

fn load_run(outcome: &LoadOutcome) -> LoadRun {
    let per_answer = outcome.ops_per_s / outcome.operations.max(1) as f64;
    LoadRun {
        ops_per_s: outcome.ops_per_s,
        p50_ns: outcome.latency_ns.value_at_quantile(0.5),
        p99_ns: outcome.latency_ns.value_at_quantile(0.99),
        by_card: outcome.by_card.iter().map(|(card, count)| (*card, *count as f64 * per_answer)).collect(),
    }
}

/// Has a home run timed cards: links their program, which lies beside the released one, into a folder, with its
/// timings.
pub(crate) fn timed(programs: &mut Programs, folder: &Path, timings: &str) -> Result<(), LabError> {
    programs.card = timed_program(&programs.card, folder, timings)?;
    programs.manifest = None;
    Ok(())
}

/// Links the program of timed cards, which lies beside the released one, into a folder, and writes its timings there.
fn timed_program(released: &Path, folder: &Path, timings: &str) -> Result<PathBuf, LabError> {
    let own = released.with_file_name(TIMED_PROGRAM);
    if !own.is_file() {
        let cause = format!("{} is not there; build it with `cargo build --release -p timed`", own.display());
        return Err(LabError::Io {
            what: "find the program of timed cards",
            cause: std::io::Error::new(std::io::ErrorKind::NotFound, cause),
        });
    }
    let link = folder.join(TIMED_PROGRAM);
    // A hard link to another file system is impossible.
    if fs::hard_link(&own, &link).is_err() {
        fs::copy(&own, &link).map_err(LabError::io("copy the program of timed cards"))?;
    }
    let beside = folder.join(format!("{TIMED_PROGRAM}.toml"));
    fs::write(beside, timings).map_err(LabError::io("write the timings of a rig"))?;
    Ok(link)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rig_has_a_timed_program_and_timings_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let (built, home) = (folder.path().join("built"), folder.path().join("home"));
        fs::create_dir(&built).unwrap();
        fs::create_dir(&home).unwrap();
        let released = built.join("cryptand-card");
        let missing = timed_program(&released, &home, "# t").unwrap_err().to_string();
        assert!(missing.contains("cargo build --release -p timed"), "{missing}");
        fs::write(built.join(TIMED_PROGRAM), "program").unwrap();
        let link = timed_program(&released, &home, "# t").unwrap();
        assert_eq!(fs::read_to_string(&link).unwrap(), "program");
        assert_eq!(fs::read_to_string(home.join("cryptand-card-timed.toml")).unwrap(), "# t");
    }
}

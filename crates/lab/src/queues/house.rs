//! A rig as running processes: a throw-away home with its cards, timed where they are to be, and its tenants.

use super::case::{Case, FIRST_CARD, Load, Rig};
use super::load::{self, Tenant, Window};
use super::outcome::{CardRun, Run};
use super::people::People;
use crate::load::operation::Operation;
use crate::load::requests::{Maker, Request, Tokens};
use crate::load::target::{Processes, Throwaway, programs};
use crate::load::{LabError, ProcessorSeconds, Workload};
use engine::Engine;
use facility::{CardCounters, Facility, Selection};
use home::{CardSettings, Settings};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use wire::control::PollMode;

/// The program of timed cards, beside the released one.
const TIMED_PROGRAM: &str = "cryptand-card-timed";
/// Requests that differ in their key; further jobs use the same again.
const KEYS: usize = 8;
/// Warming up, as a share of the window, and at the least.
const WARM_SHARE: f64 = 0.2;
const WARM_MIN: Duration = Duration::from_millis(60);
/// Turns of all requests under way that warm up.
const ROUNDS_WARM: u32 = 2;

/// A running rig.
pub struct House {
    rig: Rig,
    home: Throwaway,
    people: People,
    engine: Engine,
    tokens: Tokens,
}

impl House {
    /// Starts the rig in a throw-away home.
    ///
    /// # Errors
    /// [`LabError::Io`] where the program of timed cards is missing; as [`crate::load::target::Target::throwaway`].
    pub fn start(rig: &Rig) -> Result<Self, LabError> {
        let engine = crate::load::target::engine()?;
        let home = Throwaway::start(rig.caller_poll, rig.cards.len() + 1, |folder| {
            let mut programs = programs()?;
            if rig.is_timed() {
                programs.card = timed_program(&programs.card, folder, &rig.timing_text())?;
                programs.manifest = None;
            }
            let mut settings = Settings::new(programs);
            settings.cards.coprocessors = FIRST_CARD;
            settings.cards.accelerators = rig.cards.len() as u32;
            settings.cards.poll = rig.poll;
            // The coprocessor carries no load: spinning, it would take a processor from those that do.
            settings.card =
                vec![CardSettings { index: 0, poll: Some(PollMode::Adaptive), ..CardSettings::default() }];
            Ok(settings)
        })?;
        Ok(Self { rig: rig.clone(), home, people: People::default(), engine, tokens: Tokens::default() })
    }

    /// The rig that runs.
    pub fn rig(&self) -> &Rig {
        &self.rig
    }

    /// Runs a case of this rig for so many seconds.
    ///
    /// # Errors
    /// [`LabError`] of the first load that fails.
    pub fn run(&mut self, case: &Case, seconds: f64, stop: &AtomicBool) -> Result<Run, LabError> {
        self.people.bring(&self.engine, self.home.facility(), &case.rig.tenants)?;
        let requests = self.requests(case)?;
        let tenants = case.loads.iter().map(|load| {
            let selection = Selection { personality: None, cards: Some(load.cards) };
            let kinds = &requests[&load.operation.to_string()];
            Ok(Tenant {
                facility: self.open(case, load)?.with_selection(selection),
                operation: load.operation,
                requests: (0..load.jobs).map(|job| kinds[job % kinds.len()].clone()).collect(),
            })
        });
        let tenants = tenants.collect::<Result<Vec<_>, LabError>>()?;
        let cards: Vec<u32> = (0..u64::BITS).filter(|index| case.cards() >> index & 1 == 1).collect();
        let round = Duration::from_secs_f64(case.round_seconds());
        let open = Duration::from_secs_f64(case.window_seconds(seconds));
        let window = Window { warm: open.mul_f64(WARM_SHARE).max(WARM_MIN).max(round * ROUNDS_WARM), open };
        let seconds = open.as_secs_f64();
        let processes = Processes::of(&self.home.status()?);
        let mut looks: Vec<Result<Look, LabError>> = Vec::new();
        // A card may be one tenant's own: it is looked at by one that uses it.
        let watched: Vec<(u32, Facility)> = cards
            .iter()
            .filter_map(|card| {
                let place = case.loads.iter().position(|load| load.cards >> card & 1 == 1)?;
                Some((*card, tenants.get(place)?.facility.clone()))
            })
            .collect();
        let look = || look(&watched, &processes);
        // The first look attaches what the later ones read.
        look()?;
        let (loads, caller, answers_compared) =
            load::run(&self.engine, tenants, window, stop, || looks.push(look()))?;
        let mut looks = looks.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter();
        let (Some(before), Some(after)) = (looks.next(), looks.next()) else {
            return Err(LabError::Interrupted);
        };
        let elapsed = (after.at - before.at).as_secs_f64();
        let share = seconds / elapsed.max(seconds);
        let mut run = Run {
            seconds,
            loads,
            cards: Vec::new(),
            processor_s: ProcessorSeconds {
                caller,
                daemon: (after.daemon_s - before.daemon_s) * share,
                cards: (after.cards_s - before.cards_s) * share,
            },
            answers_compared,
        };
        run.cards = cards
            .iter()
            .zip(before.cards.iter().zip(&after.cards))
            .map(|(card, (before, after))| self.card_run(case, *card, &run, (before, after), elapsed))
            .collect();
        Ok(run)
    }

    /// A tenant's own way to the cards.
    fn open(&self, case: &Case, load: &Load) -> Result<Facility, LabError> {
        let tenant = case.rig.tenants.get(load.tenant);
        let credential = tenant.and_then(|tenant| self.people.credential(&tenant.name));
        self.home.open(self.rig.caller_poll, credential.cloned())
    }

    /// A few requests of each operation of a case.
    fn requests(&mut self, case: &Case) -> Result<BTreeMap<String, Vec<Request>>, LabError> {
        let mut requests = BTreeMap::new();
        let mut maker = Maker::new(&self.engine, self.home.facility(), &mut self.tokens);
        for load in &case.loads {
            let name = load.operation.to_string();
            if requests.contains_key(&name) {
                continue;
            }
            let workload = Workload::of(load.operation);
            let made = (0..KEYS).map(|job| maker.request(&workload, job));
            requests.insert(name, made.collect::<Result<Vec<_>, _>>()?);
        }
        Ok(requests)
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

/// Reads the clock, the processor times and the counters of cards, each through one that may use it.
fn look(cards: &[(u32, Facility)], processes: &Processes) -> Result<Look, LabError> {
    let at = Instant::now();
    let (daemon_s, cards_s) = processes.seconds();
    let counters = cards.iter().map(|(card, facility)| {
        facility.counters(*card).map_err(|error| LabError::Facility {
            what: "read the counters of a card",
            cause: error.to_string(),
        })
    });
    Ok(Look { at, daemon_s, cards_s, cards: counters.collect::<Result<_, _>>()? })
}

/// What cards and daemon have done so far.
struct Look {
    at: Instant,
    daemon_s: f64,
    cards_s: f64,
    cards: Vec<CardCounters>,
}

/// Links the program of timed cards, which lies beside the released one, into a folder, with its timings.
pub(crate) fn timed_program(released: &Path, folder: &Path, timings: &str) -> Result<PathBuf, LabError> {
    let own = released.with_file_name(TIMED_PROGRAM);
    if !own.is_file() {
        let cause = format!("{} is not there; build it with `cargo build --release -p timed`", own.display());
        return Err(LabError::Io {
            what: "find the program of timed cards",
            cause: std::io::Error::new(std::io::ErrorKind::NotFound, cause),
        });
    }
    let link = folder.join(TIMED_PROGRAM);
    // Another file system has no link to it.
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

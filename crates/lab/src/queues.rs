//! Queues and tenants: shared and dedicated cards, many tenants, two cards in balance, jobs, ways of waiting.
//!
//! Each experiment is a file: its cases, and the published figures beside them. Most run on *timed cards*: cards of the
//! published speed, several of which share a processor, since they sleep while they hold an answer. Their rates are the
//! published ones by construction; the experiment finds how the house spreads, limits and shares them. So figures of
//! timed cards are marked, and compared as ratios.
//!
//! Cases that the same processes serve run together, pass by pass; every finished run is in a journal.

pub mod balance;
mod case;
mod house;
pub mod jobs;
pub mod models;
mod outcome;
mod page;
pub mod promised;
mod rows;
pub mod shared;
mod statements;
pub mod tenants;
pub mod waiting;

pub use case::{Case, Experiment, FIRST_CARD, Load, Rig};
pub use house::House;
pub(crate) use house::timed;
pub use outcome::{CardRun, Each, LoadRun, QueueOutcome, Run, jain, max_over_min};
pub(crate) use page::{ANCHOR, TITLE, section};
pub(crate) use rows::rows;
pub(crate) use statements::judge;

pub use crate::experiment::seconds;
use crate::experiment::{self, LeftOut, Progress, Thoroughness};
use crate::load::LabError;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The journal within the folder of a report.
pub const JOURNAL: &str = "queues.jsonl";
/// Seconds that a run takes beside its window: warm-up, keys, readings.
const AROUND_SECONDS: f64 = 0.12;
/// Seconds that each tenant adds: it opens the home and attaches to every card.
const TENANT_SECONDS: f64 = 0.005;
/// Seconds that the start of a house takes: a fixed part, and a part for each card.
const HOUSE_SECONDS: (f64, f64) = (0.25, 0.06);

/// How much of the experiments runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A few cases of each experiment.
    Quick,
    /// Every case.
    Full,
}

/// The plan of the part.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Passes and seconds.
    pub thoroughness: Thoroughness,
    /// The cases; neighbours can be served by the same processes.
    pub cases: Vec<Case>,
}

impl Plan {
    /// At most half a minute.
    pub const QUICK: Thoroughness = Thoroughness { passes: 3, seconds: 0.2, seconds_max: Some(30.0) };
    /// Every case five times.
    pub const FULL: Thoroughness = Thoroughness { passes: 5, seconds: 1.0, seconds_max: None };

    /// The cases of all experiments, or of one.
    pub fn new(extent: Extent, only: Option<Experiment>) -> Self {
        let thoroughness = if extent == Extent::Quick { Self::QUICK } else { Self::FULL };
        let wanted = Experiment::ALL.into_iter().filter(|one| only.is_none_or(|only| only == *one));
        Self { thoroughness, cases: wanted.flat_map(|experiment| cases(experiment, extent)).collect() }
    }

    /// A plan without cases.
    pub fn empty() -> Self {
        Self { thoroughness: Self::QUICK, cases: Vec::new() }
    }

    fn groups(&self) -> impl Iterator<Item = &[Case]> {
        self.cases.chunk_by(|a, b| a.rig.is_served_like(&b.rig))
    }
}

fn cases(experiment: Experiment, extent: Extent) -> Vec<Case> {
    match experiment {
        Experiment::Shared => shared::cases(extent),
        Experiment::Tenants => tenants::cases(extent),
        Experiment::Balance => balance::cases(extent),
        Experiment::Jobs => jobs::cases(extent),
        Experiment::Waiting => waiting::cases(extent),
    }
}

/// The outcomes of a report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Outcomes(pub Vec<QueueOutcome>);

impl Outcomes {
    /// The outcome of a case; none if it has no run.
    pub fn of(&self, experiment: Experiment, name: &str) -> Option<&QueueOutcome> {
        self.0.iter().find(|outcome| outcome.experiment == experiment && outcome.name == name)
    }

    /// Whether an experiment has any outcome.
    pub fn has(&self, experiment: Experiment) -> bool {
        self.0.iter().any(|outcome| outcome.experiment == experiment)
    }
}

/// A runner of cases.
pub trait Houses {
    /// Runs a case for `seconds`, on processes that serve its rig.
    ///
    /// # Errors
    /// [`LabError`].
    fn run(&mut self, case: &Case, seconds: f64) -> Result<Run, LabError>;
}

impl experiment::Plan for Plan {
    fn thoroughness(&self) -> Thoroughness {
        self.thoroughness
    }

    fn order(&self) -> Vec<(usize, usize)> {
        experiment::by_groups(self.groups().map(<[Case]>::len), self.thoroughness.passes)
    }

    fn name(&self, case: usize) -> String {
        self.cases[case].id()
    }

    fn cost(&self, case: usize, seconds: f64) -> f64 {
        let case = &self.cases[case];
        let house = HOUSE_SECONDS.0 + HOUSE_SECONDS.1 * case.rig.cards.len() as f64;
        let group = self.groups().find(|group| group.contains(case)).map_or(1, <[Case]>::len);
        let house = house / (group * self.thoroughness.passes) as f64;
        let around = AROUND_SECONDS + TENANT_SECONDS * case.loads.len() as f64;
        case.window_seconds(seconds) + 2.0 * case.round_seconds() + around + house
    }
}

/// Runs a plan, or what an interrupted run of it in the same folder left over.
///
/// # Errors
/// As [`experiment::run`].
pub fn run(
    plan: &Plan,
    houses: &mut dyn Houses,
    level: &str,
    folder: &Path,
    progress: &mut dyn FnMut(&Progress),
) -> Result<(Outcomes, Vec<LeftOut>), LabError> {
    let mut one = |case: usize, seconds| houses.run(&plan.cases[case], seconds);
    let (runs, left_out) = experiment::run(plan, &mut one, level, &folder.join(JOURNAL), progress)?;
    let outcomes = plan.cases.iter().filter_map(|case| {
        let of_case: Vec<Run> = runs.get(&case.id())?.values().cloned().collect();
        QueueOutcome::new(case, &of_case)
    });
    Ok((Outcomes(outcomes.collect()), left_out))
}

/// Houses of real processes, one running at a time.
pub struct RealHouses {
    house: Option<House>,
    stop: Arc<AtomicBool>,
}

impl RealHouses {
    /// Without a running house.
    pub fn new(stop: Arc<AtomicBool>) -> Self {
        Self { house: None, stop }
    }
}

impl Houses for RealHouses {
    fn run(&mut self, case: &Case, seconds: f64) -> Result<Run, LabError> {
        let serves = |house: &&mut House| house.rig().is_served_like(&case.rig);
        if self.house.as_mut().filter(serves).is_none() {
            // The old house ends before the new one begins.
            self.house = None;
            self.house = Some(House::start(&case.rig, &self.stop)?);
        }
        match &mut self.house {
            Some(house) => house.run(case, seconds),
            None => Err(LabError::Interrupted),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;

//! An experiment: cases that run several times, by one runner with a journal, and the judgement of the outcome.
//!
//! - [`judged`]: a published statement held against what was measured.
//! - [`promise`]: a measure of this project with what is promised of it. [`groups`]: groups of such rows; [`growth`]:
//!   rows as workers rise.
//! - [`outcome`]: the runs of a plan by case.

pub(crate) mod groups;
pub(crate) mod growth;
pub mod judged;
pub mod outcome;
pub mod promise;

use crate::kit::journal::{Conditions, Journal, Runs};
use crate::load::LabError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Instant;

/// Passes and seconds of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thoroughness {
    /// Times that every case runs.
    pub passes: usize,
    /// How long one run of a case measures, in seconds.
    pub seconds: f64,
    /// Seconds that the whole may take; passes after the first are shortened or left out to keep
    /// within it.
    pub seconds_max: Option<f64>,
}

/// A case without a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Name of the case.
    pub case: String,
    /// The reason.
    pub why: String,
    /// Whether the missing figure is a fault: a wrong answer or a failure is one, a refusal is not.
    pub fault: bool,
}

/// How far an experiment has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Runs done, those of an earlier start included.
    pub done: usize,
    /// Runs in all.
    pub total: usize,
    /// Estimated seconds until the end.
    pub seconds_left: f64,
    /// The case that runs now.
    pub case: String,
}

/// Cases that run several times.
pub trait Plan {
    /// Passes and seconds of this plan.
    fn thoroughness(&self) -> Thoroughness;
    /// Every run in its order: number of the case, and of the pass.
    fn order(&self) -> Vec<(usize, usize)>;
    /// Name of a case.
    fn name(&self, case: usize) -> String;
    /// Estimated seconds that a run of a case takes if it measures for `seconds`.
    fn cost(&self, case: usize, seconds: f64) -> f64;
    /// The shortest time that a run may measure where the whole is bounded, in seconds.
    fn seconds_min(&self) -> f64 {
        self.thoroughness().seconds
    }
}

/// Cases in a row that may fail before the experiment gives up.
const FAULTS_IN_A_ROW_MAX: usize = 8;

/// Runs a plan, or the rest of an interrupted run by the journal at a path, whose folder is made. `one` runs a case for
/// a number of seconds. A case that is refused or fails is left out and named.
///
/// # Errors
/// [`LabError::Interrupted`]: starting again continues. [`LabError::Io`] of the journal, and the last error where
/// [several cases in a row](FAULTS_IN_A_ROW_MAX) fail.
pub fn run<R: Serialize + DeserializeOwned>(
    plan: &impl Plan,
    one: &mut dyn FnMut(usize, f64) -> Result<R, LabError>,
    level: &str,
    journal: &Path,
    progress: &mut dyn FnMut(&Progress),
) -> Result<(Runs<R>, Vec<LeftOut>), LabError> {
    let begin = Instant::now();
    let conditions = Conditions::this(level, &plan.thoroughness());
    let kept = LabError::io("keep the journal of a report");
    let (mut journal, mut runs): (_, Runs<R>) = Journal::open(journal, &conditions).map_err(kept)?;
    let schedule = Schedule::of(plan);
    let total = schedule.order.len();
    let mut left_out: Vec<LeftOut> = Vec::new();
    let mut faults = 0;
    let mut done: usize = runs.values().map(|passes| passes.len()).sum();
    for (place, &(case, pass)) in schedule.order.iter().enumerate() {
        let name = plan.name(case);
        if runs.get(&name).is_some_and(|passes| passes.contains_key(&pass)) {
            continue;
        }
        done += 1;
        let seconds = schedule.seconds(plan, place, begin.elapsed().as_secs_f64());
        let is_left_out = left_out.iter().any(|left| left.case == name);
        let Some(seconds) = seconds.filter(|_| !is_left_out) else { continue };
        progress(&Progress {
            done: done - 1,
            total,
            seconds_left: schedule.ahead[place],
            case: name.clone(),
        });
        match one(case, seconds) {
            Ok(run) => {
                journal.add(&name, pass, &run).map_err(LabError::io("keep the journal of a report"))?;
                runs.entry(name).or_default().insert(pass, run);
                faults = 0;
            }
            Err(LabError::Interrupted) => return Err(LabError::Interrupted),
            Err(error) => {
                let fault = !matches!(error, LabError::Refused(_));
                faults += usize::from(fault);
                if faults == FAULTS_IN_A_ROW_MAX {
                    return Err(error);
                }
                left_out.push(LeftOut { case: name, why: error.to_string(), fault });
            }
        }
    }
    progress(&Progress { done: total, total, seconds_left: 0.0, case: String::new() });
    Ok((runs, left_out))
}

/// The order of groups with these numbers of cases: every pass of a group comes before the next group.
pub fn by_groups(groups: impl IntoIterator<Item = usize>, passes: usize) -> Vec<(usize, usize)> {
    let mut first = 0;
    let mut order = Vec::new();
    for count in groups {
        for pass in 0..passes {
            order.extend((first..first + count).map(|case| (case, pass)));
        }
        first += count;
    }
    order
}

/// Estimated seconds that a plan takes.
pub fn seconds(plan: &impl Plan) -> f64 {
    Schedule::of(plan).ahead.first().copied().unwrap_or(0.0)
}

/// The order of the runs, and the time from each run to the end.
struct Schedule {
    order: Vec<(usize, usize)>,
    /// Seconds from each run to the end, itself included.
    ahead: Vec<f64>,
    /// As `ahead`, if every run measures for the shortest time.
    least: Vec<f64>,
    /// As `least`, for the runs of first passes alone.
    firsts: Vec<f64>,
}

impl Schedule {
    fn of(plan: &impl Plan) -> Self {
        let Thoroughness { seconds, seconds_max, .. } = plan.thoroughness();
        let order = plan.order();
        let sums = |cost: &dyn Fn(usize, usize) -> f64| {
            let mut sum = 0.0;
            let mut sums: Vec<f64> = order
                .iter()
                .rev()
                .map(|&(case, pass)| {
                    sum += cost(case, pass);
                    sum
                })
                .collect();
            sums.reverse();
            sums
        };
        let shortest = plan.seconds_min();
        let ahead = sums(&|case, _| plan.cost(case, seconds));
        let least = sums(&|case, _| plan.cost(case, shortest));
        let firsts = sums(&|case, pass| if pass == 0 { plan.cost(case, shortest) } else { 0.0 });
        let most = seconds_max.unwrap_or(f64::INFINITY);
        Self { ahead: ahead.into_iter().map(|sum| sum.min(most)).collect(), least, firsts, order }
    }

    /// Seconds that the run at `place` may measure, `elapsed` seconds after the start. None if a bounded experiment has
    /// no time left for another run of a case that already has one.
    fn seconds(&self, plan: &impl Plan, place: usize, elapsed: f64) -> Option<f64> {
        let thoroughness = plan.thoroughness();
        let Some(most) = thoroughness.seconds_max else { return Some(thoroughness.seconds) };
        let (left, shortest) = (most - elapsed, plan.seconds_min());
        let (case, pass) = self.order[place];
        if pass > 0 && left <= plan.cost(case, shortest) + self.firsts[place] {
            return None;
        }
        // The time left beyond the shortest runs is shared among the runs to come.
        let spare = (left - self.least[place]) / (self.order.len() - place) as f64;
        Some((shortest + spare).clamp(shortest, thoroughness.seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plan of a number of cases and passes of a second.
    pub(super) struct Cases {
        pub count: usize,
        pub passes: usize,
        pub seconds_max: Option<f64>,
    }

    impl Plan for Cases {
        fn thoroughness(&self) -> Thoroughness {
            Thoroughness { passes: self.passes, seconds: 1.0, seconds_max: self.seconds_max }
        }
        fn order(&self) -> Vec<(usize, usize)> {
            by_groups([self.count], self.passes)
        }
        fn name(&self, case: usize) -> String {
            format!("case {case}")
        }
        fn cost(&self, _: usize, seconds: f64) -> f64 {
            seconds
        }
        fn seconds_min(&self) -> f64 {
            0.1
        }
    }

    const TWO: Cases = Cases { count: 2, passes: 3, seconds_max: None };

    /// Runs a plan of two cases until `interrupt_after` runs have begun; the runs are noted, and the second case is
    /// refused.
    fn run_two(
        interrupt_after: usize,
        ran: &mut Vec<(usize, f64)>,
        journal: &Path,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<(Runs<f64>, Vec<LeftOut>), LabError> {
        let mut one = |case, seconds| {
            if ran.len() == interrupt_after {
                return Err(LabError::Interrupted);
            }
            ran.push((case, seconds));
            if case == 1 { Err(crate::load::Refusal::NoHome.into()) } else { Ok(seconds) }
        };
        run(&TWO, &mut one, "any", journal, progress)
    }

    #[test]
    fn a_group_has_all_its_passes_before_the_next_group_has_any() {
        assert_eq!(by_groups([1, 2], 2), [(0, 0), (0, 1), (1, 0), (2, 0), (1, 1), (2, 1)]);
        assert_eq!(by_groups([2], 0), []);
    }

    #[test]
    fn an_interrupted_experiment_continues_where_it_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("made/journal.jsonl");
        let mut last = None;
        let mut tell = |progress: &Progress| last = Some(progress.clone());
        let ended = run_two(3, &mut Vec::new(), &journal, &mut tell);
        assert!(matches!(ended, Err(LabError::Interrupted)));
        let last = last.unwrap();
        assert_eq!((last.total, last.seconds_left, last.case.as_str()), (6, 2.0, "case 0"));
        let mut second = Vec::new();
        let (runs, left_out) = run_two(usize::MAX, &mut second, &journal, &mut |_| ()).unwrap();
        // The refused case is tried once by each start; two runs of the other one were kept.
        assert_eq!(second, [(1, 1.0), (0, 1.0)]);
        assert_eq!(runs["case 0"].len(), 3);
        assert_eq!((left_out.len(), left_out[0].fault, left_out[0].case.as_str()), (1, false, "case 1"));
        let mut third = Vec::new();
        run_two(usize::MAX, &mut third, &journal, &mut |_| ()).unwrap();
        assert_eq!(third, [(1, 1.0)]);
    }

    #[test]
    fn a_bounded_experiment_keeps_within_its_time() {
        let bounded = Cases { seconds_max: Some(3.0), ..TWO };
        let schedule = Schedule::of(&bounded);
        assert_eq!(schedule.ahead[0], 3.0);
        assert!((schedule.seconds(&bounded, 0, 0.0).unwrap() - 0.5).abs() < 1e-9);
        assert_eq!(schedule.seconds(&bounded, 2, 3.5), None);
        // The first pass always runs: a case without any figure would be a hole in the report.
        assert_eq!(schedule.seconds(&bounded, 1, 3.5), Some(0.1));
        assert!(seconds(&TWO) == 6.0);
    }
}

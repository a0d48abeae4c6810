//! The outcome of a plan: the runs of each case, in the order of the passes.

use super::{LeftOut, Plan, Progress, run};
use crate::kit::statistics::Summary;
use crate::load::LabError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

/// The runs of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseOutcome<R> {
    /// Name of the case.
    pub case: String,
    /// The runs, in the order of the passes.
    pub runs: Vec<R>,
}

impl<R> CaseOutcome<R> {
    /// A figure of each run.
    pub fn values(&self, figure: impl Fn(&R) -> f64) -> Vec<f64> {
        self.runs.iter().map(figure).collect()
    }

    /// A figure of the runs; none without any.
    pub fn summary(&self, figure: impl Fn(&R) -> f64) -> Option<Summary> {
        Summary::of(&self.values(figure))
    }
}

/// The outcomes of a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Outcomes<R>(pub Vec<CaseOutcome<R>>);

impl<R> Default for Outcomes<R> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// Outcomes, and the cases that have none.
pub type Ran<R> = (Outcomes<R>, Vec<LeftOut>);

impl<R> Outcomes<R> {
    /// The outcome of the case with this name; none if it has no run.
    pub fn named(&self, case: &str) -> Option<&CaseOutcome<R>> {
        self.0.iter().find(|outcome| outcome.case == case)
    }
}

/// Runs a plan on the value that `make` gives. `make` is not called for an empty plan; if it gives none, nothing runs,
/// and the reason is left out under the name `part`. Otherwise as [`run`].
///
/// # Errors
/// As [`run`].
pub fn outcomes<T, R: Clone + Serialize + DeserializeOwned>(
    plan: &impl Plan,
    (part, make): (&str, impl FnOnce() -> Result<T, LabError>),
    one: &mut dyn FnMut(&mut T, usize, f64) -> Result<R, LabError>,
    (level, journal): (&str, &Path),
    progress: &mut dyn FnMut(&Progress),
) -> Result<Ran<R>, LabError> {
    let cases: BTreeSet<usize> = plan.order().into_iter().map(|(case, _)| case).collect();
    if cases.is_empty() {
        return Ok((Outcomes::default(), Vec::new()));
    }
    let mut made = match make() {
        Ok(made) => made,
        Err(LabError::Interrupted) => return Err(LabError::Interrupted),
        Err(error) => {
            let none = LeftOut { case: part.to_owned(), why: error.to_string(), fault: true };
            return Ok((Outcomes::default(), vec![none]));
        }
    };
    let mut one = |case: usize, seconds: f64| one(&mut made, case, seconds);
    let (runs, left_out) = run(plan, &mut one, level, journal, progress)?;
    let outcomes = cases.into_iter().filter_map(|case| {
        let case = plan.name(case);
        let runs: Vec<R> = runs.get(&case)?.values().cloned().collect();
        (!runs.is_empty()).then_some(CaseOutcome { case, runs })
    });
    Ok((Outcomes(outcomes.collect()), left_out))
}

#[cfg(test)]
mod tests {
    use super::super::tests::Cases;
    use super::*;

    /// Runs a plan with two passes of `cases` cases; the first case is refused.
    fn ran(cases: usize, make: impl FnOnce() -> Result<u32, LabError>) -> Ran<u32> {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal.jsonl");
        let mut one = |count: &mut u32, case: usize, _| {
            *count += 1;
            if case == 0 { Err(crate::load::Refusal::NoHome.into()) } else { Ok(*count) }
        };
        let plan = Cases { count: cases, passes: 2, seconds_max: None };
        outcomes(&plan, ("part", make), &mut one, ("any", &journal), &mut |_| ()).unwrap()
    }

    #[test]
    fn runs_stand_under_their_cases_and_a_case_without_any_does_not() {
        let (outcomes, left_out) = ran(3, || Ok(10));
        let case = |name: &str| outcomes.named(name).map(|outcome| outcome.runs.clone());
        assert_eq!(
            (case("case 0"), case("case 1"), case("case 2")),
            (None, Some(vec![12, 14]), Some(vec![13, 15]))
        );
        assert_eq!(left_out.iter().map(|left| left.case.as_str()).collect::<Vec<_>>(), ["case 0"]);
    }

    #[test]
    fn nothing_runs_without_what_it_runs_on() {
        let (outcomes, left_out) = ran(2, || Err(LabError::Program("no peer".to_owned())));
        assert_eq!((outcomes.0.len(), left_out.len()), (0, 1));
        assert_eq!(
            (left_out[0].case.as_str(), left_out[0].why.as_str(), left_out[0].fault),
            ("part", "no peer", true)
        );
        // An empty plan does not call `make`.
        assert_eq!(ran(0, || panic!("nothing is to run")), (Outcomes::default(), Vec::new()));
    }
}

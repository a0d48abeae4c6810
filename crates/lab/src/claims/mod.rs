//! The published statements about scaling, held against what was measured.
//!
//! Each statement that this house can test is a row of [`TESTS`]: what is compared, at which lengths,
//! and what the figure must be. Every other statement (about parts, limits and set-up of the
//! originals, about services that no code serves yet) has no row. A statement about more processors
//! than this machine has, or about cards that would share processors, is *not testable* and says so; so is
//! one whose runs spread over the figure that decides.

mod statements;
mod weigh;

use self::statements::{ANY, TESTS, Unit};
use self::weigh::{in_unit, workload};
use crate::operation::Operation;
use crate::published::Claim;
use crate::results::Results;
use crate::statistics::fit;
use crate::workload::{Interface, Workload};
use serde::{Deserialize, Serialize};

/// Two figures count as equal within this share.
const EQUAL_WITHIN: f64 = 0.05;
/// "Close to N times" is at least this share of N.
const CLOSE_TO_LINEAR: f64 = 0.9;
/// A length sweep is a line where no point lies further off.
const LINE_WITHIN: f64 = 0.15;

/// What became of a statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The figures bear it out.
    Confirmed,
    /// The figures speak against it.
    Refuted,
    /// This machine, or the spread of its runs, cannot show it; the text says why.
    NotTestable(String),
}

/// A statement held against what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Name of the statement.
    pub id: String,
    /// Where in the published report it stands.
    pub section: String,
    /// What it says.
    pub text: String,
    /// The published figure, where there is one.
    pub published: Option<f64>,
    /// The figure measured here, in the same unit.
    pub measured: Option<f64>,
    /// What is compared, for people.
    pub compared: String,
    /// What became of it.
    pub verdict: Verdict,
}

/// What a figure must be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expect {
    AtLeast(f64),
    AtMost(f64),
    About(f64),
}

impl Expect {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::AtLeast(bound) => value >= bound,
            Self::AtMost(bound) => value <= bound,
            Self::About(wanted) => (value / wanted - 1.0).abs() <= EQUAL_WITHIN,
        }
    }

    /// The figure that speaks most against the expectation.
    fn worst(self, figures: Vec<Figure>) -> Option<Figure> {
        let against = |figure: &Figure| match self {
            Self::AtLeast(_) => -figure.value,
            Self::AtMost(_) => figure.value,
            Self::About(wanted) => (figure.value - wanted).abs(),
        };
        figures.into_iter().max_by(|a, b| against(a).total_cmp(&against(b)))
    }

    /// Whether the worst of the figures is what it must be.
    pub fn weigh(self, figures: Vec<Figure>) -> Option<Weighed> {
        let worst = self.worst(figures)?;
        let ends = [worst.value - worst.mad, worst.value, worst.value + worst.mad];
        let holding = ends.into_iter().filter(|end| self.holds(*end)).count();
        Some(Weighed { value: worst.value, holds: [Some(false), None, None, Some(true)][holding], ends })
    }
}

/// A figure with the median distance of its runs from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    pub value: f64,
    pub mad: f64,
}

impl Figure {
    fn exact(value: f64) -> Self {
        Self { value, mad: 0.0 }
    }
}

/// A figure held against an expectation; undecided where its runs spread over the bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weighed {
    pub value: f64,
    pub holds: Option<bool>,
    pub ends: [f64; 3],
}

impl Weighed {
    fn in_unit(self, unit: Unit) -> Self {
        Self { value: in_unit(self.value, unit), ends: self.ends.map(|end| in_unit(end, unit)), ..self }
    }
}

/// The line through the six published lengths of an operation with one job.
pub fn sweep_fit(
    results: &Results,
    operation: Operation,
    interface: Interface,
) -> Option<crate::statistics::Fit> {
    let points: Option<Vec<(f64, f64)>> = ANY
        .iter()
        .map(|&bytes| {
            let case = results.of(&workload(operation, interface, bytes))?;
            Some((bytes as f64, 1.0 / case.ops_per_s.median))
        })
        .collect();
    fit(&points?)
}

/// Every workload that the tests of this machine need.
pub fn cases(online: usize) -> Vec<Workload> {
    let pairs = TESTS.iter().flat_map(|(_, test)| test.pairs(online)).flat_map(|(over, under)| [over, under]);
    pairs.chain(TESTS.iter().flat_map(|(_, test)| test.singles())).collect()
}

/// Holds the statements against the results of a machine with this many processors. Statements
/// without a test are left out.
pub fn judge(claims: &[Claim], results: &Results, online: usize) -> Vec<Judged> {
    let judged = claims.iter().filter_map(|claim| {
        let (_, test) = TESTS.iter().find(|(id, _)| *id == claim.id)?;
        let none = (None, String::new());
        let (verdict, (measured, compared)) = match (test.not_testable(online), test.judge(results, online)) {
            (Some(why), _) => (Verdict::NotTestable(why), none),
            (None, None) => (Verdict::NotTestable("its cases were not measured".to_owned()), none),
            (None, Some((weighed, compared))) => {
                let verdict = match weighed.holds {
                    Some(true) => Verdict::Confirmed,
                    Some(false) => Verdict::Refuted,
                    None => {
                        let [low, _, high] = weighed.ends;
                        Verdict::NotTestable(format!("runs spread from {low:.3} to {high:.3}; {compared}"))
                    }
                };
                (verdict, (Some(weighed.value), compared))
            }
        };
        Some(Judged {
            id: claim.id.clone(),
            section: claim.section.clone(),
            text: claim.text.clone(),
            published: claim.value,
            measured,
            compared,
            verdict,
        })
    });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use super::Expect::{About, AtLeast, AtMost};
    use super::*;
    use crate::published::claims;
    use crate::report::tests::measurement;
    use crate::results::CaseResult;
    use crate::workload::Interface::{Card, Facility};

    fn results(online: usize, rate: impl Fn(&Workload) -> f64) -> Results {
        let results = cases(online).into_iter().map(|case| {
            let mut run = measurement(rate(&case));
            run.p50_ns = (1e9 / run.ops_per_s) as u64;
            run.processor_s.caller = run.operations as f64 / run.ops_per_s;
            (case.case(), CaseResult::new(&case, &[run]).unwrap())
        });
        Results(results.collect())
    }

    fn verdict(judged: &[Judged], id: &str) -> Verdict {
        judged.iter().find(|judged| judged.id == id).unwrap().verdict.clone()
    }

    /// A machine on which everything scales and the facility costs a start.
    fn ideal(case: &Workload) -> f64 {
        let start = if case.interface == Facility { 2e-6 } else { 1e-7 };
        let one = 1.0 / (start + case.bytes as f64 * 1e-9);
        match case.interface {
            Card => {
                1000.0 / (1.0 + case.bytes as f64 * 1e-6)
                    * if case.jobs > 1 { 1.5 } else { 1.0 }
                    * case.cards.min(case.jobs) as f64
            }
            _ => one * case.processors as f64,
        }
    }

    #[test]
    fn every_test_belongs_to_a_published_statement() {
        let claims = claims();
        for (id, _) in TESTS {
            assert!(claims.iter().any(|claim| claim.id == *id), "{id}");
        }
        // Every statement with a scaling metric is tested, or not testable for a stated reason.
        for claim in claims.iter().filter(|claim| claim.metric.starts_with("scaling")) {
            assert!(TESTS.iter().any(|(id, _)| *id == claim.id), "{}", claim.id);
        }
    }

    #[test]
    fn the_number_of_processors_decides_what_is_testable() {
        let judged = judge(&claims(), &results(2, ideal), 2);
        assert_eq!(verdict(&judged, "z990.c.native-n-cps"), Verdict::Confirmed);
        for id in ["z990.c.kmc-dea-16cp-loss", "z990.c.icsf-des-loss-long", "z990.c.cex2c-des-gain-min"] {
            assert!(
                matches!(verdict(&judged, id), Verdict::NotTestable(why) if why.contains("has 2")),
                "{id}"
            );
        }
        let judged = judge(&claims(), &results(16, ideal), 16);
        for id in [
            "z990.c.kmc-dea-16cp-loss",
            "z990.c.icsf-des-loss-long",
            "z990.c.cex2c-des-gain-min",
            "z990.c.pcixcc-pka-n-cards",
            "z990.c.cex2c-pka-2features",
            "z990.c.cpacf-setup-plus-unit",
            "z990.c.cpacf-synchronous",
            "z990.c.icsf-adds-path",
            "z990.c.icsf-below-native",
            "z990.c.pcica-one-job-waits",
            "z990.c.pcixcc-below-cpacf",
        ] {
            assert_eq!(verdict(&judged, id), Verdict::Confirmed, "{id}");
        }
        assert!(judge(&claims(), &Results::default(), 16).iter().all(|judged| {
            matches!(&judged.verdict, Verdict::NotTestable(why) if why.contains("not measured"))
        }));
    }

    #[test]
    fn runs_that_spread_over_the_bound_decide_nothing() {
        let figures = |value, mad| vec![Figure { value, mad }];
        assert_eq!(AtLeast(1.8).weigh(figures(1.85, 0.1)).unwrap().holds, None);
        assert_eq!(AtLeast(1.8).weigh(figures(1.95, 0.1)).unwrap().holds, Some(true));
        assert_eq!(AtMost(1.0).weigh(figures(1.3, 0.1)).unwrap().holds, Some(false));
        assert_eq!(About(2.0).weigh(figures(2.05, 0.1)).unwrap().holds, None);
        let worst =
            About(1.0).weigh(vec![Figure::exact(1.01), Figure::exact(0.7), Figure::exact(1.2)]).unwrap();
        assert_eq!((worst.value, worst.holds), (0.7, Some(false)));
        assert_eq!(AtLeast(1.0).weigh(Vec::new()).map(|weighed| weighed.value), None);
    }

    #[test]
    fn figures_that_speak_against_a_statement_refute_it() {
        let poor = |case: &Workload| ideal(case) / (case.processors as f64).sqrt();
        let judged = judge(&claims(), &results(2, poor), 2);
        let native = judged.iter().find(|judged| judged.id == "z990.c.native-n-cps").unwrap();
        assert_eq!(native.verdict, Verdict::Refuted);
        assert!((native.measured.unwrap() - 2f64.sqrt()).abs() < 1e-9);
        // Cards that gain nothing from a second job, and are slow with one.
        let judged = judge(&claims(), &results(2, |_| 1000.0), 2);
        assert_eq!(verdict(&judged, "z990.c.pcixcc-tdes-7job-gain-max"), Verdict::Refuted);
    }
}

//! The published statements about scaling, judged by the measurements.
//!
//! Each statement that this house can test is a row of [`TESTS`]: what is compared, at which lengths,
//! and what the figure must be. Every other statement (about parts, limits and set-up of the
//! originals, about services that no code serves yet) has no row. A statement about more processors
//! than this machine has, or about cards that would share processors, is *not testable* and says so; so is
//! one whose runs spread over the figure that decides.

mod statements;
mod weigh;

use self::statements::{LENGTHS, TESTS};
use self::weigh::workload;
use crate::experiment::judged::{Judged, Verdict};
use crate::kit::statistics::fit;
use crate::load::operation::Operation;
use crate::load::{Interface, Workload};
use crate::published::Claim;
use crate::sweeps::results::Results;

/// The line through the six published lengths of an operation with one job.
pub fn sweep_fit(
    results: &Results,
    operation: Operation,
    interface: Interface,
) -> Option<crate::kit::statistics::Fit> {
    let points: Option<Vec<(f64, f64)>> = LENGTHS
        .iter()
        .map(|&bytes| {
            let case = results.of(&workload(operation, interface, bytes))?;
            Some((bytes as f64, 1.0 / case.ops_per_s.median))
        })
        .collect();
    fit(&points?)
}

/// Every workload that the tests need on a machine with `online` processors.
pub fn cases(online: usize) -> Vec<Workload> {
    let pairs = TESTS.iter().flat_map(|test| test.pairs(online)).flat_map(|(over, under)| [over, under]);
    pairs.chain(TESTS.iter().flat_map(|test| test.singles())).collect()
}

/// Judges the statements by the results of a machine with `online` processors. Statements without a test are left out.
pub fn judge(claims: &[Claim], results: &Results, online: usize) -> Vec<Judged> {
    let judged = claims.iter().filter_map(|claim| {
        let test = TESTS.iter().find(|test| test.id == claim.id)?;
        let open = |why| Judged::new(claim, None, String::new(), Verdict::NotTestable(why));
        Some(match (test.not_testable(online), test.judge(results, online)) {
            (Some(why), _) => open(why),
            (None, None) => open("its cases were not measured".to_owned()),
            (None, Some((weighed, compared))) => Judged::weighed(claim, &weighed, compared),
        })
    });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use super::statements::Test;
    use super::*;
    use crate::load::Interface::{Card, Facility};
    use crate::load::made_up::measurement;
    use crate::published::claims;
    use crate::sweeps::results::CaseResult;

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
        for Test { id, .. } in TESTS.iter() {
            assert!(claims.iter().any(|claim| claim.id == *id), "{id}");
        }
        // Every statement with a scaling metric is tested, or not testable for a stated reason.
        for claim in claims.iter().filter(|claim| claim.metric.starts_with("scaling")) {
            assert!(TESTS.iter().any(|test| test.id == claim.id), "{}", claim.id);
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
    fn figures_that_speak_against_a_statement_refute_it() {
        let poor = |case: &Workload| ideal(case) / (case.processors as f64).sqrt();
        let judged = judge(&claims(), &results(2, poor), 2);
        let native = judged.iter().find(|judged| judged.id == "z990.c.native-n-cps").unwrap();
        assert_eq!(native.verdict, Verdict::Refuted);
        assert!((native.measured.unwrap() - 2f64.sqrt()).abs() < 1e-9);
        // Cards that gain nothing from a second job, and are slow with one job.
        let judged = judge(&claims(), &results(2, |_| 1000.0), 2);
        assert_eq!(verdict(&judged, "z990.c.pcixcc-tdes-7job-gain-max"), Verdict::Refuted);
    }
}

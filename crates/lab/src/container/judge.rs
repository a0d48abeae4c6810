//! The published statements on a guest beside the native machine, and on several jobs beside one.

use super::{Case, Compared};
use crate::experiment::judged::{Judged, Verdict};
use crate::published::Claim;

/// Two means are nearly the same within this share.
const NEARLY: f64 = 0.02;
/// A case does not count against several jobs if its rate is within this share of the rate of one job.
const EQUAL: f64 = 0.01;

/// Judges the statements on guests and on several jobs by the comparison.
pub fn judge(claims: &[Claim], compared: &Compared) -> Vec<Judged> {
    let (Some(all), _) = compared.agreements() else { return Vec::new() };
    let noise = compared.noise();
    let share = |what: fn(&super::Agreement) -> f64, published: f64| {
        let noise = noise.as_ref().map_or(f64::NAN, what);
        let measured = what(&all);
        let verdict = if measured >= published {
            Verdict::Confirmed
        } else if noise < published {
            Verdict::NotTestable(format!(
                "native passes agree with each other in {noise:.0} % of the cases only"
            ))
        } else {
            Verdict::Refuted
        };
        (measured, format!("{} cases; native beside itself: {noise:.0} %", all.cases), verdict)
    };
    let held = |holds| if holds { Verdict::Confirmed } else { Verdict::Refuted };
    let judged = |claim: &Claim| {
        let published = claim.value;
        let (measured, text, verdict) = match claim.id.as_str() {
            "zvm.c.icsf-near-native" => {
                let ends = format!("mean of {} cases, {:.3} to {:.3}", all.cases, all.min, all.max);
                (all.average, ends, held((all.average - 1.0).abs() <= NEARLY))
            }
            "zvm.c.icsf-within-1pct" => share(|all| all.within_1, published?),
            "zvm.c.icsf-within-2pct" => share(|all| all.within_2, published?),
            "zvm.c.icsf-outliers" => {
                let (within, text, verdict) = share(|all| all.within_2, 100.0 - published?);
                (100.0 - within, text, verdict)
            }
            "zvm.c.icsf-multi-job-faster" => {
                let (pairs, exceptions) = several_jobs(&compared.cases);
                let text = format!("{pairs} pairs of a case with one job and with several, in the container");
                let verdict = match pairs {
                    0 => Verdict::NotTestable("no case ran with one job and with several".to_owned()),
                    _ => held(exceptions as f64 <= published?),
                };
                (exceptions as f64, text, verdict)
            }
            _ => return None,
        };
        Some(Judged::new(claim, Some(measured), text, verdict))
    };
    claims.iter().filter_map(judged).collect()
}

/// Number of pairs of a case on cards with one job and with several jobs on as many cards; and of the pairs in which
/// one job is faster.
fn several_jobs(cases: &[Case]) -> (usize, usize) {
    let alike = |one: &Case, several: &Case| {
        let (a, b) = (&one.workload, &several.workload);
        let same =
            (a.operation, a.bytes, a.cards, a.interface) == (b.operation, b.bytes, b.cards, b.interface);
        same && a.jobs == 1 && b.jobs > 1
    };
    let pairs = cases
        .iter()
        .flat_map(|one| cases.iter().filter(move |other| alike(one, other)).map(move |two| (one, two)));
    pairs.fold((0, 0), |(pairs, exceptions), (one, several)| {
        let slower = several.container.median < one.container.median * (1.0 - EQUAL);
        (pairs + 1, exceptions + usize::from(slower))
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Effort, Namespaces};
    use super::*;
    use crate::kit::statistics::Summary;
    use crate::load::{Interface, Workload};
    use crate::published::claims;

    fn case(jobs: usize, rate: f64, ratio: f64, itself: f64) -> Case {
        let workload =
            Workload { jobs, interface: Interface::Card, ..Workload::of("rsa2048-crt".parse().unwrap()) };
        let summary = |value: f64| Summary::of(&[value]).unwrap();
        let (native, container, ratio) = (summary(rate), summary(rate * ratio), summary(ratio));
        let itself = summary(itself);
        Case { workload, tables: vec!["t".to_owned()], native, container, ratio, itself }
    }

    fn judged(cases: Vec<Case>) -> Vec<Judged> {
        let compared = Compared {
            effort: Effort::QUICK,
            namespaces: Namespaces::default(),
            tenant: String::new(),
            cases,
            left_out: Vec::new(),
        };
        judge(&claims(), &compared)
    }

    #[test]
    fn shares_are_held_against_the_noise() {
        let of = |judged: &[Judged], id: &str| {
            judged.iter().find(|judged| judged.id.ends_with(id)).map(|judged| judged.verdict.clone()).unwrap()
        };
        let all = judged(vec![case(1, 100.0, 1.001, 1.0), case(8, 500.0, 0.999, 1.0)]);
        assert_eq!(all.len(), 5);
        assert!(all.iter().all(|judged| judged.verdict == Verdict::Confirmed), "{all:?}");
        let apart = judged(vec![case(1, 100.0, 1.5, 1.0), case(8, 50.0, 0.9, 1.0)]);
        for id in ["near-native", "within-1pct", "within-2pct", "outliers"] {
            assert_eq!(of(&apart, id), Verdict::Refuted, "{id}");
        }
        // The originals had one exception too.
        assert_eq!(of(&apart, "multi-job-faster"), Verdict::Confirmed);
        let noisy = judged(vec![case(1, 100.0, 1.05, 0.9)]);
        assert!(matches!(of(&noisy, "within-1pct"), Verdict::NotTestable(_)));
        assert!(matches!(of(&noisy, "multi-job-faster"), Verdict::NotTestable(_)), "nothing was compared");
        assert!(judged(Vec::new()).is_empty());
    }
}

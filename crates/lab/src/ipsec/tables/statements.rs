//! The published statements about IPsec, judged by the cases.

use super::{Case, Figure, Load, Outcomes, Way};
use crate::experiment::judged::Expect::{self, About, AtMost};
use crate::experiment::judged::{Figure as Weighable, Judged};
use crate::ipsec::suite::Suite;
use crate::kit::statistics::Summary;
use crate::published::Claim;

/// Judges the published statements by the outcomes.
pub(crate) fn judge(claims: &[Claim], outcomes: &Outcomes) -> Vec<Judged> {
    let all = |of: &dyn Fn(Load, Suite) -> Option<Summary>| -> Vec<Weighable> {
        let every =
            Load::ALL.into_iter().flat_map(|load| Suite::ALL.into_iter().map(move |suite| (load, suite)));
        every.filter_map(|(load, suite)| of(load, suite)).map(|summary| Weighable::of(&summary)).collect()
    };
    // Such a statement is about the largest figure.
    let largest = |figures: Vec<Weighable>| -> Vec<Weighable> {
        figures.into_iter().max_by(|a, b| a.value.total_cmp(&b.value)).into_iter().collect()
    };
    let portable_over_best = largest(all(&|load, suite| {
        outcomes.over(load, (Way::Portable(suite), Way::Best(suite)), Figure::Response)
    }));
    let portable_over_best = portable_over_best.first().map_or(0.0, |figure| figure.value);
    let held: [(&str, Vec<Weighable>, Expect, String); 3] = [
        (
            "lnx.c.ipsec-lowers-rate",
            all(&|load, suite| outcomes.over(load, (Way::Best(suite), Way::Without), Figure::Rate)),
            AtMost(1.0),
            "rate with IPsec over that without, the largest of all workloads and suites, engine at its best".to_owned(),
        ),
        (
            "lnx.c.ipsec-response",
            largest(all(&|load, suite| {
                outcomes.over(load, (Way::Portable(suite), Way::Without), Figure::Response)
            })),
            AtMost(7.0),
            format!(
                "response time with the engine at the portable level over that without IPsec, the largest of all workloads and suites; over that at its best, the \
                 other reading of what the statement leaves open, it is {portable_over_best:.1}"
            ),
        ),
        (
            "lnx.c.ipsec-cpu",
            largest(all(&|load, suite| {
                outcomes.over(load, (Way::Portable(suite), Way::Best(suite)), Figure::Processor)
            })),
            About(13.0),
            "processor time of a transaction at the portable level over that at the best, the largest of all workloads and suites; client and server included"
                .to_owned(),
        ),
    ];
    let judged = held.into_iter().filter_map(|(id, figures, expect, compared)| {
        let claim = claims.iter().find(|claim| claim.id == id)?;
        Some(Judged::weighed(claim, &expect.weigh(figures)?, format!("{compared} (IPsec)")))
    });
    let ran = Load::ALL
        .into_iter()
        .filter(|load| outcomes.summary(Case { load: *load, way: Way::Without }, Figure::Rate).is_some());
    judged.chain(ran.flat_map(|load| lengths(claims, load))).collect()
}

/// Judges the statements on the lengths of a workload's messages by the lengths that are sent here.
fn lengths(claims: &[Claim], load: Load) -> Vec<Judged> {
    let (request, response) = load.bytes();
    let judged = [("request", request), ("response", response)].into_iter().filter_map(|(message, bytes)| {
        let id = format!("lnx.c.ipsec-workload-{}-{message}", load.name());
        let claim = claims.iter().find(|claim| claim.id == id)?;
        let published = claim.value?;
        let weighed = About(published).weigh(vec![Weighable::exact(f64::from(bytes))])?;
        let apart = match f64::from(bytes) - published {
            0.0 => "as there".to_owned(),
            apart => format!(
                "{} bytes {} than its name is read there",
                apart.abs(),
                if apart < 0.0 { "shorter" } else { "longer" }
            ),
        };
        Some(Judged::weighed(
            claim,
            &weighed,
            format!("{message} of the workload as it runs here, {apart} (IPsec)"),
        ))
    });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::made_up;
    use super::*;
    use crate::experiment::judged::Verdict;
    use crate::published;

    #[test]
    fn statements_are_held_against_the_largest() {
        let (claims, outcomes) = (published::claims(), made_up());
        let judged = judge(&claims, &outcomes);
        let of = |id: &str| judged.iter().find(|one| one.id == id).unwrap();
        assert_eq!(of("lnx.c.ipsec-lowers-rate").measured, Some(0.5));
        assert_eq!(of("lnx.c.ipsec-lowers-rate").verdict, Verdict::Confirmed);
        let response = of("lnx.c.ipsec-response");
        assert!((response.measured.unwrap() - 1000.0 / 150.0).abs() < 1e-9);
        assert_eq!(response.verdict, Verdict::Confirmed);
        let processor = of("lnx.c.ipsec-cpu");
        assert!((processor.measured.unwrap() - 13.0).abs() < 1e-9, "{processor:?}");
        assert_eq!((processor.published, &processor.verdict), (Some(13.0), &Verdict::Confirmed));
        let shorter = of("lnx.c.ipsec-workload-rr200x1k-response");
        assert_eq!(
            (shorter.measured, shorter.published, &shorter.verdict),
            (Some(1000.0), Some(1024.0), &Verdict::Confirmed)
        );
        assert!(shorter.compared.contains("24 bytes shorter"), "{}", shorter.compared);
        assert_eq!(judged.iter().filter(|one| one.compared.contains("as there")).count(), 5);
        assert_eq!(judge(&claims, &Outcomes::default()), []);
    }
}

//! The published statements about the Encryption Facility, judged by the cases: the rows of `data/file-tests.csv`. Each
//! row names a case by its published table or by its own name, perhaps a second case for a ratio, the figure of the
//! runs, and the unit of the result.

use super::{Case, Outcomes, Run};
use crate::experiment::judged::{Expect, Figure, Judged, Verdict};
use crate::kit::records;
use crate::kit::statistics::{Summary, ratio};
use crate::openpgp::input;
use crate::published::Claim;
use serde::Deserialize;

/// The test of a statement.
#[derive(Deserialize)]
struct Test {
    id: String,
    over: String,
    under: String,
    figure: String,
    unit: Unit,
    expect: String,
    /// Processors that the test needs.
    processors: usize,
    compared: String,
}

/// The unit of a reported figure.
#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Unit {
    /// The length of the text, if it is the published one: a quick report takes a part on purpose.
    Bytes,
    #[serde(rename = "")]
    Ratio,
    Share,
    Decrease,
    Increase,
}

/// Judges the statements by the outcomes of a machine with `processors` processors. Statements without a test, or whose
/// cases did not run, are left out.
pub(crate) fn judge(claims: &[Claim], outcomes: &Outcomes, processors: usize) -> Vec<Judged> {
    let tests: Vec<Test> = records(include_str!("../../../data/file-tests.csv")).collect();
    let judged = claims.iter().filter_map(|claim| {
        let test = tests.iter().find(|test| test.id == claim.id)?;
        let figure = test.figure(outcomes)?;
        let weighed = Expect::read(&test.expect)?.weigh(vec![Figure::of(&figure)])?;
        let weighed = weighed.map(|ratio| in_unit(ratio, test.unit));
        let compared = test.compared.clone();
        if processors >= test.processors {
            return Some(Judged::weighed(claim, &weighed, compared));
        }
        let why = format!("{} processors needed, {processors} here; {compared}", test.processors);
        Some(Judged::new(claim, Some(weighed.value), compared, Verdict::NotTestable(why)))
    });
    judged.collect()
}

impl Test {
    fn figure(&self, outcomes: &Outcomes) -> Option<Summary> {
        let of = figure(&self.figure)?;
        let outcome = |name: &str| {
            let named = || super::cases().into_iter().find(|case| case.name() == name);
            outcomes.of(&Case::of_table(name).or_else(named)?)
        };
        let figure = match self.under.as_str() {
            "" => outcome(&self.over)?.summary(of)?,
            under => ratio(&outcome(&self.over)?.values(of), &outcome(under)?.values(of))?,
        };
        (self.unit != Unit::Bytes || figure.median >= 1.0).then_some(figure)
    }
}

fn in_unit(ratio: f64, unit: Unit) -> f64 {
    match unit {
        Unit::Bytes => ratio * input::PUBLISHED_BYTES as f64,
        Unit::Ratio => ratio,
        Unit::Share => ratio * 100.0,
        Unit::Decrease => (1.0 - ratio) * 100.0,
        Unit::Increase => (ratio - 1.0) * 100.0,
    }
}

/// A figure of a run by its name; none for an unknown name.
fn figure(name: &str) -> Option<fn(&Run) -> f64> {
    Some(match name {
        "input" => |run| run.input_bytes as f64 / input::PUBLISHED_BYTES as f64,
        "elapsed" => |run| run.elapsed_s,
        "cost" => |run| run.cpu_s / run.megabytes(),
        "per-cpu" => |run| run.megabytes() / run.cpu_s.max(1e-9),
        "per-caller-cpu" => |run| run.megabytes() / (run.cpu_s - run.offloaded_s).max(1e-9),
        "caller-use" => |run| (run.cpu_s - run.offloaded_s) / run.elapsed_s.max(1e-9),
        "offloaded" => |run| run.offloaded_s / run.cpu_s.max(1e-9),
        "work-by-caller" => |run| run.work_by_caller_s / run.cpu_s.max(1e-9),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::made_up;
    use super::*;
    use crate::published;

    #[test]
    fn every_statement_about_the_encryption_facility_is_judged() {
        let claims = published::claims();
        let judged = judge(&claims, &made_up(), 4);
        let stated: Vec<&str> =
            claims.iter().filter(|claim| claim.document == "ef2").map(|claim| claim.id.as_str()).collect();
        assert_eq!(judged.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), stated);
        let of = |id: &str| judged.iter().find(|one| one.id == id).unwrap();
        assert_eq!(of("ef2.c.input-size").verdict, Verdict::Confirmed);
        assert_eq!(of("ef2.c.compression-9").measured, Some(9.0));
        // Software takes twice as long: half, where 16 % less is published.
        assert_eq!(
            (of("ef2.c.hw-elapsed").measured, of("ef2.c.hw-elapsed").verdict.clone()),
            (Some(50.0), Verdict::Refuted)
        );
        assert!((of("ef2.c.zaap-hw-eligible").measured.unwrap() - 90.0).abs() < 1e-9);
        assert_eq!(of("ef2.c.zaap-gcpu").verdict, Verdict::Confirmed);
        // Half of the time on twice the processors, where 47 % less is published: about that.
        assert_eq!(of("ef2.c.async-4cpu-elapsed-47").verdict, Verdict::Refuted);
    }

    #[test]
    fn statements_about_more_processors_than_there_are_say_so() {
        let judged = judge(&published::claims(), &made_up(), 1);
        let open = |id: &str| {
            let one = judged.iter().find(|one| one.id == id).unwrap();
            matches!(&one.verdict, Verdict::NotTestable(why) if why.contains("processors needed, 1 here"))
        };
        assert!(open("ef2.c.async-4cpu-cost") && open("ef2.c.zaap-elapsed") && !open("ef2.c.hw-elapsed"));
        assert_eq!(judge(&published::claims(), &Outcomes::default(), 4), []);
    }
}

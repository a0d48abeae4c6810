//! The published statements about the Encryption Facility, held against what the cases gave.

use super::{Case, Outcome, Outcomes, Run};
use crate::experiment::judged::{Expect, Figure, Judged, Verdict};
use crate::kit::statistics::{Summary, compare};
use crate::openpgp::input;
use crate::published::Claim;
use Expect::{About, AtLeast, AtMost};

/// "Very much slower" is at least so many times.
const VERY_MUCH: f64 = 2.0;
/// No more than this share is none.
const NONE: f64 = 0.01;

/// What a statement is held against.
struct Test {
    figure: Figure,
    expect: Expect,
    unit: Unit,
    compared: String,
    /// Processors that it needs.
    processors: usize,
}

/// How a figure is reported.
#[derive(Clone, Copy)]
enum Unit {
    Bytes,
    Ratio,
    SharePct,
    DecreasePct,
    IncreasePct,
}

type Make = fn(&Outcomes) -> Option<Test>;

const TESTS: &[(&str, Make)] = &[
    ("ef2.c.input-size", |all| {
        let figure = all.0.first()?.figure(|run| run.input_bytes as f64 / input::PUBLISHED_BYTES as f64)?;
        if figure.median < 1.0 {
            // A quick report takes a part on purpose.
            return None;
        }
        Some(Test { unit: Unit::Bytes, ..test(&figure, About(1.0), 1, "length of the text") })
    }),
    ("ef2.c.compression-9", |all| {
        let nine = super::cases().into_iter().find(|case| case.level == 9)?;
        let figure = over(all.of(&nine)?, table(all, "t2")?, |run| run.elapsed_s)?;
        Some(test(
            &figure,
            AtLeast(VERY_MUCH),
            1,
            "elapsed time at level 9 over that at level 1, engine, 1 processor",
        ))
    }),
    ("ef2.c.zaap-no-general", |all| {
        let figure = table(all, "t4")?.figure(|run| run.work_by_caller_s / run.cpu_s.max(1e-9))?;
        let compared = "compression and cipher on the caller's processor as a share of all, offloaded";
        Some(Test { unit: Unit::SharePct, ..test(&figure, AtMost(NONE), 2, compared) })
    }),
    ("ef2.c.hw-elapsed", |all| {
        decrease(all, "t2", "t1", elapsed, About(0.84), "elapsed time, engine over software")
    }),
    ("ef2.c.hw-mbcpu", |all| {
        increase(all, "t2", "t1", per_cpu, About(1.25), "MB per CPU second, engine over software")
    }),
    ("ef2.c.zaap-gcpu", |all| {
        offloaded(decrease(
            all,
            "t3",
            "t1",
            general,
            AtMost(0.16),
            "the caller's processor's use, software, offloaded over not",
        ))
    }),
    ("ef2.c.zaap-elapsed", |all| {
        offloaded(decrease(
            all,
            "t3",
            "t1",
            elapsed,
            About(0.97),
            "elapsed time, software, offloaded over not",
        ))
    }),
    ("ef2.c.zaap-mball", |all| {
        offloaded(decrease(
            all,
            "t3",
            "t1",
            per_cpu,
            About(0.95),
            "MB per CPU second, software, offloaded over not",
        ))
    }),
    ("ef2.c.zaap-eligible", |all| eligible(all, "t3", 0.86)),
    ("ef2.c.zaap-hw-gcpu", |all| {
        offloaded(decrease(
            all,
            "t4",
            "t2",
            general,
            AtMost(0.20),
            "the caller's processor's use, engine, offloaded over not",
        ))
    }),
    ("ef2.c.zaap-hw-mbgcpu", |all| {
        let compared = "MB per CPU second of the caller's processor, engine, offloaded over not";
        offloaded(increase(all, "t4", "t2", per_general_cpu, About(1.10), compared))
    }),
    ("ef2.c.zaap-hw-mball", |all| {
        offloaded(decrease(
            all,
            "t4",
            "t2",
            per_cpu,
            About(0.95),
            "MB per CPU second, engine, offloaded over not",
        ))
    }),
    ("ef2.c.zaap-hw-eligible", |all| eligible(all, "t4", 0.84)),
    ("ef2.c.async-1cpu-elapsed", |all| {
        increase(all, "t7", "t6", elapsed, About(1.24), "elapsed time on 1 processor, options on over off")
    }),
    ("ef2.c.async-1cpu-mbcpu", |all| {
        decrease(
            all,
            "t7",
            "t6",
            per_cpu,
            About(0.77),
            "MB per CPU second on 1 processor, options on over off",
        )
    }),
    ("ef2.c.async-4cpu-elapsed-47", |all| {
        four(decrease(
            all,
            "t8",
            "t7",
            elapsed,
            About(0.53),
            "elapsed time with options, all processors over 1",
        ))
    }),
    ("ef2.c.async-4cpu-mbcpu", |all| {
        let figure = over(table(all, "t8")?, table(all, "t7")?, per_cpu)?;
        four(Some(test(&figure, AtLeast(1.0), 1, "MB per CPU second with options, all processors over 1")))
    }),
    ("ef2.c.async-4cpu-elapsed-35", |all| {
        let compared = "elapsed time, all processors with options over 1 without";
        four(decrease(all, "t8", "t6", elapsed, About(0.65), compared))
    }),
    ("ef2.c.async-4cpu-cost", |all| {
        let compared = "CPU seconds per MB, all processors with options over 1 without";
        four(increase(all, "t8", "t6", |run| run.cpu_s / run.megabytes(), About(1.24), compared))
    }),
];

/// Holds the statements against the outcomes on so many processors. Statements without a test, or whose cases did not
/// run, are left out.
pub(crate) fn judge(claims: &[Claim], outcomes: &Outcomes, processors: usize) -> Vec<Judged> {
    let judged = claims.iter().filter_map(|claim| {
        let (_, make) = TESTS.iter().find(|(id, _)| *id == claim.id)?;
        let Test { figure, expect, unit, compared, processors: needed } = make(outcomes)?;
        let weighed = expect.weigh(vec![figure])?.map(|ratio| in_unit(ratio, unit));
        if processors >= needed {
            return Some(Judged::weighed(claim, &weighed, compared));
        }
        let why = format!("{needed} processors needed, {processors} here; {compared}");
        Some(Judged::new(claim, Some(weighed.value), compared, Verdict::NotTestable(why)))
    });
    judged.collect()
}

fn in_unit(ratio: f64, unit: Unit) -> f64 {
    match unit {
        Unit::Bytes => ratio * input::PUBLISHED_BYTES as f64,
        Unit::Ratio => ratio,
        Unit::SharePct => ratio * 100.0,
        Unit::DecreasePct => (1.0 - ratio) * 100.0,
        Unit::IncreasePct => (ratio - 1.0) * 100.0,
    }
}

fn test(figure: &Summary, expect: Expect, processors: usize, compared: &str) -> Test {
    Test { figure: Figure::of(figure), expect, unit: Unit::Ratio, compared: compared.to_owned(), processors }
}

fn table<'a>(all: &'a Outcomes, table: &str) -> Option<&'a Outcome> {
    all.of(&Case::of_table(table)?)
}

/// A figure of one case over that of another, pass by pass.
fn over(a: &Outcome, b: &Outcome, figure: fn(&Run) -> f64) -> Option<Summary> {
    let count = a.runs.len().min(b.runs.len());
    let values = |outcome: &Outcome| outcome.runs[..count].iter().map(figure).collect::<Vec<f64>>();
    Some(compare(&values(a), &values(b))?.ratio)
}

type Of = fn(&Run) -> f64;

fn decrease(all: &Outcomes, a: &str, b: &str, of: Of, expect: Expect, compared: &str) -> Option<Test> {
    let figure = over(table(all, a)?, table(all, b)?, of)?;
    Some(Test { unit: Unit::DecreasePct, ..test(&figure, expect, 1, compared) })
}

fn increase(all: &Outcomes, a: &str, b: &str, of: Of, expect: Expect, compared: &str) -> Option<Test> {
    Some(Test { unit: Unit::IncreasePct, ..decrease(all, a, b, of, expect, compared)? })
}

/// The share of processor time that was offloaded.
fn eligible(all: &Outcomes, name: &str, share: f64) -> Option<Test> {
    let figure = table(all, name)?.figure(|run| run.offloaded_s / run.cpu_s.max(1e-9))?;
    let compared = "processor time on other processors as a share of all, offloaded";
    Some(Test { unit: Unit::SharePct, ..test(&figure, About(share), 2, compared) })
}

/// A statement about a processor beside the caller's.
fn offloaded(test: Option<Test>) -> Option<Test> {
    Some(Test { processors: 2, ..test? })
}

/// A statement about four processors.
fn four(test: Option<Test>) -> Option<Test> {
    Some(Test { processors: 4, ..test? })
}

fn elapsed(run: &Run) -> f64 {
    run.elapsed_s
}

fn per_cpu(run: &Run) -> f64 {
    run.megabytes() / run.cpu_s.max(1e-9)
}

fn per_general_cpu(run: &Run) -> f64 {
    run.megabytes() / (run.cpu_s - run.offloaded_s).max(1e-9)
}

/// Use of the caller's processor.
fn general(run: &Run) -> f64 {
    (run.cpu_s - run.offloaded_s) / run.elapsed_s.max(1e-9)
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

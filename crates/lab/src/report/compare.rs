//! Two reports side by side.

use super::Report;
use crate::kit::statistics::Summary;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The rates of a report by name of the case, queues and tenants included.
fn rates(report: &Report) -> BTreeMap<String, Summary> {
    let sweeps = report.results.0.iter().map(|(case, result)| (case.clone(), result.ops_per_s));
    let queues = report.queues.0.iter();
    let queues = queues.map(|one| (format!("queues/{}/{}", one.experiment, one.name), one.ops_per_s));
    sweeps.chain(queues).collect()
}

/// A table of the cases that both reports hold: rates, the ratio of `b` to `a`, and whether the ratio lies outside the
/// spread of either report's runs. Cases of only one report are named below the table.
pub fn compare(a: &Report, b: &Report) -> String {
    let mut out = String::new();
    let side = |report: &Report| {
        format!(
            "{}, level {}, {}, {} runs of {} s",
            report.machine.processor,
            report.level,
            crate::kit::machine::utc_text(report.made_unix_s),
            report.thoroughness.passes,
            report.thoroughness.seconds
        )
    };
    let _ = writeln!(out, "A: {}\nB: {}\n", side(a), side(b));
    if a.machine != b.machine || a.level != b.level {
        let _ = writeln!(out, "The two were not measured on the same machine at the same level.\n");
    }
    let (rates_a, rates_b) = (rates(a), rates(b));
    let width = rates_a.keys().map(String::len).max().unwrap_or(4);
    let _ = writeln!(
        out,
        "{:width$}  {:>13}  {:>8}  {:>13}  {:>8}  {:>7}",
        "case", "A ops/s", "spread", "B ops/s", "spread", "B / A"
    );
    let (mut faster, mut slower, mut same) = (0, 0, 0);
    for (case, x) in &rates_a {
        let Some(y) = rates_b.get(case) else { continue };
        let mark = if y.min > x.max {
            faster += 1;
            "  faster"
        } else if y.max < x.min {
            slower += 1;
            "  slower"
        } else {
            same += 1;
            ""
        };
        let _ = writeln!(
            out,
            "{case:width$}  {:>13.1}  {:>7.1}%  {:>13.1}  {:>7.1}%  {:>7.3}{mark}",
            x.median,
            x.spread() * 100.0,
            y.median,
            y.spread() * 100.0,
            y.median / x.median
        );
    }
    let _ = writeln!(
        out,
        "\n{faster} faster, {slower} slower (every run of B beyond every run of A), {same} within the spread."
    );
    for (name, one, other) in [("A", &rates_a, &rates_b), ("B", &rates_b, &rates_a)] {
        let only = one.keys().filter(|case| !other.contains_key(*case)).count();
        if only > 0 {
            let _ = writeln!(out, "Only in {name}: {only} cases.");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::made_up::MadeUp;
    use crate::report::{Plan, Thoroughness, run};

    #[test]
    fn faster_and_slower_are_told_from_the_spread() {
        let folder = tempfile::tempdir().unwrap();
        let thoroughness = Thoroughness { passes: 2, seconds: 0.1, seconds_max: None };
        let plan = Plan::with_peer(&crate::published::measurements(), thoroughness, true);
        let make = |name: &str, factor| {
            let mut bench = MadeUp { factor, ..MadeUp::new() };
            run(&plan, &mut bench, &folder.path().join(name), &mut |_| ()).unwrap()
        };
        let (a, mut b) = (make("a", 1.0), make("b", 2.0));
        let cases = a.results.0.len();
        let text = compare(&a, &b);
        assert!(text.contains(&format!("{cases} faster, 0 slower")), "{text}");
        assert!(text.contains("2.000  faster"));
        b.results.0.pop_first();
        assert!(compare(&b, &a).contains(&format!("0 faster, {} slower", cases - 1)));
        assert!(compare(&b, &a).contains("Only in B: 1 cases."));
        assert!(compare(&a, &a).contains(&format!("{cases} within the spread")));
    }
}

//! The part of a report's page on OpenPGP: the cases beside the published cells, and two charts.

use super::{Case, Outcome, Outcomes, Run, cases};
use crate::digits;
use crate::published::Row;
use crate::report::chart::{DotRow, dots, escape};
use crate::statistics::Summary;
use std::fmt::Write;

/// Where the part begins.
pub(crate) const ANCHOR: &str = "openpgp";
/// Its heading.
pub(crate) const TITLE: &str = "OpenPGP files";

/// A column of figures: its name, the published metric, and the figure of a run of a case.
struct Column {
    name: &'static str,
    metrics: &'static [&'static str],
    figure: fn(&Run, &Case) -> f64,
}

const COLUMNS: [Column; 6] = [
    Column { name: "elapsed<br/>s", metrics: &["elapsed_s"], figure: |run, _| run.elapsed_s },
    Column {
        name: "MB/s",
        metrics: &["mb_per_s"],
        figure: |run, _| run.megabytes() / run.elapsed_s.max(1e-9),
    },
    Column {
        name: "MB per<br/>CPU s",
        metrics: &["mb_per_cpu_s", "mb_per_general_plus_zaap_s"],
        figure: |run, _| run.megabytes() / run.cpu_s.max(1e-9),
    },
    Column {
        name: "MB per CPU s<br/>of the caller's",
        metrics: &["mb_per_general_cpu_s"],
        figure: |run, _| run.megabytes() / (run.cpu_s - run.offloaded_s).max(1e-9),
    },
    Column {
        name: "utilisation<br/>%",
        metrics: &["cpu_util_pct", "general_cpu_util_pct"],
        figure: |run, case| {
            let own = if case.offload { run.cpu_s - run.offloaded_s } else { run.cpu_s };
            let processors = if case.offload { 1 } else { case.processors_used() };
            100.0 * own / (run.elapsed_s * processors as f64).max(1e-9)
        },
    },
    Column {
        name: "others'<br/>utilisation %",
        metrics: &["zaap_util_pct"],
        figure: |run, case| {
            let others = case.processors_used().saturating_sub(1).max(1);
            100.0 * run.offloaded_s / (run.elapsed_s * others as f64).max(1e-9)
        },
    },
];

/// The part; empty where no case ran.
pub(crate) fn section(outcomes: &Outcomes, published: &[Row]) -> String {
    let Some(first) = outcomes.0.first().and_then(|outcome| outcome.runs.first()) else {
        return String::new();
    };
    let mut out = String::new();
    let share = first.output_bytes as f64 / first.input_bytes as f64 * 100.0;
    let _ = write!(
        out,
        "<h2 id=\"{ANCHOR}\">{TITLE}</h2>\n<p class=\"remark\">The Encryption Facility on a System z9 (2007) compressed and enciphered one \
         data set of 1,506,431,796 bytes to 23 % of that, with ZIP level 1 and AES-128. Here the same is done with a text of {} \
         bytes made from a seed, which became {share:.1} % of that, file to file, in the form with a modification detection code. \
         <i>Options</i> are the original's three: threads of their own for I/O, compression and cipher. Where the \
         original had a second kind of processor (zAAP), compression and cipher are offloaded to all processors but the \
         caller's. MB are 2<sup>20</sup> bytes, as published. Each cell: published, measured, and the second over the first.</p>\n",
        digits::thousands(first.input_bytes)
    );
    charts(&mut out, outcomes, published);
    table(&mut out, outcomes, published);
    out
}

fn charts(out: &mut String, outcomes: &Outcomes, published: &[Row]) {
    out.push_str("<figure>");
    for (title, column) in
        [("MB per second", &COLUMNS[1]), ("MB per CPU second, all processors", &COLUMNS[2])]
    {
        let rows = cases().into_iter().filter_map(|case| {
            let measured = figure(outcomes.of(&case)?, &case, column)?.median;
            let pairs = vec![(printed(published, &case, column), Some(measured))];
            Some(DotRow { name: short_name(&case), pairs })
        });
        let chart = dots(title, title, &[title.to_owned()], &rows.collect::<Vec<_>>());
        let _ = write!(out, "<p class=\"over\">{}</p>{chart}", escape(title));
    }
    out.push_str("</figure>\n");
}

fn table(out: &mut String, outcomes: &Outcomes, published: &[Row]) {
    out.push_str("<div class=\"scroll\"><table>\n<thead><tr><th class=\"l\">case</th><th>table</th><th>runs</th><th>&#177;</th>");
    for column in &COLUMNS {
        let _ =
            write!(out, "<th>{0}<br/>published</th><th>{0}<br/>measured</th><th>&#215;</th>", column.name);
    }
    out.push_str("<th>message<br/>%</th></tr></thead>\n<tbody>\n");
    for case in cases() {
        let Some(outcome) = outcomes.of(&case) else { continue };
        let spread = figure(outcome, &case, &COLUMNS[0]).map_or(0.0, |elapsed| elapsed.spread() * 50.0);
        let _ = write!(
            out,
            "<tr><td class=\"l\">{}</td><td>{}</td><td>{}</td><td>{spread:.1} %</td>",
            escape(&case.name()),
            case.tables.join(", "),
            outcome.runs.len()
        );
        for column in &COLUMNS {
            cells(out, published, &case, outcome, column);
        }
        let share = outcome.figure(|run| 100.0 * run.output_bytes as f64 / run.input_bytes.max(1) as f64);
        let _ = writeln!(
            out,
            "<td>{}</td></tr>",
            share.map_or(String::new(), |share| format!("{:.1}", share.median))
        );
    }
    out.push_str("</tbody>\n</table></div>\n");
}

fn cells(out: &mut String, published: &[Row], case: &Case, outcome: &Outcome, column: &Column) {
    let then = printed(published, case, column);
    let now = is_shown(case, column).then(|| figure(outcome, case, column)).flatten().map(|now| now.median);
    let aside = case.tables.contains(&KEPT_ASIDE) && now.is_some();
    let _ = match then {
        _ if aside => write!(out, "<td class=\"q\">kept aside</td>"),
        Some(then) => write!(out, "<td>{}</td>", digits::figure(then)),
        None => write!(out, "<td></td>"),
    };
    let _ = write!(out, "<td class=\"m\">{}</td>", now.map_or(String::new(), digits::figure));
    let times = match (then, now) {
        (Some(then), Some(now)) if then > 0.0 => format!("&#215;&#8201;{}", digits::figure(now / then)),
        _ => String::new(),
    };
    let _ = write!(out, "<td class=\"x\">{times}</td>");
}

/// The figure of a column over the runs of a case.
fn figure(outcome: &Outcome, case: &Case, column: &Column) -> Option<Summary> {
    outcome.figure(|run| (column.figure)(run, case))
}

/// Columns about a second kind of processor are for cases that have one.
fn is_shown(case: &Case, column: &Column) -> bool {
    let about_two =
        column.metrics.iter().any(|metric| ["mb_per_general_cpu_s", "zaap_util_pct"].contains(metric));
    case.offload || !about_two
}

/// The published figure of a case.
fn printed(published: &[Row], case: &Case, column: &Column) -> Option<f64> {
    let of_case = |row: &&Row| row.field("document") == "ef2" && case.tables.contains(&row.field("table"));
    published.iter().filter(of_case).find(|row| column.metrics.contains(&row.metric()))?.value
}

fn short_name(case: &Case) -> String {
    case.name().replace(", level 1", "").replace(" processors", "").replace("processor", "proc.")
}

/// The published table that is kept aside: all options together.
const KEPT_ASIDE: &str = "t9";

#[cfg(test)]
mod tests {
    use super::super::tests::made_up;
    use super::*;
    use crate::published::measurements;

    #[test]
    fn every_case_stands_beside_its_published_cells() {
        let page = section(&made_up(), &measurements());
        assert_eq!(page.matches("<tr><td class=\"l\">").count(), cases().len());
        assert_eq!(page.matches("<svg").count(), 2);
        // 172.86 s published, 4 s made up.
        assert!(
            page.contains("<td>173</td><td class=\"m\">4.00</td><td class=\"x\">&#215;&#8201;0.02</td>"),
            "{page}"
        );
        assert!(page.contains("<td>73.9</td>") && page.contains("1,506,431,796") && !page.contains("NaN"));
        assert_eq!(page.matches("kept aside").count(), COLUMNS.len());
        assert_eq!(section(&Outcomes::default(), &measurements()), "");
    }

    #[test]
    fn utilisation_is_of_the_processors_that_a_case_has() {
        let run =
            Run { cpu_s: 2.0, offloaded_s: 1.5, elapsed_s: 2.0, input_bytes: 1 << 20, ..Run::default() };
        let of = |column: usize, table: &str| (COLUMNS[column].figure)(&run, &Case::of_table(table).unwrap());
        assert_eq!((of(4, "t2"), of(4, "t3")), (100.0, 25.0));
        assert_eq!((of(2, "t3"), of(3, "t3")), (0.5, 2.0));
    }
}

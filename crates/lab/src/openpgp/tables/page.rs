//! The part of a report's page on OpenPGP: the cases beside the published cells, and two charts.

use super::{Case, OpenpgpOutcome, Outcomes, Run, cases};
use crate::kit::chart::{dots, pairs, pairs_legend};
use crate::kit::digits::{figure, thousands};
use crate::kit::page::{self, TableRow, beside, cell};
use crate::kit::statistics::Summary;
use crate::openpgp::input;
use crate::published::Row;
use maud::{Markup, html};

/// Anchor of the part in the page.
pub(crate) const ANCHOR: &str = "openpgp";
/// Heading of the part.
pub(crate) const TITLE: &str = "OpenPGP files";

/// A column of figures: its name, the published metric, and the figure of a run of a case.
pub(super) struct Column {
    name: &'static str,
    pub metrics: &'static [&'static str],
    pub figure: fn(&Run, &Case) -> f64,
    /// Whether the figure grows with the length of the text.
    is_of_length: bool,
}

pub(super) const COLUMNS: [Column; 6] = [
    Column {
        name: "elapsed\ns",
        metrics: &["elapsed_s"],
        figure: |run, _| run.elapsed_s,
        is_of_length: true,
    },
    Column {
        name: "MB/s",
        metrics: &["mb_per_s"],
        figure: |run, _| run.megabytes() / run.elapsed_s.max(1e-9),
        is_of_length: false,
    },
    Column {
        name: "MB per\nCPU s",
        metrics: &["mb_per_cpu_s", "mb_per_general_plus_zaap_s"],
        figure: |run, _| run.megabytes() / run.cpu_s.max(1e-9),
        is_of_length: false,
    },
    Column {
        name: "MB per CPU s\nof the caller's",
        metrics: &["mb_per_general_cpu_s"],
        figure: |run, _| run.megabytes() / (run.cpu_s - run.offloaded_s).max(1e-9),
        is_of_length: false,
    },
    Column {
        name: "utilisation\n%",
        metrics: &["cpu_util_pct", "general_cpu_util_pct"],
        figure: |run, case| {
            let own = if case.offload { run.cpu_s - run.offloaded_s } else { run.cpu_s };
            let processors = if case.offload { 1 } else { case.processors_used() };
            100.0 * own / (run.elapsed_s * processors as f64).max(1e-9)
        },
        is_of_length: false,
    },
    Column {
        name: "others'\nutilisation %",
        metrics: &["zaap_util_pct"],
        figure: |run, case| {
            let others = case.processors_used().saturating_sub(1).max(1);
            100.0 * run.offloaded_s / (run.elapsed_s * others as f64).max(1e-9)
        },
        is_of_length: false,
    },
];

/// MB a second.
const RATE: &Column = &COLUMNS[1];

/// The cases that head a report, in MB a second: one processor with the engine, and all that the original had.
const TILES: [(&str, &str); 2] = [
    ("OpenPGP file, compressed and enciphered, one processor", "t2"),
    ("The same with all processors", "t8"),
];

/// The main rates: name, MB a second here, and published. They do not depend on the length of the text.
pub(crate) fn tiles(outcomes: &Outcomes, published: &[Row]) -> Vec<(String, f64, f64)> {
    let tile = |(title, table): (&str, &str)| {
        let case = Case::of_table(table)?;
        let now = of_column(outcomes.of(&case)?, &case, RATE)?.median;
        Some((title.to_owned(), now, printed(published, &case, RATE)?))
    };
    TILES.into_iter().filter_map(tile).collect()
}

/// Whether only a part of the published text was measured.
pub(crate) fn is_part(outcomes: &Outcomes) -> bool {
    text_bytes(outcomes).is_some_and(|bytes| bytes != input::PUBLISHED_BYTES)
}

fn text_bytes(outcomes: &Outcomes) -> Option<u64> {
    Some(outcomes.0.first()?.runs.first()?.input_bytes)
}

/// The part of the page on OpenPGP; empty where no case ran.
pub(crate) fn section(outcomes: &Outcomes, published: &[Row]) -> Markup {
    let Some(first) = outcomes.0.first().and_then(|outcome| outcome.runs.first()) else {
        return Markup::default();
    };
    let share = first.output_bytes as f64 / first.input_bytes as f64 * 100.0;
    html! {
        h2 id=(ANCHOR) { (TITLE) }
        p.remark {
            "The Encryption Facility on a System z9 (2007) compressed and enciphered one data set of 1,506,431,796 bytes to 23 % \
             of that, with ZIP level 1 and AES-128. Here the same is done with a text of " (thousands(first.input_bytes))
            " bytes made from a seed, which became " (format!("{share:.1}")) " % of that, file to file, in the form with a \
             modification detection code. " i { "Options" } " are the original's three: threads of their own for I/O, compression \
             and cipher. Where the original had a second kind of processor (zAAP), compression and cipher are offloaded to all \
             processors but the caller's. MB are 2" sup { "20" } " bytes, as published. Each cell: measured, and below it the \
             published figure and how many times that the measured one is."
            @if is_part(outcomes) {
                " This text is shorter than the published one: rates are compared, seconds are not."
            }
        }
        (charts(outcomes, published))
        (table(outcomes, published))
    }
}

fn charts(outcomes: &Outcomes, published: &[Row]) -> Markup {
    let chart = |title: &str, column: &Column| {
        let series = [title.to_owned()];
        let rows = cases().into_iter().filter_map(|case| {
            let measured = of_column(outcomes.of(&case)?, &case, column)?.median;
            Some(pairs(short_name(&case), &series, vec![(printed(published, &case, column), Some(measured))]))
        });
        dots(title, title, &pairs_legend(&series), &rows.collect::<Vec<_>>())
    };
    let titles = ["MB per second", "MB per CPU second, all processors"];
    page::charts(&[(titles[0], chart(titles[0], RATE)), (titles[1], chart(titles[1], &COLUMNS[2]))])
}

fn table(outcomes: &Outcomes, published: &[Row]) -> Markup {
    let is_whole = !is_part(outcomes);
    let columns = ["<case", "table", "runs", "\u{b1}"].into_iter();
    let columns = columns.chain(COLUMNS.iter().map(|column| column.name)).chain(["message\n%"]);
    let rows = cases().into_iter().filter_map(|case| {
        let outcome = outcomes.of(&case)?;
        let spread = of_column(outcome, &case, &COLUMNS[0]);
        let share = outcome.summary(|run| 100.0 * run.output_bytes as f64 / run.input_bytes.max(1) as f64);
        let runs = outcome.runs.len().to_string();
        let mut cells = vec![
            page::name(&case.name()),
            cell(case.tables.join(", ")),
            cell(runs),
            page::spread(spread.as_ref()),
        ];
        cells.extend(COLUMNS.iter().map(|column| {
            let now = is_shown(&case, column).then(|| of_column(outcome, &case, column)).flatten();
            match (now, printed(published, &case, column)) {
                (None, _) => cell(""),
                (Some(now), _) if case.tables.contains(&KEPT_ASIDE) => page::aside(&figure(now.median)),
                (Some(now), then) => beside(then, now.median, is_whole || !column.is_of_length, figure),
            }
        }));
        cells.push(page::plain(share.map(|share| share.median), 1));
        Some(TableRow::Cells(cells))
    });
    page::table(&columns.collect::<Vec<_>>(), rows)
}

/// The figure of a column over the runs of a case.
fn of_column(outcome: &OpenpgpOutcome, case: &Case, column: &Column) -> Option<Summary> {
    outcome.summary(|run| (column.figure)(run, case))
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
    use crate::kit::chart::tests::clipped;
    use crate::published::measurements;

    #[test]
    fn every_case_stands_beside_its_published_cells() {
        let page = section(&made_up(), &measurements()).into_string();
        assert_eq!(page.matches("<tr><td class=\"l\"").count(), cases().len());
        assert_eq!(clipped(&page), Vec::<String>::new());
        assert_eq!(page.matches("<svg").count(), 2);
        assert!(page.contains("1,506,431,796") && !page.contains("NaN"));
        assert_eq!(page.matches("kept aside").count(), COLUMNS.len());
        assert_eq!(section(&Outcomes::default(), &measurements()).into_string(), "");
    }

    #[test]
    fn seconds_of_another_length_are_not_compared() {
        let elapsed = |outcomes: &Outcomes| {
            let page = section(outcomes, &measurements()).into_string();
            let cell = page.split("data-is=\"elapsed s\">").nth(1).unwrap();
            cell.split("</td>").next().unwrap().to_owned()
        };
        let mut outcomes = made_up();
        for outcome in &mut outcomes.0 {
            outcome.runs.iter_mut().for_each(|run| run.input_bytes = input::PUBLISHED_BYTES);
        }
        // 172.86 s published, 4 s made up.
        assert!(elapsed(&outcomes).contains("173") && elapsed(&outcomes).contains("\u{d7}\u{2009}0.023"));
        outcomes.0.iter_mut().for_each(|outcome| outcome.runs[0].input_bytes /= 64);
        assert!(elapsed(&outcomes).contains("173") && !elapsed(&outcomes).contains('\u{d7}'));
        assert_eq!(tiles(&outcomes, &measurements()).len(), 2);
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

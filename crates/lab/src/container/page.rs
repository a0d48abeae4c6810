//! The comparison with a container as HTML and as CSV.

use super::{Agreement, Case, Compared};
use crate::kit::page::{TableRow, cell, document, measured, name, plain, table};
use crate::published::{Row, measurements, text_of};
use maud::{Markup, html};

/// The heading of the part.
pub(crate) const TITLE: &str = "Native against a tenant in a container of its own";

/// The section of a report.
pub(crate) fn section(compared: &Compared, published: &[Row]) -> Markup {
    let namespaces = &compared.namespaces;
    let (all, tables) = compared.agreements();
    html! {
        h2 id="container" { (TITLE) }
        @for (name, why) in &namespaces.refused {
            p.remark { "This machine refuses a " (name) " namespace: " (why) "." }
        }
        @if let Some(all) = all {
            p {
                "The same program twice on one home: as its owner, and as tenant " (compared.tenant) " in "
                (namespaces.granted.join(", ")) " namespaces of its own. " (compared.effort.passes) " passes of "
                (compared.effort.seconds) " s for each side, in turn, case by case; a ratio is the container's rate over the \
                 native one, the median of its passes. " em { "Native beside itself" } " is a second process of the owner over \
                 the first: what noise alone makes of these figures."
            }
            (agreements(
                [("all".to_owned(), all)].into_iter()
                    .chain(compared.noise().map(|noise| ("native beside itself".to_owned(), noise)))
                    .chain(tables)
                    .map(|(name, agreement)| row(&name, &agreement, true)),
            ))
            (originals(published))
        } @else {
            p { "Nothing was compared." }
        }
    }
}

/// The published comparisons: a guest's rate over that of a partition.
fn originals(published: &[Row]) -> Markup {
    let figure = |run: &str, what: &str| {
        let row = published.iter().find(|row| row.id() == format!("{run}.{what}"));
        row.and_then(|row| row.value)
    };
    let averages = published.iter().filter_map(|row| row.id().strip_suffix(".avg"));
    let runs = averages.filter(|run| run.starts_with(ORIGINALS)).filter_map(|run| {
        let sweep = run.rsplit_once('.').map_or(run, |(sweep, _)| sweep);
        let cases = figure(sweep, "cases")? as usize;
        let (average, min, max) = (figure(run, "avg")?, figure(run, "min")?, figure(run, "max")?);
        Some((run, Agreement { cases, average, min, max, within_1: 0.0, within_2: 0.0 }))
    });
    let runs: Vec<_> = runs.collect();
    html! {
        h3 { "Published: a guest against a partition" }
        (agreements(runs.iter().map(|(run, agreement)| row(run, agreement, false))))
        p.remark {
            (runs.iter().map(|(_, agreement)| agreement.cases).sum::<usize>())
            " comparisons; 85 % of them within 1 %, 95 % within 2 %."
        }
    }
}

fn agreements(rows: impl Iterator<Item = TableRow>) -> Markup {
    table(&["<cases of", "compared", "average", "smallest", "largest", "within 1 %", "within 2 %"], rows)
}

fn row(run: &str, agreement: &Agreement, with_shares: bool) -> TableRow {
    let Agreement { cases, average, min, max, within_1, within_2 } = *agreement;
    let share = |share: f64| cell(if with_shares { format!("{share:.0} %") } else { String::new() });
    let ends = [plain(Some(min), 3), plain(Some(max), 3), share(within_1), share(within_2)];
    TableRow::Cells([name(run), cell(cases), measured(Some(average), 3)].into_iter().chain(ends).collect())
}

/// The comparison as a whole page.
pub(super) fn page(compared: &Compared) -> String {
    let body = html! {
        (section(compared, &measurements()))
        @for left in &compared.left_out { p.remark { (left.case) ": " (left.why) } }
    };
    document("Native against a container", &body)
}

/// The comparison as CSV, a line for each case.
pub(super) fn csv(compared: &Compared) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // A write to memory cannot fail.
    let _ = writer.write_record(COLUMNS);
    for Case { workload, tables, native, container, ratio, itself } in &compared.cases {
        let number = |value: f64| format!("{value:.4}");
        let _ = writer.write_record([
            workload.case(),
            tables.join(" "),
            workload.operation.to_string(),
            workload.bytes.to_string(),
            workload.jobs.to_string(),
            number(native.median),
            number(container.median),
            number(ratio.median),
            number(ratio.min),
            number(ratio.max),
            number(itself.median),
        ]);
    }
    text_of(writer)
}

const COLUMNS: [&str; 11] = [
    "case",
    "tables",
    "operation",
    "data_bytes",
    "jobs",
    "native_ops_per_s",
    "container_ops_per_s",
    "ratio",
    "ratio_min",
    "ratio_max",
    "native_beside_itself",
];
/// Beginning of the names of the published rows that compare a guest with a partition.
const ORIGINALS: &str = "zvm.t7.";

#[cfg(test)]
mod tests {
    use super::super::{Effort, Namespaces};
    use super::*;
    use crate::kit::statistics::Summary;
    use crate::load::Workload;

    fn compared() -> Compared {
        let summary = |value: f64| Summary::of(&[value]).unwrap();
        let case = Case {
            workload: Workload::of("rsa2048-crt".parse().unwrap()),
            tables: vec!["z990.4.4.pka".to_owned()],
            native: summary(100.0),
            container: summary(99.5),
            ratio: summary(0.995),
            itself: summary(1.03),
        };
        Compared {
            effort: Effort::QUICK,
            namespaces: Namespaces {
                granted: vec!["user".to_owned(), "PID".to_owned()],
                refused: vec![("network".to_owned(), "not <allowed>".to_owned())],
            },
            tenant: "guest".to_owned(),
            cases: vec![case],
            left_out: Vec::new(),
        }
    }

    #[test]
    fn the_page_shows_ours_beside_the_published_comparisons() {
        let page = page(&compared());
        assert!(page.contains("663 comparisons"), "{page}");
        assert!(
            page.contains("z990.4.4.pka</td><td data-is=\"compared\">1</td>") && page.contains(">0.995</td>"),
            "{page}"
        );
        assert!(page.contains("refuses a network namespace: not &lt;allowed&gt;."), "{page}");
        assert!(page.contains("native beside itself") && page.contains("zvm.t7.pcxa.pcica1-1j"));
        assert_eq!(page.matches("<table>").count(), page.matches("</table>").count());
    }

    #[test]
    fn what_nobody_could_compare_is_said() {
        let page = page(&Compared { cases: Vec::new(), ..compared() });
        assert!(page.contains("Nothing was compared") && page.contains("refuses a network"));
    }

    #[test]
    fn each_case_is_a_line() {
        let text = super::csv(&compared());
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let records: Vec<_> = reader.records().map(Result::unwrap).collect();
        assert_eq!(records.len(), 1);
        assert_eq!((&records[0][7], records[0].len()), ("0.9950", COLUMNS.len()));
    }
}

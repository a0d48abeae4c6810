//! The part of a report's page, and its figures in the columns of the published table.

use super::{ANCHOR, CONNECTIONS, Case, Figure, Load, Outcomes, TITLE, Way, cases};
use crate::ipsec::suite::Suite;
use crate::kit::digits::rounded;
use crate::kit::page::{self, TableRow};
use crate::kit::statistics::Summary;
use crate::published::{Row, Sheet};
use maud::{Markup, html};

const COLUMNS: [&str; 9] = [
    "<case",
    "transactions\n/s",
    "\u{b1}",
    "rate, without\nIPsec 1",
    "response\nmean, us",
    "response, without\nIPsec 1",
    "99 of 100\nwithin, us",
    "processor\ntime, us",
    "of it data\nplanes, us",
];

/// The part of a report's page; empty where no case ran.
pub(crate) fn section(outcomes: &Outcomes) -> Markup {
    let cases = cases(&Suite::ALL);
    html! {
        @if !outcomes.0.is_empty() {
            h2 id=(ANCHOR) { (TITLE) }
            p.remark {
                "The workloads of the published Linux report between two network namespaces, 8 connections, every byte checked, our data plane at both ends, a \
                 thread each; all share the processors of this machine. " i { "Portable" } " holds the engine to the level without the processor's instructions \
                 for ciphers, " i { "best" } " leaves it all of them. The originals had ESP in the kernel: their statements are \"up to 7 times\" the response time \
                 and 13 times the processor cost in software, without naming what is compared. " b { "Processor time" } " is that of a transaction: data planes, \
                 client and server. The name rr200x1k is read in the published figures as a response of 1,024 bytes; here it has 1,000."
            }
            @for load in Load::ALL {
                @let rows: Vec<Case> = cases.iter().copied().filter(|case| case.load == load && outcomes.summary(*case, Figure::Rate).is_some()).collect();
                @if !rows.is_empty() {
                    h3 id={ (ANCHOR) "-" (load.name()) } { (load.title()) }
                    (page::table(&COLUMNS, rows.into_iter().map(|case| row(outcomes, case))))
                }
            }
        }
    }
}

fn row(outcomes: &Outcomes, case: Case) -> TableRow {
    let figure = |figure| outcomes.summary(case, figure);
    let median = |of| figure(of).map(|summary| summary.median);
    let relative = |of| outcomes.over(case.load, (case.way, Way::Without), of).map(|summary| summary.median);
    let p99 = outcomes.named(&case.id()).and_then(|outcome| outcome.summary(|run| run.p99_us));
    TableRow::Cells(vec![
        page::name(&case.way.name()),
        page::measured(median(Figure::Rate), 0),
        page::spread(figure(Figure::Rate).as_ref()),
        page::measured(relative(Figure::Rate), 3),
        page::measured(median(Figure::Response), 1),
        page::measured(relative(Figure::Response), 2),
        page::measured(p99.map(|summary| summary.median), 1),
        page::measured(median(Figure::Processor), 1),
        page::measured(median(Figure::Planes), 1),
    ])
}

/// The figures in the columns of the published table.
pub(crate) fn rows(sheet: &mut Sheet, outcomes: &Outcomes, published: &[Row]) {
    let largest = |of: &dyn Fn(Load, Suite) -> Option<Summary>| {
        let every =
            Load::ALL.into_iter().flat_map(|load| Suite::ALL.into_iter().map(move |suite| (load, suite)));
        every.filter_map(|(load, suite)| of(load, suite)).map(|summary| summary.median).max_by(f64::total_cmp)
    };
    let response =
        largest(&|load, suite| outcomes.over(load, (Way::Portable(suite), Way::Without), Figure::Response));
    let processor = largest(&|load, suite| {
        outcomes.over(load, (Way::Portable(suite), Way::Best(suite)), Figure::Processor)
    });
    for (id, value) in [("lnx.ipsec.response.ratio", response), ("lnx.ipsec.cpu.ratio", processor)] {
        let (Some(value), Some(row)) = (value, published.iter().find(|row| row.id() == id)) else { continue };
        let note = "the largest of all workloads and suites".to_owned();
        sheet.add(Some(row), &[("id", format!("cryptand.{id}")), ("value", rounded(value)), ("note", note)]);
    }
    for case in cases(&Suite::ALL) {
        for (name, metric, unit, figure) in [
            ("rate", "tx_per_s", "transactions/s", Figure::Rate),
            ("response", "response_us", "us", Figure::Response),
            ("processor", "us_per_tx", "us", Figure::Processor),
            ("planes", "planes_us_per_tx", "us", Figure::Planes),
        ] {
            let Some(summary) = outcomes.summary(case, figure) else { continue };
            let id = case.id().replace(", ", ".").replace([' ', '/'], "-");
            sheet.add(
                None,
                &[
                    ("id", format!("cryptand.{id}.{name}")),
                    ("section", "ipsec".to_owned()),
                    ("table", case.load.name().to_owned()),
                    ("interface", "ipsec".to_owned()),
                    ("operation", "ipsec".to_owned()),
                    ("jobs", CONNECTIONS.to_string()),
                    ("metric", metric.to_owned()),
                    ("unit", unit.to_owned()),
                    ("value", rounded(summary.median)),
                    (
                        "note",
                        format!(
                            "{}; {} runs, {:.1} % apart",
                            case.id(),
                            summary.runs,
                            summary.spread() * 100.0
                        ),
                    ),
                ],
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::made_up;
    use super::*;
    use crate::published;

    #[test]
    fn the_page_and_the_sheet_have_every_case() {
        let outcomes = made_up();
        let page = section(&outcomes).into_string();
        for load in Load::ALL {
            assert!(page.contains(&format!("id=\"ipsec-{}\"", load.name())));
        }
        assert_eq!(page.matches("without IPsec</td>").count(), 3);
        assert!(section(&Outcomes::default()).into_string().is_empty());
        let mut sheet = Sheet::new(Vec::new());
        rows(&mut sheet, &outcomes, &published::measurements());
        let read = published::read_measurements(&sheet.finish()).unwrap();
        assert_eq!(read.len(), 2 + 4 * cases(&Suite::ALL).len());
        let response = read.iter().find(|row| row.id() == "cryptand.lnx.ipsec.response.ratio").unwrap();
        assert_eq!(response.field("unit"), "ratio");
    }
}

//! The part of a report's page on TLS: each table's cases beside the published figures.

use super::{Case, Engine, Figure, Outcomes, Table, TlsOutcome, cases};
use crate::kit::page::{self, TableRow};
use crate::published::Row;
use maud::{Markup, html};

/// Anchor of the part in the page.
pub(crate) const ANCHOR: &str = "tls";
/// Heading of the part.
pub(crate) const TITLE: &str = "TLS servers";

/// The part; empty where no case ran.
pub(crate) fn section(outcomes: &Outcomes, published: &[Row]) -> Markup {
    let cases = cases();
    let of_table = |table: Table| {
        let of = cases.iter().filter(move |case| case.table == table);
        of.filter_map(|case| Some((case, outcomes.of(case)?))).collect::<Vec<_>>()
    };
    html! {
        @if !outcomes.0.is_empty() {
            h2 id=(ANCHOR) { (TITLE) }
            p.remark {
                "Whole servers under the load driver: TLS 1.2, RSA key exchange and RSA-1024, one connection a transaction and \
                 2,048 bytes each way where nothing else is said. " i { "Software" } " is the key in the server's process, held \
                 to the portable level; cards with a published name are timed cards of that speed with the key under a label \
                 (the originals had clear keys). A server has one processor, or two where that is said; the originals had 4 to \
                 16. Their cards were machines of their own, so that a published limit by processors may be one by cards here: \
                 the column says what the limit was. " b { "Processor time" } " is that of the servers for one transaction, \
                 then that of the cards. Single DES and SSL 3.0 have no maintained library and do not run; 3DES and RC4 are \
                 the library's plain code at any level, so that with them only SHA shows the hardware."
            }
            @for table in Table::ALL {
                @let rows = of_table(table);
                @if !rows.is_empty() {
                    h3 id={ (ANCHOR) "-" (table.name()) } { (table.title()) }
                    @if let Some(remark) = remark(table) { p.remark { (remark) } }
                    (page::table(&COLUMNS, rows.into_iter().map(|(case, outcome)| row(case, outcome, published))))
                }
            }
        }
    }
}

/// A remark on a table; none for most.
const fn remark(table: Table) -> Option<&'static str> {
    match table {
        Table::StartsByKey => Some(
            "One PCICA card, timed for each form and length by its own published rates; the key under the label has the \
             CRT form in each case.",
        ),
        Table::ZosGuest => Some(
            "Two servers with forty connections in flight and no sessions kept by the clients. The guest's rows need the \
             container of `report --container`.",
        ),
        Table::StartsOnTwo => Some(
            "The server's private operations are those of handshakes; the tenant of the clients keeps as many public ones              under way as fill two cards. What each card did is in the table of figures.",
        ),
        Table::Linux => Some("A tenant is a server with eight requests in flight over all cards."),
        Table::Data => Some("Kept connections; the figures are of messages."),
        Table::CipherRatio => Some(
            "Kept connections; the figures are of messages. RC4-MD5 stands for RC4-SHA, which the library has no policy for.",
        ),
        _ => None,
    }
}

const COLUMNS: [&str; 13] = [
    "<case",
    "<suite",
    "published\n/s",
    "measured\n/s",
    "\u{b1}",
    "servers' use\npublished",
    "servers' use\nmeasured",
    "cards' use\npublished",
    "cards' use\nmeasured",
    "ITR\n/s",
    "processor\ntime, ms",
    "cards'\nms",
    "<limit",
];

fn row(case: &Case, outcome: &TlsOutcome, published: &[Row]) -> TableRow {
    let printed = |metrics: &[&str]| printed(case, published, metrics);
    let figure = |figure| outcome.figure(case, figure);
    let median = |of| figure(of).map(|summary| summary.median);
    let cards = (case.engine.cards() > 0).then(|| median(Figure::Cards)).flatten();
    let cards_ms = (case.engine.cards() > 0).then(|| median(Figure::CardsMs)).flatten();
    TableRow::Cells(vec![
        page::name(&case.name),
        page::name(case.suite.title()),
        page::plain(printed(&["etr_per_s", "msg_per_s"]), 0),
        page::measured(median(Figure::Rate), 0),
        page::spread(figure(Figure::Rate).as_ref()),
        page::percent(printed(&["cpu_util_pct"]).map(|percent| percent / 100.0), 1),
        page::percent_measured(median(Figure::Server), 1),
        page::percent(printed(&["card_util_pct"]).map(|percent| percent / 100.0), 1),
        page::percent_measured(cards, 1),
        page::measured(median(Figure::Itr), 0),
        page::measured(median(Figure::ServerMs), 3),
        page::measured(cards_ms, 3),
        page::said(limit(case, outcome)),
    ])
}

/// The published figure of a case in one of these metrics.
pub(super) fn printed(case: &Case, published: &[Row], metrics: &[&str]) -> Option<f64> {
    let is_of = |id: &str| {
        case.rows.iter().any(|row| {
            id.strip_prefix(row.as_str())
                .is_some_and(|end| end.matches('.').count() == 1 && end.starts_with('.'))
        })
    };
    published.iter().find(|row| metrics.contains(&row.metric()) && is_of(row.id()))?.value
}

/// Utilisation from which a card or processor counts as full.
const FULL: f64 = 0.93;

/// The name of what limited the rate.
pub(super) fn limit(case: &Case, outcome: &TlsOutcome) -> &'static str {
    let used = |figure| outcome.figure(case, figure).map_or(0.0, |summary| summary.median);
    let is_timed = matches!(case.engine, Engine::Timed(..) | Engine::Paced(..));
    if is_timed && used(Figure::Cards) >= FULL {
        "cards"
    } else if used(Figure::Server) >= FULL {
        "servers' processors"
    } else if outcome.is_bound_by_driver() {
        "driver"
    } else {
        "connections in flight"
    }
}

//! The cases in the columns of the published table: each published row under its own name, and every case's figures.

use super::{Case, Figure, Outcomes, TlsOutcome, cases};
use crate::kit::digits::rounded;
use crate::kit::statistics::Summary;
use crate::published::{Row, Sheet};

/// Figures by metric and unit; published metrics come first.
const FIGURES: [(&str, &str, &str, Figure, f64); 8] = [
    ("etr", "etr_per_s", "handshakes/s", Figure::Rate, 1.0),
    ("msg", "msg_per_s", "msgs/s", Figure::Rate, 1.0),
    ("mbs", "mb_per_s", "MB(1e6)/s", Figure::Megabytes, 1.0),
    ("cpu", "cpu_util_pct", "%", Figure::Server, 100.0),
    ("card", "card_util_pct", "%", Figure::Cards, 100.0),
    ("itr", "itr_per_s", "handshakes/s", Figure::Itr, 1.0),
    ("ms", "ms_per_tx", "ms", Figure::ServerMs, 1.0),
    ("cards-ms", "cards_ms_per_tx", "ms", Figure::CardsMs, 1.0),
];

/// Adds a row for each published figure that a case stands for, then every figure of every case.
pub(crate) fn rows(sheet: &mut Sheet, outcomes: &Outcomes, published: &[Row]) {
    for case in cases() {
        let Some(outcome) = outcomes.of(&case) else { continue };
        for row in published {
            let is_of = |prefix: &String| {
                row.id()
                    .strip_prefix(prefix.as_str())
                    .is_some_and(|end| end.starts_with('.') && end.matches('.').count() == 1)
            };
            let figure = FIGURES.iter().find(|figure| figure.1 == row.metric());
            if let Some(figure) = figure.filter(|_| case.rows.iter().any(is_of)) {
                write(sheet, &case, outcome, &format!("cryptand.{}", row.id()), Some(row), *figure);
            }
        }
        shares(sheet, &case, outcome, published);
        let name = case.id().replace(", ", ".").replace([' ', '/'], "-");
        for figure in FIGURES.into_iter().filter(|figure| case.is_kept() != (figure.0 == "etr")) {
            write(sheet, &case, outcome, &format!("cryptand.tls.{name}.{}", figure.0), None, figure);
        }
    }
}

/// Adds rows of each of two cards' operations a second, by the clients' tenant and by the server's.
fn shares(sheet: &mut Sheet, case: &Case, outcome: &TlsOutcome, published: &[Row]) {
    let of = |card: usize, is_server: bool| {
        let rates = outcome.runs.iter().filter_map(|run| {
            let (public, private) = *run.by_card.get(card)?;
            Some(if is_server { private } else { public } / run.seconds.max(1e-9))
        });
        Summary::of(&rates.collect::<Vec<f64>>())
    };
    for (card, system) in (0..2).flat_map(|card| [(card, "client"), (card, "server")]) {
        let Some(rate) = of(card, system == "server") else { continue };
        let prefix = case.rows.first().map_or("", String::as_str);
        let id = format!("{prefix}.ap{card}.{system}.ops");
        let like = published.iter().find(|row| row.id() == id);
        let note = format!("{}; timed; {} runs, {:.1} % apart", case.id(), rate.runs, rate.spread() * 100.0);
        let columns = [("id", format!("cryptand.{id}")), ("value", rounded(rate.median)), ("note", note)];
        sheet.add(like, &columns);
    }
}

fn write(
    sheet: &mut Sheet,
    case: &Case,
    outcome: &TlsOutcome,
    id: &str,
    like: Option<&Row>,
    (_, metric, unit, figure, by): (&str, &str, &str, Figure, f64),
) {
    let Some(summary) = outcome.figure(case, figure) else { return };
    let timed = if case.engine.full().is_some() { "timed; " } else { "" };
    let limit = super::page::limit(case, outcome);
    let mut columns = vec![
        ("id", id.to_owned()),
        ("metric", metric.to_owned()),
        ("unit", unit.to_owned()),
        ("value", rounded(summary.median * by)),
        (
            "note",
            format!(
                "{}; {timed}limit: {limit}; {} runs, {:.1} % apart",
                case.id(),
                summary.runs,
                summary.spread() * 100.0
            ),
        ),
    ];
    if like.is_none() {
        let kind = case.kind.file();
        columns.extend([
            ("section", "tls".to_owned()),
            ("table", case.table.name().to_owned()),
            ("interface", "tls".to_owned()),
            ("operation", if case.is_kept() { "ssl-data" } else { "ssl-handshake" }.to_owned()),
            ("algorithm", kind.trim_end_matches(char::is_numeric).to_owned()),
            ("data_bytes", case.receive.to_string()),
            ("engine", case.engine.title()),
            ("engine_count", case.engine.cards().to_string()),
            ("jobs", case.connections.to_string()),
            ("sid_cached", if case.resumes { "yes" } else { "no" }.to_owned()),
            ("client_auth", if case.clients { "yes" } else { "no" }.to_owned()),
            ("cipher", case.suite.title().to_lowercase()),
        ]);
    }
    sheet.add(like, &columns);
}

//! The part of a report's page on the sweeps: the cost of an operation before its first byte, then every published
//! table with a chart.

use super::claims;
use super::results::{CaseResult, Results};
use super::sweep::{self, Axis, Cell, Printed, Table};
use crate::kit::chart::{Heights, Ink, Line, Title, dots, length, lines, pairs, pairs_legend};
use crate::kit::digits::{figure, nanoseconds, short, thousands};
use crate::kit::page::{self, TableRow, cell, charts, measured_text, name, ratio, said, table};
use crate::load::operation::{Cipher, Direction, Hash, Mac, Operation};
use crate::load::peer::{self, Peer};
use crate::load::{Interface, Workload};
use crate::published::Row;
use maud::{Markup, html};
use wire::control::LevelLimit;

/// Published cells that head a report: title and row.
const TILES: [(&str, &str); 5] = [
    ("RSA-2048 private (CRT), one accelerator, 8 jobs", "z990.4.4.pka.pkd-crt-2048.1c8j.ops"),
    ("AES-128-CBC, 1 KiB, through the facility", "z990.4.3.aes128-encipher.1024.ops"),
    ("Triple-DES-CBC, 4 KiB, native", "z990.4.2.1.kmc-tdea.4096.ops"),
    ("DES MAC under a secure key, 64 bytes, one card, 7 jobs", "z990.5.2.1.mac-multi.pcixcc.64.ops"),
    ("DES-CBC, 64 bytes, through the facility", "z990.4.2.2.kmc-dea.64.ops"),
];

/// Headings of the published sections.
pub(crate) const SECTIONS: [(&str, &str, &str); 11] = [
    ("z990.4.4.", "4.4", "RSA on PCICA, beside accelerator cards"),
    ("z990.4.5.3.", "4.5.3", "RSA services on PCIXCC, beside coprocessor cards"),
    ("z990.5.2.3.", "5.2.3", "RSA services: PCIXCC against CEX2C"),
    ("z990.4.3.", "4.3", "AES, which the original did in software"),
    ("z990.4.5.2.", "4.5.2", "Key and PIN services on PCIXCC"),
    ("z990.5.2.2.", "5.2.2", "Key and PIN services on CEX2C"),
    ("z990.4.5.1.", "4.5.1", "Bulk data on PCIXCC, beside one coprocessor card"),
    ("z990.5.2.1.", "5.2.1", "Bulk data: one PCIXCC against the two cards of a CEX2C feature"),
    ("z990.4.2.2.", "4.2.2", "Through ICSF, beside the facility"),
    ("z990.4.2.1.", "4.2.1", "Native: the instruction in a loop, beside the engine in the caller's thread"),
    ("ztpf.", "z/TPF", "The user-data API"),
];

/// The main rates: title, the rate here and the published one, both a second.
pub(crate) fn tiles(results: &Results, published: &[Row]) -> Vec<(String, f64, f64)> {
    let tile = |(title, id): (&str, &str)| {
        let row = published.iter().find(|row| row.id() == id)?;
        let case = results.of(&sweep::workload(row)?)?;
        Some((title.to_owned(), case.ops_per_s.median, row.value?))
    };
    TILES.into_iter().filter_map(tile).collect()
}

/// Entries of the table of contents: anchor, mark and heading.
pub(crate) fn contents() -> Vec<(String, &'static str, &'static str)> {
    let fits = ("fits".to_owned(), "fits", FITS);
    let sections = SECTIONS.map(|(prefix, number, title)| (anchor(prefix), number, title));
    [fits].into_iter().chain(sections).collect()
}

const FITS: &str = "What an operation costs before its first byte";

fn anchor(prefix: &str) -> String {
    prefix.trim_end_matches('.').replace('.', "-")
}

/// The part of the page: start costs, then every published table with its chart.
pub(crate) fn section(results: &Results, published: &[Row]) -> Markup {
    let tables = sweep::tables(published);
    html! {
        (fits(results))
        @for (prefix, number, title) in SECTIONS {
            h2 id=(anchor(prefix)) { (number) " \u{a0} " (title) }
            @for table in tables.iter().filter(|table| table.id.starts_with(prefix)) {
                (one_table(results, published, table))
            }
        }
    }
}

fn fits(results: &Results) -> Markup {
    let operations = [
        Operation::cbc(Cipher::Des, Direction::Encipher),
        Operation::cbc(Cipher::Tdes3, Direction::Encipher),
        Operation::Mac(Mac::X99),
        Operation::Hash(Hash::Sha1),
        Operation::cbc(Cipher::Aes128, Direction::Encipher),
        Operation::cbc(Cipher::Aes256, Direction::Encipher),
    ];
    let interfaces = [Interface::Native, Interface::Facility, Interface::Card];
    let cases =
        operations.into_iter().flat_map(|operation| interfaces.map(|interface| (operation, interface)));
    let rows = cases.filter_map(|(operation, interface)| {
        let fit = claims::sweep_fit(results, operation, interface)?;
        let rate = if fit.per_byte > 0.0 { short(1.0 / fit.per_byte) } else { "-".to_owned() };
        Some(TableRow::Cells(vec![
            name(&operation.to_string()),
            cell(interface.to_string()),
            measured_text(&nanoseconds(fit.start * 1e9)),
            cell(format!("{rate}B/s")),
            cell(format!("{:.1} % off", fit.error_max * 100.0)),
        ]))
    });
    html! {
        h2 id="fits" { (FITS) }
        p { "Each length sweep with one job as a line: time = start + bytes / rate, each length weighted alike." }
        (table(&["<operation", "interface", "start", "rate behind it", "furthest length"], rows))
    }
}

fn one_table(results: &Results, published: &[Row], shown: &Table) -> Markup {
    let plots = match shown.axis {
        Axis::Length => plot_lengths(results, shown),
        Axis::Service => plot_services(results, shown),
    };
    let has = |other: fn(&Results, &Cell) -> bool| shown.cells.iter().any(|cell| other(results, cell));
    let beside = Beside {
        portable: has(|results, cell| at_portable(results, cell).is_some()),
        peer: has(|results, cell| by_peer(results, cell).is_some()),
        bytes: shown.axis == Axis::Length,
    };
    let mut columns = vec![if beside.bytes { "<bytes" } else { "<service" }];
    columns.extend(["published\nops/s", "measured\nops/s", "\u{b1}", "\u{d7}"]);
    columns.extend(beside.bytes.then_some("measured\nMB/s"));
    columns.extend(beside.peer.then_some(["OpenSSL\nops/s", "engine /\nOpenSSL"]).into_iter().flatten());
    columns
        .extend(beside.portable.then_some(["portable\nops/s", "engine /\nportable"]).into_iter().flatten());
    columns.extend(["p50", "p99", "caller\nper op", "daemon\nper op", "cards\nper op", "ITR\nops/s"]);
    let mut rows = Vec::new();
    for (index, series) in shown.series.iter().enumerate() {
        if shown.series.len() > 1 {
            rows.push(TableRow::Head(format!("{}{}", series.name(), original(&series.engine))));
        }
        for (row, name) in shown.rows.iter().enumerate() {
            let cell = shown.cell(row, index);
            if cell.printed != Printed::Nothing {
                rows.push(table_row(results, published, cell, &row_name(shown.axis, name), beside));
            }
        }
    }
    html! {
        h3 { (shown.title) }
        p.remark { (shown.remark) }
        (plots)
        (table(&columns, rows))
    }
}

fn row_name(axis: Axis, name: &str) -> String {
    match axis {
        Axis::Length => name.parse().map_or(name.to_owned(), thousands),
        Axis::Service => name
            .to_uppercase()
            .replace("PKA-KEY-GENERATE", "key generation")
            .replace("KEY-GENERATE", "key generate"),
    }
}

fn original(engine: &str) -> &'static str {
    match engine {
        "pcixcc" => " (PCIXCC)",
        "cex2c" => " (CEX2C feature)",
        "pcica" => " (PCICA)",
        _ => "",
    }
}

fn table_row(results: &Results, published: &[Row], shown: &Cell, title: &str, beside: Beside) -> TableRow {
    let case = shown.workload.as_ref().and_then(|workload| results.of(workload));
    let Some(case) = case else {
        let why = if shown.workload.is_some() { "left out, see below" } else { "not yet measured" };
        return TableRow::Cells(vec![name(title), printed(published, shown), said(why)]);
    };
    let rate = case.ops_per_s;
    let mut cells = vec![
        name(title),
        printed(published, shown),
        measured_text(&figure(rate.median)),
        cell(format!("{:.1} %", rate.spread() * 50.0)),
        ratio(match &shown.printed {
            Printed::Rate(published, _) => Some(rate.median / published),
            _ => None,
        }),
    ];
    if beside.bytes {
        let bytes = case.workload.operation.takes_bytes().then(|| figure(case.bytes_per_s() / 1e6));
        cells.push(cell(bytes.unwrap_or_default()));
    }
    for (wanted, other) in
        [(beside.peer, by_peer(results, shown)), (beside.portable, at_portable(results, shown))]
    {
        if wanted {
            cells.push(cell(other.map_or(String::new(), |(other, _)| figure(other.ops_per_s.median))));
            cells.push(cell(other.map_or(String::new(), |(_, ratio)| format!("{ratio:.2}"))));
        }
    }
    cells.extend([case.p50_ns.median, case.p99_ns.median, case.caller_ns].map(|ns| cell(nanoseconds(ns))));
    let on_card = case.workload.interface == Interface::Card;
    let of_cards = |ns: f64| cell(if on_card { nanoseconds(ns) } else { "\u{2013}".to_owned() });
    cells.extend([of_cards(case.daemon_ns), of_cards(case.cards_ns), cell(figure(case.itr))]);
    TableRow::Cells(cells)
}

fn printed(published: &[Row], shown: &Cell) -> page::Cell {
    match &shown.printed {
        Printed::Rate(rate, id) => cell(html! { (figure(*rate)) (anomaly(published, id)) }),
        Printed::KeptAside => said("kept aside"),
        Printed::Nothing => cell(""),
    }
}

/// The mark of a published figure that contradicts its neighbours or the text around it.
fn anomaly(published: &[Row], id: &str) -> Markup {
    let note = published.iter().find(|row| row.id() == id).map_or("", |row| row.field("note"));
    let number = note.split_once("[A").and_then(|(_, rest)| rest.split_once(']'));
    html! { @if let Some((number, _)) = number { sup title=(note) { "A" (number) } } }
}

/// The result of the same case at the portable level, and the engine's rate over it.
fn at_portable<'a>(results: &'a Results, cell: &Cell) -> Option<(&'a CaseResult, f64)> {
    let workload = cell.workload.as_ref()?;
    let portable = Workload { level: Some(LevelLimit::Portable), ..workload.clone() };
    Some((results.of(&portable)?, results.ratio(workload, &portable)?))
}

/// The result of the same operation and length in another library, and our rate over it.
fn by_peer<'a>(results: &'a Results, cell: &Cell) -> Option<(&'a CaseResult, f64)> {
    let workload = cell.workload.as_ref()?;
    let beside = Peer::beside(workload)?;
    Some((results.of(&beside)?, results.ratio(workload, &beside)?))
}

/// The optional columns of a table, beside the published and the measured rate.
#[derive(Clone, Copy)]
struct Beside {
    portable: bool,
    peer: bool,
    bytes: bool,
}

fn plot_lengths(results: &Results, table: &Table) -> Markup {
    use crate::kit::statistics::Summary;
    let mut drawn = Vec::new();
    for (index, series) in table.series.iter().enumerate() {
        let several = table.series.len() > 1;
        let title = |what: &str| if several { format!("{what}, {}", series.name()) } else { what.to_owned() };
        let cells = || {
            let rows = table.rows.iter().enumerate();
            rows.map(|(row, name)| (name.parse().unwrap_or(1.0), table.cell(row, index)))
        };
        let mut draw = |what: &str, ink: Ink, value: &dyn Fn(&Cell) -> Option<Summary>| {
            let points: Vec<_> = cells().filter_map(|(bytes, cell)| Some((bytes, value(cell)?))).collect();
            if !points.is_empty() {
                drawn.push(Line { name: title(what), ink, points });
            }
        };
        let (then, now) =
            if index > 0 { (Ink::PublishedSecond, Ink::OursSecond) } else { (Ink::Published, Ink::Ours) };
        let on_card = cells()
            .any(|(_, cell)| cell.workload.as_ref().is_some_and(|work| work.interface == Interface::Card));
        draw("published", then, &|cell| match cell.printed {
            Printed::Rate(rate, _) => Some(Summary::exact(rate)),
            _ => None,
        });
        draw(if on_card { "measured" } else { "engine" }, now, &|cell| {
            Some(results.of(cell.workload.as_ref()?)?.ops_per_s)
        });
        draw(peer::NAME, Ink::Peer, &|cell| Some(by_peer(results, cell)?.0.ops_per_s));
        draw("engine, portable level", Ink::Software, &|cell| Some(at_portable(results, cell)?.0.ops_per_s));
    }
    let bytes: Vec<Line> = drawn
        .iter()
        .map(|line| Line {
            points: line.points.iter().map(|(bytes, rate)| (*bytes, rate.scaled(*bytes))).collect(),
            name: line.name.clone(),
            ink: line.ink,
        })
        .collect();
    let chart = |unit, drawn: &[Line]| {
        let title = Title { name: &table.title, unit, under: "bytes per operation" };
        lines(title, Heights::Decades, length, drawn)
    };
    charts(&[("", chart("operations per second", &drawn)), ("", chart("bytes per second", &bytes))])
}

fn plot_services(results: &Results, table: &Table) -> Markup {
    let series: Vec<String> = table.series.iter().map(sweep::Series::name).collect();
    let rows = table.rows.iter().enumerate().map(|(row, name)| {
        let values = (0..series.len()).map(|index| {
            let cell = table.cell(row, index);
            let published = match cell.printed {
                Printed::Rate(rate, _) => Some(rate),
                _ => None,
            };
            let ours = cell.workload.as_ref().and_then(|workload| results.of(workload));
            (published, ours.map(|case| case.ops_per_s.median))
        });
        pairs(row_name(Axis::Service, name), &series, values.collect())
    });
    let unit = "operations per second";
    charts(&[("", dots(&table.title, unit, &pairs_legend(&series), &rows.collect::<Vec<_>>()))])
}

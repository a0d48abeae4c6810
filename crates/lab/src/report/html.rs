//! The page of a report: one file, no network, no script, readable in print.

use super::chart::{DotRow, Ink, Line, dots, escape, over_length, short};
use super::{LeftOut, Report};
use crate::claims::{self, Verdict};
use crate::container;
use crate::digits::{figure, thousands};
use crate::openpgp::tables;
use crate::operation::{Cipher, Direction, Hash, Mac, Operation};
use crate::peer::Peer;
use crate::published::Row;
use crate::published::sweep::{self, Axis, Cell, Printed, Table};
use crate::results::CaseResult;
use crate::tenancy;
use crate::workload::{Interface, Workload};
use std::fmt::Write;
use wire::control::LevelLimit;

pub(crate) const STYLE: &str = include_str!("style.css");

/// Published cells that head the page: what, and the row.
const TILES: [(&str, &str); 5] = [
    ("DES-CBC, 64 bytes, through the facility", "z990.4.2.2.kmc-dea.64.ops"),
    ("Triple-DES-CBC, 4 KiB, native", "z990.4.2.1.kmc-tdea.4096.ops"),
    ("AES-128-CBC, 1 KiB, through the facility", "z990.4.3.aes128-encipher.1024.ops"),
    ("DES MAC under a secure key, 64 bytes, one card, 7 jobs", "z990.5.2.1.mac-multi.pcixcc.64.ops"),
    ("RSA-2048 private (CRT), one accelerator, 8 jobs", "z990.4.4.pka.pkd-crt-2048.1c8j.ops"),
];

/// Headings of the published sections.
const SECTIONS: [(&str, &str, &str); 11] = [
    ("z990.4.2.1.", "4.2.1", "Native: the instruction in a loop, beside the engine in the caller's thread"),
    ("z990.4.2.2.", "4.2.2", "Through ICSF, beside the facility"),
    ("z990.4.3.", "4.3", "AES, which the original did in software"),
    ("z990.4.4.", "4.4", "RSA on PCICA, beside accelerator cards"),
    ("z990.4.5.1.", "4.5.1", "Bulk data on PCIXCC, beside one coprocessor card"),
    ("z990.4.5.2.", "4.5.2", "Key and PIN services on PCIXCC"),
    ("z990.4.5.3.", "4.5.3", "RSA services on PCIXCC, beside coprocessor cards"),
    ("z990.5.2.1.", "5.2.1", "Bulk data: one PCIXCC against the two cards of a CEX2C feature"),
    ("z990.5.2.2.", "5.2.2", "Key and PIN services on CEX2C"),
    ("z990.5.2.3.", "5.2.3", "RSA services: PCIXCC against CEX2C"),
    ("ztpf.", "z/TPF", "The user-data API"),
];

/// The whole page.
pub fn page(report: &Report, published: &[Row]) -> String {
    let tables = sweep::tables(published);
    let mut out = String::with_capacity(600_000);
    out.push_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n");
    let _ = write!(
        out,
        "<title>Cryptand report, {}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        date(report)
    );
    head(&mut out, report, published);
    contents(&mut out, report);
    judged(&mut out, report);
    out.push_str(&tenancy::section(&report.queues, published));
    out.push_str(&tables::section(&report.openpgp, published));
    if has_sweeps(report) {
        fits(&mut out, report);
    }
    for (prefix, number, title) in SECTIONS.into_iter().filter(|_| has_sweeps(report)) {
        let _ = writeln!(out, "<h2 id=\"{}\">{number} &#160; {}</h2>", anchor(prefix), escape(title));
        for table in tables.iter().filter(|table| table.id.starts_with(prefix)) {
            one_table(&mut out, report, published, table);
        }
    }
    if let Some(compared) = &report.container {
        container::section(&mut out, compared, published);
    }
    left_out(&mut out, report);
    let _ = write!(
        out,
        "<footer>Made by {} on {}. The published figures come from five reports named in the program's \
         data; names of others' products are used only to say what is compared.</footer>\n</body>\n</html>\n",
        escape(&report.program),
        date(report)
    );
    out
}

/// Whether the report holds the sweeps; one of the other parts alone does not.
fn has_sweeps(report: &Report) -> bool {
    !report.results.0.is_empty() || (report.queues.0.is_empty() && report.openpgp.0.is_empty())
}

fn date(report: &Report) -> String {
    crate::machine::utc_text(report.made_unix_s)
}

fn anchor(prefix: &str) -> String {
    prefix.trim_end_matches('.').replace('.', "-")
}

fn head(out: &mut String, report: &Report, published: &[Row]) {
    let machine = &report.machine;
    out.push_str("<h1>A mainframe's cryptography, measured again</h1>\n");
    let _ = write!(
        out,
        "<p class=\"lead\">The published sweeps of mainframe cryptographic hardware (2003 to 2008), run on this \
         machine by the same operations, lengths, jobs and card counts.</p>\n<div class=\"tiles\">\n"
    );
    for (title, id) in TILES {
        let Some(row) = published.iter().find(|row| row.id() == id) else { continue };
        let case = sweep::workload(row).and_then(|workload| report.results.of(&workload));
        let (Some(case), Some(then)) = (case, row.value) else { continue };
        let now = case.ops_per_s.median;
        let _ = writeln!(
            out,
            "<div class=\"tile\"><b>{}</b><span>{}</span><small>{} per second here, {} published</small></div>",
            times(now / then),
            escape(title),
            short(now),
            short(then)
        );
    }
    out.push_str("</div>\n<dl class=\"facts\">\n");
    let memory = format!("{:.1} GiB", machine.memory_bytes as f64 / (1u64 << 30) as f64);
    let thorough = report.thoroughness;
    let runs = match thorough.seconds_max {
        Some(_) => format!(
            "quick: up to {} runs of a case, at most {} ms each; spreads are wide, run the full report before quoting",
            thorough.passes,
            thorough.seconds * 1000.0
        ),
        None => format!("{} runs of {} s for each case", thorough.passes, thorough.seconds),
    };
    let peer = report.results.0.values().find(|case| case.workload.peer).map_or_else(
        || "no peer was measured".to_owned(),
        |case| format!("peer: {}, by its own benchmark with prepared keys", case.level),
    );
    for (name, value) in [
        (
            "Machine",
            format!("{}, {} processors online, {memory}", machine.processor, machine.processors_online),
        ),
        ("System", format!("{}, Linux {}", machine.system, machine.kernel)),
        (
            "Engine",
            format!(
                "level {}; the software provider is the same engine held to the portable level; {peer}",
                report.level
            ),
        ),
        ("Runs", runs),
        (
            "Load",
            format!("{:.2} before the first run; above a few tenths, others took part", report.load_before),
        ),
        ("Made", format!("{} by {}, in {}", date(report), report.program, minutes(report.seconds))),
    ] {
        let _ = writeln!(out, "<dt>{name}</dt><dd>{}</dd>", escape(&value));
    }
    out.push_str("</dl>\n");
    out.push_str(
        "<h3>How to read it</h3>\n<p>A figure is the median of its runs; &#177; is half the distance between the fastest \
         and the slowest run, as a share of the median. <b>&#215;</b> is the measured rate over the published one. \
         <b>p50</b> and <b>p99</b> are latencies that half, and 99 of 100, of the requests keep. <b>Processor time</b> \
         is what one operation costs the caller, the daemon and the cards, booked apart by the kernel. <b>ITR</b> is the \
         rate over the utilisation of all processors: what the machine would give if they were full. \
         On the mainframe the cards were machines of their own; here a card is a process and shares the \
         processors with its callers, so that more cards than processors cannot show scaling. \
         Cells that read <i>kept aside</i> have a published figure that predictions will be judged on; \
         <i>not yet measured</i> means that no code serves the row yet. A mark such as <sup>A01</sup> stands at a \
         published figure that contradicts its neighbours or its report's text; the README beside the data lists them.</p>\n",
    );
}

fn contents(out: &mut String, report: &Report) {
    out.push_str("<nav>\n<a href=\"#statements\"><em>text</em>Published statements</a>\n");
    if !report.queues.0.is_empty() {
        let _ = writeln!(out, "<a href=\"#{}\"><em>queues</em>{}</a>", tenancy::ANCHOR, tenancy::TITLE);
    }
    if !report.openpgp.0.is_empty() {
        let _ = writeln!(out, "<a href=\"#{}\"><em>OpenPGP</em>{}</a>", tables::ANCHOR, tables::TITLE);
    }
    if has_sweeps(report) {
        out.push_str("<a href=\"#fits\"><em>fits</em>What an operation costs before its first byte</a>\n");
    }
    for (prefix, number, title) in SECTIONS.into_iter().filter(|_| has_sweeps(report)) {
        let _ = writeln!(out, "<a href=\"#{}\"><em>{number}</em>{}</a>", anchor(prefix), escape(title));
    }
    out.push_str("</nav>\n");
}

fn judged(out: &mut String, report: &Report) {
    out.push_str("<h2 id=\"statements\">Published statements</h2>\n");
    // Without the sweeps there is nothing to say of the statements that need them.
    let shown = || report.judged.iter().filter(|one| has_sweeps(report) || one.measured.is_some());
    let count = |wanted: fn(&Verdict) -> bool| shown().filter(|one| wanted(&one.verdict)).count();
    let _ = writeln!(
        out,
        "<p class=\"counts\"><span class=\"confirmed\"><b>{}</b> confirmed</span><span class=\"refuted\"><b>{}</b> refuted</span>\
         <span class=\"open\"><b>{}</b> not testable on these processors</span></p>",
        count(|verdict| *verdict == Verdict::Confirmed),
        count(|verdict| *verdict == Verdict::Refuted),
        count(|verdict| matches!(verdict, Verdict::NotTestable(_)))
    );
    out.push_str(
        "<p>What the published reports' text says, held against this machine. A refuted statement is not a \
         misprint: it says that this house is built differently.</p>\n<div class=\"scroll\"><table>\n<thead><tr>\
         <th class=\"l\">where</th><th class=\"l\">statement</th><th>published</th><th>measured</th><th class=\"l\">verdict</th></tr></thead>\n<tbody>\n",
    );
    for one in shown() {
        let (class, verdict, why) = match &one.verdict {
            Verdict::Confirmed => ("confirmed", "confirmed", one.compared.as_str()),
            Verdict::Refuted => ("refuted", "refuted", one.compared.as_str()),
            Verdict::NotTestable(why) => ("open", "not testable", why.as_str()),
        };
        let number = |value: Option<f64>| value.map_or(String::new(), figure);
        let _ = writeln!(
            out,
            "<tr><td class=\"l\">{}</td><td class=\"w\">{}</td><td>{}</td><td class=\"m\">{}</td>\
             <td class=\"w\"><span class=\"verdict {class}\">{verdict}</span>: {}</td></tr>",
            escape(&one.section),
            escape(&one.text),
            number(one.published),
            number(one.measured),
            escape(why)
        );
    }
    out.push_str("</tbody>\n</table></div>\n");
}

fn fits(out: &mut String, report: &Report) {
    let operations = [
        Operation::cbc(Cipher::Des, Direction::Encipher),
        Operation::cbc(Cipher::Tdes, Direction::Encipher),
        Operation::Mac(Mac::Des),
        Operation::Hash(Hash::Sha1),
        Operation::cbc(Cipher::Aes128, Direction::Encipher),
        Operation::cbc(Cipher::Aes256, Direction::Encipher),
    ];
    out.push_str(
        "<h2 id=\"fits\">What an operation costs before its first byte</h2>\n<p>Each length sweep with one job as a \
         line: time = start + bytes / rate, each length weighted alike.</p>\n<div class=\"scroll\"><table>\n<thead><tr>\
         <th class=\"l\">operation</th><th class=\"l\">interface</th><th>start</th><th>rate behind it</th>\
         <th>furthest length</th></tr></thead>\n<tbody>\n",
    );
    for operation in operations {
        for interface in [Interface::Native, Interface::Facility, Interface::Card] {
            let Some(fit) = claims::sweep_fit(&report.results, operation, interface) else { continue };
            let _ = writeln!(
                out,
                "<tr><td class=\"l\">{operation}</td><td class=\"l\">{interface}</td><td class=\"m\">{}</td>\
                 <td>{}B/s</td><td>{:.1} % off</td></tr>",
                nanoseconds(fit.start * 1e9),
                if fit.per_byte > 0.0 { short(1.0 / fit.per_byte) } else { "-".to_owned() },
                fit.error_max * 100.0
            );
        }
    }
    out.push_str("</tbody>\n</table></div>\n");
}

fn one_table(out: &mut String, report: &Report, published: &[Row], table: &Table) {
    let _ =
        write!(out, "<h3>{}</h3>\n<p class=\"remark\">{}</p>\n", escape(table.title), escape(table.remark));
    let plot = match table.axis {
        Axis::Length => plot_lengths(report, table),
        Axis::Service => plot_services(report, table),
    };
    if !plot.is_empty() {
        let _ = writeln!(out, "<figure>{plot}</figure>");
    }
    let software = table.cells.iter().any(|cell| software(report, cell).is_some());
    let peer = table.cells.iter().any(|cell| peer(report, cell).is_some());
    let beside = Beside { software, peer };
    let bytes = table.axis == Axis::Length;
    let first = if bytes { "bytes" } else { "service" };
    let _ = write!(
        out,
        "<div class=\"scroll\"><table>\n<thead><tr><th class=\"l\">{first}</th><th>published<br/>ops/s</th><th>measured<br/>ops/s</th>\
         <th>&#177;</th><th>&#215;</th>{}{}<th>p50</th><th>p99</th><th>caller<br/>per op</th><th>daemon<br/>per op</th><th>cards<br/>per op</th>\
         <th>ITR<br/>ops/s</th></tr></thead>\n<tbody>\n",
        if bytes { "<th>measured<br/>MB/s</th>" } else { "" },
        beside.head()
    );
    let columns = 11 + usize::from(bytes) + beside.columns();
    for (index, series) in table.series.iter().enumerate() {
        if table.series.len() > 1 {
            let _ = writeln!(
                out,
                "<tr class=\"head\"><td colspan=\"{columns}\">{}{}</td></tr>",
                escape(&series.name()),
                original(&series.engine)
            );
        }
        for (row, name) in table.rows.iter().enumerate() {
            let cell = table.cell(row, index);
            if cell.printed != Printed::Nothing {
                table_row(out, report, published, cell, &row_name(table.axis, name), beside);
            }
        }
    }
    out.push_str("</tbody>\n</table></div>\n");
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

fn original(engine: &str) -> String {
    match engine {
        "pcixcc" => " &#160;(PCIXCC)".to_owned(),
        "cex2c" => " &#160;(CEX2C feature)".to_owned(),
        "pcica" => " &#160;(PCICA)".to_owned(),
        _ => String::new(),
    }
}

fn table_row(out: &mut String, report: &Report, published: &[Row], cell: &Cell, name: &str, beside: Beside) {
    let printed = match &cell.printed {
        Printed::Rate(rate, id) => format!("<td>{}{}</td>", figure(*rate), anomaly(published, id)),
        Printed::KeptAside => "<td class=\"q\">kept aside</td>".to_owned(),
        Printed::Nothing => "<td></td>".to_owned(),
    };
    let _ = write!(out, "<tr><td class=\"l\">{}</td>{printed}", escape(name));
    let bytes = cell.workload.as_ref().is_some_and(|workload| workload.operation.takes_bytes());
    let Some(case) = cell.workload.as_ref().and_then(|workload| report.results.of(workload)) else {
        let columns = 9 + usize::from(bytes) + beside.columns();
        let why = if cell.workload.is_some() { "left out, see below" } else { "not yet measured" };
        let _ = writeln!(out, "<td class=\"q l\" colspan=\"{columns}\">{why}</td></tr>");
        return;
    };
    let rate = case.ops_per_s;
    let _ = write!(out, "<td class=\"m\">{}</td><td>{:.1} %</td>", figure(rate.median), rate.spread() * 50.0);
    let _ = match &cell.printed {
        Printed::Rate(published, _) => write!(out, "<td class=\"x\">{}</td>", times(rate.median / published)),
        _ => write!(out, "<td></td>"),
    };
    if bytes {
        let _ = write!(out, "<td>{}</td>", figure(case.bytes_per_s() / 1e6));
    }
    for (wanted, other) in [(beside.software, software(report, cell)), (beside.peer, peer(report, cell))] {
        let _ = match (wanted, other) {
            (false, _) => Ok(()),
            (true, None) => write!(out, "<td></td><td></td>"),
            (true, Some((other, ratio))) => {
                write!(out, "<td>{}</td><td>{ratio:.2}</td>", figure(other.ops_per_s.median))
            }
        };
    }
    for value in [case.p50_ns.median, case.p99_ns.median, case.caller_ns] {
        let _ = write!(out, "<td>{}</td>", nanoseconds(value));
    }
    let on_card = case.workload.interface == Interface::Card;
    for value in [case.daemon_ns, case.cards_ns] {
        let text = if on_card { nanoseconds(value) } else { "&#8211;".to_owned() };
        let _ = write!(out, "<td>{text}</td>");
    }
    let _ = writeln!(out, "<td>{}</td></tr>", figure(case.itr));
}

/// The mark of a published figure that contradicts its neighbours or the text around it.
fn anomaly(published: &[Row], id: &str) -> String {
    let note = published.iter().find(|row| row.id() == id).map_or("", |row| row.field("note"));
    match note.split_once("[A").and_then(|(_, rest)| rest.split_once(']')) {
        Some((number, _)) => format!("<sup title=\"{}\">A{}</sup>", escape(note), escape(number)),
        None => String::new(),
    }
}

/// The same case at the portable level, and the rate of the engine over it.
fn software<'a>(report: &'a Report, cell: &Cell) -> Option<(&'a CaseResult, f64)> {
    let workload = cell.workload.as_ref()?;
    let portable = Workload { level: Some(LevelLimit::Portable), ..workload.clone() };
    Some((report.results.of(&portable)?, report.results.ratio(workload, &portable)?))
}

/// The same operation and length by another library, and our rate over its.
fn peer<'a>(report: &'a Report, cell: &Cell) -> Option<(&'a CaseResult, f64)> {
    let workload = cell.workload.as_ref()?;
    let beside = Peer::beside(workload)?;
    Some((report.results.of(&beside)?, report.results.ratio(workload, &beside)?))
}

/// Which other providers a table shows.
#[derive(Clone, Copy)]
struct Beside {
    software: bool,
    peer: bool,
}

impl Beside {
    fn columns(self) -> usize {
        2 * usize::from(self.software) + 2 * usize::from(self.peer)
    }

    fn head(self) -> String {
        let head = |shown: bool, name: &str| match shown {
            true => format!("<th>{name}<br/>ops/s</th><th>engine /<br/>{name}</th>"),
            false => String::new(),
        };
        head(self.software, "software") + &head(self.peer, "peer")
    }
}

fn plot_lengths(report: &Report, table: &Table) -> String {
    let mut lines = Vec::new();
    for (index, series) in table.series.iter().enumerate() {
        let several = table.series.len() > 1;
        let name = |what: &str| if several { format!("{what}, {}", series.name()) } else { what.to_owned() };
        let cells = || {
            table
                .rows
                .iter()
                .enumerate()
                .map(|(row, name)| (name.parse().unwrap_or(1.0), table.cell(row, index)))
        };
        let published = cells().filter_map(|(bytes, cell)| match cell.printed {
            Printed::Rate(rate, _) => Some((bytes, rate)),
            _ => None,
        });
        let ours = cells().filter_map(|(bytes, cell)| {
            Some((bytes, report.results.of(cell.workload.as_ref()?)?.ops_per_s.median))
        });
        let soft =
            cells().filter_map(|(bytes, cell)| Some((bytes, software(report, cell)?.0.ops_per_s.median)));
        let second = index > 0;
        let inks = if second { (Ink::PublishedSecond, Ink::OursSecond) } else { (Ink::Published, Ink::Ours) };
        let on_card =
            cells().any(|(_, cell)| cell.workload.as_ref().is_some_and(|w| w.interface == Interface::Card));
        lines.push(Line { name: name("published"), ink: inks.0, points: published.collect() });
        let measured = if on_card { "measured" } else { "engine" };
        lines.push(Line { name: name(measured), ink: inks.1, points: ours.collect() });
        let peers = cells().filter_map(|(bytes, cell)| Some((bytes, peer(report, cell)?.0.ops_per_s.median)));
        lines.push(Line { name: name("peer"), ink: Ink::Peer, points: peers.collect() });
        lines.push(Line { name: name("software"), ink: Ink::Software, points: soft.collect() });
    }
    lines.retain(|line| !line.points.is_empty());
    if lines.is_empty() {
        return String::new();
    }
    let bytes = lines.iter().map(|line| Line {
        points: line.points.iter().map(|(bytes, rate)| (*bytes, bytes * rate)).collect(),
        name: line.name.clone(),
        ink: line.ink,
    });
    format!(
        "<div class=\"pair\"><div>{}</div><div>{}</div></div>",
        over_length(table.title, "operations per second", &lines),
        over_length(table.title, "bytes per second", &bytes.collect::<Vec<_>>())
    )
}

fn plot_services(report: &Report, table: &Table) -> String {
    let series: Vec<String> = table.series.iter().map(sweep::Series::name).collect();
    let rows = table.rows.iter().enumerate().map(|(row, name)| {
        let pairs = (0..series.len()).map(|index| {
            let cell = table.cell(row, index);
            let published = match cell.printed {
                Printed::Rate(rate, _) => Some(rate),
                _ => None,
            };
            let ours = cell.workload.as_ref().and_then(|workload| report.results.of(workload));
            (published, ours.map(|case| case.ops_per_s.median))
        });
        DotRow { name: row_name(Axis::Service, name), pairs: pairs.collect() }
    });
    dots(table.title, "operations per second", &series, &rows.collect::<Vec<_>>())
}

fn left_out(out: &mut String, report: &Report) {
    if report.left_out.is_empty() {
        return;
    }
    out.push_str("<h2 id=\"left-out\">Left out</h2>\n<p>Cases without a figure, and why.</p>\n<ul>\n");
    for LeftOut { case, why, .. } in &report.left_out {
        let _ = writeln!(out, "<li><code>{}</code>: {}</li>", escape(case), escape(why));
    }
    out.push_str("</ul>\n");
}

fn times(ratio: f64) -> String {
    if ratio >= 10.0 {
        format!("&#215;&#8201;{}", thousands(ratio.round() as u64))
    } else {
        format!("&#215;&#8201;{ratio:.2}")
    }
}

fn nanoseconds(ns: f64) -> String {
    match ns {
        ns if ns <= 0.0 => "0".to_owned(),
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e5 => format!("{:.1} &#181;s", ns / 1e3),
        ns if ns < 1e6 => format!("{:.0} &#181;s", ns / 1e3),
        ns if ns < 1e8 => format!("{:.1} ms", ns / 1e6),
        ns if ns < 1e9 => format!("{:.0} ms", ns / 1e6),
        ns => format!("{:.1} s", ns / 1e9),
    }
}

fn minutes(seconds: f64) -> String {
    if seconds < 100.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", seconds / 60.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::measurements;
    use crate::report::tests::MadeUp;
    use crate::report::{Plan, Thoroughness, run};

    fn made() -> (Report, String) {
        let folder = tempfile::tempdir().unwrap();
        let published = measurements();
        let thoroughness = Thoroughness { passes: 2, seconds: 0.1, seconds_max: None };
        let plan = Plan::with_peer(&published, thoroughness, true);
        let report = run(&plan, &mut MadeUp::new(), folder.path(), &mut |_| ()).unwrap();
        let page = page(&report, &published);
        (report, page)
    }

    /// Checks that every element is closed by its own end, in order; gives the number of elements.
    fn well_formed(page: &str) -> usize {
        const VOID: [&str; 2] = ["!DOCTYPE", "meta"];
        let style = page.find("<style>").unwrap()..page.find("</style>").unwrap();
        let mut open = Vec::new();
        let mut elements = 0;
        let mut at = 0;
        while let Some(begin) = page[at..].find('<').map(|found| at + found) {
            let end = begin + page[begin..].find('>').expect("a tag ends");
            at = end + 1;
            if style.contains(&begin) && begin != style.start {
                continue;
            }
            let tag = &page[begin + 1..end];
            assert!(!tag.contains('<'), "{tag}");
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name.to_owned()), "at byte {begin}");
                continue;
            }
            elements += 1;
            let name = tag.split_whitespace().next().unwrap().trim_end_matches('/').to_owned();
            if !tag.ends_with('/') && !VOID.contains(&name.as_str()) {
                open.push(name);
            }
        }
        assert!(open.is_empty(), "{open:?}");
        elements
    }

    #[test]
    fn the_page_is_well_formed_and_stands_alone() {
        let (_, page) = made();
        assert!(well_formed(&page) > 5000);
        for foreign in ["<script", "http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(foreign), "{foreign}");
        }
        assert!(!page.contains("NaN") && !page.contains(">inf") && !page.contains("\"inf"));
    }

    #[test]
    fn the_page_holds_every_table_with_its_plot() {
        let (report, page) = made();
        let tables = sweep::tables(&measurements());
        let plots = |table: &Table| if table.axis == Axis::Length { 2 } else { 1 };
        assert_eq!(page.matches("<svg").count(), tables.iter().map(plots).sum::<usize>());
        for table in &tables {
            assert!(page.contains(&format!("<h3>{}</h3>", escape(table.title))), "{}", table.id);
        }
        for (prefix, ..) in SECTIONS {
            assert!(page.contains(&format!("id=\"{}\"", anchor(prefix))));
            assert!(tables.iter().any(|table| table.id.starts_with(prefix)));
        }
        assert_eq!(page.matches("<td class=\"q\">kept aside</td>").count(), 2 * 8 + 2 * 15 + 2);
        // Five PIN services, twice in two tables.
        assert_eq!(page.matches(">not yet measured</td>").count(), 20);
        assert_eq!(page.matches("<div class=\"tile\">").count(), TILES.len());
        assert_eq!(page.matches("class=\"verdict").count(), report.judged.len());
        assert!(page.contains("<td>26,500<sup title="));
        assert!(page.contains("Left out") && page.contains("software<br/>ops/s"));
        assert!(page.contains("by its own benchmark with prepared keys"));
        assert!(page.contains("peer<br/>ops/s") && page.contains("path class=\"line peer\""));
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(figure(3_347_438.4), "3,347,438");
        assert_eq!(
            (figure(123.4), figure(12.34), figure(0.691)),
            ("123".into(), "12.3".into(), "0.69".into())
        );
        assert_eq!(nanoseconds(1234.0), "1.2 &#181;s");
        assert_eq!(nanoseconds(0.0), "0");
        assert_eq!(times(3.138), "&#215;&#8201;3.14");
    }
}

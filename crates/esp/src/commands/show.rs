//! `cryptand ipsec status`, `top`, `sa list` and `policy list`.

use super::table::table;
use super::{Failure, ask, ask_json, print};
use crate::folder::PlaneFolder;
use crate::observed::{PolicyRow, Question, SaRow, Status, ThreadRow};
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

/// Upper bound of the rows that `top` shows: the lines of a terminal less the heading.
const TOP_ROWS: usize = 18;
/// Escape sequences that move a terminal's cursor to the first line, and clear what is below (ECMA-48).
const CLEAR: &str = "\x1b[H\x1b[J";

/// Prints the data plane's status.
pub fn status(plane: &PlaneFolder, json: bool) -> Result<ExitCode, Failure> {
    if json {
        return print(&(ask(plane, Question::Status)? + "\n"));
    }
    print(&shown(&ask_json(plane, Question::Status)?, plane))
}

fn shown(status: &Status, plane: &PlaneFolder) -> String {
    let mut text = format!(
        "cryptand-esp {} serves {} on {}\n\n  process   {}, for {}{}\n  engine    {}\n  threads   {}\n  SAs       {}\n  policies  {}\n  programs  {}\n  memory    {} of {}\n  suites    {}\n  filter    {}\n  sandbox   {}\n",
        status.version,
        plane.folder().display(),
        status.device,
        status.pid,
        span(status.seconds),
        match status.restarts {
            0 => String::new(),
            1 => ", after 1 that ended".to_owned(),
            some => format!(", after {some} that ended"),
        },
        status.level,
        status.threads.len(),
        status.sas,
        status.policies,
        status.clients,
        bytes(status.memory_used_bytes as u64),
        bytes(status.memory_bytes as u64),
        if status.weak_suites { "all, weak ones too" } else { "no weak ones (3DES, NULL)" },
        if status.egress_filter {
            "on all links, while a policy protects"
        } else {
            "none: programs that name a link send in clear"
        },
        if status.lacks.is_empty() {
            "whole".to_owned()
        } else {
            format!("lacks {}", status.lacks.join(", "))
        },
    );
    let row = |name: String, row: &ThreadRow| {
        let together = (row.sealed + row.opened) as f64 / row.batches.max(1) as f64;
        vec![
            name,
            row.sealed.to_string(),
            bytes(row.sealed_bytes),
            row.opened.to_string(),
            bytes(row.opened_bytes),
            format!("{together:.1}"),
            row.bypassed.to_string(),
            row.dropped.to_string(),
        ]
    };
    let mut rows: Vec<_> = status
        .threads
        .iter()
        .enumerate()
        .map(|(index, thread)| row(format!("thread {index}"), thread))
        .collect();
    rows.push(row("all".to_owned(), &status.totals));
    let titles = ["", "sealed", "bytes", "opened", "bytes", "together", "in clear", "dropped"];
    text += &format!("\n{}", table(&titles, &rows));
    if !status.drops.is_empty() {
        let rows: Vec<_> =
            status.drops.iter().map(|drops| vec![drops.reason.clone(), drops.packets.to_string()]).collect();
        text += &format!("\n{}", table(&["dropped because", "packets"], &rows));
    }
    text
}

/// Prints the table of SAs.
pub fn sas(plane: &PlaneFolder, json: bool) -> Result<ExitCode, Failure> {
    if json {
        return print(&(ask(plane, Question::Sas)? + "\n"));
    }
    let sas: Vec<SaRow> = ask_json(plane, Question::Sas)?;
    if sas.is_empty() {
        return print("no SAs\n");
    }
    let rows: Vec<_> = sas
        .iter()
        .map(|sa| {
            let lost = sa.replayed + sa.too_old + sa.unauthenticated;
            vec![
                format!("{:08x}", sa.spi),
                sa.direction.clone(),
                sa.mode.clone(),
                sa.suite.clone(),
                sa.source.clone(),
                sa.destination.clone(),
                if sa.in_udp { format!("UDP {}", sa.peer) } else { "protocol 50".to_owned() },
                sa.request.to_string(),
                sa.packets.to_string(),
                bytes(sa.bytes),
                lost.to_string(),
                span(sa.age_seconds as f64),
                sa.limits.clone(),
            ]
        })
        .collect();
    let titles = [
        "SPI",
        "dir",
        "mode",
        "suite",
        "source",
        "destination",
        "by",
        "reqid",
        "packets",
        "bytes",
        "refused",
        "age",
        "limits",
    ];
    print(&table(&titles, &rows))
}

/// Prints the table of policies.
pub fn policies(plane: &PlaneFolder, json: bool) -> Result<ExitCode, Failure> {
    if json {
        return print(&(ask(plane, Question::Policies)? + "\n"));
    }
    let policies: Vec<PolicyRow> = ask_json(plane, Question::Policies)?;
    if policies.is_empty() {
        return print("no policies\n");
    }
    let rows: Vec<_> = policies
        .iter()
        .map(|policy| {
            vec![
                policy.index.to_string(),
                policy.direction.clone(),
                policy.priority.to_string(),
                policy.action.clone(),
                policy.selector.clone(),
                policy.template.clone(),
                policy.packets.to_string(),
                bytes(policy.bytes),
                policy.drops.iter().map(|drops| drops.packets).sum::<u64>().to_string(),
            ]
        })
        .collect();
    let titles = ["index", "dir", "priority", "action", "traffic", "SA", "packets", "bytes", "dropped"];
    print(&table(&titles, &rows))
}

/// Prints each SA's rates once every `every` seconds, `count` times; without `count` until interrupted.
pub fn top(plane: &PlaneFolder, every: u64, count: Option<u64>, json: bool) -> Result<ExitCode, Failure> {
    let mut before: Vec<SaRow> = ask_json(plane, Question::Sas)?;
    let mut looked = Instant::now();
    let mut looks = 0;
    while count.is_none_or(|count| looks < count) {
        thread::sleep(Duration::from_secs(every));
        let status: Status = ask_json(plane, Question::Status)?;
        let sas: Vec<SaRow> = ask_json(plane, Question::Sas)?;
        let seconds = looked.elapsed().as_secs_f64().max(f64::MIN_POSITIVE);
        looked = Instant::now();
        looks += 1;
        let mut rates: Vec<Rate> = sas.iter().map(|sa| rate(sa, &before, seconds)).collect();
        rates.sort_by(|one, other| other.bytes.total_cmp(&one.bytes));
        let text = if json { of_json(&rates) } else { of_text(&status, &rates) };
        print(&text)?;
        before = sas;
    }
    Ok(ExitCode::SUCCESS)
}

struct Rate<'s> {
    sa: &'s SaRow,
    packets: f64,
    bytes: f64,
    refused: f64,
}

fn rate<'s>(sa: &'s SaRow, before: &[SaRow], seconds: f64) -> Rate<'s> {
    let earlier = before.iter().find(|other| other.spi == sa.spi && other.destination == sa.destination);
    let refused = |sa: &SaRow| sa.replayed + sa.too_old + sa.unauthenticated;
    let per_second = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds;
    Rate {
        sa,
        packets: per_second(sa.packets, earlier.map_or(0, |sa| sa.packets)),
        bytes: per_second(sa.bytes, earlier.map_or(0, |sa| sa.bytes)),
        refused: per_second(refused(sa), earlier.map_or(0, refused)),
    }
}

fn of_json(rates: &[Rate<'_>]) -> String {
    let rows: Vec<_> = rates
        .iter()
        .map(|rate| {
            serde_json::json!({
                "spi": rate.sa.spi,
                "direction": rate.sa.direction,
                "destination": rate.sa.destination,
                "packets_per_second": rate.packets,
                "bytes_per_second": rate.bytes,
                "refused_per_second": rate.refused,
            })
        })
        .collect();
    format!("{}\n", serde_json::json!({ "sas": rows }))
}

fn of_text(status: &Status, rates: &[Rate<'_>]) -> String {
    let rows: Vec<_> = rates
        .iter()
        .take(TOP_ROWS)
        .map(|rate| {
            vec![
                format!("{:08x}", rate.sa.spi),
                rate.sa.direction.clone(),
                rate.sa.suite.clone(),
                rate.sa.peer.clone(),
                format!("{:.0}", rate.packets),
                format!("{:.1}", rate.bytes * 8.0 / 1e6),
                format!("{:.0}", rate.refused),
                span(rate.sa.age_seconds as f64),
            ]
        })
        .collect();
    let titles = ["SPI", "dir", "suite", "peer", "packets/s", "Mbit/s", "refused/s", "age"];
    let clear = if io::stdout().is_terminal() { CLEAR } else { "" };
    let more = rates.len().saturating_sub(TOP_ROWS);
    let more = if more > 0 { format!("and {more} more\n") } else { String::new() };
    format!(
        "{clear}{}: {} SAs, {} policies, {} packets dropped\n\n{}{more}\n",
        status.device,
        status.sas,
        status.policies,
        status.totals.dropped,
        table(&titles, &rows)
    )
}

/// A number of bytes with a unit, for people.
fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut scaled = bytes as f64;
    let mut unit = 0;
    while scaled >= 1024.0 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{scaled:.1} {}", UNITS[unit]) }
}

/// A number of seconds in larger units, for people.
fn span(seconds: f64) -> String {
    let whole = seconds as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        3600..86_400 => format!("{} h {} min", whole / 3600, whole / 60 % 60),
        _ => format!("{} d {} h", whole / 86_400, whole / 3600 % 24),
    }
}

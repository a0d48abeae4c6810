//! The measures as a table on a terminal.

use super::{Measure, Measures, Part, Promise};
use crate::cards::rates::BEFORE;
use crate::experiment::promise::Other;
use std::fmt::Write;

/// The other libraries, in the order of their columns.
const LIBRARIES: [&str; 3] = ["OpenSSL", "AWS-LC", "ipsec-mb"];

/// The measures as a table for people.
pub fn table(measures: &Measures) -> String {
    let mut out = String::new();
    let rows = measures.rows.iter().filter(|row| !row.is_note());
    let width = rows.map(|row| row.case.chars().count()).max().unwrap_or(0).max("operation".len());
    let mut level = None;
    for row in &measures.rows {
        let line = match row.part {
            _ if row.is_note() => format!("{} ({})", row.case, row.level),
            Part::Engine => {
                if level.replace(&row.level) != Some(&row.level) {
                    out.push_str(&engine_heading(&row.level, width));
                }
                engine_line(row, width)
            }
            Part::Timing
            | Part::Cards
            | Part::Rates
            | Part::Queues
            | Part::Scale
            | Part::Kills
            | Part::Openpgp
            | Part::Tls
            | Part::Ipsec
            | Part::Payments => {
                let mut ratio =
                    row.ratio.map_or(String::new(), |ratio| format!("{ratio:.3} of {}", row.peer));
                if let Some(before) = other(row, BEFORE) {
                    let _ = write!(ratio, "  {:.3} of {BEFORE}, {}", before.ratio, figure(before.value));
                }
                if row.part == Part::Scale && !row.others.is_empty() {
                    let _ = write!(ratio, "  {}", row.bound);
                }
                let shown = format!("{} {}", figure(row.ours), row.unit);
                format!("{:width$}  {shown:>16}  {:26}  {ratio}", row.case, verdict(row, "NOT KEPT"))
            }
        };
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

fn engine_heading(level: &str, width: usize) -> String {
    let [a, b, c] = LIBRARIES;
    format!(
        "\nThe engine at level {level}: its figure, its ratio to each library (*: the one that it is judged by), and its \
         share of what the ports allow\n{:width$}  {:>16} {a:>9} {b:>9} {c:>9} {:>6}  promised\n",
        "operation", "engine", "ports"
    )
}

fn engine_line(row: &Measure, width: usize) -> String {
    let ratios = LIBRARIES.map(|name| {
        let other = other(row, name);
        let mark = if row.peer == name { '*' } else { ' ' };
        other.map_or("- ".to_owned(), |other| format!("{}{mark}", ratio(other.ratio)))
    });
    let [a, b, c] = ratios;
    let ports = row.limit.map_or(String::new(), |limit| format!("{:.0} %", 100.0 * limit.share));
    let figure = format!("{} {}", figure(row.ours), row.unit);
    let kept = verdict(row, "NOT KEPT");
    format!("{:width$}  {figure:>16} {a:>9} {b:>9} {c:>9} {ports:>6}  {kept}", row.case)
}

/// The promise and the verdict; empty without a promise.
fn verdict(row: &Measure, not_kept: &str) -> String {
    let Some(promise) = row.promise else { return String::new() };
    let text = promise_text(promise);
    match promise {
        Promise::RatioAtLeast(_) | Promise::RatioAtMost(_) if row.ratio.is_none() => {
            format!("{text} {not_kept}, {} is missing", row.peer)
        }
        Promise::ShareAtLeast(_) if row.limit.is_none() => {
            format!("{text} {not_kept}, no limit was measured")
        }
        _ if row.is_kept() => format!("{text} kept"),
        _ => format!("{text} {not_kept}"),
    }
}

/// A ratio with enough digits to tell it from the promise: three behind the point below 10, else one.
pub(super) fn ratio(value: f64) -> String {
    if value < 10.0 { format!("{value:.3}") } else { format!("{value:.1}") }
}

pub(super) fn promise_text(promise: Promise) -> String {
    match promise {
        Promise::RatioAtLeast(least) => format!("ratio >= {least}:"),
        Promise::RatioAtMost(most) => format!("ratio <= {most}:"),
        Promise::ShareAtLeast(least) => format!("share of the ports >= {least}:"),
        Promise::AtLeast(least) => format!(">= {}:", figure(least)),
        Promise::Above(bound) => format!("> {}:", figure(bound)),
        Promise::Below(bound) => format!("< {}:", figure(bound)),
    }
}

pub(super) fn figure(value: f64) -> String {
    if value >= 1000.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// The figure of another library, build or process in a row.
fn other<'a>(row: &'a Measure, name: &str) -> Option<&'a Other> {
    row.others.iter().find(|other| other.name == name)
}

//! The summary for visitors: the main rows in a line each, and the number of kept promises.

use super::page::other;
use super::{Measure, Part};
use crate::cards::{EMPTY_VERB, SECURE_MAC};
use crate::ipsec::promised::STREAM as IPSEC_STREAM;
use crate::kit::digits::{figure, thousands};
use crate::kit::machine::Machine;
use crate::payments;
use crate::queues::promised::isolated_case;
use crate::tls::promised::FULL_RSA;
use std::fmt::Write;

/// Promises that are not kept are named up to this number.
const NAMED_MAX: usize = 6;

/// A line: the part, the beginning of the row's name, and the title.
type Line = (Part, String, &'static str);

/// The lines, where their rows were measured: the engine beside OpenSSL, what a card costs, a file beside gpg, a
/// server beside nginx, a tunnel beside libipsec, a card beside packages of payments.
fn lines() -> [Line; 11] {
    let engine = |case: &str, title| (Part::Engine, case.to_owned(), title);
    [
        engine("TDES-CBC encrypt, 512 streams of 4 KiB", "triple DES in CBC, 512 texts of 4 KiB at once"),
        engine(
            "TDES-CBC encrypt, 1 stream of 4 KiB",
            "the same of **one** text, in constant time beside tables in memory",
        ),
        engine("RSA-2048 private, CRT, 8 requests", "RSA-2048 private operations, 8 at once"),
        engine("SHA-256, 16 messages of 4 KiB", "SHA-256, 16 texts of 4 KiB at once"),
        (Part::Cards, EMPTY_VERB.to_owned(), "an empty request to a card and back, both awake"),
        (Part::Cards, SECURE_MAC.to_owned(), "X9.19 MACs of 64 bytes under secure keys, one card, 8 jobs"),
        (Part::Queues, isolated_case(1, 8, 1), "RSA-2048 in a card's process, one processor, 8 jobs"),
        (
            Part::Openpgp,
            "AES-128 GCM, encrypt: elapsed".to_owned(),
            "an OpenPGP file, AES-128 GCM, file to file",
        ),
        (
            Part::Tls,
            FULL_RSA.to_owned(),
            "full TLS 1.3 handshakes, RSA-2048 on a card, server and card together",
        ),
        (Part::Ipsec, IPSEC_STREAM.to_owned(), "one TCP stream through a tunnel of IPsec, AES-128-GCM"),
        (
            Part::Payments,
            payments::TRANSLATE.to_owned(),
            "PIN blocks translated under secure keys, one card, 64 outstanding",
        ),
    ]
}

/// The summary; of the engine's levels the first one measured counts.
pub(super) fn text(rows: &[Measure], machine: &Machine) -> String {
    let level = rows.iter().find(|row| row.part == Part::Engine).map_or("", |row| row.level.as_str());
    let mut out = format!("Measured on {}, {} processors", machine.processor, machine.processors_online);
    let _ = writeln!(out, "{}.\n", if level.is_empty() { String::new() } else { format!(", level {level}") });
    let of = |(part, case, _): &Line| {
        let is_meant = |row: &&Measure| row.part == *part && row.case.starts_with(case.as_str());
        rows.iter().find(|row| is_meant(row) && (*part != Part::Engine || row.level == level))
    };
    let shown: Vec<String> = lines().iter().filter_map(|line| Some(self::line(of(line)?, line.2))).collect();
    if !shown.is_empty() {
        let _ = writeln!(out, "| | here | beside | ratio |\n|---|---:|---|---:|\n{}\n", shown.join("\n"));
    }
    let promised: Vec<&Measure> = rows.iter().filter(|row| row.promise.is_some()).collect();
    let not_kept: Vec<&str> =
        promised.iter().filter(|row| !row.is_kept()).map(|row| row.case.as_str()).collect();
    let _ = write!(out, "**{} of {} promises are kept.**", promised.len() - not_kept.len(), promised.len());
    match not_kept.len() {
        0 => {}
        1..=NAMED_MAX => {
            let _ = write!(out, " Not kept: {}.", not_kept.join("; "));
        }
        _ => out.push_str(" The tables name those that are not."),
    }
    out.push('\n');
    out
}

/// A line with the ratio to OpenSSL if the row has it, else to the row's peer.
fn line(row: &Measure, title: &str) -> String {
    let openssl = other(row, super::plot::PEER).map(|other| (other.name.as_str(), other.ratio));
    let (peer, ratio) = match openssl.or_else(|| Some((row.peer.as_str(), row.ratio?))) {
        Some((peer, ratio)) => (peer, short(ratio)),
        None => ("", String::new()),
    };
    let ours = if row.ours >= 1000.0 { thousands(row.ours as u64) } else { figure(row.ours) };
    format!("| {title} | {ours} {} | {peer} | {ratio} |", row.unit)
}

/// A ratio with few digits.
fn short(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 10.0 => thousands(ratio.round() as u64),
        ratio if ratio >= 2.0 => format!("{ratio:.1}"),
        ratio => format!("{ratio:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::promise::{Other, Promise};

    fn machine() -> Machine {
        Machine { processor: "Some Processor".to_owned(), processors_online: 2, ..Machine::this() }
    }

    fn row(part: Part, case: &str, ours: f64) -> Measure {
        let level = if part == Part::Engine { "avx512".to_owned() } else { String::new() };
        Measure { part, level, ..Measure::alone(case, "MB/s", &[ours], Some(Promise::RatioAtLeast(3.0))) }
    }

    #[test]
    fn every_line_has_its_row() {
        let mut rows: Vec<Measure> = lines().iter().map(|(part, case, _)| row(*part, case, 2475.4)).collect();
        let openssl = Other { name: "OpenSSL".to_owned(), value: 40.0, ratio: 62.04, spread: None };
        rows[0] = Measure {
            others: vec![openssl],
            peer: "AWS-LC".to_owned(),
            ratio: Some(50.0),
            ..rows[0].clone()
        };
        rows[7] = Measure { peer: "gpg 2.4".to_owned(), ratio: Some(5.737), ..rows[7].clone() };
        // The same row at a level below does not count.
        rows.insert(0, Measure { level: "avx512".to_owned(), ..row(Part::Engine, "SHA-1", 1.0) });
        rows.push(Measure {
            level: "avx2".to_owned(),
            ..row(Part::Engine, "SHA-256, 16 messages of 4 KiB", 1.0)
        });
        let text = text(&rows, &machine());
        assert!(text.starts_with("Measured on Some Processor, 2 processors, level avx512.\n"), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("| ")).count(), 1 + lines().len(), "{text}");
        assert!(text.contains("at once | 2,475 MB/s | OpenSSL | 62 |"), "{text}");
        assert!(text.contains("file to file | 2,475 MB/s | gpg 2.4 | 5.7 |"), "{text}");
        assert!(
            text.contains("**2 of 13 promises are kept.** The tables name those that are not."),
            "{text}"
        );
    }

    #[test]
    fn a_part_alone_has_the_lines_of_that_part() {
        let kept = Measure { ratio: Some(3.5), ..row(Part::Queues, &isolated_case(1, 8, 1), 900.0) };
        let rows = [kept, row(Part::Queues, "another", 1.0)];
        let text = text(&rows, &machine());
        assert_eq!(text.matches("\n| ").count(), 2, "{text}");
        assert!(text.ends_with("**1 of 2 promises are kept.** Not kept: another.\n"), "{text}");
        assert!(super::text(&[], &machine()).ends_with("**0 of 0 promises are kept.**\n"));
    }
}

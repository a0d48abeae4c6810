//! What visitors read first: what is slower than other programs, the main rows in a line each, and the number of kept
//! promises.

use super::Part;
use super::data::{Peer, ProcessorKind, Row, name};
use super::terminal::figure;
use crate::cards::{EMPTY_VERB, SECURE_MAC};
use crate::ipsec::promised::STREAM as IPSEC_STREAM;
use crate::kit::digits::thousands;
use crate::payments;
use crate::queues::promised::isolated_case;
use crate::tls::promised::FULL_RSA;
use clap::ValueEnum;
use std::fmt::Write;

/// How the names of other people's programs and libraries begin.
const PROGRAMS: [&str; 14] = [
    "AWS-LC",
    "OpenSSL",
    "bcprov",
    "gpg",
    "ipsec-mb",
    "jPOS",
    "libipsec",
    "nginx",
    "psec",
    "pydukpt",
    "pyemv",
    "rPGP",
    "sq ",
    "strongSwan",
];
/// Further ones.
const PROGRAMS_BESIDE: [&str; 2] = ["the crate ", "wireguard-go"];
/// A ratio of speeds below this is called slower: nearer to 1 rounds differ as much.
const SLOWER: f64 = 0.97;

/// A line: the part, the beginning of the row's name, and the title.
type Line = (Part, String, &'static str);

/// The lines, where their rows were measured: the engine beside OpenSSL, what a card costs, a file beside gpg, a
/// server beside nginx, a tunnel beside libipsec, a card beside packages of payments.
fn lines() -> [Line; 13] {
    let engine = |case: &str, title| (Part::Engine, case.to_owned(), title);
    [
        engine("TDES-CBC encrypt, 512 streams of 4 KiB", "triple DES in CBC, 512 texts of 4 KiB at once"),
        engine(
            "TDES-CBC encrypt, 1 stream of 4 KiB",
            "the same of **one** text, in constant time beside tables in memory",
        ),
        engine("RSA-2048 private, CRT, 8 requests", "RSA-2048 private operations, 8 at once"),
        engine("SHA-256, 16 messages of 4 KiB", "SHA-256, 16 texts of 4 KiB at once"),
        engine("AES-128-GCM seal, 1 message of 4 KiB", "AES-128-GCM, one text of 4 KiB"),
        engine("AES-128-CTR, 1 stream of 4 KiB", "AES-128-CTR, one text of 4 KiB"),
        (Part::Cards, EMPTY_VERB.to_owned(), "an empty request to a card and back, both awake"),
        (Part::Cards, SECURE_MAC.to_owned(), "X9.19 MACs of 64 bytes under secure keys, one card, 8 jobs"),
        (Part::Queues, isolated_case(1, 8, 1), "RSA-2048 in a card's process, one processor, 8 jobs"),
        (
            Part::Openpgp,
            "AES-128 CFB + MDC, encrypt: elapsed".to_owned(),
            "an OpenPGP file, AES-128 CFB, two processors beside one",
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

/// How many times as fast as a peer the row is: the ratio of rates, or its inverse where less is better.
fn speed(row: &Row, ratio: f64) -> f64 {
    let is_rate = row.unit.contains("/s") || row.unit.contains("/processor s");
    if is_rate { ratio } else { 1.0 / ratio }
}

fn is_program(peer: &Peer) -> bool {
    PROGRAMS.iter().chain(&PROGRAMS_BESIDE).any(|name| peer.name.starts_with(name))
}

/// Whether a row is of the kind's own level, or of none.
fn is_own(kind: &ProcessorKind, row: &Row) -> bool {
    row.level.is_empty() || row.level == kind.level()
}

/// The programs that are faster than a row, with the speed over theirs.
fn faster<'a>(kind: &ProcessorKind, row: &'a Row) -> Vec<(&'a str, f64)> {
    let peers = row.peers.iter().filter(|peer| is_own(kind, row) && is_program(peer));
    let with_speed = peers.filter_map(|peer| Some((peer.name.as_str(), speed(row, peer.ratio?))));
    with_speed.filter(|(_, speed)| *speed < SLOWER).collect()
}

/// Every row that is slower than another program on some kind, with the programs.
pub(super) fn slower(kinds: &[ProcessorKind]) -> String {
    let mut out = "## What is slower than other programs\n\n".to_owned();
    let mut cases: Vec<(Part, &str)> = Vec::new();
    for part in Part::value_variants() {
        for kind in kinds {
            for row in kind.rows(*part).iter().filter(|row| !faster(kind, row).is_empty()) {
                if !cases.contains(&(*part, &row.case)) {
                    cases.push((*part, &row.case));
                }
            }
        }
    }
    if cases.is_empty() {
        out.push_str("No row.\n");
        return out;
    }
    out.push_str(
        "At the level of the kind, by more than 3 %; the figure is our speed over theirs. *Not slower* is beside the same \
         programs.\n\n",
    );
    let heads: String = kinds.iter().map(|kind| format!(" {} |", kind.kind)).collect();
    let _ = writeln!(out, "| measure | part |{heads}\n|---|---|{}", "---|".repeat(kinds.len()));
    for (part, case) in cases {
        let _ = write!(out, "| {case} | [{0}]({0}.md) |", name(part));
        for kind in kinds {
            let rows: Vec<&Row> =
                kind.rows(part).iter().filter(|row| row.case == case && is_own(kind, row)).collect();
            let mut said: Vec<String> = Vec::new();
            for (program, speed) in rows.iter().flat_map(|row| faster(kind, row)) {
                said.push(format!("{program} {}", short(speed)));
            }
            let cell = match (rows.is_empty(), said.is_empty()) {
                (true, _) => String::new(),
                (_, true) => "not slower".to_owned(),
                _ => said.join("; "),
            };
            let _ = write!(out, " {cell} |");
        }
        out.push('\n');
    }
    out
}

/// The summary: a line for each main row with the figures of each kind, and how many promises are kept.
pub(super) fn text(kinds: &[ProcessorKind]) -> String {
    let mut out = "## Summary\n\nIn each cell our figure, and ours over the one beside it.\n\n".to_owned();
    out.push_str(&table(kinds, true));
    out.push('\n');
    for kind in kinds {
        let verdicts: Vec<bool> =
            kind.parts.iter().flat_map(|part| &part.rows).filter_map(Row::is_kept).collect();
        let kept = verdicts.iter().filter(|kept| **kept).count();
        let _ = writeln!(out, "- {}: {kept} of {} promises are kept.", kind.kind, verdicts.len());
    }
    out
}

/// The main rows as a table; with our figures, or with ratios alone.
pub(super) fn table(kinds: &[ProcessorKind], with_figures: bool) -> String {
    let heads: String = kinds.iter().map(|kind| format!(" {} |", kind.kind)).collect();
    let mut out = format!("| | beside |{heads}\n|---|---|{}\n", "---:|".repeat(kinds.len()));
    for (part, case, title) in lines() {
        let find = |kind: &ProcessorKind| {
            let mut rows = kind.rows(part).iter();
            rows.find(|row| row.case.starts_with(case.as_str()) && is_own(kind, row)).cloned()
        };
        let rows: Vec<Option<Row>> = kinds.iter().map(find).collect();
        let Some(named) = rows.iter().flatten().next() else { continue };
        let beside = peer(named).map_or("", |peer| peer.name.as_str());
        let cells: Vec<String> = rows
            .iter()
            .map(|row| row.as_ref().map_or(String::new(), |row| cell(row, with_figures)))
            .collect();
        if with_figures || rows.iter().flatten().any(|row| peer(row).is_some()) {
            let _ = writeln!(out, "| {title} | {beside} | {} |", cells.join(" | "));
        }
    }
    out
}

/// The peer of a line: OpenSSL if the row has it, else the one that the promise is about.
fn peer(row: &Row) -> Option<&Peer> {
    let openssl = row.peers.iter().find(|peer| peer.name == super::plot::PEER);
    openssl.or_else(|| row.judge()).filter(|peer| peer.ratio.is_some())
}

fn cell(row: &Row, with_figures: bool) -> String {
    let ratio = peer(row).and_then(|peer| peer.ratio).map(short);
    if !with_figures {
        return ratio.unwrap_or_default();
    }
    let ours = if row.ours >= 1000.0 { thousands(row.ours.round() as u64) } else { figure(row.ours) };
    let ratio = ratio.map_or(String::new(), |ratio| format!("; **{ratio}**"));
    format!("{ours} {}{ratio}", row.unit)
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
    use crate::experiment::promise::Promise;
    use crate::promises::data::MeasuredPart;

    fn row(part: Part, case: &str, ours: f64, beside: &str, ratio: f64) -> Row {
        let level = if part == Part::Engine { "avx512".to_owned() } else { String::new() };
        let peer = Peer { name: beside.to_owned(), ratio: Some(ratio), judges: true, ..Peer::default() };
        Row {
            case: case.to_owned(),
            level,
            unit: "MB/s".to_owned(),
            ours,
            peers: vec![peer],
            promise: Some(Promise::RatioAtLeast(3.0)),
            ..Row::default()
        }
    }

    fn kind(name: &str, rows: Vec<(Part, Row)>) -> ProcessorKind {
        let mut kind = ProcessorKind { kind: name.to_owned(), ..ProcessorKind::default() };
        for (part, row) in rows {
            match kind.parts.iter_mut().find(|known| known.part == part) {
                Some(known) => known.rows.push(row),
                None => kind.parts.push(MeasuredPart { part, rows: vec![row], ..MeasuredPart::default() }),
            }
        }
        kind
    }

    #[test]
    fn every_line_has_its_row() {
        let rows = lines().map(|(part, case, _)| (part, row(part, &case, 2475.4, "gpg 2.4", 5.737)));
        let mut rows: Vec<(Part, Row)> = rows.into_iter().collect();
        let openssl = Peer { name: "OpenSSL".to_owned(), ratio: Some(62.04), ..Peer::default() };
        rows[0].1.peers.push(openssl);
        // The same row at a level below does not count.
        rows.push((
            Part::Engine,
            Row {
                level: "avx2".to_owned(),
                ..row(Part::Engine, "SHA-256, 16 messages of 4 KiB", 1.0, "", 1.0)
            },
        ));
        let kinds = [kind("a-avx512", rows), kind("b-avx512", Vec::new())];
        let text = text(&kinds);
        assert_eq!(text.lines().filter(|line| line.starts_with("| ")).count(), 1 + lines().len(), "{text}");
        assert!(text.contains("at once | OpenSSL | 2,475 MB/s; **62** |  |"), "{text}");
        assert!(text.contains("two processors beside one | gpg 2.4 | 2,475 MB/s; **5.7** |  |"), "{text}");
        assert!(text.contains("- a-avx512: 13 of 14 promises are kept."), "{text}");
        assert!(!table(&kinds, false).contains("2,475"));
    }

    #[test]
    fn what_is_slower_stands_by_kind() {
        let of = |name: &str, ratio| {
            let ours =
                Row { unit: "ns a packet".to_owned(), ..row(Part::Ipsec, "a packet", 9.0, "nginx 1", ratio) };
            let thread = row(Part::Ipsec, "threads", 1.0, "one thread", 0.5);
            let hash = row(Part::Engine, "hash", 1.0, "OpenSSL", ratio);
            kind(name, vec![(Part::Ipsec, ours), (Part::Ipsec, thread), (Part::Engine, hash)])
        };
        let text = slower(&[of("a-avx512", 0.5), of("b-avx512", 2.0), of("c-avx2", 0.5)]);
        assert!(text.contains("| hash | [engine](engine.md) | OpenSSL 0.50 | not slower |  |"), "{text}");
        // Of times, less is better; other threads of ours are no other program.
        assert!(
            text.contains("| a packet | [ipsec](ipsec.md) | not slower | nginx 1 0.50 | not slower |"),
            "{text}"
        );
        assert!(!text.contains("threads"), "{text}");
        assert!(slower(&[of("a-avx512", 0.98)]).ends_with("No row.\n"));
    }
}

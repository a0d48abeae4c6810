//! `make bench`: the measures that this project promises, as ratios taken in one run.
//!
//! Ten parts: [`cards`] (the way through facility and cards), [`cards::rates`] (one card as its jobs rise, beside
//! another build), [`queues::promised`] (cards that are full, shared, limited), [`faults`] (cards killed under load),
//! [`engine`](crate::engine) (the kernels beside other libraries), [`engine::timing`](crate::engine::timing) (whether
//! secrets show in the time of a call), [`openpgp::promised`] (files beside gpg, sq and rPGP), [`tls::promised`]
//! (servers with keys on cards beside nginx), [`ipsec::promised`] (tunnels beside libipsec and wireguard-go) and
//! [`payments`] (a card beside open packages). The engine is measured at the level of this process and, by processes of
//! this program held to them, at the levels below.

pub mod data;
mod kind;
pub mod pages;
mod plot;
mod summary;
mod terminal;
pub mod tree;

pub use crate::experiment::promise::{Measure, Options, Part, Promise};
pub use terminal::table;

use crate::experiment::groups;
use crate::experiment::growth::Series;
use crate::kit::machine;
use crate::load::{LabError, helper};
use crate::queues::promised::Effort;
use crate::{cards, engine, faults, ipsec, openpgp, payments, queues, tls};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The measures, and the conditions that they were made under.
#[derive(Clone, Debug, PartialEq)]
pub struct Measures {
    /// The measures.
    pub rows: Vec<Measure>,
    /// Load of the machine before the measures began.
    pub load_before: f64,
    /// The options of the run.
    pub options: Options,
}

impl std::ops::Deref for Measures {
    type Target = [Measure];

    fn deref(&self) -> &[Measure] {
        &self.rows
    }
}

/// What grows in the rows of growth, whichever part of the house they are of.
fn series() -> Vec<Series> {
    let of_cards = queues::promised::growth::SERIES.into_iter();
    of_cards.chain(tls::promised::growth::SERIES).chain(ipsec::promised::growth::SERIES).collect()
}

/// The most rounds of a row of a part, and the seconds that a side works in each.
fn effort(part: Part, options: &Options) -> (usize, f64) {
    let of_queues = |Effort { rounds, seconds }: Effort| (rounds, seconds);
    let of_groups = |groups::Effort { rounds, seconds }: groups::Effort| (rounds, seconds);
    match part {
        Part::Engine | Part::Timing => (options.rounds, options.seconds),
        Part::Cards => (cards::ROUNDS, cards::SECONDS),
        Part::Rates | Part::Queues => of_queues(Effort::of(options)),
        Part::Scale => of_queues(queues::promised::scale::effort(options)),
        Part::Kills => (1, options.kill_seconds),
        Part::Openpgp => (options.rounds.min(openpgp::promised::ROUNDS_MAX), options.seconds),
        Part::Tls => of_groups(tls::promised::effort(options)),
        Part::Ipsec => of_groups(ipsec::promised::effort(options)),
        Part::Payments => (options.rounds, payments::seconds(options)),
    }
}

/// Keeps what was measured in the file of this machine's kind below a folder, and writes the pages of all kinds.
///
/// # Errors
/// [`LabError::Io`].
pub fn write(measures: &Measures, folder: &Path) -> Result<(), LabError> {
    pages::write(&data::keep(measures, folder)?, folder)
}

/// Runs the measures that the options ask for; `progress` is told the name of the next.
///
/// # Errors
/// [`LabError`] of the first measure that fails; [`LabError::Interrupted`].
pub fn run(
    options: &Options,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(&str),
) -> Result<Measures, LabError> {
    let load_before = machine::load();
    let mut rows = Vec::new();
    if options.has(Part::Engine) {
        engine::run(options, stop, progress, &mut |row| rows.push(row))?;
    }
    if options.has(Part::Timing) {
        rows.extend(engine::timing::run(options, stop, progress)?);
    }
    if options.has(Part::Engine) && options.levels_below {
        for level in helper::levels_below() {
            rows.extend(engine::levels::bench_at(level, &options.below(), progress)?);
        }
    }
    if options.has(Part::Cards) && options.filter.is_none() {
        rows.extend(cards::run(stop, progress)?);
    }
    if options.has(Part::Rates) {
        rows.extend(cards::rates::run(options, stop, progress)?);
    }
    if options.has(Part::Queues) {
        rows.extend(queues::promised::run(options, stop, progress)?);
    }
    if options.has(Part::Scale) {
        rows.extend(queues::promised::scale::run(options, stop, progress)?);
        rows.extend(tls::promised::grow(options, stop, progress)?);
        rows.extend(ipsec::promised::grow(options, stop, progress)?);
    }
    if options.has(Part::Kills) && options.filter.is_none() {
        rows.extend(faults::run(options.kill_seconds, stop, progress)?);
    }
    if options.has(Part::Openpgp) {
        rows.extend(openpgp::promised::run(options, stop, progress)?);
    }
    if options.has(Part::Tls) {
        rows.extend(tls::promised::run(options, stop, progress)?);
    }
    if options.has(Part::Ipsec) {
        rows.extend(ipsec::promised::run(options, stop, progress)?);
    }
    if options.has(Part::Payments) {
        rows.extend(payments::run(options, stop, progress)?);
    }
    if stop.load(Ordering::Relaxed) {
        return Err(LabError::Interrupted);
    }
    Ok(Measures { rows, load_before, options: options.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::growth;
    use crate::experiment::promise::{Limit, Other};
    use std::fs;

    fn measures() -> Measures {
        let mac = Measure::alone(
            "mac",
            "ops/s",
            &[300_000.0, 400_000.0, 500_000.0],
            Some(Promise::Above(300_000.0)),
        );
        let rows = vec![
            mac.beside("one PCIXCC", 1000.0),
            Measure::alone("start", "ms", &[60.0], Some(Promise::Below(50.0))),
            Measure::alone("memory", "MiB", &[10.0], None),
        ];
        Measures { rows, load_before: 0.25, options: Options::default() }
    }

    #[test]
    fn promises_are_judged() {
        let [mac, start, memory] = measures().rows.try_into().unwrap();
        assert!(mac.is_kept() && !start.is_kept() && memory.is_kept());
        assert_eq!((mac.ratio, mac.spread), (Some(400.0), Some((300_000.0, 500_000.0))));
        let half = Measure { promise: Some(Promise::RatioAtLeast(0.5)), ratio: Some(0.49), ..memory };
        assert!(!half.is_kept());
        assert!(!Measure { ratio: None, ..half }.is_kept());
    }

    #[test]
    fn the_page_says_what_two_processors_show_of_growth() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/understand/queues.md");
        let text = fs::read_to_string(page).unwrap();
        let table = growth::table(&series(), 2);
        assert!(
            text.contains(&table),
            "docs/understand/queues.md is to have this table of what was measured on two processors:\n{table}"
        );
    }

    #[test]
    fn measures_are_printed_for_people_and_programs() {
        let text = table(&measures());
        assert!(text.contains("400000 ops/s") && text.contains("400.000 of one PCIXCC"), "{text}");
        assert!(text.contains("NOT KEPT"), "{text}");
        let json = serde_json::to_string(&measures().rows).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Measure>>(&json).unwrap(), measures().rows);
    }

    #[test]
    fn a_share_of_the_ports_is_judged_on_any_machine() {
        let row = Measure::alone("mac", "ops/s", &[90.0], Some(Promise::ShareAtLeast(0.8)));
        assert!(!row.is_kept(), "no limit was measured");
        assert!(table_of(row.clone()).contains("share of the ports >= 0.8: NOT KEPT, no limit was measured"));
        let limited =
            |value: f64| Measure { limit: Some(Limit { value, share: 90.0 / value }), ..row.clone() };
        assert!(limited(100.0).is_kept() && !limited(200.0).is_kept());
        assert!(table_of(limited(100.0)).contains("share of the ports >= 0.8: kept"));
    }

    fn table_of(row: Measure) -> String {
        table(&Measures { rows: vec![row], load_before: 0.0, options: Options::default() })
    }

    #[test]
    fn what_was_measured_is_kept_and_its_pages_are_written() {
        let folder = tempfile::tempdir().unwrap();
        write(&measures(), folder.path()).unwrap();
        let row = Measure { part: Part::Kills, ..Measure::alone("back", "ms", &[30.0], None) };
        let options = Options { only: Some(Part::Kills), ..Options::default() };
        write(&Measures { rows: vec![row], options, ..measures() }, folder.path()).unwrap();
        let page = |name: &str| fs::read_to_string(folder.path().join("docs/measured").join(name)).unwrap();
        assert!(page("kills.md").contains("| back | 30.0 ms (30.0 to 30.0) |"));
        let cards = page("cards.md");
        let line = "| mac | 400000 ops/s (300000 to 500000) | one PCIXCC 1000: 400.0 | > 300000: kept |";
        assert!(cards.contains(line), "{cards}");
        assert!(page("performance.md").contains("[kills](kills.md)"));
    }

    #[test]
    fn engine_rows_show_whom_they_are_judged_by() {
        let other =
            |name: &str, ratio| Other { name: name.to_owned(), value: 1.0, ratio, ..Other::default() };
        let row = Measure {
            part: Part::Engine,
            level: "avx2".to_owned(),
            others: vec![other("OpenSSL", 5.4321), other("AWS-LC", 12.345)],
            limit: Some(Limit { value: 200.0, share: 0.594 }),
            ..Measure::alone("hash", "MB/s", &[118.8], Some(Promise::RatioAtLeast(3.8)))
        };
        let judged = Measure { peer: "OpenSSL".to_owned(), ratio: Some(5.4321), ..row.clone() };
        let alone = Measure { peer: "OpenSSL".to_owned(), others: Vec::new(), ..row };
        let rows = vec![judged, alone, Measure::note("OpenSSL 3 is not here", "avx2")];
        let text = table(&Measures { rows, load_before: 0.0, options: Options::default() });
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(lines[1].starts_with(&["The", "engine", "at", "level", "avx2:"]));
        assert_eq!(lines[2], ["operation", "engine", "OpenSSL", "AWS-LC", "ipsec-mb", "ports", "promised"]);
        let figures =
            ["hash", "118.8", "MB/s", "5.432*", "12.3", "-", "59", "%", "ratio", ">=", "3.8:", "kept"];
        assert_eq!(lines[3], figures);
        assert!(text.contains("ratio >= 3.8: NOT KEPT, OpenSSL is missing\n"), "{text}");
        assert!(text.ends_with("OpenSSL 3 is not here (avx2)\n"));
    }
}

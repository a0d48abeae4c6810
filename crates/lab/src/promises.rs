//! `make bench`: the measures that this project promises, as ratios taken in one run.
//!
//! Ten parts: [`cards`] (the way through facility and cards), [`cards::rates`] (one card as its jobs rise, beside
//! another build), [`queues::promised`] (cards that are full, shared, limited), [`faults`] (cards killed under load),
//! [`engine`](crate::engine) (the kernels beside other libraries), [`engine::timing`](crate::engine::timing) (whether
//! secrets show in the time of a call), [`openpgp::promised`] (files beside gpg, sq and rPGP), [`tls::promised`]
//! (servers with keys on cards beside nginx), [`ipsec::promised`] (tunnels beside libipsec and wireguard-go) and
//! [`payments`] (a card beside open packages). The engine is measured at the level of this process and, by processes of
//! this program held to them, at the levels below.

mod page;
mod plot;
mod summary;

pub use crate::experiment::promise::{Measure, Options, Part, Promise};
pub use page::{table, write};

use crate::experiment::growth::Series;
use crate::kit::machine;
use crate::load::{LabError, helper};
use crate::{cards, engine, faults, ipsec, openpgp, payments, queues, tls};
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
    /// When the rows of unmeasured parts were written, in seconds since 1970; none if there are no such rows.
    pub earlier_unix_seconds: Option<u64>,
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
    Ok(Measures { rows, load_before, options: options.clone(), earlier_unix_seconds: None })
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
        Measures { rows, load_before: 0.25, options: Options::default(), earlier_unix_seconds: None }
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
    fn measures_are_written_for_people_and_programs() {
        let folder = tempfile::tempdir().unwrap();
        write(&measures(), folder.path()).unwrap();
        let json = fs::read_to_string(folder.path().join("target/performance.json")).unwrap();
        let rows: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
        assert_eq!(rows.len(), 3);
        for key in ["case", "ours", "unit", "peer", "peer_value", "ratio"] {
            assert!(rows[0].get(key).is_some(), "{key}");
        }
        assert_eq!(serde_json::from_str::<Vec<Measure>>(&json).unwrap(), measures().rows);
        let page = fs::read_to_string(folder.path().join("docs/measured/performance.md")).unwrap();
        assert!(page.contains(
            "| mac | 400000 ops/s | 300000 to 500000 | one PCIXCC | 1000 | 400.000 | > 300000: kept |"
        ));
        assert!(page.contains("**not kept**") && page.contains("Load before: 0.25"));
        assert!(table(&measures()).contains("NOT KEPT"));
    }

    #[test]
    fn one_part_alone_leaves_the_rows_of_the_others() {
        let folder = tempfile::tempdir().unwrap();
        write(&measures(), folder.path()).unwrap();
        let row = Measure { part: Part::Kills, ..Measure::alone("back", "ms", &[30.0], None) };
        let options = Options { only: Some(Part::Kills), ..Options::default() };
        for _ in 0..2 {
            let measures = Measures { rows: vec![row.clone()], options: options.clone(), ..measures() };
            write(&measures, folder.path()).unwrap();
        }
        let json = fs::read_to_string(folder.path().join("target/performance.json")).unwrap();
        let rows: Vec<Measure> = serde_json::from_str(&json).unwrap();
        assert_eq!(
            rows.iter().map(|row| row.case.as_str()).collect::<Vec<_>>(),
            ["mac", "start", "memory", "back"]
        );
        let page = fs::read_to_string(folder.path().join("docs/measured/performance.md")).unwrap();
        assert!(page.contains("the part Kills. The others are of an earlier run"));
    }

    #[test]
    fn one_part_alone_leaves_a_page_whose_rows_are_not_at_hand() {
        let folder = tempfile::tempdir().unwrap();
        write(&measures(), folder.path()).unwrap();
        let path = folder.path().join("docs/measured/performance.md");
        let earlier = fs::read_to_string(&path).unwrap();
        let other = |name: &str, value, ratio| Other { name: name.to_owned(), value, ratio, spread: None };
        for rate in [70_000.0, 80_000.0] {
            // Rows of the other parts are removed, as on a machine that never measured them.
            fs::remove_file(folder.path().join("target/performance.json")).unwrap();
            let row = Measure {
                part: Part::Payments,
                stretch: Some(75_000.0),
                others: vec![
                    other("psec 1", 3_000.0, 25.0),
                    other("jPOS is missing: install it", 0.0, 0.0),
                    other("published, two cards", 2_144.0, 35.0),
                ],
                ..Measure::alone("PIN", "ops/s", &[rate], Some(Promise::AtLeast(75_000.0)))
            };
            let options = Options { only: Some(Part::Payments), ..Options::default() };
            write(&Measures { rows: vec![row], options, ..measures() }, folder.path()).unwrap();
        }
        let page = fs::read_to_string(&path).unwrap();
        assert!(page.starts_with(earlier.trim_end()), "{page}");
        assert_eq!(page.matches("\n## Payments\n\nMeasured by itself on ").count(), 1, "{page}");
        assert!(page.contains("1 of 1 promises of this part are kept.\n"), "{page}");
        let cells = "| 80000 ops/s | 80000 to 80000 | >= 75000: kept | 75000: reached | 2144 | psec 1: 3000, ratio 25.0; \
                     jPOS is missing: install it |";
        assert!(page.contains(cells) && !page.contains("70000"), "{page}");
    }

    #[test]
    fn engine_rows_show_whom_they_are_judged_by() {
        let other = |name: &str, ratio| Other { name: name.to_owned(), value: 1.0, ratio, spread: None };
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
        let text = table(&Measures {
            rows,
            load_before: 0.0,
            options: Options::default(),
            earlier_unix_seconds: None,
        });
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

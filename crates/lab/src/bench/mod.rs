//! `make bench`: the measures that this house promises, as ratios taken in one run.
//!
//! Seven parts: [`cards`] (the way through facility and cards), [`rates`] (one card as its jobs rise, beside
//! another build), [`queues`] (cards that are full, shared, limited), [`kills`] (cards killed under load), [`engine`] (the kernels beside other libraries), [`timing`]
//! (whether secrets show in the time of a call) and [`openpgp::bench`](crate::openpgp::bench) (files beside gpg,
//! sq and rPGP). The engine is measured at the level
//! of this process and, by processes of this program held to them, at the levels below.

pub mod cards;
pub mod engine;
pub mod kills;
mod page;
mod plot;
pub mod queues;
pub mod rates;
pub mod timing;

pub use page::{table, write};

use crate::helper;
use crate::machine;
use crate::openpgp;
use crate::statistics::{Summary, median};
use crate::workload::LabError;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One measure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Measure {
    /// What is measured.
    pub case: String,
    /// Our figure: the median of the runs.
    pub ours: f64,
    /// Unit of all figures; empty for a remark without any.
    pub unit: String,
    /// What it is compared with; empty where with nothing.
    pub peer: String,
    /// The figure of that.
    pub peer_value: Option<f64>,
    /// Ours over the peer's: the median of the rounds.
    pub ratio: Option<f64>,
    /// The runs of ours, as smallest and largest.
    pub spread: Option<(f64, f64)>,
    /// What is promised; none for figures stated for the record.
    pub promise: Option<Promise>,
    /// The ratio that is hoped for.
    pub stretch: Option<f64>,
    /// Which part it belongs to.
    pub part: Part,
    /// The engine's level, where it was measured at one.
    pub level: String,
    /// Every other library of the row.
    pub others: Vec<Other>,
    /// What the ports of the core allow.
    pub limit: Option<Limit>,
    /// The smallest and the largest ratio of a round, where they are kept.
    pub ratio_spread: Option<(f64, f64)>,
    /// What bounds the figure, for people; empty where nothing is said.
    pub bound: String,
}

/// Another library in a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Other {
    /// Its name.
    pub name: String,
    /// Its figure.
    pub value: f64,
    /// Ours over it: the median of the rounds.
    pub ratio: f64,
    /// Its smallest and largest run.
    pub spread: Option<(f64, f64)>,
}

/// A port limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// In the unit of the row.
    pub value: f64,
    /// Our figure over it.
    pub share: f64,
}

/// What is promised of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Promise {
    /// The ratio is at least this.
    RatioAtLeast(f64),
    /// The ratio is at most this.
    RatioAtMost(f64),
    /// Our figure is at least this.
    AtLeast(f64),
    /// Our figure is above this.
    Above(f64),
    /// Our figure is below this.
    Below(f64),
}

/// A part of the bench.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Facility and cards.
    #[default]
    Cards,
    /// The engine beside other libraries.
    Engine,
    /// Whether secrets show in time.
    Timing,
    /// Cards that are full, shared, limited, unequal or lonely.
    Queues,
    /// Cards killed under load.
    Kills,
    /// OpenPGP files beside gpg, sq and rPGP.
    Openpgp,
    /// One card as its jobs rise, beside another build.
    Rates,
}

/// What to measure, and how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Only this part; none for all.
    pub only: Option<Part>,
    /// Only measures whose name holds this, upper or lower case; cards are measured as a whole.
    pub filter: Option<String>,
    /// Rounds of each row of engine and queues.
    pub rounds: usize,
    /// Seconds that each side of an engine row works in each round; a side of a queue row works five times
    /// as long. OpenPGP: the share of the whole text that this is of the usual time.
    pub seconds: f64,
    /// Whether the levels below this process's own are measured too.
    pub levels_below: bool,
    /// How long cards are killed, in seconds.
    pub kill_seconds: f64,
    /// Folder with the programs of another build, which the rates of this one are set beside.
    pub beside: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            only: None,
            filter: None,
            rounds: 7,
            seconds: 0.1,
            levels_below: true,
            kill_seconds: kills::SECONDS,
            beside: None,
        }
    }
}

impl Options {
    /// Rounds of the engine rows at a level below: what is looked at there are orders of magnitude.
    const ROUNDS_BELOW: usize = 3;
    /// Seconds likewise.
    const SECONDS_BELOW: f64 = 0.03;

    /// Whether a measure of this name is wanted.
    pub fn wants(&self, case: &str) -> bool {
        let case = case.to_lowercase();
        self.filter.as_ref().is_none_or(|filter| case.contains(&filter.to_lowercase()))
    }

    fn has(&self, part: Part) -> bool {
        self.only.is_none_or(|only| only == part)
    }

    fn below(&self) -> Self {
        Self {
            rounds: self.rounds.min(Self::ROUNDS_BELOW),
            seconds: self.seconds.min(Self::SECONDS_BELOW),
            ..self.clone()
        }
    }
}

impl Measure {
    fn alone(case: &str, unit: &str, runs: &[f64], promise: Option<Promise>) -> Self {
        Self {
            case: case.to_owned(),
            ours: median(runs),
            unit: unit.to_owned(),
            spread: Summary::of(runs).map(|summary| (summary.min, summary.max)),
            promise,
            ..Self::default()
        }
    }

    fn beside(self, peer: &str, peer_value: f64) -> Self {
        let ratio = (peer_value > 0.0).then(|| self.ours / peer_value);
        Self { peer: peer.to_owned(), peer_value: Some(peer_value), ratio, ..self }
    }

    /// A remark among the measures of the engine.
    fn note(text: &str, level: &str) -> Self {
        Self { case: text.to_owned(), level: level.to_owned(), part: Part::Engine, ..Self::default() }
    }

    /// Whether it is a remark without a figure.
    pub fn is_note(&self) -> bool {
        self.unit.is_empty()
    }

    /// Whether the promise is kept; true where there is none. A ratio whose peer is missing is not kept.
    pub fn is_kept(&self) -> bool {
        match self.promise {
            None => true,
            Some(Promise::RatioAtLeast(least)) => self.ratio.is_some_and(|ratio| ratio >= least),
            Some(Promise::RatioAtMost(most)) => self.ratio.is_some_and(|ratio| ratio <= most),
            Some(Promise::AtLeast(least)) => self.ours >= least,
            Some(Promise::Above(bound)) => self.ours > bound,
            Some(Promise::Below(bound)) => self.ours < bound,
        }
    }
}

/// The measures with what they were made under.
#[derive(Clone, Debug, PartialEq)]
pub struct Measures {
    /// The measures.
    pub rows: Vec<Measure>,
    /// Load of the machine before they began.
    pub load_before: f64,
    /// How they were made.
    pub options: Options,
    /// When the rows of parts that were not measured now were written, if there are any.
    pub earlier_unix_seconds: Option<u64>,
}

impl std::ops::Deref for Measures {
    type Target = [Measure];

    fn deref(&self) -> &[Measure] {
        &self.rows
    }
}

/// Runs what is asked for; `progress` is told what comes next.
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
        rows.extend(timing::run(options, stop, progress)?);
    }
    if options.has(Part::Engine) && options.levels_below {
        for level in helper::levels_below() {
            rows.extend(helper::bench_at(level, &options.below(), progress)?);
        }
    }
    if options.has(Part::Cards) && options.filter.is_none() {
        rows.extend(cards::run(stop, progress)?);
    }
    if options.has(Part::Rates) {
        rows.extend(rates::run(options, stop, progress)?);
    }
    if options.has(Part::Queues) {
        rows.extend(queues::run(options, stop, progress)?);
    }
    if options.has(Part::Kills) && options.filter.is_none() {
        rows.extend(kills::run(options.kill_seconds, stop, progress)?);
    }
    if options.has(Part::Openpgp) {
        rows.extend(openpgp::bench::run(options, stop, progress)?);
    }
    if stop.load(Ordering::Relaxed) {
        return Err(LabError::Interrupted);
    }
    Ok(Measures { rows, load_before, options: options.clone(), earlier_unix_seconds: None })
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let page = fs::read_to_string(folder.path().join("docs/performance.md")).unwrap();
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
        let page = fs::read_to_string(folder.path().join("docs/performance.md")).unwrap();
        assert!(page.contains("the part Kills. The others are of an earlier run"));
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

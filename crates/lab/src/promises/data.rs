//! What was measured on a kind of processor: `docs/measured/KIND.json`, which pages are made of.
//!
//! A file has the kind (see [`kind`](super::kind)), the machine, and the parts. A part has the revision that was
//! measured, the date, the load before it, its rounds and seconds, the rooms whose code it measures, and its rows:
//! name, unit, our figure with its spread, each peer with its figure and the ratio, the limit of the ports, what bounds
//! the figure, and the promise. A run replaces the parts that it measured, and leaves the others.

use super::{Measure, Measures, Part, Promise, kind, tree};
use crate::experiment::promise::Limit;
use crate::kit::machine::{Machine, unix_seconds, utc_text};
use crate::load::LabError;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Folder of the files and pages, below that of the tree.
pub const FOLDER: &str = "docs/measured";

/// What was measured on a kind of processor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessorKind {
    /// Name of the kind, and of its file.
    pub kind: String,
    /// The processor, as the system names it.
    pub processor: String,
    /// Processors that were online.
    pub processors: usize,
    /// Memory in GiB; 0 if it was not noted.
    pub memory_gib: f64,
    /// Distribution and kernel.
    pub system: String,
    /// The parts, in the order of the bench.
    pub parts: Vec<MeasuredPart>,
}

/// A part of the bench, as it was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredPart {
    /// The part.
    pub part: Part,
    /// The commit of the tree, with `+` where a tracked file differed from it; none outside of git.
    pub revision: Option<String>,
    /// When it was measured, as `2026-11-21 22:15 UTC`.
    pub date: String,
    /// Load of the machine before.
    pub load: f64,
    /// Rounds of each row, the most.
    pub rounds: usize,
    /// Seconds that a side works in a round.
    pub seconds: f64,
    /// The crates whose code the part measures.
    pub rooms: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A row of a part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Row {
    /// Name of the measure, or the text of a remark.
    pub case: String,
    /// Level of the engine; empty if the row is not tied to one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub level: String,
    /// Unit of all figures; empty for a remark.
    pub unit: String,
    /// Our figure: the median of the rounds.
    pub ours: f64,
    /// The smallest and the largest round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<(f64, f64)>,
    /// The others, the one that the promise is about among them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<Peer>,
    /// The limit of the ports, and our share of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// What bounds the figure.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub bound: String,
    /// The promise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promise: Option<Promise>,
    /// The figure hoped for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stretch: Option<f64>,
}

/// Another side of a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Peer {
    /// Its name and version, or the text that it is missing.
    pub name: String,
    /// Its figure, in the unit of the row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Our figure over it: the median of the rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// The smallest and the largest ratio of a round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<(f64, f64)>,
    /// Whether the promise is about this one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub judges: bool,
}

/// A figure with the digits that it is kept with.
fn kept(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

fn kept_both((low, high): (f64, f64)) -> (f64, f64) {
    (kept(low), kept(high))
}

impl Row {
    /// The row of a measure.
    pub fn of(measure: &Measure) -> Self {
        let judge = Peer {
            name: measure.peer.clone(),
            value: measure.peer_value.map(kept),
            ratio: measure.ratio.map(kept),
            spread: measure.ratio_spread.map(kept_both),
            judges: true,
        };
        let mut peers: Vec<Peer> = measure
            .others
            .iter()
            .map(|other| Peer {
                name: other.name.clone(),
                value: (other.value > 0.0).then_some(kept(other.value)),
                ratio: (other.ratio > 0.0).then_some(kept(other.ratio)),
                spread: other.ratio_spread.map(kept_both),
                judges: false,
            })
            .collect();
        match peers.iter_mut().find(|peer| peer.name == judge.name) {
            Some(peer) => peer.judges = true,
            None if judge.name.is_empty() => {}
            None => peers.insert(0, judge),
        }
        Self {
            case: measure.case.clone(),
            level: measure.level.clone(),
            unit: measure.unit.clone(),
            ours: kept(measure.ours),
            spread: measure.spread.map(kept_both),
            peers,
            limit: measure.limit.map(|limit| Limit { value: kept(limit.value), share: kept(limit.share) }),
            bound: measure.bound.clone(),
            promise: measure.promise,
            stretch: measure.stretch,
        }
    }

    /// Whether this is a remark without a figure.
    pub fn is_note(&self) -> bool {
        self.unit.is_empty()
    }

    /// The peer that the promise is about.
    pub fn judge(&self) -> Option<&Peer> {
        self.peers.iter().find(|peer| peer.judges)
    }

    /// Whether the promise is kept; none without a promise.
    pub fn is_kept(&self) -> Option<bool> {
        let ratio = self.judge().and_then(|peer| peer.ratio);
        Some(self.promise?.is_kept(self.ours, ratio, self.limit))
    }

    /// What tells the rows of a part apart.
    pub fn key(&self) -> (&str, &str, &str) {
        (&self.case, &self.level, self.judge().map_or("", |peer| peer.name.as_str()))
    }

    fn check(&self) -> Result<(), String> {
        let is_between = |value: f64, spread: Option<(f64, f64)>| {
            spread.is_none_or(|(low, high)| low <= value && value <= high)
        };
        if self.case.is_empty() {
            return Err("it has no name (`case`)".to_owned());
        }
        if !is_between(self.ours, self.spread) {
            return Err(format!("`ours` is {}, outside of its own `spread`", self.ours));
        }
        for peer in &self.peers {
            if peer.ratio.is_some_and(|ratio| ratio <= 0.0 || !is_between(ratio, peer.spread)) {
                return Err(format!("the `ratio` to {} is no ratio, or outside of its `spread`", peer.name));
            }
        }
        Ok(())
    }
}

impl MeasuredPart {
    /// The name of the part, as `--only` takes it.
    pub fn name(&self) -> String {
        name(self.part)
    }

    /// The revision in eight digits, with `+` if the tree differed from it.
    pub fn short_revision(&self) -> String {
        let Some(revision) = &self.revision else { return "no revision".to_owned() };
        let mark = if revision.ends_with('+') { "+" } else { "" };
        format!("{}{mark}", revision.chars().take(8).collect::<String>().trim_end_matches('+'))
    }
}

impl ProcessorKind {
    /// The rows of a part.
    pub fn rows(&self, part: Part) -> &[Row] {
        self.parts.iter().find(|measured| measured.part == part).map_or(&[], |measured| &measured.rows)
    }

    /// Level of the engine, the last word of the name.
    pub fn level(&self) -> &str {
        self.kind.rsplit('-').next().unwrap_or_default()
    }

    /// Reads a file's text.
    ///
    /// # Errors
    /// A text that names the part and the row, or line and column, and how the part is written anew.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut file: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let parts = file.get_mut("parts").map(Value::take).unwrap_or_default();
        let Value::Array(parts) = parts else { return Err("it has no list `parts`".to_owned()) };
        file["parts"] = Value::Array(Vec::new());
        let mut kind: Self = serde_json::from_value(file).map_err(|error| error.to_string())?;
        for part in parts {
            kind.parts.push(parse_part(part)?);
        }
        Ok(kind)
    }

    /// The text of the file: a line for each row, so that what changes can be read.
    pub fn text(&self) -> Result<String, serde_json::Error> {
        let head = Self { parts: Vec::new(), ..self.clone() };
        let mut parts = Vec::new();
        for part in &self.parts {
            let rows: Result<Vec<String>, _> = part.rows.iter().map(serde_json::to_string).collect();
            let bare = serde_json::to_string(&MeasuredPart { rows: Vec::new(), ..part.clone() })?;
            let bare = bare.trim_end_matches("[]}");
            parts.push(format!("{bare}[\n{}\n]}}", rows?.join(",\n")));
        }
        let head = serde_json::to_string(&head)?;
        Ok(format!("{}[\n{}\n]}}\n", head.trim_end_matches("[]}"), parts.join(",\n")))
    }
}

/// The name of a part, as `--only` takes it.
pub fn name(part: Part) -> String {
    serde_json::to_value(part).ok().and_then(|value| Some(value.as_str()?.to_owned())).unwrap_or_default()
}

fn parse_part(mut value: Value) -> Result<MeasuredPart, String> {
    let name = value["part"].as_str().unwrap_or("without a name").to_owned();
    let anew = format!("`cryptand bench --only {name} --write .` writes the part anew");
    let rows = value.get_mut("rows").map(Value::take).unwrap_or_default();
    let Value::Array(rows) = rows else { return Err(format!("part {name}: it has no list `rows`; {anew}")) };
    value["rows"] = Value::Array(Vec::new());
    let mut part: MeasuredPart =
        serde_json::from_value(value).map_err(|error| format!("part {name}: {error}; {anew}"))?;
    let mut seen = HashSet::new();
    for (index, row) in rows.into_iter().enumerate() {
        let case = row["case"].as_str().unwrap_or("without a name").to_owned();
        let at = |error: String| format!("part {name}, row {} ({case}): {error}; {anew}", index + 1);
        let row: Row = serde_json::from_value(row).map_err(|error| at(error.to_string()))?;
        row.check().map_err(at)?;
        let (case, level, judge) = row.key();
        if !seen.insert([case, level, judge].map(str::to_owned)) {
            return Err(at("there is another row of this name, level and peer".to_owned()));
        }
        part.rows.push(row);
    }
    Ok(part)
}

/// Every file of a tree, by name.
///
/// # Errors
/// [`LabError::Io`], which names file, part and row.
pub fn read_all(folder: &Path) -> Result<Vec<ProcessorKind>, LabError> {
    let what = "read what was measured";
    let mut kinds = Vec::new();
    let entries = match fs::read_dir(folder.join(FOLDER)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(kinds),
        Err(error) => return Err(LabError::io(what)(error)),
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    for path in paths {
        kinds.push(read(&path)?);
    }
    Ok(kinds)
}

fn read(path: &Path) -> Result<ProcessorKind, LabError> {
    let what = "read what was measured";
    let says = |text: String| LabError::io(what)(io::Error::other(format!("{}: {text}", path.display())));
    let text = fs::read_to_string(path).map_err(|error| says(error.to_string()))?;
    let kind = ProcessorKind::parse(&text).map_err(says)?;
    if path.file_stem().is_none_or(|stem| stem != kind.kind.as_str()) {
        return Err(says(format!("it says that it is of the kind {}; name the file so", kind.kind)));
    }
    Ok(kind)
}

/// Puts the measured parts into this kind's file below a folder, leaves the others, and gives all kinds.
///
/// # Errors
/// [`LabError::Io`]: also if the file that is there cannot be read, so that nothing measured is lost.
pub fn keep(measures: &Measures, folder: &Path) -> Result<Vec<ProcessorKind>, LabError> {
    let what = "write what was measured";
    let machine = Machine::this();
    let level = engine::LibraryFeatures::read().level().name();
    let name = kind::this(level);
    let path = folder.join(FOLDER).join(format!("{name}.json"));
    let earlier = if path.exists() { read(&path)?.parts } else { Vec::new() };
    let mut kind = ProcessorKind {
        kind: name,
        processor: machine.processor,
        processors: machine.processors_online,
        memory_gib: kept((machine.memory_bytes as f64 / f64::from(1 << 30) * 10.0).round() / 10.0),
        system: format!("{}, Linux {}", machine.system, machine.kernel),
        parts: earlier,
    };
    for part in Part::value_variants().iter().copied() {
        let rows: Vec<Row> = measures.iter().filter(|row| row.part == part).map(Row::of).collect();
        if rows.iter().all(Row::is_note) {
            continue;
        }
        let (rounds, seconds) = super::effort(part, &measures.options);
        let measured = MeasuredPart {
            part,
            revision: tree::revision(folder),
            date: utc_text(unix_seconds()),
            load: measures.load_before,
            rounds,
            seconds,
            rooms: rooms(part).iter().map(|&room| room.to_owned()).collect(),
            rows,
        };
        match kind.parts.iter_mut().find(|earlier| earlier.part == part) {
            Some(earlier) => *earlier = measured,
            None => kind.parts.push(measured),
        }
    }
    let place = |part: Part| Part::value_variants().iter().position(|known| *known == part);
    kind.parts.sort_by_key(|measured| place(measured.part));
    let text = kind.text().map_err(LabError::io(what))?;
    fs::create_dir_all(folder.join(FOLDER)).map_err(LabError::io(what))?;
    fs::write(path, text).map_err(LabError::io(what))?;
    read_all(folder)
}

/// The rooms whose code a part measures.
pub fn rooms(part: Part) -> &'static [&'static str] {
    const CARDS: &[&str] = &["card", "cca", "engine", "facility", "link"];
    match part {
        Part::Engine | Part::Timing => &["engine"],
        Part::Cards | Part::Rates | Part::Queues => CARDS,
        Part::Scale => &["card", "cca", "engine", "facility", "ipsec", "link", "plane", "terminator", "tls"],
        Part::Kills => &["card", "daemon", "facility", "link"],
        Part::Openpgp => &["deflate", "engine", "openpgp", "pipeline"],
        Part::Tls => &["card", "engine", "facility", "link", "terminator", "tls"],
        Part::Ipsec => &["engine", "esp", "ipsec", "plane", "xfrm"],
        Part::Payments => &["card", "cca", "engine", "facility", "link", "payments"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::Options;

    fn kind() -> ProcessorKind {
        let row = Row {
            case: "hash".to_owned(),
            unit: "MB/s".to_owned(),
            ours: 10.0,
            spread: Some((9.0, 11.0)),
            peers: vec![Peer {
                name: "OpenSSL".to_owned(),
                ratio: Some(0.5),
                judges: true,
                ..Peer::default()
            }],
            promise: Some(Promise::RatioAtLeast(0.4)),
            ..Row::default()
        };
        let part = MeasuredPart { part: Part::Engine, rows: vec![row], ..MeasuredPart::default() };
        ProcessorKind { kind: "a-avx2".to_owned(), parts: vec![part], ..ProcessorKind::default() }
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let text = kind().text().unwrap();
        assert_eq!(ProcessorKind::parse(&text).unwrap(), kind());
        assert!(
            text.lines().any(|line| line.starts_with("{\"case\":\"hash\",")),
            "a line for each row: {text}"
        );
        assert_eq!(kind().parts[0].rows[0].is_kept(), Some(true));
    }

    #[test]
    fn damage_is_named_with_part_and_row() {
        let text = kind().text().unwrap();
        for (from, to, says) in [
            ("\"ours\":10.0", "\"ours\":\"ten\"", "part engine, row 1 (hash): invalid type"),
            ("\"ours\":10.0", "\"ours\":12.0", "part engine, row 1 (hash): `ours` is 12, outside"),
            ("\"ratio\":0.5", "\"ratio\":-1.0", "part engine, row 1 (hash): the `ratio` to OpenSSL"),
            ("\"unit\"", "\"units\"", "part engine, row 1 (hash): unknown field `units`"),
            ("\"part\":\"engine\"", "\"part\":\"motor\"", "part motor: unknown variant"),
            ("\"rows\"", "\"lines\"", "part engine: it has no list `rows`"),
        ] {
            assert!(text.contains(from), "{from}");
            let error = ProcessorKind::parse(&text.replace(from, to)).unwrap_err();
            assert!(error.starts_with(says), "{error}");
            assert!(error.contains("`cryptand bench --only "), "what to do: {error}");
        }
        assert!(ProcessorKind::parse(&text[..40]).unwrap_err().contains("line 1 column 40"));
        let mut twice = kind();
        let row = twice.parts[0].rows[0].clone();
        twice.parts[0].rows.push(row);
        let error = ProcessorKind::parse(&twice.text().unwrap()).unwrap_err();
        assert!(error.starts_with("part engine, row 2 (hash): there is another row"), "{error}");
    }

    #[test]
    fn errors_name_the_file_and_a_damaged_one_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let row = Measure { part: Part::Kills, ..Measure::alone("back", "ms", &[30.0], None) };
        let measures = Measures { rows: vec![row], load_before: 0.5, options: Options::default() };
        let kinds = keep(&measures, folder.path()).unwrap();
        let path = folder.path().join(FOLDER).join(format!("{}.json", kinds[0].kind));
        let damaged = fs::read_to_string(&path).unwrap().replace("30.0", "thirty");
        fs::write(&path, &damaged).unwrap();
        let error = keep(&measures, folder.path()).unwrap_err().to_string();
        assert!(error.contains(&path.display().to_string()) && error.contains("line "), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), damaged);
        let other = path.with_file_name("other-avx2.json");
        fs::write(&other, kind().text().unwrap()).unwrap();
        fs::remove_file(&path).unwrap();
        let error = read_all(folder.path()).unwrap_err().to_string();
        assert!(error.contains("it says that it is of the kind a-avx2"), "{error}");
    }

    #[test]
    fn a_run_replaces_its_parts_and_leaves_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let row = |part, value| Measure { part, ..Measure::alone("a", "ms", &[value], None) };
        let run = |rows: Vec<Measure>, load| {
            let measures = Measures { rows, load_before: load, options: Options::default() };
            keep(&measures, folder.path()).unwrap()
        };
        run(vec![row(Part::Kills, 1.0), row(Part::Cards, 2.0)], 0.1);
        let kinds = run(vec![row(Part::Cards, 3.0)], 0.2);
        assert_eq!(kinds.len(), 1);
        let parts: Vec<_> =
            kinds[0].parts.iter().map(|part| (part.part, part.rows[0].ours, part.load)).collect();
        assert_eq!(parts, [(Part::Cards, 3.0, 0.2), (Part::Kills, 1.0, 0.1)]);
        assert!(kinds[0].parts.iter().all(|part| part.date.ends_with(" UTC") && part.rounds > 0));
    }

    #[test]
    fn every_room_is_a_crate() {
        for part in Part::value_variants().iter().copied() {
            for room in rooms(part) {
                let manifest = format!("{}/../{room}/Cargo.toml", env!("CARGO_MANIFEST_DIR"));
                assert!(Path::new(&manifest).exists(), "{room}");
            }
        }
    }
}

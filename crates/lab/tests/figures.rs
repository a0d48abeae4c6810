//! Figures in pages: each stands in a generated page or block, or names the row of `docs/measured/*.json` that it
//! equals.
//!
//! A page names the row behind the figure, in a comment of Markdown: the kind, the part, the row's name in quotes, and
//! `ours`, `ratio` or `share`, with the beginning of a peer's name behind `ratio` where the row has several:
//!
//! ```text
//! 7.9 times <!-- row: zen3-avx2 openpgp "AES-128 GCM, encrypt: elapsed" ratio gpg -->
//! ```

use lab::promises::data::{self, ProcessorKind, Row};
use lab::promises::pages;
use std::fs;
use std::path::{Path, PathBuf};

/// Units of speed: a number with one of them is a figure.
const UNITS: [&str; 15] = [
    "MB/s",
    "GB/s",
    "kB/s",
    "MiB/s",
    "GiB/s",
    "Gbit/s",
    "Mbit/s",
    "ops/s",
    "packets/s",
    "files/s",
    "/s",
    "ns",
    "µs",
    "us",
    "ms",
];
/// Words of limits, settings and steps of a scale. A number with one of them among the five words before or behind it
/// is no figure: the program keeps it, and nobody measured it.
const LIMITS: [&str; 29] = [
    "above", "after", "before", "below", "bound", "bucket", "buckets", "burst", "default", "every", "late",
    "least", "limit", "limits", "longest", "looks", "maximum", "minimum", "most", "shortest", "than",
    "under", "until", "up", "wait", "waited", "waits", "windows", "within",
];
/// How many words before and behind a number are looked at.
const AROUND: usize = 5;
/// Pages that `make bench` writes; their own test compares them with the data.
const GENERATED: &str = "docs/measured/";
/// Pages below [`GENERATED`] that people write.
const WRITTEN: [&str; 2] = ["report.md", "README.md"];

/// Pages whose figures are dated acceptance runs, each beside what was asked: no file of a kind has them.
const DATED: [&str; 1] = ["docs/project/evidence.md"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A figure of a page.
#[derive(Debug, PartialEq)]
struct Figure {
    line: usize,
    number: String,
    unit: String,
    /// The reference behind it.
    row: Option<String>,
}

/// A block of lines that belong together, as one line, with the number of its first line.
fn blocks(text: &str) -> Vec<(usize, String)> {
    let mut blocks: Vec<(usize, String)> = Vec::new();
    let (mut is_code, mut is_generated, mut is_new) = (false, false, true);
    for (index, line) in text.lines().enumerate() {
        let bare = line.trim();
        if bare.starts_with("```") {
            is_code = !is_code;
            is_new = true;
            continue;
        }
        is_generated |= bare == pages::BEGIN;
        if bare == pages::END {
            (is_generated, is_new) = (false, true);
            continue;
        }
        if is_code || is_generated || line.starts_with("    ") || bare.is_empty() {
            is_new = true;
            continue;
        }
        let begins = is_new || bare.starts_with(['|', '#']) || bare.starts_with("- ");
        match blocks.last_mut() {
            Some((_, block)) if !begins => {
                block.push(' ');
                block.push_str(bare);
            }
            _ => blocks.push((index + 1, bare.to_owned())),
        }
        is_new = bare.starts_with(['|', '#']);
    }
    blocks
}

/// The figures of a page. What stands in code is no figure, nor is what a simulation gives, which the text above it
/// says, nor what was published of other machines.
fn figures(text: &str) -> Vec<Figure> {
    let mut found = Vec::new();
    let mut said = String::new();
    let mut ratios: Vec<bool> = Vec::new();
    for (line, block) in blocks(text) {
        let is_row = block.starts_with('|');
        if !is_row {
            said = block.to_lowercase();
            ratios.clear();
        }
        let cells: Vec<&str> = block.trim_matches('|').split('|').map(str::trim).collect();
        if is_row && ratios.is_empty() {
            ratios = cells
                .iter()
                .map(|cell| cell.to_lowercase().split_whitespace().any(|word| word == "ratio"))
                .collect();
        }
        if said.contains("simulat") || said.contains("published") || block.contains("published") {
            continue;
        }
        let pieces = if is_row { cells } else { vec![block.as_str()] };
        for (column, piece) in pieces.into_iter().enumerate() {
            let is_ratio = is_row && ratios.get(column) == Some(&true);
            found.extend(of_piece(piece, is_ratio).into_iter().map(|figure| Figure { line, ..figure }));
        }
    }
    found
}

/// The figures of a paragraph or a cell; in a column of ratios each number is one.
fn of_piece(piece: &str, is_ratio: bool) -> Vec<Figure> {
    let plain = without_code(piece);
    let words: Vec<&str> = plain.split_whitespace().collect();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let word = word.trim_start_matches(['(', '*', '"']);
        let end = word.find(|c: char| !c.is_ascii_digit() && c != ',' && c != '.').unwrap_or(word.len());
        let number = word[..end].trim_end_matches(['.', ',']);
        if !number.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let Some(unit) =
            unit(&word[number.len()..], &words[at + 1..]).or_else(|| is_ratio.then(|| "ratio".to_owned()))
        else {
            continue;
        };
        let (from, to) = (at.saturating_sub(AROUND), (at + 1 + AROUND).min(words.len()));
        let is_limit = words[from..at].iter().chain(&words[at + 1..to]).any(|word| {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
            LIMITS.contains(&word.as_str())
        });
        if is_limit && !is_ratio {
            continue;
        }
        let behind = words[at..].join(" ");
        let row = behind.split_once("<!-- row: ").filter(|(before, _)| before.split(' ').count() <= AROUND);
        let row = row.and_then(|(_, rest)| Some(rest.split_once(" -->")?.0.to_owned()));
        found.push(Figure { line: 0, number: number.replace(',', ""), unit, row });
    }
    found
}

/// The unit of speed of a number, from what is glued to it and the words behind it.
fn unit(glued: &str, behind: &[&str]) -> Option<String> {
    let bare = |word: &str| word.trim_matches(['.', ',', ';', ':', ')', '*']).to_owned();
    let glued_unit = bare(glued);
    if UNITS.contains(&glued_unit.as_str()) {
        return Some(glued_unit);
    }
    if !glued.is_empty() {
        return None;
    }
    let next = bare(behind.first()?);
    if UNITS.contains(&next.as_str()) || next == "times" {
        return Some(next);
    }
    // "100 a second", "100 requests a second", "3 million packets a second", but not "13 zeros as a second block".
    let second = behind.windows(2).take(3).position(|pair| pair[0] == "a" && bare(pair[1]) == "second")?;
    let before = &behind[..second];
    let is_rate =
        before.iter().all(|word| word.chars().all(char::is_alphabetic) && !["as", "of", "to"].contains(word));
    is_rate.then(|| "a second".to_owned())
}

/// The text with what stands between backticks left out.
fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join("code")
}

/// The value that a reference names.
fn value(kinds: &[ProcessorKind], reference: &str) -> Result<f64, String> {
    let form = || format!("\"{reference}\" is not KIND PART \"row\" ours, ratio [PEER] or share");
    let (place, rest) = reference.split_once(" \"").ok_or_else(form)?;
    let (case, field) = rest.split_once("\" ").ok_or_else(form)?;
    let (kind, part) = place.split_once(' ').ok_or_else(form)?;
    let known =
        kinds.iter().find(|known| known.kind == kind).ok_or(format!("no kind {kind} was measured"))?;
    let parts: Vec<_> = known.parts.iter().filter(|measured| measured.name() == part).collect();
    let rows: Vec<&Row> =
        parts.iter().flat_map(|measured| &measured.rows).filter(|row| row.case == case).collect();
    let is_own = |row: &&&Row| row.level.is_empty() || row.level == known.level();
    let row = rows.iter().find(is_own).ok_or(format!("{kind}, {part}: no row \"{case}\""))?;
    let (field, peer) = field.split_once(' ').unwrap_or((field, ""));
    let value = match field {
        "ours" => Some(row.ours),
        "share" => row.limit.map(|limit| 100.0 * limit.share),
        "ratio" => row.peers.iter().find(|known| known.name.starts_with(peer)).and_then(|peer| peer.ratio),
        _ => return Err(form()),
    };
    value.ok_or(format!("{kind}, {part}: the row \"{case}\" has no {field}"))
}

/// Whether a number as it is shown is a value, rounded to the digits that it shows.
fn equals(shown: &str, value: f64) -> bool {
    let digits = shown.split_once('.').map_or(0, |(_, digits)| digits.len());
    if format!("{value:.digits$}") == shown {
        return true;
    }
    // 1,360,000 is 1,361,234 to three digits.
    let zeros = if digits > 0 { 0 } else { shown.len() - shown.trim_end_matches('0').len() };
    let unit = 10_f64.powi(i32::try_from(zeros).unwrap_or(0));
    digits == 0 && shown.parse::<f64>().is_ok_and(|shown| (value / unit).round() * unit == shown)
}

#[test]
fn each_figure_of_a_page_is_a_row_that_was_measured() {
    let kinds = data::read_all(&root()).unwrap();
    let mut pages = vec![root().join("README.md")];
    collect(&root().join("docs"), &mut pages);
    let (mut wrong, mut count) = (Vec::new(), 0);
    for path in pages {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        let is_generated = name.strip_prefix(GENERATED).is_some_and(|name| !WRITTEN.contains(&name));
        if is_generated || DATED.contains(&name.as_str()) {
            continue;
        }
        count += 1;
        for figure in figures(&fs::read_to_string(&path).unwrap()) {
            let at = format!("{name}:{}: {} {}", figure.line, figure.number, figure.unit);
            match figure.row.as_deref().map(|row| value(&kinds, row)) {
                None => wrong.push(format!("{at}: no row is named behind it")),
                Some(Err(error)) => wrong.push(format!("{at}: {error}")),
                Some(Ok(value)) if !equals(&figure.number, value) => {
                    wrong.push(format!("{at}: its row says {value}"));
                }
                Some(Ok(_)) => {}
            }
        }
    }
    assert!(count > 20, "{count} pages were read");
    assert!(wrong.is_empty(), "figures that are no row of docs/measured/*.json:\n{}", wrong.join("\n"));
}

fn collect(folder: &Path, pages: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
}

/// The block of figures in README.md; with `CRYPTAND_BLESS=1` it is written.
#[test]
fn the_figures_of_the_readme_are_generated() {
    let path = root().join("README.md");
    let kinds = data::read_all(&root()).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let made =
        pages::with_block(&text, &kinds).expect("README.md has a block of figures between its two comments");
    if std::env::var_os("CRYPTAND_BLESS").is_some() {
        fs::write(&path, &made).unwrap();
    } else {
        assert!(
            text == made,
            "README.md's figures are not those of docs/measured: `make figures` writes them"
        );
    }
}

#[test]
fn figures_are_told_from_limits_settings_and_code() {
    let numbers = |text: &str| -> Vec<(String, String)> {
        figures(text).into_iter().map(|figure| (figure.number, figure.unit)).collect()
    };
    let one = |number: &str, unit: &str| vec![(number.to_owned(), unit.to_owned())];
    assert_eq!(numbers("A MAC takes 3.5 µs there."), one("3.5", "µs"));
    assert_eq!(numbers("It does 1,200 requests a second."), one("1200", "a second"));
    assert_eq!(numbers("RSA is 4.5 times as fast"), one("4.5", "times"));
    assert_eq!(numbers("(1,039MB/s)"), one("1039", "MB/s"));
    assert_eq!(numbers("takes\n7 ns a line"), one("7", "ns"));
    assert_eq!(numbers("| what | ratio |\n|---|---|\n| 4 KiB | 0.5 |"), one("0.5", "ratio"));
    for none in [
        "The loop looks every 20 ms.",
        "A request waits\nfor 200 us at most",
        "`--within 20 ms`",
        "```text\n9 ns\n```",
        "    9 ns",
        "| jobs | 8 |",
        "13 zeros as a second block",
        "In simulated time:\n\n| a | 7 ms |",
        "the published 900 requests a second",
        "4,096 bytes of 64 keys, 12 cards",
    ] {
        assert_eq!(numbers(none), vec![], "{none}");
    }
    let generated = format!("{}\n| ratio |\n|---|\n| 7 |\n{}\nIt takes 9 ns.", pages::BEGIN, pages::END);
    assert_eq!(numbers(&generated), one("9", "ns"));
}

#[test]
fn a_reference_is_compared_as_the_figure_is_rounded() {
    let text = r#"{"kind":"a-avx2","processor":"","processors":2,"memory_gib":1.0,"system":"","parts":[
        {"part":"engine","revision":null,"date":"","load":0.0,"rounds":1,"seconds":1.0,"rooms":[],"rows":[
        {"case":"hash","level":"avx2","unit":"MB/s","ours":1361.23,"peers":[{"name":"OpenSSL","ratio":2.345}]}]}]}"#;
    let kinds = [ProcessorKind::parse(text).unwrap()];
    let figure = figures("Hashing is 2.3 times <!-- row: a-avx2 engine \"hash\" ratio OpenSSL --> as fast.");
    let row = figure[0].row.as_deref().unwrap();
    assert_eq!(value(&kinds, row), Ok(2.345));
    assert!(equals(&figure[0].number, 2.345) && !equals("2.4", 2.345) && equals("2.35", 2.345_000_1));
    assert!(
        equals("1361", 1361.23)
            && equals("1360", 1361.23)
            && !equals("1370", 1361.23)
            && !equals("1000", 1600.0)
    );
    assert!(value(&kinds, "b-avx2 engine \"hash\" ours").unwrap_err().contains("no kind b-avx2"));
    assert!(value(&kinds, "a-avx2 engine \"hush\" ours").unwrap_err().contains("no row \"hush\""));
    assert!(value(&kinds, "a-avx2 engine \"hash\" share").unwrap_err().contains("has no share"));
    assert!(value(&kinds, "hash").unwrap_err().contains("is not KIND PART"));
}

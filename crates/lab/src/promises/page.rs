//! The measures for people and for programs: a table on a terminal, `docs/measured/performance.md`,
//! `target/performance.json`.

use super::{Measure, Measures, Options, Part, Promise, plot, summary};
use crate::cards::rates::BEFORE;
use crate::cards::{ROUNDS, SECONDS};
use crate::experiment::growth;
use crate::experiment::promise::Other;
use crate::kit::machine::{Machine, processors_online, unix_seconds, utc_text};
use crate::load::LabError;
use crate::openpgp::promised;
use crate::queues::promised::{CALLER, CARD, Effort, scale};
use crate::{ipsec, payments, tls};
use std::fmt::Write;
use std::fs;
use std::path::Path;

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
        _ if row.is_kept() => format!("{text} kept"),
        _ => format!("{text} {not_kept}"),
    }
}

/// A ratio with enough digits to tell it from the promise: three behind the point below 10, else one.
fn ratio(value: f64) -> String {
    if value < 10.0 { format!("{value:.3}") } else { format!("{value:.1}") }
}

fn promise_text(promise: Promise) -> String {
    match promise {
        Promise::RatioAtLeast(least) => format!("ratio >= {least}:"),
        Promise::RatioAtMost(most) => format!("ratio <= {most}:"),
        Promise::AtLeast(least) => format!(">= {}:", figure(least)),
        Promise::Above(bound) => format!("> {}:", figure(bound)),
        Promise::Below(bound) => format!("< {}:", figure(bound)),
    }
}

fn figure(value: f64) -> String {
    if value >= 1000.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// Writes `target/performance.json` and `docs/measured/performance.md` with its plot below a folder. If only one part
/// was measured, the rows of the others are taken from `target/performance.json`, and the page states their date.
/// Without those rows, the sections of the other parts stay in the page as they are.
///
/// # Errors
/// [`LabError::Io`].
pub fn write(measures: &Measures, folder: &Path) -> Result<(), LabError> {
    let what = "write the measures";
    let measures = &with_earlier(measures, &folder.join("target/performance.json"));
    let json = serde_json::to_string_pretty(&measures.rows).map_err(LabError::io(what))?;
    let plot = plot::ratios(&measures.rows);
    let before = fs::read_to_string(folder.join(PAGE)).unwrap_or_default();
    let is_alone = measures.options.only.is_some_and(|only| measures.rows.iter().all(|row| row.part == only));
    let kept = if is_alone { with_section(&before, measures) } else { None };
    let page = kept.unwrap_or_else(|| page(measures, plot.is_some()));
    let files = [("target/performance.json", Some(json)), (PAGE, Some(page)), (PLOT, plot)];
    for (path, text) in files.into_iter().filter_map(|(path, text)| Some((path, text?))) {
        let path = folder.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(LabError::io(what))?;
        }
        fs::write(path, text).map_err(LabError::io(what))?;
    }
    Ok(())
}

/// The measures with the rows of an earlier run for the parts that were not measured in this one.
fn with_earlier(measures: &Measures, path: &Path) -> Measures {
    let mut all = measures.clone();
    let (Some(only), Ok(text)) = (measures.options.only, fs::read_to_string(path)) else { return all };
    let Ok(rows) = serde_json::from_str::<Vec<Measure>>(&text) else { return all };
    let modified = fs::metadata(path).and_then(|file| file.modified()).ok();
    let age = modified.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    all.earlier_unix_seconds = age.map(|age| age.as_secs());
    all.rows.splice(0..0, rows.into_iter().filter(|row| row.part != only));
    all
}

/// The whole page: the summary, the plot, the conditions, and every row.
fn page(measures: &Measures, has_plot: bool) -> String {
    let machine = Machine::this();
    let mut out = String::from("# Performance\n\n");
    out.push_str(&summary::text(&measures.rows, &machine));
    if has_plot {
        out.push_str("\n![Rate of the engine over that of OpenSSL, row by row](performance.svg)\n");
    }
    let _ = writeln!(
        out,
        "\n{HOW}\n\nWritten by `make bench`; do not edit. Machine: {}, {} processors online, {:.1} GiB, {}, \
         Linux {}. Engine level: {}. Load before: {:.2} (above a few tenths, others took part). {}.\n\n\
         A figure is a median, its spread the smallest and the largest; a ratio is the median over rounds in which \
         all sides ran in turn. Absolute figures drift with the machine: quote the ratios.",
        machine.processor,
        machine.processors_online,
        machine.memory_bytes as f64 / (1u64 << 30) as f64,
        machine.system,
        machine.kernel,
        engine::LibraryFeatures::read().level().name(),
        measures.load_before,
        utc_text(unix_seconds())
    );
    if let (Some(only), Some(earlier)) = (measures.options.only, measures.earlier_unix_seconds) {
        let _ = writeln!(
            out,
            "\nMeasured in this run: the part {only:?}. The others are of an earlier run on the machine, written {}.",
            utc_text(earlier)
        );
    }
    out.push_str(&sections(measures));
    out
}

/// The page with the section of one part replaced, or added behind the others, with machine and date, because the head
/// of the page describes the other parts. None if the page has no other part.
fn with_section(before: &str, measures: &Measures) -> Option<String> {
    let machine = Machine::this();
    let text = sections(measures);
    let is_heading = |line: &str| line.starts_with("## ");
    let headings: Vec<&str> = text.lines().filter(|line| is_heading(line)).collect();
    let mut others =
        before.lines().filter(|line| is_heading(line) && *line != HOW && !headings.contains(line));
    others.next()?;
    let promised: Vec<_> = measures.rows.iter().filter(|row| row.promise.is_some()).collect();
    let said = format!(
        "Measured by itself on {}, {} processors online, Linux {}. Load before: {:.2}. {}. {} of {} promises of this part are kept.",
        machine.processor,
        machine.processors_online,
        machine.kernel,
        measures.load_before,
        utc_text(unix_seconds()),
        promised.iter().filter(|row| row.is_kept()).count(),
        promised.len()
    );
    let section = match headings.first() {
        Some(first) => text.replacen(first, &format!("{first}\n\n{said}"), 1),
        None => text.clone(),
    };
    let (mut out, mut is_ours, mut is_placed) = (String::new(), false, false);
    for line in before.lines() {
        if is_heading(line) {
            is_ours = headings.contains(&line);
        }
        if !is_ours {
            let _ = writeln!(out, "{line}");
        } else if !std::mem::replace(&mut is_placed, true) {
            let _ = writeln!(out, "{}\n", section.trim());
        }
    }
    if !is_placed {
        let _ = writeln!(out, "\n{}", section.trim());
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    Some(out)
}

/// The sections of all parts that have rows.
fn sections(measures: &Measures) -> String {
    let mut out = String::new();
    let mut levels: Vec<&str> = Vec::new();
    for row in measures.rows.iter().filter(|row| row.part == Part::Engine) {
        if !levels.contains(&row.level.as_str()) {
            levels.push(&row.level);
        }
    }
    for (index, level) in levels.into_iter().enumerate() {
        engine_page(&mut out, measures, level, index == 0);
    }
    for section in SECTIONS {
        let is_shown = |row: &&Measure| row.part == section.part && (section.of)(row);
        let rows: Vec<&Measure> = measures.rows.iter().filter(is_shown).collect();
        if !rows.is_empty() {
            let _ = writeln!(out, "\n{}\n", (section.text)(&measures.options));
            write_table(&mut out, section.columns, &rows);
        }
    }
    out
}

/// A column: its head, which begins with `>` for right-aligned figures, and the cell of a row.
type Column = (&'static str, fn(&Measure) -> String);

const MEASURE: Column = ("measure", |row| row.case.clone());
const FIGURE: Column = (">figure", |row| format!("{} {}", figure(row.ours), row.unit));
const SPREAD: Column = ("spread", |row| spread(row.spread, figure));
const PEER: Column = ("compared with", |row| row.peer.clone());
const ITS_FIGURE: Column = (">its figure", |row| row.peer_value.map_or(String::new(), figure));
const RATIO: Column = (">ratio", |row| row.ratio.map_or(String::new(), |ratio| format!("{ratio:.3}")));
const RATIO_SPREAD: Column = ("its spread", |row| spread(row.ratio_spread, |ratio| format!("{ratio:.3}")));
const PROMISED: Column = ("promised", |row| verdict(row, "**not kept**"));
const BOUND: Column = ("what bounds it", |row| row.bound.clone());
/// The columns of most parts.
const BOTH_SIDES: &[Column] = &[MEASURE, FIGURE, SPREAD, PEER, ITS_FIGURE, RATIO, PROMISED];
/// [`BOTH_SIDES`] with the spread of the rounds' ratios, and the bound of the figure.
const BOUNDED: &[Column] = &[MEASURE, FIGURE, SPREAD, PEER, ITS_FIGURE, RATIO, RATIO_SPREAD, PROMISED, BOUND];

/// A section of the page after the engine's: its rows, with the text above them.
struct Section {
    part: Part,
    /// Whether a row belongs to the section.
    of: fn(&Measure) -> bool,
    /// Heading and text.
    text: fn(&Options) -> String,
    columns: &'static [Column],
}

const fn section(part: Part, columns: &'static [Column], text: fn(&Options) -> String) -> Section {
    Section { part, of: |_| true, text, columns }
}

const SECTIONS: [Section; 13] = [
    section(
        Part::Timing,
        &[
            ("call", MEASURE.1),
            (">t", |row| format!("{:.2}", row.ours)),
            (">calls", |row| row.peer_value.map_or(String::new(), |calls| format!("{calls:.0}"))),
            PROMISED,
        ],
        |_| {
            "## Whether secrets show in time\n\nWelch's t between the times of calls with a fixed secret and with random ones \
             (the test of dudect), the largest of several cuts. Above 4.5 one looks again, above 10 the secret shows."
                .to_owned()
        },
    ),
    section(Part::Cards, BOTH_SIDES, |_| {
        format!("## Facility and cards\n\n{ROUNDS} runs of {SECONDS} s for each side.")
    }),
    section(
        Part::Rates,
        &[
            MEASURE,
            FIGURE,
            SPREAD,
            PROMISED,
            (">ratio to the best count", RATIO.1),
            (">the other build", |row| its_figure(row, BEFORE)),
            (">ours over it", |row| {
                other(row, BEFORE).map_or(String::new(), |other| format!("{:.3}", other.ratio))
            }),
            BOUND,
        ],
        |_| {
            "## One card as its jobs rise\n\n`cryptand speed` as a program, caller and card bound to a processor each; with \
             `--beside` the programs of another build are measured in turn with this one, with their own library and cards."
                .to_owned()
        },
    ),
    Section {
        of: |row| row.others.is_empty(),
        ..section(Part::Queues, BOUNDED, |options| {
            let Effort { rounds, seconds } = Effort::of(options);
            format!(
                "## Queues\n\nUp to {rounds} rounds of {seconds} s for each side, in turn. RSA-2048 is the private operation in \
             CRT form with clear keys. Cards, caller and the other side share the processors of this machine; where one \
             processor is named, all are bound to it."
            )
        })
    },
    Section {
        of: |row| !row.others.is_empty(),
        ..section(
            Part::Queues,
            &[
                ("card, client", MEASURE.1),
                (">rate", FIGURE.1),
                SPREAD,
                (">caller, us", |row| its_figure(row, CALLER)),
                (">card, us", |row| its_figure(row, CARD)),
                BOUND,
            ],
            |_| {
                "### How a card and its client wait\n\nOne connection with one request in flight; client and card each on a \
             processor of its own, where there are two. Processor time is that of one operation: below the engine's own it \
             cannot be."
                .to_owned()
            },
        )
    },
    Section {
        of: |row| !row.is_note(),
        ..section(Part::Scale, BOUNDED, |options| {
            let Effort { rounds, seconds } = scale::effort(options);
            let processors = processors_online();
            let shown = growth::table(&super::series(), processors);
            format!(
                "## Threads, tickets and cards\n\n{rounds} rounds of {seconds} s for each side, in turn. One process calls \
             coprocessors of its own home; each thread keeps its part of the jobs in flight. Rates of more threads or cards \
             than there are processors show what that costs, not what more processors would give.\n\nRows of growth stand \
             beside as many times what one caller of one card did in the same rounds as there are pairs of them, so that \
             their ratio is the share of linear growth. *What bounds it* names who was at work for at least 95 % of the time, \
             looking for work included, and the processors where none was idle.\n\n{}",
                shown.trim_end()
            )
        })
    },
    section(Part::Kills, BOTH_SIDES, |options| {
        format!(
            "## Cards killed under load\n\nA random card of two is killed every second for {} s while both are kept busy and \
             key records are written. Answers are counted in windows of 10 ms; the rate is back with the first window from \
             which on it is, over 100 ms, at least nine tenths of what it was in the half second before, or what one in twenty \
             such stretches falls to without a kill, where others use the machine (three quarters at the least). \
             `cryptand bench --only kills --seconds 600` runs for ten minutes.",
            options.kill_seconds
        )
    }),
    section(Part::Openpgp, BOUNDED, |options| {
        format!(
            "## OpenPGP files\n\nWhole programs on one text of {} bytes, a batch of payments made from a seed that compresses \
             to about 23 % at ZIP level 1; text and messages lie in memory where there is room. {} rounds, the sides of a row \
             in turn; the kernel books processor time and memory of each. What was made is decrypted by another tool, and \
             every decrypted text compared. The recipient is one RSA key of 2048 bits. sq and rPGP compress at level 6, sq \
             enciphers with AES-256. *What bounds it*: what the steps take on one processor from memory to memory, and what a \
             program takes that only moves those bytes by reads and writes of 1 MiB, measured in the same run on the same \
             text; then their share of what was taken. A part of a chain waits for the part before it: no second processor \
             helps.",
            promised::text_bytes(options),
            options.rounds.min(promised::ROUNDS_MAX)
        )
    }),
    section(Part::Tls, BOUNDED, tls::promised::remark),
    section(Part::Ipsec, BOUNDED, ipsec::promised::remark),
    Section {
        of: |row| row.unit == payments::RATE_UNIT,
        ..section(
            Part::Payments,
            &[
                ("operation", MEASURE.1),
                (">one card", FIGURE.1),
                SPREAD,
                PROMISED,
                (">stretch", |row| match row.stretch {
                    Some(stretch) if row.ours >= stretch => format!("{}: reached", figure(stretch)),
                    stretch => stretch.map_or(String::new(), figure),
                }),
                (">published", |row| its_figure(row, payments::PUBLISHED)),
                ("beside, on clear keys", |row| {
                    let packages = row.others.iter().filter(|other| other.name != payments::PUBLISHED);
                    packages.map(package).collect::<Vec<_>>().join("; ")
                }),
            ],
            payments::remark,
        )
    },
    Section {
        of: |row| row.unit != payments::RATE_UNIT && row.unit != payments::PASS_UNIT,
        ..section(Part::Payments, BOUNDED, payments::remark_alone)
    },
    Section {
        of: |row| row.unit == payments::PASS_UNIT,
        ..section(
            Part::Payments,
            &[
                ("step", MEASURE.1),
                (">ns a request, 64 at once", |row| figure(row.ours)),
                SPREAD,
                (">of all steps", |row| {
                    row.ratio.map_or(String::new(), |ratio| format!("{:.0} %", 100.0 * ratio))
                }),
                (">ns, one alone", |row| its_figure(row, payments::ALONE)),
                BOUND,
            ],
            payments::remark_passes,
        )
    },
];

/// Writes a table. A bound that several rows in succession share is stated in the first of them.
fn write_table(out: &mut String, columns: &[Column], rows: &[&Measure]) {
    let heads: String =
        columns.iter().map(|(head, _)| format!(" {} |", head.trim_start_matches('>'))).collect();
    let rule = columns.iter().map(|(head, _)| if head.starts_with('>') { "---:|" } else { "---|" });
    let _ = writeln!(out, "|{heads}\n|{}", rule.collect::<String>());
    for (index, row) in rows.iter().enumerate() {
        let is_said = |head: &str| {
            head == BOUND.0 && index > 0 && !row.bound.is_empty() && rows[index - 1].bound == row.bound
        };
        let cell = |(head, of): &Column| {
            if is_said(head) { " as above |".to_owned() } else { format!(" {} |", of(row)) }
        };
        let _ = writeln!(out, "|{}", columns.iter().map(cell).collect::<String>());
    }
}

fn engine_page(out: &mut String, measures: &Measures, level: &str, is_first: bool) {
    let rows = || measures.rows.iter().filter(|row| row.part == Part::Engine && row.level == level);
    let options = if is_first { measures.options.clone() } else { measures.options.below() };
    let _ = writeln!(out, "\n## The engine at level {level}, one core\n");
    out.push_str(if is_first {
        "Each side gets the same keys and texts in one process, and all answers are compared before and after. \
         Other libraries are called in their fastest way with prepared keys, one request after the other; ipsec-mb \
         gets all requests as jobs. *Ratio* is the engine over that library. *Ports*: the figure that the busiest \
         instruction would allow, were nothing else in the way, and how near the engine comes; what is counted \
         stands in `crates/lab/src/engine/limits.rs`.\n\n"
    } else {
        "The same rows in a process that is held to this level, as are the other libraries: OpenSSL heeds the same \
         variable as AWS-LC, ipsec-mb is asked for a manager of this level (it has none without AES \
         instructions, and no lanes of DES below AVX-512).\n\n"
    });
    let _ = writeln!(out, "{} rounds of {} s for each side.", options.rounds, options.seconds);
    for note in rows().filter(|row| row.is_note()) {
        let _ = writeln!(out, "\n{}.", note.case);
    }
    out.push('\n');
    write_table(out, ENGINE, &rows().filter(|row| !row.is_note()).collect::<Vec<_>>());
    if is_first {
        out.push_str(
            "\nIn bold: the ratio that is judged. Rows of one request are judged by the faster of OpenSSL and AWS-LC. One \
             stream of chained DES keeps one lane busy of a pass of eight; below AVX-512 of a bit-sliced one of 256 or 64, \
             which is the cost of constant time there: the other libraries read tables in memory.\n",
        );
    }
}

const ENGINE: &[Column] = &[
    ("operation", MEASURE.1),
    (">engine", FIGURE.1),
    SPREAD,
    (">OpenSSL", |row| its_figure(row, LIBRARIES[0])),
    (">ratio", |row| its_ratio(row, LIBRARIES[0])),
    (">AWS-LC", |row| its_figure(row, LIBRARIES[1])),
    (">ratio", |row| its_ratio(row, LIBRARIES[1])),
    (">ipsec-mb", |row| its_figure(row, LIBRARIES[2])),
    (">ratio", |row| its_ratio(row, LIBRARIES[2])),
    PROMISED,
    (">stretch", |row| match (row.stretch, row.ratio) {
        (Some(stretch), Some(ratio)) if ratio >= stretch => format!("{stretch}: reached"),
        (Some(stretch), _) => stretch.to_string(),
        (None, _) => String::new(),
    }),
    ("ports", |row| {
        row.limit
            .map_or(String::new(), |limit| format!("{} ({:.0} %)", figure(limit.value), 100.0 * limit.share))
    }),
];

fn its_figure(row: &Measure, library: &str) -> String {
    other(row, library).map_or(String::new(), |other| figure(other.value))
}

/// The cell of a package: its rate and the card's ratio to it, or the text that it is missing.
fn package(other: &Other) -> String {
    if payments::is_missing(&other.name) {
        return other.name.clone();
    }
    let spread = other.spread.map_or(String::new(), |ends| format!(" ({})", spread(Some(ends), figure)));
    format!("{}: {}{spread}, ratio {}", other.name, figure(other.value), ratio(other.ratio))
}

fn its_ratio(row: &Measure, library: &str) -> String {
    let mark = if row.peer == library { "**" } else { "" };
    other(row, library).map_or(String::new(), |other| format!("{mark}{}{mark}", ratio(other.ratio)))
}

/// The figure of another library, build or process in a row.
pub(super) fn other<'a>(row: &'a Measure, name: &str) -> Option<&'a Other> {
    row.others.iter().find(|other| other.name == name)
}

fn spread(ends: Option<(f64, f64)>, figure: fn(f64) -> String) -> String {
    ends.map_or(String::new(), |(low, high)| format!("{} to {}", figure(low), figure(high)))
}

/// Heading of the section on the conditions of all rows.
const HOW: &str = "## How it was measured";
/// Path of the page.
const PAGE: &str = "docs/measured/performance.md";
/// Path of the plot, beside the page.
const PLOT: &str = "docs/measured/performance.svg";

//! The pages of what was measured: `docs/measured/performance.md`, and one page for each part beside it.
//!
//! They are made of all files of kinds, so that any machine makes the same pages of them. A kind is a pair of columns:
//! our figure, and who is beside it.

use super::data::{FOLDER, MeasuredPart, Peer, ProcessorKind, Row, name, rooms};
use super::terminal::{figure, promise_text, ratio};
use super::{Part, plot, summary};
use crate::experiment::growth;
use crate::experiment::promise::Promise;
use crate::load::LabError;
use crate::{ipsec, payments, tls};
use clap::ValueEnum;
use engine::Level;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Writes every page below a folder, of the kinds that were measured.
///
/// # Errors
/// [`LabError::Io`].
pub fn write(kinds: &[ProcessorKind], folder: &Path) -> Result<(), LabError> {
    let what = "write the pages of what was measured";
    for (path, text) in pages(kinds) {
        let path = folder.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(LabError::io(what))?;
        }
        fs::write(path, text).map_err(LabError::io(what))?;
    }
    Ok(())
}

/// Every page and drawing, by its path in the tree.
pub fn pages(kinds: &[ProcessorKind]) -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    let plot = plot::ratios(kinds);
    pages.insert(format!("{FOLDER}/performance.md"), first(kinds, plot.is_some()));
    if let Some(plot) = plot {
        pages.insert(format!("{FOLDER}/performance.svg"), plot);
    }
    for part in Part::value_variants() {
        if let Some(text) = page(kinds, *part) {
            pages.insert(format!("{FOLDER}/{}.md", name(*part)), text);
        }
    }
    pages
}

/// Where the figures of another page begin that are made of what was measured.
pub const BEGIN: &str = "<!-- figures: begin -->";
/// Where they end.
pub const END: &str = "<!-- figures: end -->";

/// A page with its block of figures made anew: the main ratios of every kind. None if the page has no block.
pub fn with_block(page: &str, kinds: &[ProcessorKind]) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    let names = kinds.iter().map(|kind| format!("`{}`", kind.kind)).collect::<Vec<_>>().join(", ");
    let table = summary::table(kinds, false);
    Some(format!(
        "{before}{BEGIN}\nOurs over theirs by kind of processor ({names}), in one run but where a row says *published*: that is a mainframe's card of 2003. \
         Below 1 we are slower; empty: not measured. At `avx2` RSA, AES-CTR and AES-GCM are those of AWS-LC, which is linked in. \
         The machines were virtual and not idle: a fifth more or less means nothing.\n\n\
         {table}{END}{after}"
    ))
}

/// The first page: who is faster, the summary, and where the rows are.
fn first(kinds: &[ProcessorKind], has_plot: bool) -> String {
    let mut out = format!(
        "# Performance\n\nWritten by `make bench` from `docs/measured/KIND.json`; do not edit. A *kind* is the \
         microarchitecture of a processor and the level of the engine.\n\n{}\n{}",
        summary::slower(kinds),
        summary::text(kinds)
    );
    if has_plot {
        out.push_str("\n![Rate of the engine over that of OpenSSL, row by row](performance.svg)\n");
    }
    out.push_str(
        "\n## How it was measured\n\nA figure is a median, its spread the smallest and the largest round. A ratio is the \
         median over rounds in which all sides ran in turn. Absolute figures drift with the machine: quote the ratios. \
         A load above a few tenths means that others took part.\n\n| kind | processor | processors | memory | system |\n\
         |---|---|---:|---:|---|\n",
    );
    for kind in kinds {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            kind.kind,
            kind.processor,
            kind.processors,
            memory(kind),
            kind.system
        );
    }
    out.push_str(
        "\n## Parts\n\n`make figures` says which of them are older than the code that they measure.\n\n",
    );
    let heads: String = kinds.iter().map(|kind| format!(" {} |", kind.kind)).collect();
    let _ = writeln!(out, "| part | code |{heads}\n|---|---|{}", "---|".repeat(kinds.len()));
    for part in Part::value_variants() {
        let measured = kinds.iter().map(|kind| kind.parts.iter().find(|measured| measured.part == *part));
        let measured: Vec<_> = measured.collect();
        if measured.iter().all(Option::is_none) {
            continue;
        }
        let cell = |part: &Option<&MeasuredPart>| {
            part.map_or(" |".to_owned(), |part| {
                format!(" {}, {} |", part.short_revision(), part.date.split(' ').next().unwrap_or_default())
            })
        };
        let cells: String = measured.iter().map(cell).collect();
        let (part, rooms) = (name(*part), rooms(*part).join(", "));
        let _ = writeln!(out, "| [{part}]({part}.md) | {rooms} |{cells}");
    }
    out
}

fn memory(kind: &ProcessorKind) -> String {
    if kind.memory_gib > 0.0 { format!("{:.1} GiB", kind.memory_gib) } else { "not noted".to_owned() }
}

/// The page of a part; none if no kind has it.
fn page(kinds: &[ProcessorKind], part: Part) -> Option<String> {
    let having: Vec<&ProcessorKind> = kinds.iter().filter(|kind| !kind.rows(part).is_empty()).collect();
    if having.is_empty() {
        return None;
    }
    let mut out = format!(
        "# {}\n\nWritten by `make bench` from `docs/measured/KIND.json`; do not edit. \
         [performance.md](performance.md) has the summary and the machines.\n\n\
         | kind | revision | date | load before | rounds | seconds of a side |\n|---|---|---|---:|---:|---:|\n",
        title(part)
    );
    for kind in &having {
        for measured in kind.parts.iter().filter(|measured| measured.part == part) {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {:.2} | {} | {} |",
                kind.kind,
                measured.short_revision(),
                measured.date,
                measured.load,
                measured.rounds,
                measured.seconds
            );
        }
    }
    let _ = writeln!(
        out,
        "\nA cell has the figure and its spread; beside it who was measured too, that one's figure, and ours over it \
         with the spread of the rounds. In bold: the ratio that the promise is about.\n\n{}",
        text(part, &having)
    );
    for section in sections(part) {
        let of = |kind: &ProcessorKind| -> Vec<Row> {
            kind.rows(part).iter().filter(|row| (section.of)(row)).cloned().collect()
        };
        let columns: Vec<(&ProcessorKind, Vec<Row>)> =
            having.iter().map(|kind| (*kind, of(kind))).filter(|(_, rows)| !rows.is_empty()).collect();
        if columns.is_empty() {
            continue;
        }
        if !section.heading.is_empty() {
            let _ = write!(out, "\n{}\n", section.heading);
        }
        for (kind, rows) in &columns {
            for note in rows.iter().filter(|row| row.is_note()) {
                let _ = write!(out, "\n{}: {}.\n", kind.kind, note.case);
            }
        }
        if columns.iter().any(|(_, rows)| rows.iter().any(|row| !row.is_note())) {
            out.push('\n');
            table(&mut out, &columns);
        }
    }
    Some(out)
}

/// A table: the rows of the first kind in their order, then those that only others have.
fn table(out: &mut String, kinds: &[(&ProcessorKind, Vec<Row>)]) {
    let mut keys: Vec<(&str, &str)> = Vec::new();
    for (_, rows) in kinds {
        for row in rows.iter().filter(|row| !row.is_note()) {
            let key = key(row);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
    }
    let find =
        |rows: &'_ [Row], at: (&str, &str)| -> Option<usize> { rows.iter().position(|row| key(row) == at) };
    let any = |has: &dyn Fn(&Row) -> bool| kinds.iter().any(|(_, rows)| rows.iter().any(has));
    let (has_promise, has_bound) =
        (any(&|row| row.promise.is_some() || row.stretch.is_some()), any(&|row| !row.bound.is_empty()));
    let has_peers = any(&|row| !row.peers.is_empty() || row.limit.is_some());
    let mut heads = "| measure |".to_owned();
    let mut rule = "|---|".to_owned();
    for (kind, _) in kinds {
        let _ = write!(heads, " {} |{}", kind.kind, if has_peers { " beside |" } else { "" });
        let _ = write!(rule, "---:|{}", if has_peers { "---|" } else { "" });
    }
    for (has, head) in [(has_promise, " promised |"), (has_bound, " what bounds it |")] {
        if has {
            heads.push_str(head);
            rule.push_str("---|");
        }
    }
    let _ = writeln!(out, "{heads}\n{rule}");
    let mut bound_above = String::new();
    for at in keys {
        let rows: Vec<(&str, Option<&Row>)> = kinds
            .iter()
            .map(|(kind, rows)| (kind.kind.as_str(), find(rows, at).map(|place| &rows[place])))
            .collect();
        let _ = write!(out, "| {} |", at.0);
        for (_, row) in &rows {
            let _ = write!(out, " {} |", row.map_or(String::new(), ours));
            if has_peers {
                let _ = write!(out, " {} |", row.map_or(String::new(), beside));
            }
        }
        if has_promise {
            let _ = write!(out, " {} |", promised(&rows));
        }
        if has_bound {
            let bound = by_kind(&rows, |row| Some(row.bound.clone()).filter(|bound| !bound.is_empty()));
            let is_said = !bound.is_empty() && bound == bound_above;
            let _ = write!(out, " {} |", if is_said { "as above" } else { &bound });
            bound_above = bound;
        }
        out.push('\n');
    }
}

/// What tells rows of several kinds apart: names of peers have versions, so that only their first word counts.
fn key(row: &Row) -> (&str, &str) {
    let peer = row.judge().map_or("", |peer| peer.name.as_str());
    let is_versioned = peer.chars().any(|c| c.is_ascii_digit());
    (&row.case, if is_versioned { peer.split(' ').next().unwrap_or_default() } else { peer })
}

fn ours(row: &Row) -> String {
    let spread =
        row.spread.map_or(String::new(), |(low, high)| format!(" ({} to {})", figure(low), figure(high)));
    format!("{} {}{spread}", figure(row.ours), row.unit)
}

fn beside(row: &Row) -> String {
    let mut cells: Vec<String> = row.peers.iter().map(|peer| peer_text(peer, row)).collect();
    if let Some(limit) = row.limit {
        let mark = if matches!(row.promise, Some(Promise::ShareAtLeast(_))) { "**" } else { "" };
        cells.push(format!("ports {}: {mark}{:.0} %{mark}", figure(limit.value), 100.0 * limit.share));
    }
    cells.join("; ")
}

fn peer_text(peer: &Peer, row: &Row) -> String {
    let mut text = peer.name.clone();
    if let Some(value) = peer.value {
        let _ = write!(text, " {}", figure(value));
    }
    if let Some(value) = peer.ratio {
        let is_judged = peer.judges && row.promise.is_none_or(|promise| promise.is_ratio());
        let mark = if is_judged { "**" } else { "" };
        let _ = write!(text, ": {mark}{}{mark}", ratio(value));
        if let Some((low, high)) = peer.spread {
            let _ = write!(text, " ({} to {})", ratio(low), ratio(high));
        }
    }
    text
}

/// The promise with its verdict; by kind where kinds differ.
fn promised(rows: &[(&str, Option<&Row>)]) -> String {
    by_kind(rows, |row| {
        let verdict = match row.is_kept() {
            Some(true) => "kept",
            Some(false) => "**not kept**",
            None => "",
        };
        let promise = row.promise.map(|promise| format!("{} {verdict}", promise_text(promise)));
        let hoped = row.stretch.map(|stretch| format!("hoped for {}", figure(stretch)));
        let said: Vec<String> = promise.into_iter().chain(hoped).collect();
        Some(said.join(", ")).filter(|said| !said.is_empty())
    })
}

/// A text of each row: once if all kinds say the same, else by kind.
fn by_kind(rows: &[(&str, Option<&Row>)], of: impl Fn(&Row) -> Option<String>) -> String {
    let said: Vec<(&str, String)> =
        rows.iter().filter_map(|(kind, row)| Some((*kind, of((*row)?)?))).collect();
    let present = rows.iter().filter(|(_, row)| row.is_some()).count();
    match said.first() {
        None => String::new(),
        Some((_, first)) if said.len() == present && said.iter().all(|(_, text)| text == first) => {
            first.clone()
        }
        Some(_) => said.iter().map(|(kind, text)| format!("{kind}: {text}")).collect::<Vec<_>>().join("; "),
    }
}

/// A table of a part's page.
struct Section {
    /// Its heading and text; empty for the first.
    heading: String,
    /// Whether a row belongs to it.
    of: Box<dyn Fn(&Row) -> bool>,
}

fn section(heading: impl Into<String>, of: impl Fn(&Row) -> bool + 'static) -> Section {
    Section { heading: heading.into(), of: Box::new(of) }
}

fn sections(part: Part) -> Vec<Section> {
    match part {
        Part::Engine => Level::ALL
            .into_iter()
            .rev()
            .map(|level| {
                section(format!("## Level {}, one core", level.name()), move |row| row.level == level.name())
            })
            .collect(),
        Part::Queues => vec![
            section("", |row| !is_waiting(row)),
            section(
                "## How a card and its client wait\n\nOne connection with one request in flight; client and card each on a \
                 processor of its own, where there are two. Processor time is that of one operation: below the engine's own \
                 it cannot be.",
                is_waiting,
            ),
        ],
        Part::Payments => vec![
            section("", |row| row.unit == payments::RATE_UNIT),
            section(payments::REMARK_ALONE, |row| {
                row.unit != payments::RATE_UNIT && row.unit != payments::PASS_UNIT
            }),
            section(payments::REMARK_PASSES, |row| row.unit == payments::PASS_UNIT),
        ],
        _ => vec![section("", |_| true)],
    }
}

/// Whether a row is of one of the ways to wait.
fn is_waiting(row: &Row) -> bool {
    row.case.starts_with("RSA-2048, 1 job: card ")
}

fn title(part: Part) -> &'static str {
    match part {
        Part::Engine => "The engine beside other libraries",
        Part::Timing => "Whether secrets show in time",
        Part::Cards => "Facility and cards",
        Part::Rates => "One card as its jobs rise",
        Part::Queues => "Queues",
        Part::Scale => "Threads, tickets and cards",
        Part::Kills => "Cards killed under load",
        Part::Openpgp => "OpenPGP files",
        Part::Tls => "TLS",
        Part::Ipsec => "IPsec",
        Part::Payments => "Payments",
    }
}

/// The text above the rows of a part: what was measured, and how.
fn text(part: Part, kinds: &[&ProcessorKind]) -> String {
    match part {
        Part::Engine => "Each side gets the same keys and texts in one process, and all answers are compared before and \
             after. Other libraries are called in their fastest way with prepared keys, one request after the other; \
             ipsec-mb gets all requests as jobs. *Ports*: the figure that the busiest instruction would allow, were nothing \
             else in the way, and the share of it that the engine reaches. `crates/lab/src/engine/limits.rs` says what is \
             counted.\n\n\
             At the levels below its own a machine runs the same rows in a process that is held to that level, as are the \
             other libraries. OpenSSL heeds the same variable as AWS-LC. ipsec-mb is asked for a manager of this level: \
             it has none without AES instructions, and no lanes of DES below AVX-512. These rows have at most 3 rounds of \
             0.03 s.\n\n\
             One stream of chained DES keeps one lane busy of a pass of many: that is the cost of constant time, which the \
             other libraries' tables in memory do not pay."
            .to_owned(),
        Part::Timing => "Welch's t between the times of calls with a fixed secret and with random ones (the test of dudect), \
             the largest of several cuts. Above 4.5 one looks again, above 10 the secret shows."
            .to_owned(),
        Part::Cards => "Calls in process beside the same calls without the facility; one card, and two.".to_owned(),
        Part::Rates => "`cryptand speed` as a program, caller and card bound to a processor each; with `--beside` the \
             programs of another build are measured in turn with this one, with their own library and cards."
            .to_owned(),
        Part::Queues => "Sides run in turn. RSA-2048 is the private operation in CRT form with clear keys. Cards, caller and \
             the other side share the processors of the machine; where one processor is named, all are bound to it."
            .to_owned(),
        Part::Scale => {
            let processors = kinds.iter().map(|kind| kind.processors).max().unwrap_or(1);
            let grown = growth::table(&super::series(), processors);
            format!(
                "One process calls coprocessors of its own home; each thread keeps its part of the jobs in flight. Rates of \
                 more threads or cards than there are processors show what that costs, not what more processors would \
                 give.\n\nRows of growth stand beside as many times what one caller of one card did in the same rounds as \
                 there are pairs of them, so that their ratio is the share of linear growth. *What bounds it* names who was \
                 at work for at least 95 % of the time, looking for work included, and the processors where none was \
                 idle.\n\n{}",
                grown.trim_end()
            )
        }
        Part::Kills => "A random card of two is killed every second while both are kept busy and key records are written. \
             Answers are counted in windows of 10 ms. The rate is back with the first window from which on it is, over 100 \
             ms, at least nine tenths of what it was in the half second before. Where others use the machine, it is what \
             one in twenty such stretches falls to without a kill (three quarters at the least). \
             `cryptand bench --only kills --seconds 600` runs for ten minutes."
            .to_owned(),
        Part::Openpgp => "Whole programs on one text, a batch of payments made from a seed that compresses to about 23 % at \
             ZIP level 1; text and messages lie in memory where there is room. The sides of a row run in turn; the kernel \
             books processor time and memory of each. What was made is decrypted by another tool, and every decrypted text \
             compared. The recipient is one RSA key of 2048 bits. sq and rPGP compress at level 6, sq enciphers with \
             AES-256.\n\n*What bounds it*: the time of the steps on one processor from memory to memory, and of a program \
             that only moves those bytes by reads and writes of 1 MiB, measured in the same run on the same text; then \
             their share of the whole. A part of a chain waits for the part before it: no second processor helps."
            .to_owned(),
        Part::Tls => tls::promised::remark(),
        Part::Ipsec => ipsec::promised::remark(),
        Part::Payments => payments::REMARK.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(case: &str, ours: f64, ratio: f64, promise: f64) -> Row {
        let peer = Peer {
            name: "OpenSSL".to_owned(),
            value: Some(ours / ratio),
            ratio: Some(ratio),
            spread: Some((ratio, ratio + 1.0)),
            judges: true,
        };
        Row {
            case: case.to_owned(),
            level: "avx2".to_owned(),
            unit: "MB/s".to_owned(),
            ours,
            peers: vec![peer],
            promise: Some(Promise::RatioAtLeast(promise)),
            ..Row::default()
        }
    }

    fn kind(name: &str, rows: Vec<Row>) -> ProcessorKind {
        let part = MeasuredPart {
            part: Part::Engine,
            revision: Some("0123456789abcdef+".to_owned()),
            date: "2026-01-02 03:04 UTC".to_owned(),
            rounds: 7,
            seconds: 0.1,
            rows,
            ..MeasuredPart::default()
        };
        ProcessorKind { kind: name.to_owned(), parts: vec![part], ..ProcessorKind::default() }
    }

    #[test]
    fn kinds_stand_side_by_side() {
        let one = kind("a-avx2", vec![row("hash", 100.0, 2.0, 3.0), row("only here", 5.0, 2.0, 1.0)]);
        let other = kind("b-avx2", vec![row("hash", 80.0, 4.0, 3.0), row("only there", 7.0, 2.0, 1.0)]);
        let pages = pages(&[one, other]);
        let page = &pages["docs/measured/engine.md"];
        for line in [
            "| a-avx2 | 01234567+ | 2026-01-02 03:04 UTC | 0.00 | 7 | 0.1 |",
            "| measure | a-avx2 | beside | b-avx2 | beside | promised |",
            "| hash | 100.0 MB/s | OpenSSL 50.0: **2.000** (2.000 to 3.000) | 80.0 MB/s | OpenSSL 20.0: **4.000** (4.000 to 5.000) \
             | a-avx2: ratio >= 3: **not kept**; b-avx2: ratio >= 3: kept |",
            "| only here | 5.0 MB/s | OpenSSL 2.5: **2.000** (2.000 to 3.000) |  |  | ratio >= 1: kept |",
            "| only there |  |  | 7.0 MB/s | OpenSSL 3.5: **2.000** (2.000 to 3.000) | ratio >= 1: kept |",
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\n{page}");
        }
        let first = &pages["docs/measured/performance.md"];
        assert!(
            first
                .contains("| [engine](engine.md) | engine | 01234567+, 2026-01-02 | 01234567+, 2026-01-02 |"),
            "{first}"
        );
        assert!(!pages.contains_key("docs/measured/cards.md"));
    }

    #[test]
    fn a_bound_is_said_once_where_kinds_agree() {
        let bounded = |bound: &str| Row { bound: bound.to_owned(), ..row("hash", 1.0, 1.0, 1.0) };
        let (one, other) = (bounded("ports"), bounded("memory"));
        let of = |row: &Row| Some(row.bound.clone());
        assert_eq!(by_kind(&[("a", Some(&one)), ("b", Some(&one))], of), "ports");
        assert_eq!(by_kind(&[("a", Some(&one)), ("b", Some(&other))], of), "a: ports; b: memory");
        assert_eq!(by_kind(&[("a", Some(&one)), ("b", None)], of), "ports");
    }

    /// The pages in the tree are those that its data files make; with `CRYPTAND_BLESS=1` they are written.
    #[test]
    fn the_pages_are_what_was_measured() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let kinds = super::super::data::read_all(&root).unwrap();
        assert!(kinds.len() > 1, "kinds stand side by side");
        if std::env::var_os("CRYPTAND_BLESS").is_some() {
            write(&kinds, &root).unwrap();
        }
        for (path, text) in pages(&kinds) {
            let is = fs::read_to_string(root.join(&path)).unwrap_or_default();
            assert!(
                is == text,
                "{path} is not what docs/measured/*.json make of it: `make figures` writes it"
            );
        }
    }
}

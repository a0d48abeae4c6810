//! The page of a report: one file, no network, no script, readable on a phone, in the dark and in print.

use super::Report;
use crate::experiment::judged::{Judged, Verdict};
use crate::ipsec::tables as ipsec;
use crate::kit::digits::{figure, short, times};
use crate::kit::machine::utc_text;
use crate::kit::page::document;
use crate::openpgp::tables;
use crate::published::Row;
use crate::tls::tables as tls;
use crate::{container, queues, sweeps};
use maud::{Markup, html};

/// The whole page.
pub fn page(report: &Report, published: &[Row]) -> String {
    let body = html! {
        (opening(report, published))
        (contents(report))
        (tables::section(&report.openpgp, published))
        @if has_sweeps(report) { (sweeps::section(&report.results, published)) }
        (tls::section(&report.tls, published))
        (ipsec::section(&report.ipsec))
        (queues::section(&report.queues, published))
        @if let Some(compared) = &report.container { (container::section(compared, published)) }
        (judged(report))
        (hardware())
        (left_out(report))
        (facts(report))
        footer {
            "Made by " (report.program) " on " (date(report)) ". The published figures come from five reports named in the \
             program's data; names of others' products are used only to say what is compared."
        }
    };
    document(&format!("Cryptand report, {}", date(report)), &body)
}

/// Whether the report holds the sweeps; a report of one other part does not.
fn has_sweeps(report: &Report) -> bool {
    let is_other = !report.queues.0.is_empty()
        || !report.openpgp.0.is_empty()
        || !report.tls.0.is_empty()
        || !report.ipsec.0.is_empty();
    !report.results.0.is_empty() || !is_other
}

fn date(report: &Report) -> String {
    utc_text(report.made_unix_s)
}

/// A main rate, beside the published one.
pub(super) struct Tile {
    pub title: String,
    pub here: f64,
    pub published: f64,
    /// Unit of both, such as `/s`.
    pub unit: &'static str,
}

/// The main rates: files first, then operations of cards and processors.
pub(super) fn tiles(report: &Report, published: &[Row]) -> Vec<Tile> {
    const MIB: f64 = 1048576.0;
    let files = tables::tiles(&report.openpgp, published).into_iter().map(|(title, here, then)| Tile {
        title,
        here: here * MIB,
        published: then * MIB,
        unit: "B/s",
    });
    let rates = sweeps::tiles(&report.results, published).into_iter();
    let rates = rates.map(|(title, here, then)| Tile { title, here, published: then, unit: "/s" });
    files.chain(rates).collect()
}

/// Whether runs were cut short, or a shorter text was used.
pub(super) fn is_quick(report: &Report) -> bool {
    report.thoroughness.seconds_max.is_some() || tables::is_part(&report.openpgp)
}

/// The summary for visitors: machine, rates, comparison figures, and limits of trust.
fn opening(report: &Report, published: &[Row]) -> Markup {
    let machine = &report.machine;
    let is_quick = is_quick(report);
    html! {
        h1 { "This machine beside a mainframe" }
        p.lead {
            b { (machine.processor) } ", " (machine.processors_online) " processors, engine at level " b { (report.level) }
            ". What mainframe cryptographic hardware did by its published reports (2003 to 2008) is done here again: the \
             same operations, lengths, jobs and numbers of cards. Each figure below is the rate here over the published one."
        }
        @if is_quick {
            p.lead { b { "A quick run" } ": spreads are wide; run the full report before quoting it." }
        }
        div.tiles {
            @for Tile { title, here, published, unit } in tiles(report, published) {
                div.tile {
                    b { (times(here / published)) }
                    span { (title) }
                    small { (short(here)) (unit) " here, " (short(published)) (unit) " published" }
                }
            }
            @let (confirmed, refuted, open) = counts(report);
            @if confirmed + refuted > 0 {
                div.tile.aside {
                    b { (confirmed) " of " (confirmed + refuted) }
                    span { "published statements that were tried are the same here" }
                    small { (open) " more were not tried, or not decided" }
                }
            }
        }
    }
}

/// The conditions of the measurement.
fn facts(report: &Report) -> Markup {
    let machine = &report.machine;
    let thorough = report.thoroughness;
    let memory = machine.memory_bytes as f64 / (1u64 << 30) as f64;
    let runs = match thorough.seconds_max {
        Some(_) => format!(
            "quick: up to {} runs of a case, at most {} ms each; spreads are wide, run the full report before quoting",
            thorough.passes,
            thorough.seconds * 1000.0
        ),
        None => format!("{} runs of {} s for each case", thorough.passes, thorough.seconds),
    };
    let peer = report.results.0.values().find(|case| case.workload.peer).map_or_else(
        || "OpenSSL is not installed".to_owned(),
        |case| format!("beside it {}, one thread, prepared keys", case.level),
    );
    let facts = [
        (
            "Machine",
            format!(
                "{}, {} processors online, {memory:.1} GiB",
                machine.processor, machine.processors_online
            ),
        ),
        ("System", format!("{}, Linux {}", machine.system, machine.kernel)),
        (
            "Engine",
            format!(
                "level {}; portable is the same engine without wide vectors and AES instructions; {peer}",
                report.level
            ),
        ),
        ("Runs", runs),
        (
            "Load",
            format!("{:.2} before the first run; above a few tenths, others took part", report.load_before),
        ),
        ("Made", format!("{} by {}, in {}", date(report), report.program, minutes(report.seconds))),
    ];
    html! {
        h2 id="how" { (HOW) }
        dl.facts { @for (name, value) in facts { dt { (name) } dd { (value) } } }
        p {
            "A figure is the median of its runs; \u{b1} is half the distance between the fastest and the slowest run, as a \
             share of the median. " b { "\u{d7}" } " is the measured rate over the published one. " b { "p50" } " and " b { "p99" }
            " are latencies that half, and 99 of 100, of the requests keep. " b { "Processor time" } " is what one operation \
             costs the caller, the daemon and the cards, booked apart by the kernel. " b { "ITR" } " is the rate over the \
             utilisation of all processors: what the machine would give if they were full. On the mainframe the cards were \
             machines of their own; here a card is a process and shares the processors with its callers, so that more cards \
             than processors cannot show scaling."
        }
        p {
            "Cells that read " i { "kept aside" } " have a published figure that predictions will be judged on; " i { "not yet \
             measured" } " means that no code serves the row yet. A mark such as " sup { "A01" } " stands at a published figure \
             that contradicts its neighbours or its report's text; the README beside the data lists them."
        }
    }
}

const HOW: &str = "How it was measured, and how to read it";

fn contents(report: &Report) -> Markup {
    let part = |is_there: bool, anchor: &str, mark: &'static str, title| {
        is_there.then(|| (anchor.to_owned(), mark, title))
    };
    let parts = [part(!report.openpgp.0.is_empty(), tables::ANCHOR, "OpenPGP", tables::TITLE)];
    let sweeps = if has_sweeps(report) { sweeps::contents() } else { Vec::new() };
    let others = [
        part(!report.tls.0.is_empty(), tls::ANCHOR, "TLS", tls::TITLE),
        part(!report.ipsec.0.is_empty(), ipsec::ANCHOR, "IPsec", ipsec::TITLE),
        part(!report.queues.0.is_empty(), queues::ANCHOR, "queues", queues::TITLE),
        part(report.container.is_some(), "container", "container", container::TITLE),
        part(true, "statements", "text", STATEMENTS),
        part(true, "hardware", "names", HARDWARE),
        part(true, "how", "reading", HOW),
    ];
    let entries = parts.into_iter().flatten().chain(sweeps).chain(others.into_iter().flatten());
    html! {
        nav { @for (anchor, mark, title) in entries { a href={ "#" (anchor) } { em { (mark) } (title) } } }
    }
}

const STATEMENTS: &str = "Published statements";

/// Numbers of statements that are confirmed, refuted and not testable.
fn counts(report: &Report) -> (usize, usize, usize) {
    let count = |wanted: fn(&Verdict) -> bool| shown(report).filter(|one| wanted(&one.verdict)).count();
    (
        count(|verdict| *verdict == Verdict::Confirmed),
        count(|verdict| *verdict == Verdict::Refuted),
        count(|verdict| matches!(verdict, Verdict::NotTestable(_))),
    )
}

/// The judged statements to show: without the sweeps, only those with a measured figure.
fn shown(report: &Report) -> impl Iterator<Item = &Judged> {
    report.judged.iter().filter(|one| has_sweeps(report) || one.measured.is_some())
}

/// The statements, each a sentence: those that differ first, then those that agree, then the rest, folded.
fn judged(report: &Report) -> Markup {
    let (same, different, open) = counts(report);
    let of = |wanted: &'static str| shown(report).filter(move |one| found(one).0 == wanted);
    html! {
        h2 id="statements" { (STATEMENTS) }
        p.counts {
            span.confirmed { b { (same) } " same here" }
            span.refuted { b { (different) } " different here" }
            span.open { b { (open) } " not tried, or not decided" }
        }
        p {
            "Sentences of the published reports, each beside what this machine did. A difference is no misprint there: this \
             system is built another way."
        }
        ul.statements { @for one in of("refuted").chain(of("confirmed")) { (statement(one)) } }
        @if open > 0 {
            details {
                summary { (open) " that were not tried here, or not decided" }
                ul.statements { @for one in of("open") { (statement(one)) } }
            }
        }
    }
}

/// The class of a verdict in the page's style, and its words.
fn found(one: &Judged) -> (&'static str, &'static str) {
    match (&one.verdict, one.measured) {
        (Verdict::Confirmed, _) => ("confirmed", "same here"),
        (Verdict::Refuted, _) => ("refuted", "different here"),
        (Verdict::NotTestable(_), Some(_)) => ("open", "not decided here"),
        (Verdict::NotTestable(_), None) => ("open", "not tried here"),
    }
}

fn statement(one: &Judged) -> Markup {
    let (class, words) = found(one);
    let with_unit = |value: f64| match one.unit.as_str() {
        "%" => format!("{} %", figure(value)),
        "ratio" => format!("{} times", figure(value)),
        "" | "count" | "N" | "sign" | "value" | "set" => figure(value),
        unit => format!("{} {unit}", figure(value)),
    };
    let why = match &one.verdict {
        Verdict::NotTestable(why) => why,
        _ => &one.compared,
    };
    html! {
        li {
            span class={ "verdict " (class) } { (words) } ". " (capital(&one.text)) ". "
            @if let Some(measured) = one.measured {
                span.here {
                    "Here " (with_unit(measured))
                    @if let Some(published) = one.published { ", published " (with_unit(published)) }
                    ". "
                }
            }
            small { (capital(why)) ". Section " (one.section) "." }
        }
    }
}

/// A sentence of its own: the first letter large, no full stop.
fn capital(text: &str) -> String {
    let text = text.trim_end_matches('.');
    let mut letters = text.chars();
    let is_word =
        text.split(' ').next().is_some_and(|word| word.chars().all(|one| one.is_lowercase() || one == '-'));
    match letters.next() {
        Some(first) if is_word => first.to_uppercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

const HARDWARE: &str = "Names of hardware and software";

/// What the published reports name.
const NAMES: [(&str, &str); 13] = [
    ("z990, z9", "mainframes of 2003 and 2005, from one to 54 processors"),
    (
        "CPACF",
        "instructions of every processor for DES, triple DES and SHA-1, on z9 also AES-128 and SHA-256, with clear keys",
    ),
    ("PCICA", "a card for RSA with clear keys, such as those of TLS handshakes"),
    ("PCIXCC", "a card in a housing that answers tampering, with keys under a master key: DES, RSA, PINs"),
    (
        "CEX2C, CEX2A",
        "two cards in one feature, as successors: coprocessors like PCIXCC, or accelerators like PCICA",
    ),
    ("ICSF", "the facility of z/OS that takes a program's request and routes it to a card or an instruction"),
    ("System SSL", "TLS of z/OS, which asks ICSF"),
    (
        "z/VM, guests",
        "the system below others: its guests share cards, each by a queue of its own or one for all",
    ),
    ("z/TPF", "the system for transactions of airlines and banks"),
    ("Encryption Facility", "a program of z/OS that writes files of OpenPGP, in Java"),
    ("zAAP", "a processor for Java alone, which costs less than a general one"),
    ("CRT, ME", "private RSA keys with their primes, or with the exponent alone"),
    ("ETR, ITR", "transactions a second, and the same over the share of the processors that was busy"),
];

fn hardware() -> Markup {
    html! {
        h2 id="hardware" { (HARDWARE) }
        dl.facts { @for (name, what) in NAMES { dt { (name) } dd { (what) } } }
    }
}

fn left_out(report: &Report) -> Markup {
    html! {
        @if !report.left_out.is_empty() {
            h2 id="left-out" { "Left out" }
            p { "Cases without a figure, and why." }
            ul { @for left in &report.left_out { li { code { (left.case) } ": " (left.why) } } }
        }
    }
}

fn minutes(seconds: f64) -> String {
    if seconds < 100.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", seconds / 60.0) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::experiment::Thoroughness;
    use crate::kit::chart::tests::clipped;
    use crate::load::made_up::MadeUp;
    use crate::published::measurements;
    use crate::report::run;
    use crate::sweeps::Plan;
    use crate::sweeps::sweep::{self, Axis, Table};

    pub(crate) fn made() -> (Report, String) {
        let folder = tempfile::tempdir().unwrap();
        let published = measurements();
        let thoroughness = Thoroughness { passes: 2, seconds: 0.1, seconds_max: None };
        let plan = Plan::with_peer(&published, thoroughness, true);
        let mut report = run(&plan, &mut MadeUp::new(), folder.path(), &mut |_| ()).unwrap();
        report.take_queues(queues::tests::made(), Vec::new(), 1.0);
        report.take_openpgp(tables::tests::made_up(), Vec::new(), 1.0);
        report.take_tls(tls::tests::made_up(), Vec::new(), 1.0);
        report.take_ipsec(ipsec::tests::made_up(), Vec::new(), 1.0);
        let page = page(&report, &published);
        (report, page)
    }

    /// Checks that every element is closed by its own end, in order; gives the number of elements.
    fn well_formed(page: &str) -> usize {
        const VOID: [&str; 3] = ["!DOCTYPE", "br", "meta"];
        let style = page.find("<style>").unwrap()..page.find("</style>").unwrap();
        let mut open = Vec::new();
        let mut elements = 0;
        let mut at = 0;
        while let Some(begin) = page[at..].find('<').map(|found| at + found) {
            let end = begin + page[begin..].find('>').expect("a tag ends");
            at = end + 1;
            if style.contains(&begin) && begin != style.start {
                continue;
            }
            let tag = &page[begin + 1..end];
            assert!(!tag.contains('<'), "{tag}");
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name.to_owned()), "at byte {begin}");
                continue;
            }
            elements += 1;
            let name = tag.split_whitespace().next().unwrap().trim_end_matches('/').to_owned();
            if !tag.ends_with('/') && !VOID.contains(&name.as_str()) {
                open.push(name);
            }
        }
        assert!(open.is_empty(), "{open:?}");
        elements
    }

    #[test]
    fn the_page_is_well_formed_and_stands_alone() {
        let (_, page) = made();
        assert!(well_formed(&page) > 5000);
        for foreign in ["<script", "http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(foreign), "{foreign}");
        }
        assert!(!page.contains("NaN") && !page.contains(">inf") && !page.contains("\"inf"));
    }

    #[test]
    fn the_page_holds_every_table_with_its_plot() {
        let (report, page) = made();
        let tables = sweep::tables(&measurements());
        let plots = |table: &Table| if table.axis == Axis::Length { 2 } else { 1 };
        let sweeps = page.split("id=\"fits\"").nth(1).unwrap_or_default();
        let sweeps = sweeps.split(&format!("id=\"{}\"", tls::ANCHOR)).next().unwrap_or_default();
        assert_eq!(sweeps.matches("<svg").count(), tables.iter().map(plots).sum::<usize>());
        for table in &tables {
            assert!(
                sweeps.contains(&format!("<h3>{}</h3>", html! { (table.title) }.into_string())),
                "{}",
                table.id
            );
        }
        for (anchor, ..) in sweeps::contents() {
            assert!(page.contains(&format!("id=\"{anchor}\"")));
        }
        assert_eq!(sweeps.matches(">kept aside</td>").count(), 2 * 8 + 2 * 15 + 2);
        assert_eq!(sweeps.matches(">not yet measured</td>").count(), 0);
        assert_eq!(page.matches("<div class=\"tile\">").count(), 5 + 2);
        assert_eq!(page.matches("class=\"verdict").count(), report.judged.len());
        assert!(sweeps.contains(">26,500<sup title="));
        assert!(page.contains("Left out") && page.contains("portable<br>ops/s"));
        assert!(page.contains("one thread, prepared keys"));
        assert!(page.contains("OpenSSL<br>ops/s") && page.contains("path class=\"line peer\""));
    }

    #[test]
    fn no_label_of_a_chart_leaves_its_frame_or_stands_over_another() {
        assert_eq!(clipped(&made().1), Vec::<String>::new());
    }
}

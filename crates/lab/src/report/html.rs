//! The page of a report: one file, no network, no script, readable on a phone, in the dark and in print.

use super::Report;
use crate::experiment::judged::Verdict;
use crate::ipsec::tables as ipsec;
use crate::kit::digits::{figure, short, times};
use crate::kit::machine::utc_text;
use crate::kit::page::{TableRow, cell, document, measured_text, name, table, words};
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
        (judged(report))
        (queues::section(&report.queues, published))
        (tables::section(&report.openpgp, published))
        (tls::section(&report.tls, published))
        (ipsec::section(&report.ipsec))
        @if has_sweeps(report) { (sweeps::section(&report.results, published)) }
        @if let Some(compared) = &report.container { (container::section(compared, published)) }
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

/// The summary for visitors: machine, rates, comparison figures, and limits of trust.
fn opening(report: &Report, published: &[Row]) -> Markup {
    let machine = &report.machine;
    let rates = sweeps::tiles(&report.results, published)
        .into_iter()
        .map(|(title, now, then)| (title, now, then, "/s"));
    let megabytes = tables::tiles(&report.openpgp, published).into_iter();
    let megabytes = megabytes.map(|(title, now, then)| (title, now * 1048576.0, then * 1048576.0, "B/s"));
    let is_quick = report.thoroughness.seconds_max.is_some() || tables::is_part(&report.openpgp);
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
            @for (title, now, then, unit) in rates.chain(megabytes) {
                div.tile {
                    b { (times(now / then)) }
                    span { (title) }
                    small { (short(now)) (unit) " here, " (short(then)) (unit) " published" }
                }
            }
            @let (confirmed, refuted, open) = counts(report);
            @if confirmed + refuted > 0 {
                div.tile.aside {
                    b { (confirmed) " of " (confirmed + refuted) }
                    span { "published statements that could be tested hold here" }
                    small { (open) " more need another machine, or runs that spread less" }
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
        || "no peer was measured".to_owned(),
        |case| format!("peer: {}, by its own benchmark with prepared keys", case.level),
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
                "level {}; the software provider is the same engine held to the portable level; {peer}",
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
    let parts = [
        part(true, "statements", "text", STATEMENTS),
        part(!report.queues.0.is_empty(), queues::ANCHOR, "queues", queues::TITLE),
        part(!report.openpgp.0.is_empty(), tables::ANCHOR, "OpenPGP", tables::TITLE),
        part(!report.tls.0.is_empty(), tls::ANCHOR, "TLS", tls::TITLE),
        part(!report.ipsec.0.is_empty(), ipsec::ANCHOR, "IPsec", ipsec::TITLE),
    ];
    let sweeps = if has_sweeps(report) { sweeps::contents() } else { Vec::new() };
    let container = part(report.container.is_some(), "container", "container", container::TITLE);
    let how = part(true, "how", "reading", HOW);
    let entries = parts.into_iter().flatten().chain(sweeps).chain(container).chain(how);
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
fn shown(report: &Report) -> impl Iterator<Item = &crate::experiment::judged::Judged> {
    report.judged.iter().filter(|one| has_sweeps(report) || one.measured.is_some())
}

fn judged(report: &Report) -> Markup {
    let (confirmed, refuted, open) = counts(report);
    let rows = shown(report).map(|one| {
        let (class, verdict, why) = match &one.verdict {
            Verdict::Confirmed => ("confirmed", "confirmed", one.compared.as_str()),
            Verdict::Refuted => ("refuted", "refuted", one.compared.as_str()),
            Verdict::NotTestable(why) => ("open", "not testable", why.as_str()),
        };
        TableRow::Cells(vec![
            name(&one.section),
            words(html! { (one.text) }),
            cell(one.published.map_or(String::new(), figure)),
            measured_text(&one.measured.map_or(String::new(), figure)),
            words(html! { span class={ "verdict " (class) } { (verdict) } ": " (why) }),
        ])
    });
    html! {
        h2 id="statements" { (STATEMENTS) }
        p.counts {
            span.confirmed { b { (confirmed) } " confirmed" }
            span.refuted { b { (refuted) } " refuted" }
            span.open { b { (open) } " not testable on these processors" }
        }
        p {
            "What the published reports' text says, held against this machine. A refuted statement is not a misprint: it says \
             that this house is built differently."
        }
        (table(&["<where", "<statement", "published", "measured", "<verdict"], rows))
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
        assert!(page.contains("Left out") && page.contains("software<br>ops/s"));
        assert!(page.contains("by its own benchmark with prepared keys"));
        assert!(page.contains("peer<br>ops/s") && page.contains("path class=\"line peer\""));
    }

    #[test]
    fn no_label_of_a_chart_leaves_its_frame_or_stands_over_another() {
        assert_eq!(clipped(&made().1), Vec::<String>::new());
    }
}

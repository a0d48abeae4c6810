//! The ways in which cards and callers wait, and their costs: spinning, adaptive, sleeping, and at ticks of 10 ms.
//!
//! With ticks the caller looks for answers at the ticks alone, as the originals did without their polling thread,
//! and the card waits adaptively; in the other modes both wait in the same way.

use super::Extent;
use super::case::{Case, Experiment, Load, Rig};
use super::models::{Model, PRIVATE, TimedCard};
use super::page::{Page, heading};
use crate::kit::chart::{self, Bar, Bars, Ink, Title};
use crate::kit::page::{self, TableRow};
use crate::kit::statistics::Summary;
use maud::{Markup, PreEscaped, html};
use wire::control::PollMode;

/// The tick of the originals' timer in microseconds.
pub const TICK_US: u32 = 10_000;
/// The ways of waiting, with their names.
pub const MODES: [(&str, PollMode); 4] = [
    ("spin", PollMode::Spin),
    ("adaptive", PollMode::Adaptive),
    ("sleep", PollMode::Sleep),
    ("every 10 ms", PollMode::Every { interval_us: TICK_US }),
];
/// Connections: each has one request under way.
pub const CONNECTIONS: [usize; 2] = [1, 8];
/// A timed PCICA card, and a card that is not timed.
pub const CARDS: [Option<TimedCard>; 2] = [Some(TimedCard::of(Model::Pcica)), None];

/// Name of the case with this card, way of waiting and number of connections.
pub fn name(card: Option<TimedCard>, mode: &str, connections: usize) -> String {
    let card = card.map_or("accelerator", |card| card.model.name());
    format!("{card}/{}/{connections}", mode.replace(' ', "-"))
}

/// The cases of the ways of waiting, fewer for a quick report.
pub fn cases(extent: Extent) -> Vec<Case> {
    let mut cases = Vec::new();
    for card in CARDS {
        for (mode, poll) in MODES {
            let ticks = matches!(poll, PollMode::Every { .. });
            if extent == Extent::Quick && card.is_some() && !ticks && poll != PollMode::Adaptive {
                continue;
            }
            let card_poll = if ticks { PollMode::Adaptive } else { poll };
            for connections in CONNECTIONS {
                cases.push(Case {
                    experiment: Experiment::Waiting,
                    name: name(card, mode, connections),
                    rig: Rig { poll: card_poll, caller_poll: poll, ..Rig::of(1, card) },
                    loads: vec![Load {
                        tenant: 0,
                        operation: PRIVATE,
                        jobs: connections,
                        cards: Rig::first(1),
                    }],
                });
            }
        }
    }
    cases
}

/// The section of the page on ways of waiting.
pub(super) fn show(page: Page<'_>) -> Markup {
    let head = heading(Experiment::Waiting, "Ways of waiting", false);
    let remark = PreEscaped(
        "What each way of waiting costs and gives, with one connection and with eight, on a timed PCICA card and on an \
         accelerator as it is. Linux without its polling thread looked for answers at the tick of 10 ms, which gave a \
         connection at most 100 handshakes a second. The cost is processor time of caller and card for an operation; the card’s \
         holds the operation itself.",
    );
    let charts = page::charts(&[
        ("rate over adaptive waiting", rate_chart(page)),
        ("processor time of an operation", cost_chart(page)),
    ]);
    let mut rows = Vec::new();
    for card in CARDS {
        for connections in CONNECTIONS {
            rows.push(TableRow::Head(title(card, connections)));
            rows.extend(MODES.into_iter().filter_map(|(mode, _)| table_row(page, card, mode, connections)));
        }
    }
    let columns = [
        "<way of waiting",
        "published limit\nops/s",
        "measured\nops/s",
        "\u{b1}",
        "over\nadaptive",
        "p50\nms",
        "p99\nms",
        "caller\n\u{b5}s per op",
        "card\n\u{b5}s per op",
        "fill",
    ];
    html! { (head) p.remark { (remark) } (charts) (page::table(&columns, rows)) }
}

fn title(card: Option<TimedCard>, connections: usize) -> String {
    let plural = if connections == 1 { "" } else { "s" };
    let on = card.map_or("accelerator as it is".to_owned(), |card| format!("{}, timed", card.model.title()));
    format!("{on}, {connections} connection{plural}")
}

fn table_row(page: Page<'_>, card: Option<TimedCard>, mode: &str, connections: usize) -> Option<TableRow> {
    let outcome = page.of(Experiment::Waiting, &name(card, mode, connections))?;
    let over = page
        .of(Experiment::Waiting, &name(card, "adaptive", connections))
        .and_then(|adaptive| outcome.over(adaptive));
    let limit = (mode == MODES[3].0).then_some(connections as f64 * 1e6 / f64::from(TICK_US));
    Some(TableRow::Cells(vec![
        page::name(mode),
        page::plain(limit, 0),
        page::measured(Some(outcome.ops_per_s.median), 0),
        page::spread(Some(&outcome.ops_per_s)),
        page::measured(over.map(|ratio| ratio.median), 3),
        page::milliseconds(outcome.p50_ns.median),
        page::milliseconds(outcome.p99_ns.median),
        page::microseconds(outcome.caller_ns),
        page::microseconds(outcome.cards_ns),
        page::plain(Some(outcome.fill.median), 2),
    ]))
}

/// Groups of the charts: each card with each number of connections.
fn groups() -> Vec<(Option<TimedCard>, usize)> {
    CARDS.into_iter().flat_map(|card| CONNECTIONS.map(|connections| (card, connections))).collect()
}

fn charted(unit: &str, value: impl Fn(&str, Option<TimedCard>, usize) -> Option<Summary>) -> String {
    let series: Vec<Bars> = MODES
        .into_iter()
        .enumerate()
        .map(|(index, (mode, _))| {
            let bars = groups()
                .into_iter()
                .map(|(card, connections)| Bar { measured: value(mode, card, connections), published: None });
            Bars {
                name: mode.to_owned(),
                ink: [Ink::OursSecond, Ink::Ours, Ink::Software, Ink::Published][index],
                bars: bars.collect(),
            }
        })
        .collect();
    let names: Vec<String> = groups()
        .into_iter()
        .map(|(card, connections)| {
            format!("{}, {connections}", if card.is_some() { "timed" } else { "as it is" })
        })
        .collect();
    chart::bars(Title { name: unit, unit, under: "card, connections" }, &names, &series)
}

fn rate_chart(page: Page<'_>) -> String {
    charted("rate over adaptive", |mode, card, connections| {
        let of = |mode| page.of(Experiment::Waiting, &name(card, mode, connections));
        of(mode)?.over(of("adaptive")?)
    })
}

fn cost_chart(page: Page<'_>) -> String {
    charted("\u{b5}s per operation", |mode, card, connections| {
        let outcome = page.of(Experiment::Waiting, &name(card, mode, connections))?;
        Some(Summary::exact((outcome.caller_ns + outcome.cards_ns) / 1e3))
    })
}

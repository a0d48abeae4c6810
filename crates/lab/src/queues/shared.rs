//! One tenant: the originals' shared queue against cards of its own, with one card to six.
//!
//! A guest of z/VM shared cards through eight virtual queues, whatever the number of cards, and z/VM looked for
//! answers at intervals. A tenant has the first as a limit of eight requests in flight over all cards.
//! The interval is a timed card's `poll_us`, fitted to one published row of each card: with eight requests
//! in flight and more cards than they fill, 8 / rate is what a request took. 871.50 a second over six PCICA cards
//! make one interval of 9.18 ms; 2431.50 over four PCIXCC make 3.29 ms, two intervals. The other rows are
//! what the fit is judged by.

use super::case::{Case, Experiment, Load, Rig, bits};
use super::models::{Model, PRIVATE, TimedCard};
use super::page::{Page, heading};
use super::{Extent, Outcomes};
use crate::kit::chart::{self, Bar, Bars, Ink, Title};
use crate::kit::page::{self, TableRow};
use crate::kit::statistics::Summary;
use crate::load::tenants::{in_flight, owning, sharing};
use maud::{Markup, PreEscaped, html};
use wire::tenant::Limits;

/// Requests in flight of a guest on shared cards, over all of them.
pub const VIRTUAL_QUEUES: u32 = 8;
/// Cards of the sweep.
pub const CARDS: [usize; 4] = [1, 2, 4, 6];
/// The published cards of the sweep.
pub const MODELS: [Model; 2] = [Model::Pcica, Model::PcixccZvm];
/// Cards of the largest house.
const CARDS_MAX: usize = CARDS[CARDS.len() - 1];
/// Requests that the tenant would keep in flight for each card: more than a card holds.
const JOBS_PER_CARD: usize = 12;

/// How the tenant reaches the cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Eight in flight over all cards, answers collected at intervals: as a guest of the original.
    Window,
    /// Eight in flight over all cards.
    Limited,
    /// Cards of its own, without a limit.
    Own,
}

impl Queue {
    /// Every way.
    pub const ALL: [Self; 3] = [Self::Window, Self::Limited, Self::Own];

    const fn name(self) -> &'static str {
        match self {
            Self::Window => "window",
            Self::Limited => "limit",
            Self::Own => "own",
        }
    }

    /// The name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Window => "eight in flight, z/VM's interval",
            Self::Limited => "eight in flight",
            Self::Own => "cards of its own",
        }
    }

    const fn ink(self) -> Ink {
        match self {
            Self::Window => Ink::Software,
            Self::Limited => Ink::OursSecond,
            Self::Own => Ink::Ours,
        }
    }
}

/// The interval at which z/VM collected answers of shared cards, in microseconds.
pub const fn window_us(model: Model) -> u32 {
    match model {
        Model::Pcica => 9_180,
        _ => 1_645,
    }
}

/// Name of the case with this model, number of cards and way to the cards.
pub fn name(model: Model, cards: usize, queue: Queue) -> String {
    format!("{}/{cards}/{}", model.name(), queue.name())
}

/// The cases on shared cards and on the tenant's own, fewer for a quick report.
pub fn cases(extent: Extent) -> Vec<Case> {
    let mut cases = Vec::new();
    for model in MODELS {
        let counts: &[usize] = match (extent, model) {
            (Extent::Full, _) => &CARDS,
            (Extent::Quick, Model::Pcica) => &[1, 6],
            (Extent::Quick, _) => &[1, 2],
        };
        for queue in Queue::ALL {
            cases.extend(counts.iter().map(|&cards| case(model, cards, queue)));
        }
    }
    cases
}

fn case(model: Model, cards: usize, queue: Queue) -> Case {
    let poll_us = if queue == Queue::Window { window_us(model) } else { 0 };
    let card = TimedCard { poll_us, ..TimedCard::of(model) };
    let own = Rig::first(cards);
    let tenant = match queue {
        Queue::Own => owning(sharing("owner", Limits::default()), bits(own).into_iter(), false),
        _ => sharing("guest", in_flight(VIRTUAL_QUEUES)),
    };
    Case {
        experiment: Experiment::Shared,
        name: name(model, cards, queue),
        rig: Rig { tenants: vec![tenant], ..Rig::of(CARDS_MAX, Some(card)) },
        loads: vec![Load { tenant: 0, operation: PRIVATE, jobs: JOBS_PER_CARD * cards, cards: own }],
    }
}

/// Rate of a case on the tenant's own cards over the rate of the same cards by `queue`.
pub fn gain(outcomes: &Outcomes, model: Model, cards: usize, queue: Queue) -> Option<Summary> {
    let of = |queue| outcomes.of(Experiment::Shared, &name(model, cards, queue));
    of(Queue::Own)?.over(of(queue)?)
}

/// The published row of a case: table `t2` of shared queues, `t3` of dedicated ones.
pub fn published_id(model: Model, cards: usize, queue: Queue, what: &str) -> String {
    let table = if queue == Queue::Own { "t3" } else { "t2" };
    format!("zvm.{table}.{}{cards}.{what}", model.title().to_lowercase())
}

/// The section of the page on shared cards.
pub(super) fn show(page: Page<'_>) -> Markup {
    let head = heading(Experiment::Shared, "One tenant: shared cards against cards of its own", true);
    let remark = PreEscaped(
        "A guest of z/VM reached shared cards through eight virtual queues, however many cards there were, and z/VM \
         looked for answers at intervals. Here the tenant wants 12 requests under way for each card, and has, over all \
         cards, <b>eight in flight with z/VM’s interval</b> (9.18 ms for PCICA and 1.645 ms for PCIXCC, each fitted to \
         one published row, marked †), <b>eight in flight</b>, or <b>cards of its own</b> without a limit. The charts give the rate \
         as a multiple of one full card’s.",
    );
    let charts = MODELS.map(|model| (model.title(), chart(page, model)));
    let charts = page::charts(&charts);
    let mut rows = Vec::new();
    for model in MODELS {
        for queue in Queue::ALL {
            rows.push(TableRow::Head(format!("{}, {}", model.title(), queue.title())));
            rows.extend(CARDS.into_iter().filter_map(|cards| table_row(page, model, cards, queue)));
        }
    }
    let columns = [
        "<cards",
        "published\nops/s",
        "measured\nops/s",
        "\u{b1}",
        "published\ncard use",
        "measured\ncard use",
        "own / this\npublished",
        "own / this\nmeasured",
        "\u{b1}",
        "p50\nms",
        "p99\nms",
        "caller\n\u{b5}s per op",
        "cards\n\u{b5}s per op",
    ];
    html! { (head) p.remark { (remark) } (charts) (page::table(&columns, rows)) }
}

fn chart(page: Page<'_>, model: Model) -> String {
    let one = page.row(&published_id(model, 1, Queue::Own, "tx"));
    let full = model.rates(PRIVATE).map(|rates| rates.full);
    let series = Queue::ALL.map(|queue| {
        let bars = CARDS.map(|cards| {
            let outcome = page.of(Experiment::Shared, &name(model, cards, queue));
            let published = if queue == Queue::Limited {
                None
            } else {
                page.row(&published_id(model, cards, queue, "tx"))
            };
            Bar {
                measured: outcome.zip(full).map(|(outcome, full)| outcome.ops_per_s.scaled(1.0 / full)),
                published: published.zip(one).map(|(rate, one)| rate / one),
            }
        });
        Bars { name: queue.title().to_owned(), ink: queue.ink(), bars: bars.to_vec() }
    });
    let groups = CARDS.map(|cards| cards.to_string());
    chart::bars(
        Title { name: "rate over that of one card", unit: "times one full card", under: "cards" },
        &groups,
        &series,
    )
}

fn table_row(page: Page<'_>, model: Model, cards: usize, queue: Queue) -> Option<TableRow> {
    let outcome = page.of(Experiment::Shared, &name(model, cards, queue))?;
    // The originals collected answers at z/VM's interval in every case, so no figure is printed for the limit alone.
    let printed = |queue: Queue, what| match queue {
        Queue::Limited => None,
        _ => page.row(&published_id(model, cards, queue, what)),
    };
    let rate = printed(queue, "tx");
    let own = printed(Queue::Own, "tx").filter(|_| queue == Queue::Window);
    let gain = if queue == Queue::Own { None } else { gain(page.outcomes, model, cards, queue) };
    let fitted =
        queue == Queue::Window && matches!((model, cards), (Model::Pcica, 6) | (Model::PcixccZvm, 4));
    Some(TableRow::Cells(vec![
        page::name(&format!("{cards}{}", if fitted { " \u{2020}" } else { "" })),
        page::plain(rate, 0),
        page::measured(Some(outcome.ops_per_s.median), 0),
        page::spread(Some(&outcome.ops_per_s)),
        page::percent(printed(queue, "card").map(|use_pct| use_pct / 100.0), 1),
        page::percent_measured(Some(outcome.utilisation.median), 1),
        page::plain(own.zip(rate).map(|(own, rate)| own / rate), 2),
        page::measured(gain.map(|gain| gain.median), 2),
        page::spread(gain.as_ref()),
        page::milliseconds(outcome.p50_ns.median),
        page::milliseconds(outcome.p99_ns.median),
        page::microseconds(outcome.caller_ns),
        page::microseconds(outcome.cards_ns),
    ]))
}

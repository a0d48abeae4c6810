//! Many tenants: thirty against one on the published configurations, and 1 to 120 on twelve cards.
//!
//! Each tenant is a guest of the original: eight requests in flight over all cards. The twelve cards are
//! half as fast as published, so that two processors can carry their work.

use super::case::{Case, Experiment, Load, Rig};
use super::models::{Model, PRIVATE, TimedCard};
use super::page::{Page, count, heading};
use super::shared::VIRTUAL_QUEUES;
use super::{Extent, QueueOutcome};
use crate::kit::chart::{self, Heights, Ink, Line, Title};
use crate::kit::page::{self, TableRow};
use crate::kit::statistics::Summary;
use crate::load::tenants::{in_flight, sharing};
use maud::{Markup, PreEscaped, html};

/// Cards of the published configurations.
pub const PUBLISHED: [(Model, usize); 2] = [(Model::Pcica, 6), (Model::PcixccZvm, 2)];
/// Guests of the published configurations.
pub const GUESTS: [usize; 2] = [1, 30];
/// Tenants of the sweep.
pub const TENANTS: [usize; 8] = [1, 2, 4, 8, 15, 30, 60, 120];
/// Tenants of the quick sweep.
const TENANTS_QUICK: [usize; 3] = [1, 30, 120];
/// Cards of the sweep, and the divisor of their published speed.
pub const CARDS: usize = 12;
/// Divisor of the published speed of the [`CARDS`].
pub const SLOWER: u32 = 2;

/// Name of a case on cards as published.
pub fn name(model: Model, cards: usize, guests: usize) -> String {
    format!("{}/{cards}/{guests}", model.name())
}

/// Name of a case of the sweep.
pub fn sweep_name(tenants: usize) -> String {
    format!("{}/{CARDS}-slow/{tenants}", Model::Pcica.name())
}

/// The cases with one tenant and many, fewer for a quick report.
pub fn cases(extent: Extent) -> Vec<Case> {
    let published = PUBLISHED.into_iter().flat_map(|(model, cards)| {
        let card = TimedCard::of(model);
        GUESTS.map(|guests| case(name(model, cards, guests), card, cards, guests))
    });
    let counts: &[usize] = if extent == Extent::Full { &TENANTS } else { &TENANTS_QUICK };
    let slow = TimedCard { slower: SLOWER, ..TimedCard::of(Model::Pcica) };
    let sweep = counts.iter().map(|&tenants| case(sweep_name(tenants), slow, CARDS, tenants));
    published.chain(sweep).collect()
}

fn case(name: String, card: TimedCard, cards: usize, tenants: usize) -> Case {
    let tenant = |index: usize| sharing(format!("guest-{:03}", index + 1), in_flight(VIRTUAL_QUEUES));
    let jobs = VIRTUAL_QUEUES as usize;
    Case {
        experiment: Experiment::Tenants,
        name,
        rig: Rig { tenants: (0..tenants).map(tenant).collect(), ..Rig::of(cards, Some(card)) },
        loads: (0..tenants)
            .map(|tenant| Load { tenant, operation: PRIVATE, jobs, cards: Rig::first(cards) })
            .collect(),
    }
}

/// The section of the page on many tenants.
pub(super) fn show(page: Page<'_>) -> Markup {
    let head = heading(Experiment::Tenants, "One tenant, thirty, and a hundred and twenty", true);
    let remark = PreEscaped(
        "Each tenant keeps eight requests under way, the limit of a guest on shared cards. Thirty guests of the original \
         got more than one until its processors were full (PCICA) or its cards (PCIXCC); processors play no part with timed \
         cards. Fairness is Jain’s index of the tenants’ rates (1: all alike) and the largest rate over the smallest.",
    );
    let charts = [
        ("rate, 12 cards", rate_chart(page)),
        ("the tenants' shares and latencies, 12 cards", share_chart(page)),
    ];
    let charts = page::charts(&charts);
    let mut rows = Vec::new();
    for (model, cards) in PUBLISHED {
        rows.push(TableRow::Head(format!("{cards} {} cards", model.title())));
        let one = page.of(Experiment::Tenants, &name(model, cards, 1));
        for guests in GUESTS {
            let id = |what| format!("zvm.t5.{}{cards}.{guests}g.{what}", model.title().to_lowercase());
            let one_id = format!("zvm.t5.{}{cards}.1g.tx", model.title().to_lowercase());
            let printed = page.row(&id("tx"));
            let published = Printed {
                ratio: printed.zip(page.row(&one_id)).map(|(rate, one)| rate / one),
                rate: printed,
                card_use: page.row(&id("card")).map(|percent| percent / 100.0),
            };
            rows.extend(table_row(page, &name(model, cards, guests), published, one));
        }
    }
    rows.push(TableRow::Head(format!("{CARDS} {} cards half as fast", Model::Pcica.title())));
    let one = page.of(Experiment::Tenants, &sweep_name(1));
    for tenants in TENANTS {
        rows.extend(table_row(page, &sweep_name(tenants), Printed::default(), one));
    }
    let columns = [
        "<tenants",
        "published\nops/s",
        "measured\nops/s",
        "\u{b1}",
        "over one tenant\npublished",
        "over one tenant\nmeasured",
        "published\ncard use",
        "measured\ncard use",
        "Jain",
        "max / min",
        "p50\nms",
        "p99\nms",
        "worst p99\nms",
    ];
    html! { (head) p.remark { (remark) } (charts) (page::table(&columns, rows)) }
}

/// The published figures of a row.
#[derive(Default)]
struct Printed {
    rate: Option<f64>,
    ratio: Option<f64>,
    card_use: Option<f64>,
}

fn table_row(page: Page<'_>, name: &str, printed: Printed, one: Option<&QueueOutcome>) -> Option<TableRow> {
    let outcome = page.of(Experiment::Tenants, name)?;
    let over_one = one.and_then(|one| outcome.over(one));
    Some(TableRow::Cells(vec![
        page::name(&outcome.tenants.to_string()),
        page::plain(printed.rate, 0),
        page::measured(Some(outcome.ops_per_s.median), 0),
        page::spread(Some(&outcome.ops_per_s)),
        page::plain(printed.ratio, 2),
        page::measured(over_one.map(|ratio| ratio.median), 2),
        page::percent(printed.card_use, 1),
        page::percent_measured(Some(outcome.utilisation.median), 1),
        page::plain(Some(outcome.jain.median), 4),
        page::plain(outcome.max_over_min.map(|ratio| ratio.median), 3),
        page::milliseconds(outcome.p50_ns.median),
        page::milliseconds(outcome.p99_ns.median),
        page::milliseconds(outcome.p99_worst_ns.median),
    ]))
}

fn swept<'a>(page: Page<'a>) -> impl Iterator<Item = (f64, &'a QueueOutcome)> {
    TENANTS.into_iter().filter_map(move |tenants| {
        Some((tenants as f64, page.of(Experiment::Tenants, &sweep_name(tenants))?))
    })
}

fn rate_chart(page: Page<'_>) -> String {
    let points = swept(page).map(|(tenants, outcome)| (tenants, outcome.ops_per_s)).collect();
    let line = Line { name: "all tenants".to_owned(), ink: Ink::Ours, points };
    chart::lines(
        Title { name: "rate over tenants", unit: "operations per second", under: "tenants" },
        Heights::FromNought,
        count,
        &[line],
    )
}

/// A chart of the slowest and the fastest tenant's rate over their mean, and of latencies over that of one tenant.
fn share_chart(page: Page<'_>) -> String {
    let rates = |pick: fn(f64, f64) -> f64, first: f64| {
        let share = move |outcome: &QueueOutcome| {
            let rates = outcome.each.iter().map(|each| each.ops_per_s);
            let mean = rates.clone().sum::<f64>() / outcome.each.len().max(1) as f64;
            Summary::exact(if mean > 0.0 { rates.fold(first, pick) / mean } else { 0.0 })
        };
        swept(page).map(|(tenants, outcome)| (tenants, share(outcome))).collect()
    };
    let lines = [
        Line {
            name: "fastest tenant over the mean".to_owned(),
            ink: Ink::OursSecond,
            points: rates(f64::max, 0.0),
        },
        Line {
            name: "slowest tenant over the mean".to_owned(),
            ink: Ink::Ours,
            points: rates(f64::min, f64::INFINITY),
        },
        Line {
            name: "p99 over p50".to_owned(),
            ink: Ink::Software,
            points: swept(page)
                .map(|(tenants, outcome)| {
                    (tenants, Summary::exact(outcome.p99_ns.median / outcome.p50_ns.median.max(1.0)))
                })
                .collect(),
        },
    ];
    chart::lines(
        Title { name: "shares over tenants", unit: "ratio", under: "tenants" },
        Heights::FromNought,
        count,
        &lines,
    )
}

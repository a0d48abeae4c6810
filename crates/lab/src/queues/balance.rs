//! Two cards: the share of each that each system gets.
//!
//! As on z/TPF, one system is the client of all connections, whose requests are public operations, and one the
//! server, whose requests are private ones. Either both share both cards, or the server has the first for
//! its own and shares the second with the client.

use super::Extent;
use super::case::{Case, Experiment, FIRST_CARD, Load, Rig};
use super::models::{Model, PRIVATE, PUBLIC, TimedCard};
use super::page::{Page, heading};
use crate::kit::chart::{self, Bar, Bars, Ink, Title};
use crate::kit::page::{self, TableRow};
use crate::load::tenants::{owning, sharing};
use maud::{Markup, PreEscaped, html};
use wire::tenant::{Limits, Tenant};

/// Both systems on both cards.
pub const BOTH_SHARED: &str = "both-shared";
/// The first card the server's own, the second shared.
pub const ONE_SHARED: &str = "one-shared";
/// Place of the client among the loads of a case.
pub const CLIENT: usize = 0;
/// Place of the server among the loads of a case.
pub const SERVER: usize = 1;
/// The card that is shared in both cases.
pub const SHARED_CARD: u32 = FIRST_CARD + 1;
/// Requests that each system keeps in flight: as many as two cards hold.
const JOBS: usize = 16;

/// The cases; two are few enough for any report.
pub fn cases(_: Extent) -> Vec<Case> {
    let both = Rig::first(2);
    let (client, server) = (sharing("client", Limits::default()), sharing("server", Limits::default()));
    let owner = owning(server.clone(), std::iter::once(FIRST_CARD), true);
    vec![
        case(BOTH_SHARED, vec![client.clone(), server], both),
        case(ONE_SHARED, vec![client, owner], 1 << SHARED_CARD),
    ]
}

fn case(name: &str, tenants: Vec<Tenant>, client_cards: u64) -> Case {
    let load = |tenant, operation, cards| Load { tenant, operation, jobs: JOBS, cards };
    Case {
        experiment: Experiment::Balance,
        name: name.to_owned(),
        rig: Rig { tenants, ..Rig::of(2, Some(TimedCard::of(Model::Pcica))) },
        loads: vec![load(CLIENT, PUBLIC, client_cards), load(SERVER, PRIVATE, Rig::first(2))],
    }
}

/// The section of the page on two cards.
pub(super) fn show(page: Page<'_>) -> Markup {
    let head = heading(Experiment::Balance, "Two cards in balance", true);
    let remark = PreEscaped(
        "Two systems of z/TPF opened connections with each other: the client’s requests are RSA public operations, the \
         server’s private ones. First both share two PCICA cards; published were operations a second by card. Then \
         the server has card 1 for its own and shares card 2 with the client, and published is that it sends more to \
         its own. Each keeps 16 requests under way; a share is a part of what one system did. Here a request goes to the card that promises \
         its answer first: what that evens out is waiting, and both cards are full whichever system has more of which.",
    );
    let charts = page::charts(&[
        ("shares, both cards shared", chart(page, BOTH_SHARED)),
        ("shares, card 1 the server's own", chart(page, ONE_SHARED)),
    ]);
    let mut rows = Vec::new();
    for (case, title) in
        [(BOTH_SHARED, "both cards shared"), (ONE_SHARED, "card 1 the server's own, card 2 shared")]
    {
        let Some(outcome) = page.of(Experiment::Balance, case) else { continue };
        rows.push(TableRow::Head(format!("{title}; cards {:.1} % used", outcome.utilisation.median * 100.0)));
        for each in &outcome.each {
            let share = |card: u32| each.shares.get(&card);
            let printed = |card| published_share(page, case, &each.tenant, card);
            let cells = [FIRST_CARD, SHARED_CARD].into_iter().flat_map(|card| {
                [
                    page::percent(printed(card), 1),
                    page::percent_measured(Some(share(card).map_or(0.0, |share| share.median)), 1),
                    page::spread(share(card)),
                ]
            });
            let name = [page::name(&each.tenant), page::measured(Some(each.ops_per_s), 0)];
            let latency = [page::milliseconds(each.p50_ns), page::milliseconds(each.p99_ns)];
            rows.push(TableRow::Cells(name.into_iter().chain(cells).chain(latency).collect()));
        }
    }
    let columns = [
        "<system",
        "measured\nops/s",
        "card 1\npublished",
        "card 1\nmeasured",
        "\u{b1}",
        "card 2\npublished",
        "card 2\nmeasured",
        "\u{b1}",
        "p50\nms",
        "p99\nms",
    ];
    html! { (head) p.remark { (remark) } (charts) (page::table(&columns, rows)) }
}

/// A system's published share of a card; published for two shared cards only.
fn published_share(page: Page<'_>, case: &str, system: &str, card: u32) -> Option<f64> {
    if case != BOTH_SHARED {
        return None;
    }
    let part = page.row(&format!("ztpf.ssl-start-2.ap{}.{system}.ops", card - FIRST_CARD))?;
    Some(part / page.row(&format!("ztpf.ssl-start-2.total.{system}.ops"))?)
}

fn chart(page: Page<'_>, case: &str) -> String {
    let Some(outcome) = page.of(Experiment::Balance, case) else { return String::new() };
    let series: Vec<Bars> = outcome
        .each
        .iter()
        .enumerate()
        .map(|(index, each)| {
            let bars = [FIRST_CARD, SHARED_CARD].map(|card| Bar {
                measured: each.shares.get(&card).map(|share| share.scaled(100.0)),
                published: published_share(page, case, &each.tenant, card).map(|share| share * 100.0),
            });
            Bars { name: each.tenant.clone(), ink: Ink::SERIES[(index + 1).min(3)], bars: bars.to_vec() }
        })
        .collect();
    chart::bars(
        Title { name: "shares", unit: "% of a system's operations", under: "card" },
        &["1".to_owned(), "2".to_owned()],
        &series,
    )
}

//! How the rate grows with the jobs, on timed cards and on others, and where it stops growing.

use super::case::{Case, Experiment, Load, Rig};
use super::models::{Model, PRIVATE, TimedCard};
use super::page::{Page, count, heading};
use super::{Extent, Outcomes};
use crate::kit::chart::{self, Heights, Ink, Line, Title};
use crate::kit::page::{self, TableRow};
use maud::{Markup, PreEscaped, html};

/// Jobs of the sweep.
pub const JOBS: [usize; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 32, 48, 64, 96];
/// Jobs of the quick sweep.
const JOBS_QUICK: [usize; 4] = [1, 4, 8, 96];
/// The knee is the fewest jobs whose rate is at least this share of the best.
const KNEE: f64 = 0.95;

/// The cards of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// One timed card.
    One(Model),
    /// Twelve timed PCICA cards, at half their speed.
    Twelve,
    /// One accelerator that is not timed.
    Real,
}

impl On {
    /// Every set of cards.
    pub const ALL: [Self; 5] = [
        Self::One(Model::Pcica),
        Self::One(Model::Pcixcc),
        Self::One(Model::Cex2c),
        Self::Twelve,
        Self::Real,
    ];

    /// The name in cases.
    pub fn name(self) -> String {
        match self {
            Self::One(model) => format!("{}/1", model.name()),
            Self::Twelve => format!("{}/12-slow", Model::Pcica.name()),
            Self::Real => "accelerator/1".to_owned(),
        }
    }

    /// The name for people.
    pub fn title(self) -> String {
        match self {
            Self::One(model) => format!("one {} card, timed", model.title()),
            Self::Twelve => format!("12 {} cards half as fast, timed", Model::Pcica.title()),
            Self::Real => "one accelerator as it is".to_owned(),
        }
    }

    fn rig(self) -> Rig {
        let slow = TimedCard { slower: super::tenants::SLOWER, ..TimedCard::of(Model::Pcica) };
        match self {
            Self::One(model) => Rig::of(1, Some(TimedCard::of(model))),
            Self::Twelve => Rig::of(12, Some(slow)),
            Self::Real => Rig::of(1, None),
        }
    }

    /// The expected rate of timed cards with this many jobs: one answer for each job in the time of a request, up to
    /// the full rate.
    fn asked(self, jobs: usize) -> Option<f64> {
        let rates = |cards: f64| {
            let rates = self.rig().cards.first().copied().flatten()?.rates(PRIVATE)?;
            Some((jobs as f64 * rates.one_job).min(cards * rates.full))
        };
        match self {
            Self::One(_) => rates(1.0),
            Self::Twelve => rates(12.0),
            Self::Real => None,
        }
    }

    /// The published row with this many jobs; none if no such row was published.
    const fn published(self, jobs: usize) -> Option<&'static str> {
        match (self, jobs) {
            (Self::One(Model::Pcica), 1) => Some("z990.4.4.pka.pkd-crt-1024.1c1j.ops"),
            (Self::One(Model::Pcica), 8) => Some("z990.4.4.pka.pkd-crt-1024.1c8j.ops"),
            (Self::One(Model::Pcixcc), 1) => Some("z990.4.5.3.pka.pkd-crt-1024.1c1j.ops"),
            // Published with seven jobs, which fill the card.
            (Self::One(Model::Pcixcc), 8) => Some("z990.4.5.3.pka.pkd-crt-1024.1c7j.ops"),
            (Self::One(Model::Cex2c), 1) => Some("z990.5.2.3.pka.pkd-crt-1024.cex2c.ops"),
            _ => None,
        }
    }
}

/// Name of the case with these cards and this many jobs.
pub fn name(on: On, jobs: usize) -> String {
    format!("{}/{jobs}", on.name())
}

/// The cases of the sweep over jobs, fewer for a quick report.
pub fn cases(extent: Extent) -> Vec<Case> {
    let mut cases = Vec::new();
    for on in On::ALL {
        let jobs: &[usize] = match (extent, on) {
            (Extent::Full, _) => &JOBS,
            (Extent::Quick, On::One(Model::Pcica) | On::Real) => &JOBS_QUICK,
            (Extent::Quick, _) => &[],
        };
        for &jobs in jobs {
            let rig = on.rig();
            let cards = Rig::first(rig.cards.len());
            let loads = vec![Load { tenant: 0, operation: PRIVATE, jobs, cards }];
            cases.push(Case { experiment: Experiment::Jobs, name: name(on, jobs), rig, loads });
        }
    }
    cases
}

/// The fewest jobs with which the rate reaches `KNEE` of its best.
pub fn knee(outcomes: &Outcomes, on: On) -> Option<usize> {
    let rates: Vec<(usize, f64)> = JOBS
        .into_iter()
        .filter_map(|jobs| Some((jobs, outcomes.of(Experiment::Jobs, &name(on, jobs))?.ops_per_s.median)))
        .collect();
    let best = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    rates.into_iter().find(|(_, rate)| *rate >= KNEE * best && best > 0.0).map(|(jobs, _)| jobs)
}

/// The section of the page on jobs; needs the outcomes of the sweep.
pub(super) fn show(page: Page<'_>) -> Markup {
    let head = heading(Experiment::Jobs, "Jobs from 1 to 96", false);
    let remark = PreEscaped(
        "Requests under way from one tenant. With one job the published rate is what one request takes, with seven or eight the \
         card is full; a timed card is given both, and <b>asked</b> is what it should give with so many jobs. The knee \
         is the fewest jobs with 95 % of the best rate. The accelerator as it is answers as fast as it can, on a \
         processor that it shares with the caller: there a batch fills up to eight lanes.",
    );
    let charts = page::charts(&[
        ("timed cards, over their full rate", chart(page, true)),
        ("an accelerator as it is", chart(page, false)),
    ]);
    let mut rows = Vec::new();
    for on in On::ALL {
        let swept: Vec<_> = JOBS
            .into_iter()
            .filter_map(|jobs| Some((jobs, page.of(Experiment::Jobs, &name(on, jobs))?)))
            .collect();
        if swept.is_empty() {
            continue;
        }
        let knee = knee(page.outcomes, on).map_or(String::new(), |jobs| format!("; knee at {jobs} jobs"));
        rows.push(TableRow::Head(format!("{}{knee}", on.title())));
        for (jobs, outcome) in swept {
            let asked = on.asked(jobs);
            rows.push(TableRow::Cells(vec![
                page::name(&jobs.to_string()),
                page::plain(on.published(jobs).and_then(|id| page.row(id)), 0),
                page::plain(asked, 0),
                page::measured(Some(outcome.ops_per_s.median), 0),
                page::spread(Some(&outcome.ops_per_s)),
                page::measured(asked.map(|asked| outcome.ops_per_s.median / asked), 3),
                page::percent_measured(Some(outcome.utilisation.median), 1),
                page::plain(Some(outcome.fill.median), 2),
                page::milliseconds(outcome.p50_ns.median),
                page::milliseconds(outcome.p99_ns.median),
                page::microseconds(outcome.caller_ns),
                page::microseconds(outcome.cards_ns),
            ]));
        }
    }
    let columns = [
        "<jobs",
        "published\nops/s",
        "asked\nops/s",
        "measured\nops/s",
        "\u{b1}",
        "measured /\nasked",
        "card use",
        "fill",
        "p50\nms",
        "p99\nms",
        "caller\n\u{b5}s per op",
        "cards\n\u{b5}s per op",
    ];
    html! { (head) p.remark { (remark) } (charts) (page::table(&columns, rows)) }
}

/// Rates over jobs; those of timed cards as shares of their full rate.
fn chart(page: Page<'_>, timed: bool) -> String {
    const INKS: [Ink; 4] = [Ink::Ours, Ink::OursSecond, Ink::Software, Ink::Peer];
    let shown = On::ALL.into_iter().filter(|on| (*on != On::Real) == timed);
    let lines = shown.zip(INKS).filter_map(|(on, ink)| {
        let full = if timed { on.asked(JOBS[JOBS.len() - 1])? } else { 1.0 };
        let points: Vec<_> = JOBS
            .into_iter()
            .filter_map(|jobs| {
                let outcome = page.of(Experiment::Jobs, &name(on, jobs))?;
                Some((jobs as f64, outcome.ops_per_s.scaled(1.0 / full)))
            })
            .collect();
        (!points.is_empty()).then(|| Line { name: on.title(), ink, points })
    });
    let unit = if timed { "share of the full rate" } else { "operations per second" };
    chart::lines(
        Title { name: "rate over jobs", unit, under: "jobs" },
        Heights::FromNought,
        count,
        &lines.collect::<Vec<_>>(),
    )
}

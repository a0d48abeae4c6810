//! The part of a report's page on queues and tenants: the elements that all experiments share.

use super::{Experiment, Outcomes, QueueOutcome, balance, jobs, shared, tenants, waiting};
use crate::published::Row;
use maud::{Markup, PreEscaped, html};

/// Anchor of the part in the page.
pub(crate) const ANCHOR: &str = "queues";
/// Heading of the part.
pub(crate) const TITLE: &str = "Queues and tenants";

/// The part; empty where no experiment ran.
pub(crate) fn section(outcomes: &Outcomes, published: &[Row]) -> Markup {
    let page = Page { outcomes, published };
    let show = |experiment: Experiment| match experiment {
        Experiment::Shared => shared::show(page),
        Experiment::Tenants => tenants::show(page),
        Experiment::Balance => balance::show(page),
        Experiment::Jobs => jobs::show(page),
        Experiment::Waiting => waiting::show(page),
    };
    html! {
        @if !outcomes.0.is_empty() {
            h2 id=(ANCHOR) { (TITLE) }
            p.remark {
                "How cards are shared, divided and waited for. The load is clear-key RSA with 1024 bits, private operations \
                 where nothing else is said. Experiments marked " (TIMED) " run on timed cards: processes that do the real \
                 work and hold each answer until a card of the published speed would have given it, so that two processors \
                 carry twelve of them. Their speed is given, not found; what is found is what queues, limits and routing \
                 make of it. So they are compared as ratios. A ring is a published figure, a thin upright line the spread of \
                 the runs, and utilisation of a timed card its rate over its published full rate."
            }
            @for experiment in Experiment::ALL.into_iter().filter(|experiment| outcomes.has(*experiment)) {
                (show(experiment))
            }
        }
    }
}

const TIMED: PreEscaped<&str> = PreEscaped("<span class=\"timed\">timed</span>");

/// An experiment's heading, with a remark if it ran on timed cards.
pub(super) fn heading(experiment: Experiment, title: &str, timed: bool) -> Markup {
    html! { h3 id={ (ANCHOR) "-" (experiment) } { (title) @if timed { " " (TIMED) } } }
}

/// A number of jobs or tenants, along the axis of a chart.
pub(super) fn count(count: u64) -> String {
    count.to_string()
}

/// The data of a part of the page.
#[derive(Clone, Copy)]
pub(super) struct Page<'a> {
    pub outcomes: &'a Outcomes,
    published: &'a [Row],
}

impl<'a> Page<'a> {
    /// The outcome of a case.
    pub fn of(&self, experiment: Experiment, name: &str) -> Option<&'a QueueOutcome> {
        self.outcomes.of(experiment, name)
    }

    /// The published figure of a row.
    pub fn row(&self, id: &str) -> Option<f64> {
        self.published.iter().find(|row| row.id() == id)?.value
    }
}

//! The experiments in the columns of the published table: for each case its rate, latencies and use of cards.

use super::Outcomes;
use super::{Case, Plan, QueueOutcome};
use super::{Extent, models::PRIVATE};
use crate::kit::digits::rounded;
use crate::kit::statistics::Summary;
use crate::load::Interface;
use crate::published::Sheet;

/// Adds a row for each figure of each outcome.
pub(crate) fn rows(sheet: &mut Sheet, outcomes: &Outcomes) {
    let cases = Plan::new(Extent::Full, None).cases;
    for outcome in &outcomes.0 {
        let case =
            cases.iter().find(|case| case.experiment == outcome.experiment && case.name == outcome.name);
        for figure in figures(outcome) {
            write(sheet, outcome, case, figure);
        }
    }
}

/// A figure: the end of its name, its metric, unit and summary.
type Figure = (String, &'static str, &'static str, Summary);

fn figures(outcome: &QueueOutcome) -> Vec<Figure> {
    let ms = |summary: &Summary| summary.scaled(1e-6);
    let percent = |summary: &Summary| summary.scaled(100.0);
    let mut figures: Vec<Figure> = vec![
        ("ops".to_owned(), "ops_per_s", "ops/s", outcome.ops_per_s),
        ("p50".to_owned(), "p50_ms", "ms", ms(&outcome.p50_ns)),
        ("p99".to_owned(), "p99_ms", "ms", ms(&outcome.p99_ns)),
        ("card".to_owned(), "card_util_pct", "%", percent(&outcome.utilisation)),
        ("fill".to_owned(), "batch_fill", "requests", outcome.fill),
    ];
    if outcome.tenants > 1 {
        figures.push(("jain".to_owned(), "fairness_jain", "ratio", outcome.jain));
    }
    for each in outcome.each.iter().filter(|each| outcome.tenants == 2 && each.shares.len() > 1) {
        for (card, share) in &each.shares {
            figures.push((format!("{}.card{card}", each.tenant), "share_pct", "%", percent(share)));
        }
    }
    figures
}

fn write(sheet: &mut Sheet, outcome: &QueueOutcome, case: Option<&Case>, figure: Figure) {
    let (end, metric, unit, summary) = figure;
    let id = format!("cryptand.{}.{}.{end}", outcome.experiment, outcome.name.replace('/', "."));
    let cards = case.map_or(0, |case| case.cards().count_ones());
    let model = case.and_then(|case| case.rig.cards.first().copied().flatten());
    let timed = if outcome.timed { "timed; " } else { "" };
    let columns = [
        ("id", id),
        ("section", "queues".to_owned()),
        ("table", outcome.experiment.to_string()),
        ("interface", Interface::Card.to_string()),
        ("operation", PRIVATE.to_string()),
        ("algorithm", "rsa".to_owned()),
        ("key_bits", "1024".to_owned()),
        ("engine", model.map_or("accelerator".to_owned(), |card| card.model.name().to_owned())),
        ("engine_count", if cards == 0 { String::new() } else { cards.to_string() }),
        ("jobs", outcome.jobs.to_string()),
        ("guests", outcome.tenants.to_string()),
        ("metric", metric.to_owned()),
        ("unit", unit.to_owned()),
        ("value", rounded(summary.median)),
        ("note", format!("{timed}{} runs, {:.1} % apart", summary.runs, summary.spread() * 100.0)),
    ];
    sheet.add(None, &columns);
}

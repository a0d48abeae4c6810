//! The operations of payments through one card, each beside the packages that compute it.

use super::packages::{BESIDE, Packages};
use super::passes::Taken;
use super::{Effort, JOBS};
use crate::cards::{bound, own};
use crate::experiment::promise::{Measure, Other, Promise};
use crate::kit::records;
use crate::kit::statistics::{Summary, compare, median};
use crate::load::operation::Operation;
use crate::load::target::Target;
use crate::load::{Interface, LabError, Workload};
use serde::Deserialize;

/// Unit of these rows.
pub(crate) const UNIT: &str = "ops/s";
/// Name of the published figure in a row.
pub(crate) const PUBLISHED: &str = "published, two cards";
/// The main row of the part.
pub(crate) const TRANSLATE: &str = "PIN translate, ISO-0 to ISO-0";
/// A peer that is fast only once warm runs for this many times its time before it is measured.
const WARMS: f64 = 2.0;

/// A row of `data/payments.csv`.
#[derive(Deserialize)]
pub(super) struct Row {
    pub case: String,
    pub operation: Operation,
    /// The ratio to the first package that is promised; none where there is no package.
    promise: Option<f64>,
    /// The figure that is hoped for, in requests a second.
    stretch: Option<f64>,
    /// The published figure of two cards, in requests a second; none if unpublished.
    published: Option<f64>,
}

/// The rows of `data/payments.csv`, in their order.
pub(super) fn rows() -> impl Iterator<Item = Row> {
    records(include_str!("../../data/payments.csv"))
}

/// Runs rows on the card of a home, and notes its processor time for a request.
///
/// # Errors
/// [`LabError`] where a card or a package fails, or says what it must not.
pub(super) fn run(
    rows: &[Row],
    target: &mut Target,
    effort: Effort<'_>,
    taken: &mut Taken,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>, LabError> {
    let mut packages = Packages::start()?;
    let mut out = Vec::new();
    for row in rows {
        progress(&row.case);
        out.push(measured(row, target, &mut packages, effort, taken)?);
    }
    Ok(out)
}

/// The workload of an operation with [`JOBS`] outstanding.
pub(super) fn workload(operation: Operation, seconds: f64) -> Workload {
    Workload { jobs: JOBS, interface: Interface::Card, seconds, ..Workload::of(operation) }
}

fn measured(
    row: &Row,
    target: &mut Target,
    packages: &mut Packages,
    effort: Effort<'_>,
    taken: &mut Taken,
) -> Result<Measure, LabError> {
    let workload = workload(row.operation, effort.seconds);
    let cases = target.cases(&workload)?;
    let name = row.operation.to_string();
    let beside = BESIDE.iter().filter(|(operation, ..)| *operation == name);
    let mut sides = Vec::new();
    for (_, by, names) in beside {
        let side = packages.side(&name, *by, names, &cases)?;
        packages.rate(&side, WARMS * effort.seconds)?;
        sides.push((side, Vec::new()));
    }
    let mut ours = Vec::new();
    for round in 0..effort.rounds {
        // The order is reversed in every second round, so that a drift of the machine falls on all sides.
        let all = 0..=sides.len();
        let order: Vec<usize> = if round % 2 == 0 { all.collect() } else { all.rev().collect() };
        for place in order {
            effort.go_on()?;
            match place.checked_sub(1) {
                None => ours.push(card(target, &workload, &name, taken)?),
                Some(place) => {
                    let (side, theirs) = &mut sides[place];
                    theirs.extend(packages.rate(side, effort.seconds)?);
                }
            }
        }
    }
    let others: Vec<Other> = sides.iter().map(|(side, theirs)| other(&side.name, &ours, theirs)).collect();
    let measure = Measure::alone(&row.case, UNIT, &ours, row.promise.map(Promise::RatioAtLeast));
    let published = row.published.map(|value| {
        let ratio = measure.ours / value;
        Other { name: PUBLISHED.to_owned(), value, ratio, ..Other::default() }
    });
    let peer = others.iter().find(|other| other.value > 0.0);
    let measure = Measure {
        stretch: row.stretch,
        peer: peer.map_or(String::new(), |peer| peer.name.clone()),
        peer_value: peer.map(|peer| peer.value),
        ratio: peer.map(|peer| peer.ratio),
        ..measure
    };
    Ok(Measure { others: others.into_iter().chain(published).collect(), ..measure })
}

/// The card's rate over `seconds`; the caller is bound to another processor than the card.
fn card(target: &mut Target, workload: &Workload, name: &str, taken: &mut Taken) -> Result<f64, LabError> {
    let run = bound(own(0), || target.run(workload))?;
    taken.note(name, run.processor_s.cards, run.operations);
    Ok(run.ops_per_s)
}

/// A package in a row. A missing package has figures of 0, and what to install in its name.
fn other(name: &str, ours: &[f64], theirs: &[f64]) -> Other {
    let ratio = compare(ours, theirs).map(|compared| compared.ratio);
    Other {
        name: name.to_owned(),
        value: median(theirs),
        ratio: ratio.map_or(0.0, |ratio| ratio.median),
        spread: Summary::of(theirs).map(|summary| (summary.min, summary.max)),
        ratio_spread: ratio.map(|ratio| (ratio.min, ratio.max)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_row_is_measured_and_every_package_has_a_row() {
        let operations: HashSet<String> = rows().map(|row| row.operation.to_string()).collect();
        assert_eq!(operations.len(), rows().count());
        assert!(rows().all(|row| matches!(row.operation, Operation::Payment(_))));
        let is_beside =
            |row: &Row| BESIDE.iter().any(|(operation, ..)| row.operation.to_string() == *operation);
        assert!(rows().all(|row| row.promise.is_none() || is_beside(&row)), "a ratio has another side");
        for (operation, ..) in BESIDE {
            assert!(operations.contains(operation), "{operation}");
        }
        assert!(rows().any(|row| row.case.starts_with(TRANSLATE)));
    }

    #[test]
    fn a_package_that_is_missing_has_no_figure() {
        let missing = other("x", &[1.0], &[]);
        assert_eq!((missing.value, missing.ratio, missing.spread), (0.0, 0.0, None));
        let other = other("x", &[20.0, 30.0], &[2.0, 2.0]);
        assert_eq!((other.value, other.ratio, other.spread), (2.0, 12.5, Some((2.0, 2.0))));
    }
}

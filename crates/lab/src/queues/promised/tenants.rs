//! Tenants that share cards: equal ones get the same, and one at its limit does not hold up another.
//!
//! **Equal tenants** always have requests waiting, for a tenant that has none cannot be given its turn. On one
//! card with a processor of its own the rows show the card's turns; on as many cards as processors, also what
//! routing and the system's own turns among cards and callers add.
//!
//! **A tenant at its limit** is compared with itself within the limit: a pass of one to four RSA-2048
//! requests takes little more than half as long as one of five to eight, so whatever a neighbour may do at all
//! lengthens the passes that its requests share. That is what the limit permits, and is stated beside the time
//! alone. What a limit promises is that pushing against it harms nobody more than keeping it.

use super::{Effort, RSA, accelerators, cards_only, in_turn, of_rounds, spread_percent};
use crate::cards::{bound, own};
use crate::experiment::promise::{Measure, Promise};
use crate::kit::machine::processors_online;
use crate::load::operation::{Operation, RsaForm};
use crate::load::target::{Needs, Target};
use crate::load::tenants::{guests, in_flight};
use crate::load::{LabError, Load, Workload};
use facility::Facility;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wire::tenant::Limits;

/// Number of tenants that share the cards, and jobs of each: together more jobs than the cards have lanes.
const EQUAL: [(usize, usize); 3] = [(2, 16), (8, 8), (30, 4)];
/// Jobs of the quiet tenant: they leave lanes of its card to others.
const QUIET_JOBS: usize = 4;
/// Requests that the tenant beside it may have in flight, or begin in a second.
const HELD_TO_JOBS: usize = 4;
const HELD_TO_RATE: u32 = 1000;
/// Jobs of the tenant that pushes against its limit.
const PUSHING_JOBS: usize = 32;
const ROUNDS_MAX: usize = 5;

/// A home whose tenants have these limits, and each tenant's way to the accelerators, where it has any.
pub(super) fn house(
    needs: &Needs,
    limits: &[Limits],
    stop: &Arc<AtomicBool>,
) -> Result<(Target, Vec<Facility>), LabError> {
    let guests = guests(limits);
    let mut target = Target::throwaway(needs, Arc::clone(stop))?;
    target.bring(&guests)?;
    let ways = guests.iter().map(|guest| {
        let way = target.open_as(&guest.name, cards_only())?;
        Ok(if needs.accelerators > 0 { way.with_selection(accelerators()) } else { way })
    });
    let ways = ways.collect::<Result<Vec<_>, LabError>>()?;
    Ok((target, ways))
}

/// The rates of tenants with equal rights, whether or not they ask for the same.
pub(super) fn fairness(effort: Effort, stop: &Arc<AtomicBool>) -> Result<Vec<Measure>, LabError> {
    let effort = effort.at_most(ROUNDS_MAX);
    let cards = processors_online();
    let needs = Needs { accelerators: cards, ..Needs::default() };
    let mut rows = Vec::new();
    for (tenants, jobs) in EQUAL {
        rows.push(equal_on_one(tenants, jobs, effort, stop)?);
        let (mut target, ways) = house(&needs, &vec![Limits::default(); tenants], stop)?;
        let workload = effort.longer().work(RSA, jobs);
        let runs = spreads(effort, || rates(&mut target, &ways, &vec![workload.clone(); tenants]))?;
        let case = format!(
            "{tenants} equal tenants, {jobs} jobs each, on {cards} cards: largest less smallest rate"
        );
        rows.push(Measure::alone(&case, "% of the mean", &runs, Some(Promise::Below(5.0))).bounded_by(
            "how tenants' jobs are spread over the cards; how evenly the system runs callers beside cards",
        ));
    }
    let (mut target, ways) = house(&needs, &[Limits::default(); 8], stop)?;
    let works: Vec<Workload> =
        (0..ways.len()).map(|index| effort.work(RSA, if index % 2 == 0 { 16 } else { 4 })).collect();
    let runs = spreads(effort, || rates(&mut target, &ways, &works))?;
    let case = format!(
        "8 equal tenants, half with 16 jobs and half with 4, on {cards} cards: largest less smallest rate"
    );
    rows.push(
        Measure::alone(&case, "% of the mean", &runs, None)
            .bounded_by("a tenant with 4 jobs has none left while its answers are on their way back"),
    );
    let one = Needs { accelerators: 1, processor: own(1), ..Needs::default() };
    rows.push(
        unequal_costs(&one, own(0), "one card", effort, stop)?
            .bounded_by("turns by estimated cost; how soon a caller brings its next requests"),
    );
    rows.push(unequal_costs(&needs, None, &format!("{cards} cards"), effort, stop)?.bounded_by(
        "turns give equal times of the cards, but alone the callers take the cards' processors, most for cheap requests",
    ));
    Ok(rows)
}

/// Equal tenants on one card that has a processor of its own.
fn equal_on_one(
    tenants: usize,
    jobs: usize,
    effort: Effort,
    stop: &Arc<AtomicBool>,
) -> Result<Measure, LabError> {
    let needs = Needs { accelerators: 1, processor: own(1), ..Needs::default() };
    let (mut target, ways) = house(&needs, &vec![Limits::default(); tenants], stop)?;
    let works = vec![effort.longer().work(RSA, jobs); tenants];
    let runs = spreads(effort, || bound(own(0), || rates(&mut target, &ways, &works)))?;
    let case = format!("{tenants} equal tenants, {jobs} jobs each, on one card: largest less smallest rate");
    Ok(Measure::alone(&case, "% of the mean", &runs, Some(Promise::Below(5.0)))
        .bounded_by("turns among tenants by estimated cost"))
}

/// Two tenants, one of whose requests costs many times as much as the other's: each should get half of the time. The
/// callers are bound to a processor if one is given.
fn unequal_costs(
    needs: &Needs,
    callers: Option<u32>,
    cards: &str,
    effort: Effort,
    stop: &Arc<AtomicBool>,
) -> Result<Measure, LabError> {
    let (mut target, ways) = house(needs, &[Limits::default(); 2], stop)?;
    let works = [1024, 4096].map(|bits| effort.work(Operation::Rsa { bits, form: RsaForm::Crt }, 32));
    let runs = bound(callers, || {
        spreads(effort, || {
            let mut shares = Vec::new();
            for (way, work) in ways.iter().zip(&works) {
                shares.extend(rates(&mut target, std::slice::from_ref(way), std::slice::from_ref(work))?);
            }
            let beside = rates(&mut target, &ways, &works)?;
            Ok(beside.iter().zip(shares).map(|(beside, alone)| beside / alone).collect())
        })
    })?;
    let case = format!(
        "2 equal tenants, RSA-1024 and RSA-4096, 32 jobs each, on {cards}: larger less smaller share of its rate alone"
    );
    Ok(Measure::alone(&case, "% of the mean", &runs, Some(Promise::Below(5.0))))
}

fn spreads(
    effort: Effort,
    mut figures: impl FnMut() -> Result<Vec<f64>, LabError>,
) -> Result<Vec<f64>, LabError> {
    (0..effort.rounds.max(1)).map(|_| Ok(spread_percent(&figures()?))).collect()
}

/// The rate of each way while all ways are busy, in operations a second.
fn rates(target: &mut Target, ways: &[Facility], works: &[Workload]) -> Result<Vec<f64>, LabError> {
    let loads: Vec<Load<'_>> =
        ways.iter().zip(works).map(|(facility, workload)| Load::of(facility, workload)).collect();
    Ok(target.together(&loads)?.each.iter().map(|outcome| outcome.ops_per_s).collect())
}

/// Rows of the time within which 99 of 100 requests of a quiet tenant are answered, beside a tenant that pushes against
/// its limit.
pub(super) fn limits(effort: Effort, stop: &Arc<AtomicBool>) -> Result<Vec<Measure>, LabError> {
    let in_flight = in_flight(HELD_TO_JOBS as u32);
    let per_second = Limits { per_second_max: HELD_TO_RATE, ..Limits::default() };
    let pushing = effort.work(RSA, PUSHING_JOBS);
    let fewer = effort.work(RSA, HELD_TO_JOBS);
    let slower = Workload { rate: Some(f64::from(HELD_TO_RATE)), ..fewer.clone() };
    let cases = [
        (format!("held to {HELD_TO_JOBS} in flight"), in_flight, Some(fewer)),
        (format!("held to {HELD_TO_RATE} a second"), per_second, Some(slower)),
        ("without limits".to_owned(), Limits::default(), None),
    ];
    let mut rows = Vec::new();
    for (who, limits, within) in cases {
        if let Some(within) = within {
            let case = format!("{QUIET_JOBS} jobs beside one {who} that pushes {PUSHING_JOBS}");
            let sides = [Some(&pushing), Some(&within)];
            let row = quiet_p99(effort, (QUIET_JOBS, limits), sides, &case, "one that keeps within", stop)?;
            rows.push(row.bounded_by("requests of both that share a pass, or miss it"));
        }
        for jobs in [QUIET_JOBS, 2 * QUIET_JOBS] {
            let case = format!("{jobs} jobs beside one {who} that pushes {PUSHING_JOBS}");
            let row = quiet_p99(effort, (jobs, limits), [Some(&pushing), None], &case, "alone", stop)?;
            rows.push(
                Measure { promise: None, ..row }
                    .bounded_by("fuller passes take longer; what comes during one waits for its end"),
            );
        }
    }
    Ok(rows)
}

/// The 99th percentile of a quiet tenant with `jobs` jobs on one card, beside a tenant with these limits that does the
/// first work, and beside the same tenant with the second; none leaves the quiet one alone.
fn quiet_p99(
    effort: Effort,
    (jobs, limits): (usize, Limits),
    beside: [Option<&Workload>; 2],
    case: &str,
    peer: &str,
    stop: &Arc<AtomicBool>,
) -> Result<Measure, LabError> {
    let needs = Needs { accelerators: 1, processor: own(1), ..Needs::default() };
    let (mut target, ways) = house(&needs, &[Limits::default(), limits], stop)?;
    let quiet = effort.work(RSA, jobs);
    let rounds = in_turn(effort.rounds, |is_first| {
        let works = std::iter::once(&quiet).chain(beside[usize::from(!is_first)]);
        let loads: Vec<Load<'_>> =
            ways.iter().zip(works).map(|(facility, workload)| Load::of(facility, workload)).collect();
        let together = bound(own(0), || target.together(&loads))?;
        let quiet = together.each.first().map_or(0, |quiet| quiet.latency_ns.value_at_quantile(0.99));
        Ok(quiet as f64 / 1000.0)
    })?;
    let case = format!("RSA-2048 on one card, p99 of {case}");
    Ok(of_rounds(&case, "us", peer, &rounds, Promise::RatioAtMost(1.2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_are_of_the_mean() {
        let effort = Effort { rounds: 2, seconds: 0.1 };
        assert_eq!(spreads(effort, || Ok(vec![95.0, 100.0, 105.0])).unwrap(), [10.0, 10.0]);
        // Rates of zero are not fair.
        assert!(spreads(effort, || Ok(vec![0.0, 0.0])).unwrap()[0].is_nan());
    }
}

//! What a statement is worked out of: the runs that it needs, and the figure that they give.

use super::Expect::{About, AtLeast, AtMost};
use super::statements::{NONE, Processors, Test, Unit};
use super::{CLOSE_TO_LINEAR, EQUAL_WITHIN, Figure, LINE_WITHIN, Weighed, sweep_fit};
use crate::load::Interface::{self, Card, Facility, Native};
use crate::load::Workload;
use crate::load::operation::Operation;
use crate::sweeps::results::Results;
use wire::control::Personality;

pub(super) fn workload(operation: Operation, interface: Interface, bytes: usize) -> Workload {
    Workload { bytes, interface, ..Workload::of(operation) }
}

fn on_cards(operation: Operation, bytes: usize, (cards, jobs): (usize, usize)) -> Workload {
    // As the published tables have it: secure keys on coprocessors, clear RSA on accelerators.
    let plain = Workload { cards, jobs, ..workload(operation, Card, bytes) };
    Workload { personality: Some(plain.personality()), ..plain }
}

/// Processors that a test runs on, where this machine has them.
fn processors(on: Processors, online: usize) -> Option<usize> {
    match on {
        Processors::Exactly(needed) => (needed <= online).then_some(needed),
        Processors::All => (online >= 2).then_some(online),
    }
}

impl Test {
    /// Pairs of workloads whose rates are compared: over, under. Empty where this machine cannot run
    /// the test, or the test compares no rates.
    pub(super) fn pairs(&self, online: usize) -> Vec<(Workload, Workload)> {
        let each = |lengths: &[usize], pair: &dyn Fn(usize) -> (Workload, Workload)| {
            lengths.iter().map(|&bytes| pair(bytes)).collect::<Vec<_>>()
        };
        match *self {
            Self::Scaling { operation, interface, lengths, on, .. } => {
                let Some(count) = processors(on, online) else { return Vec::new() };
                each(lengths, &|bytes| {
                    let one = workload(operation, interface, bytes);
                    (Workload { processors: count, jobs: count, ..one.clone() }, one)
                })
            }
            Self::Directions { over, under, interface, lengths, .. } => {
                each(lengths, &|bytes| (workload(over, interface, bytes), workload(under, interface, bytes)))
            }
            Self::Interfaces { operations, lengths, over, under, .. } => {
                let through = |operation, (interface, jobs), bytes| match interface {
                    Card => on_cards(operation, bytes, (1, jobs)),
                    _ => workload(operation, interface, bytes),
                };
                let pairs = operations.iter().flat_map(|&operation| {
                    each(lengths, &|bytes| {
                        (through(operation, over, bytes), through(operation, under, bytes))
                    })
                });
                pairs.collect()
            }
            Self::Cards { operations, lengths, over, under, busy, .. } => {
                if busy >= online {
                    return Vec::new();
                }
                let pairs = operations.iter().flat_map(|&operation| {
                    each(lengths, &|bytes| {
                        (on_cards(operation, bytes, over), on_cards(operation, bytes, under))
                    })
                });
                pairs.collect()
            }
            Self::Rsa { over, under, .. } => vec![(on_cards(over, 0, (1, 8)), on_cards(under, 0, (1, 8)))],
            Self::Personalities { operation, .. } => {
                let accelerator = on_cards(operation, 0, (1, 8));
                let personality = Some(Personality::Coprocessor);
                vec![(Workload { personality, ..accelerator.clone() }, accelerator)]
            }
            Self::OneJobWaits { .. }
            | Self::Synchronous { .. }
            | Self::Line { .. }
            | Self::StartCost { .. } => Vec::new(),
        }
    }

    /// Workloads that the test needs besides its pairs.
    pub(super) fn singles(&self) -> Vec<Workload> {
        match *self {
            Self::OneJobWaits { operation } => vec![on_cards(operation, 0, (1, 1))],
            Self::Synchronous { operation, lengths } => {
                lengths.iter().map(|&bytes| workload(operation, Native, bytes)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Why this machine cannot show it; none where it can.
    pub(super) fn not_testable(&self, online: usize) -> Option<String> {
        match *self {
            Self::Scaling { on: Processors::Exactly(needed), .. } if needed > online => {
                Some(format!("needs {needed} processors, this machine has {online}"))
            }
            Self::Scaling { .. } if online < 2 => {
                Some("needs two processors, this machine has one".to_owned())
            }
            Self::Cards { busy, .. } if busy >= online => Some(format!(
                "{busy} busy card{} and a caller need {} processors, this machine has {online}",
                if busy == 1 { "" } else { "s" },
                busy + 1
            )),
            _ => None,
        }
    }

    pub(super) fn judge(&self, results: &Results, online: usize) -> Option<(Weighed, String)> {
        let ratios = || -> Option<Vec<Figure>> {
            let pairs = self.pairs(online);
            let ratio = |(over, under): &(Workload, Workload)| {
                let ratios = results.ratios(over, under)?;
                Some(Figure { value: ratios.median, mad: ratios.mad })
            };
            pairs.iter().map(ratio).collect::<Option<Vec<_>>>().filter(|ratios| !ratios.is_empty())
        };
        Some(match *self {
            Self::Scaling { lengths, on, loss_pct, .. } => {
                let count = processors(on, online)? as f64;
                let least = loss_pct.map_or(CLOSE_TO_LINEAR, |loss| 1.0 - loss / 100.0) * count;
                let weighed = AtLeast(least).weigh(ratios()?)?;
                let compared = format!("{count} threads against one, {}", lengths_text(lengths));
                let loss = |ratio: f64| (1.0 - ratio / count) * 100.0;
                match loss_pct {
                    None => (weighed, compared),
                    Some(_) => (
                        Weighed { value: loss(weighed.value), ends: weighed.ends.map(loss), ..weighed },
                        compared,
                    ),
                }
            }
            Self::Directions { over, under, lengths, expect, unit, .. } => (
                expect.weigh(ratios()?)?.in_unit(unit),
                format!("{over} against {under}, {}", lengths_text(lengths)),
            ),
            Self::Interfaces { lengths, over, under, expect, .. } => (
                expect.weigh(ratios()?)?,
                format!("{} against {}, {}", over.0, under.0, lengths_text(lengths)),
            ),
            Self::Cards { lengths, over, under, expect, unit, .. } => {
                let side = |(cards, jobs): (usize, usize)| {
                    let plural = |count: usize| if count == 1 { "" } else { "s" };
                    format!("{cards} card{} with {jobs} job{}", plural(cards), plural(jobs))
                };
                let lengths =
                    if lengths == NONE { String::new() } else { format!(", {}", lengths_text(lengths)) };
                let compared = format!("{} against {}{lengths}", side(over), side(under));
                (expect.weigh(ratios()?)?.in_unit(unit), compared)
            }
            Self::Rsa { over, under, expect } => {
                (expect.weigh(ratios()?)?, format!("{over} against {under}, one full card"))
            }
            Self::Personalities { operation, expect } => {
                (expect.weigh(ratios()?)?, format!("{operation} on a coprocessor against an accelerator"))
            }
            Self::OneJobWaits { .. } => {
                let case = results.of(&self.singles()[0])?;
                let product = case.ops_per_s.median * case.p50_ns.median * 1e-9;
                let mad = case.ops_per_s.mad * case.p50_ns.median * 1e-9;
                let weighed = About(1.0).weigh(vec![Figure { value: product, mad }])?;
                (weighed, "rate times median latency of one job".to_owned())
            }
            Self::Synchronous { .. } => {
                let singles = self.singles();
                let shares: Option<Vec<Figure>> = singles
                    .iter()
                    .map(|single| {
                        let case = results.of(single)?;
                        let share = |rate: f64| case.caller_ns * rate * 1e-9 * 100.0;
                        Some(Figure {
                            value: share(case.ops_per_s.median).min(100.0),
                            mad: share(case.ops_per_s.mad),
                        })
                    })
                    .collect();
                let weighed = AtLeast(100.0 * (1.0 - EQUAL_WITHIN)).weigh(shares?)?;
                (weighed, "processor time of one native job as % of its time".to_owned())
            }
            Self::Line { operations, interface } => {
                let errors: Option<Vec<Figure>> = operations
                    .iter()
                    .map(|&operation| {
                        Some(Figure::exact(sweep_fit(results, operation, interface)?.error_max))
                    })
                    .collect();
                let weighed = AtMost(LINE_WITHIN).weigh(errors?)?;
                (weighed, "largest distance of a length from the line, as a share".to_owned())
            }
            Self::StartCost { operations } => {
                let ratios: Option<Vec<Figure>> = operations
                    .iter()
                    .map(|&operation| {
                        let over = sweep_fit(results, operation, Facility)?.start;
                        Some(Figure::exact(over / sweep_fit(results, operation, Native)?.start))
                    })
                    .collect();
                (AtLeast(1.0).weigh(ratios?)?, "start cost of the facility against native".to_owned())
            }
        })
    }
}

impl Weighed {
    fn in_unit(self, unit: Unit) -> Self {
        Self { value: in_unit(self.value, unit), ends: self.ends.map(|end| in_unit(end, unit)), ..self }
    }
}

pub(super) fn in_unit(ratio: f64, unit: Unit) -> f64 {
    match unit {
        Unit::Ratio => ratio,
        Unit::LossPct => (1.0 - ratio) * 100.0,
        Unit::GainPct => (ratio - 1.0) * 100.0,
    }
}

fn lengths_text(lengths: &[usize]) -> String {
    match lengths {
        [one] => format!("{one} bytes"),
        [first, .., last] => format!("{first} to {last} bytes"),
        [] => String::new(),
    }
}

//! The runs that a statement needs, and the figure that they give.

use super::statements::{Side, Test, What};
use super::sweep_fit;
use crate::experiment::judged::{Expect, Figure, Weighed};
use crate::load::operation::Operation;
use crate::load::{Interface, Workload};
use crate::sweeps::results::Results;
use wire::control::Personality;

pub(super) fn workload(operation: Operation, interface: Interface, bytes: usize) -> Workload {
    Workload { bytes, interface, ..Workload::of(operation) }
}

impl Side {
    /// The workload of an operation on this side. On cards, as in the published tables: secure keys on coprocessors,
    /// clear RSA on accelerators.
    fn through(self, operation: Operation, bytes: usize) -> Workload {
        let Self { interface, cards, jobs } = self;
        let plain = workload(operation, interface, bytes);
        match interface {
            Interface::Card => Workload { cards, jobs, personality: Some(plain.personality()), ..plain },
            _ => plain,
        }
    }
}

impl Test {
    /// Each length of an operation in bytes; 0 for operations that take none.
    fn each_length<'a>(&'a self) -> impl Iterator<Item = usize> + Clone + 'a {
        let none = self.lengths.is_empty().then_some(0);
        self.lengths.iter().copied().chain(none)
    }

    /// Pairs of workloads whose rates are compared: over, under. Empty if this machine cannot run the test, or if the
    /// test compares no rates.
    pub(super) fn pairs(&self, online: usize) -> Vec<(Workload, Workload)> {
        if self.not_testable(online).is_some() {
            return Vec::new();
        }
        let (first, last) = (self.operations[0], self.operations[self.operations.len() - 1]);
        let count = self.needs.unwrap_or(online);
        match self.what {
            What::Scaling => {
                let one = |bytes| workload(first, self.over.interface, bytes);
                let pair = |bytes| (Workload { processors: count, jobs: count, ..one(bytes) }, one(bytes));
                self.each_length().map(pair).collect()
            }
            What::Operations => {
                let pair = |bytes| (self.over.through(first, bytes), self.over.through(last, bytes));
                self.each_length().map(pair).collect()
            }
            What::Interfaces | What::Cards => {
                let each = self.operations.iter().flat_map(|operation| {
                    self.each_length().map(move |bytes| {
                        (self.over.through(*operation, bytes), self.under.through(*operation, bytes))
                    })
                });
                each.collect()
            }
            What::Personalities => {
                let accelerator = self.over.through(first, 0);
                let personality = Some(Personality::Coprocessor);
                vec![(Workload { personality, ..accelerator.clone() }, accelerator)]
            }
            What::OneJobWaits | What::Synchronous | What::Line | What::StartCost => Vec::new(),
        }
    }

    /// Workloads that the test needs besides its pairs.
    pub(super) fn singles(&self) -> Vec<Workload> {
        match self.what {
            What::OneJobWaits | What::Synchronous => {
                self.each_length().map(|bytes| self.over.through(self.operations[0], bytes)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Why this machine cannot run the test; none if it can.
    pub(super) fn not_testable(&self, online: usize) -> Option<String> {
        match (self.what, self.needs) {
            (What::Scaling, Some(needed)) if needed > online => {
                Some(format!("needs {needed} processors, this machine has {online}"))
            }
            (What::Scaling, _) if online < 2 => Some("needs two processors, this machine has one".to_owned()),
            (What::Cards, Some(busy)) if busy >= online => Some(format!(
                "{busy} busy card{} and a caller need {} processors, this machine has {online}",
                plural(busy),
                busy + 1
            )),
            _ => None,
        }
    }

    /// The figure of the runs, and a text on the comparison; none if a run is missing.
    pub(super) fn judge(&self, results: &Results, online: usize) -> Option<(Weighed, String)> {
        let lengths = match self.lengths.as_slice() {
            [] => String::new(),
            [one] => format!(", {one} bytes"),
            [first, .., last] => format!(", {first} to {last} bytes"),
        };
        let ratio = |(over, under): (Workload, Workload)| Some(Figure::of(&results.ratios(&over, &under)?));
        let figures: Option<Vec<Figure>> = match self.what {
            What::OneJobWaits => self.of_singles(results, |rate, p50_ns, _| rate * p50_ns * 1e-9),
            What::Synchronous => {
                self.of_singles(results, |rate, _, caller_ns| (caller_ns * rate * 1e-9).min(1.0))
            }
            What::Line => {
                let fits = self.operations.iter().map(|of| sweep_fit(results, *of, self.over.interface));
                fits.map(|fit| Some(Figure::exact(fit?.error_max))).collect()
            }
            What::StartCost => {
                let start = |of, side: Side| Some(sweep_fit(results, of, side.interface)?.start);
                let ratio =
                    |of: &Operation| Some(Figure::exact(start(*of, self.over)? / start(*of, self.under)?));
                self.operations.iter().map(ratio).collect()
            }
            _ => self.pairs(online).into_iter().map(ratio).collect(),
        };
        let count = self.needs.unwrap_or(online);
        let times = if self.what == What::Scaling { count as f64 } else { 1.0 };
        let expect = match self.expect {
            Expect::AtLeast(least) => Expect::AtLeast(least * times),
            other => other,
        };
        let weighed = expect.weigh(figures?)?;
        // A loss is relative to linear scaling; the scaling over all processors is reported as a factor.
        let by = if self.needs.is_some() { times } else { 1.0 };
        let weighed = weighed.map(|ratio| self.unit.of(ratio / by));
        let (first, last) = (self.operations[0], self.operations[self.operations.len() - 1]);
        let (over, under) = (self.over, self.under);
        let compared = match self.what {
            What::Scaling => format!("{count} threads against one{lengths}"),
            What::Operations if over.interface == Interface::Card => {
                format!("{first} against {last}, one full card")
            }
            What::Operations => format!("{first} against {last}{lengths}"),
            What::Interfaces => format!("{} against {}{lengths}", over.interface, under.interface),
            What::Cards => format!("{} against {}{lengths}", over.text(), under.text()),
            What::Personalities => format!("{first} on a coprocessor against an accelerator"),
            What::OneJobWaits => "rate times median latency of one job".to_owned(),
            What::Synchronous => "processor time of one native job as % of its time".to_owned(),
            What::Line => "largest distance of a length from the line, as a share".to_owned(),
            What::StartCost => "start cost of the facility against native".to_owned(),
        };
        Some((weighed, compared))
    }

    /// A figure of each single run, made of its rate, its median latency and the caller's time for an operation; none
    /// if a run is missing.
    fn of_singles(&self, results: &Results, of: fn(f64, f64, f64) -> f64) -> Option<Vec<Figure>> {
        let figure = |single: Workload| {
            let case = results.of(&single)?;
            let of = |rate| of(rate, case.p50_ns.median, case.caller_ns);
            Some(Figure { value: of(case.ops_per_s.median), mad: of(case.ops_per_s.mad) })
        };
        self.singles().into_iter().map(figure).collect()
    }
}

impl Side {
    fn text(self) -> String {
        let Self { cards, jobs, .. } = self;
        format!("{cards} card{} with {jobs} job{}", plural(cards), plural(jobs))
    }
}

const fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

//! Which cases a report runs, and how long that takes.

use crate::claims;
use crate::machine::processors_online;
use crate::operation::{Cipher, Operation};
use crate::peer::Peer;
use crate::published::{Row, sweep};
use crate::workload::{Interface, Workload};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use wire::control::LevelLimit;
use wire::verb::Verb;

/// How thoroughly a report measures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thoroughness {
    /// Times that every case runs.
    pub passes: usize,
    /// How long one run of a case measures, in seconds.
    pub seconds: f64,
    /// Seconds that the whole may take; passes after the first are shortened or left out to keep
    /// within it.
    pub seconds_max: Option<f64>,
}

impl Thoroughness {
    /// At most two minutes in all, with the experiments on queues and tenants, page and cards.
    pub const QUICK: Self = Self { passes: 3, seconds: 0.05, seconds_max: Some(75.0) };
    /// Every case five times.
    pub const FULL: Self = Self { passes: 5, seconds: 1.0, seconds_max: None };
}

/// What a report runs.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How thoroughly.
    pub thoroughness: Thoroughness,
    /// The cases, each once.
    pub cases: Vec<Workload>,
    /// Coprocessors that the home needs.
    pub coprocessors: usize,
    /// Accelerators that the home needs.
    pub accelerators: usize,
}

impl Plan {
    /// Every case of the published sweeps and of the statements about scaling, on this machine.
    pub fn new(rows: &[Row], thoroughness: Thoroughness) -> Self {
        // The peer's benchmark takes whole seconds: more than a bounded report has.
        let with_peer = thoroughness.seconds_max.is_none() && Peer::find().is_some();
        Self::with_peer(rows, thoroughness, with_peer)
    }

    /// As [`Plan::new`], with or without the cases of another library.
    pub fn with_peer(rows: &[Row], thoroughness: Thoroughness, with_peer: bool) -> Self {
        let mut cases = Vec::new();
        let mut seen = HashSet::new();
        let mut add = |case: Workload| {
            if seen.insert(case.case()) {
                cases.push(case);
            }
        };
        for table in sweep::tables(rows) {
            for workload in table.cells.into_iter().filter_map(|cell| cell.workload) {
                if with_peer && let Some(peer) = Peer::beside(&workload) {
                    add(peer);
                }
                if workload.interface != Interface::Card {
                    add(Workload { level: Some(LevelLimit::Portable), ..workload.clone() });
                }
                add(workload);
            }
        }
        for workload in claims::cases(processors_online()) {
            add(workload);
        }
        // The cases of the software provider run together, in a process of their own.
        cases.sort_by_key(|case| case.level.is_some());
        Self { thoroughness, ..Self::of(cases) }
    }

    /// A plan of these cases, run once for a second each.
    pub fn of(cases: Vec<Workload>) -> Self {
        use wire::control::Personality::{Accelerator, Coprocessor};
        let most = |personality| {
            let cards = cases.iter().filter(|case| case.interface == Interface::Card);
            cards.filter(|case| case.personality() == personality).map(|case| case.cards).max().unwrap_or(0)
        };
        let (coprocessors, accelerators) = (most(Coprocessor), most(Accelerator));
        let thoroughness = Thoroughness { passes: 1, seconds: 1.0, seconds_max: None };
        Self { thoroughness, cases, coprocessors, accelerators }
    }

    /// How long the plan will take, in seconds: a case measures for its time, or until each of its
    /// jobs has been answered once, whichever is longer.
    pub fn seconds(&self) -> f64 {
        let pass: f64 =
            self.cases.iter().map(|case| self.case_seconds(case, self.thoroughness.seconds)).sum();
        let all = pass * self.thoroughness.passes as f64;
        self.thoroughness.seconds_max.map_or(all, |most| all.min(most))
    }

    /// How long one run of a case takes that measures for this long, in seconds.
    pub fn case_seconds(&self, case: &Workload, seconds: f64) -> f64 {
        const SET_UP_SECONDS: f64 = 0.01;
        let processors = processors_online() as f64;
        let round = operation_seconds(case) * case.jobs as f64 / processors.min(case.jobs as f64);
        seconds.max(round) + SET_UP_SECONDS
    }
}

/// About how long one operation takes on one processor, in seconds; on the long side.
fn operation_seconds(case: &Workload) -> f64 {
    let bytes = case.bytes as f64;
    match case.operation {
        Operation::Cipher { cipher: Cipher::Tdes, .. } => bytes / 25e6,
        Operation::Cipher { cipher: Cipher::Des, .. } | Operation::Mac(_) => bytes / 60e6,
        Operation::Verb { verb: Verb::PkaKeyGenerate, key: Some(key) } => {
            0.12 * (f64::from(key.bits) / 2048.0).powi(4)
        }
        _ => bytes / 400e6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::measurements;

    #[test]
    fn every_cell_that_can_be_run_is_in_the_plan_once() {
        let rows = measurements();
        let plan = Plan::new(&rows, Thoroughness::QUICK);
        let names: HashSet<String> = plan.cases.iter().map(Workload::case).collect();
        assert_eq!(names.len(), plan.cases.len());
        for table in sweep::tables(&rows) {
            for workload in table.cells.iter().filter_map(|cell| cell.workload.as_ref()) {
                assert!(names.contains(&workload.case()), "{}", workload.case());
            }
        }
        for case in &plan.cases {
            case.check().unwrap();
        }
        assert_eq!((plan.coprocessors, plan.accelerators), (4, 12));
    }

    #[test]
    fn a_quick_report_fits_into_two_minutes_without_cutting() {
        let plan = Plan::new(&measurements(), Thoroughness::QUICK);
        let uncut =
            Plan { thoroughness: Thoroughness { seconds_max: None, ..Thoroughness::QUICK }, ..plan.clone() };
        assert!(plan.seconds() + crate::tenancy::Plan::QUICK.seconds_max.unwrap() <= 105.0);
        assert!(uncut.seconds() < 150.0, "{}", uncut.seconds());
        let full = Plan::with_peer(&measurements(), Thoroughness::FULL, true);
        assert!(full.cases.iter().any(|case| case.peer) && plan.cases.iter().all(|case| !case.peer));
        assert!(full.seconds() > 1000.0 && full.seconds() < 3600.0, "{}", full.seconds());
    }
}

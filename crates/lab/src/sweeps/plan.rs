//! The cases of a report's sweeps, and their estimated time.

use super::claims;
use super::sweep;
use crate::experiment::Thoroughness;
use crate::kit::machine::processors_online;
use crate::load::operation::{Cipher, Operation};
use crate::load::peer::Peer;
use crate::load::{Interface, Workload};
use crate::published::Row;
use std::collections::HashSet;
use wire::control::LevelLimit;
use wire::verb::Verb;

/// The plan of the sweeps.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Passes and seconds.
    pub thoroughness: Thoroughness,
    /// The cases, each once.
    pub cases: Vec<Workload>,
    /// Coprocessors that the home needs.
    pub coprocessors: usize,
    /// Accelerators that the home needs.
    pub accelerators: usize,
}

/// Below two minutes in all, with the experiments on queues and tenants, OpenPGP files, page and cards.
pub const QUICK: Thoroughness = Thoroughness { passes: 3, seconds: 0.05, seconds_max: Some(66.0) };
/// Every case five times.
pub const FULL: Thoroughness = Thoroughness { passes: 5, seconds: 1.0, seconds_max: None };

impl Plan {
    /// Every case of the published sweeps and of the statements about scaling, on this machine.
    pub fn new(rows: &[Row], thoroughness: Thoroughness) -> Self {
        Self::with_peer(rows, thoroughness, Peer::find().is_some())
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
        // The cases at the portable level run together, in a process of their own.
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
}

/// Seconds of one run of a case that is to measure for `seconds`: these, or the time until each of its jobs has been
/// answered once, whichever is longer.
pub(super) fn case_seconds(case: &Workload, seconds: f64) -> f64 {
    const SET_UP_SECONDS: f64 = 0.01;
    let processors = processors_online() as f64;
    let round = operation_seconds(case) * case.jobs as f64 / processors.min(case.jobs as f64);
    seconds.max(round) + SET_UP_SECONDS
}

/// Estimated seconds that one operation takes on one processor, rather too many than too few.
fn operation_seconds(case: &Workload) -> f64 {
    let bytes = case.bytes as f64;
    match case.operation {
        Operation::Cipher { cipher: Cipher::Tdes3, .. } => bytes / 25e6,
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
    use crate::sweeps::seconds;

    #[test]
    fn every_cell_that_can_be_run_is_in_the_plan_once() {
        let rows = measurements();
        let plan = Plan::new(&rows, QUICK);
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
        let plan = Plan::new(&measurements(), QUICK);
        let uncut = Plan { thoroughness: Thoroughness { seconds_max: None, ..QUICK }, ..plan.clone() };
        assert!(seconds(&plan) <= 66.0 && seconds(&uncut) < 150.0, "{}", seconds(&uncut));
        let full = Plan::with_peer(&measurements(), FULL, true);
        let alone = Plan::with_peer(&measurements(), QUICK, false);
        assert!(full.cases.iter().any(|case| case.peer) && alone.cases.iter().all(|case| !case.peer));
        assert!(plan.cases.iter().any(|case| case.peer) == Peer::find().is_some());
        assert!(seconds(&full) > 1000.0 && seconds(&full) < 3600.0, "{}", seconds(&full));
    }
}

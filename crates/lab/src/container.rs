//! Native against a tenant in a container of its own: every case of the published sweeps that runs through the
//! facility or on cards.
//!
//! Three processes of this program reach one throw-away home by its socket: two as the home's owner, and one in user,
//! PID and network namespaces of its own ([`namespaces`]) that shows the credential of a tenant. They run each case in
//! turn, pass by pass. The originals compared 663 cases of a guest with the same cases in a partition; what is looked
//! at is how many agree within 1 and 2 percent. How far the owner's two processes agree with each other is stated
//! beside it: what this machine's noise alone makes of the same figure.

mod judge;
mod namespaces;
mod page;

pub use judge::judge;
pub use namespaces::Namespaces;
pub(crate) use page::{TITLE, section};

use crate::experiment::LeftOut;
use crate::kit::statistics::{Summary, compare};
use crate::load::helper::Helper;
use crate::load::target::{Needs, Target};
use crate::load::tenants::guests;
use crate::load::{Interface, LabError, Refusal, Workload};
use crate::published::Row;
use crate::sweeps::Plan;
use crate::sweeps::sweep;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wire::tenant::Limits;

/// How thoroughly sides are compared.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effort {
    /// Times that every case runs on each side.
    pub passes: usize,
    /// How long one run measures, in seconds.
    pub seconds: f64,
}

impl Effort {
    /// Some ten minutes.
    pub const FULL: Self = Self { passes: 7, seconds: 0.1 };
    /// About a minute; spreads are wide.
    pub const QUICK: Self = Self { passes: 3, seconds: 0.02 };
}

/// One case on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// The workload that was run.
    pub workload: Workload,
    /// The published tables that it stands in.
    pub tables: Vec<String>,
    /// Operations a second as the home's owner.
    pub native: Summary,
    /// Operations a second in the container.
    pub container: Summary,
    /// Container over native, pass by pass.
    pub ratio: Summary,
    /// Native over native, a second process of the owner, pass by pass.
    pub itself: Summary,
}

/// How far the rates of two sides agree over a number of cases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// Cases compared.
    pub cases: usize,
    /// Mean of the ratios.
    pub average: f64,
    /// The smallest ratio.
    pub min: f64,
    /// The largest ratio.
    pub max: f64,
    /// Percent of the cases whose ratio is within 1 percent of 1.
    pub within_1: f64,
    /// Percent of the cases whose ratio is within 2 percent of 1.
    pub within_2: f64,
}

impl Agreement {
    /// Sums up ratios; none if `ratios` is empty.
    pub fn of(ratios: &[f64]) -> Option<Self> {
        let summary = Summary::of(ratios)?;
        let within = |share: f64| {
            let inside = ratios.iter().filter(|ratio| (*ratio - 1.0).abs() <= share + ROUNDING).count();
            100.0 * inside as f64 / ratios.len() as f64
        };
        Some(Self {
            cases: ratios.len(),
            average: ratios.iter().sum::<f64>() / ratios.len() as f64,
            min: summary.min,
            max: summary.max,
            within_1: within(0.01),
            within_2: within(0.02),
        })
    }
}

/// The outcome of a comparison of native with a container.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// Passes and seconds of each case.
    pub effort: Effort,
    /// Namespaces of the container, and what the kernel refused.
    pub namespaces: Namespaces,
    /// Name of the tenant that the daemon takes the container for.
    pub tenant: String,
    /// The cases with a figure.
    pub cases: Vec<Case>,
    /// Cases without a figure.
    pub left_out: Vec<LeftOut>,
}

impl Compared {
    /// The agreement over all cases, and over those of each table by its name.
    pub fn agreements(&self) -> (Option<Agreement>, Vec<(String, Agreement)>) {
        let ratios = |table: Option<&str>| -> Vec<f64> {
            let wanted =
                |case: &&Case| table.is_none_or(|table| case.tables.iter().any(|name| name == table));
            self.cases.iter().filter(wanted).map(|case| case.ratio.median).collect()
        };
        let mut tables: Vec<&String> = self.cases.iter().flat_map(|case| &case.tables).collect();
        tables.sort();
        tables.dedup();
        let of = |table: &String| Some((table.clone(), Agreement::of(&ratios(Some(table)))?));
        (Agreement::of(&ratios(None)), tables.into_iter().filter_map(of).collect())
    }

    /// The agreement of the owner's two processes.
    pub fn noise(&self) -> Option<Agreement> {
        Agreement::of(&self.cases.iter().map(|case| case.itself.median).collect::<Vec<f64>>())
    }

    /// Writes `container.json`, `container.csv` and `container.html` into a folder. A report in that folder gets this
    /// comparison as a part.
    ///
    /// # Errors
    /// [`LabError::Io`].
    pub fn write(&self, folder: &Path) -> Result<Vec<PathBuf>, LabError> {
        let what = "write what was compared with a container";
        let json = serde_json::to_string_pretty(self).map_err(LabError::io(what))?;
        fs::create_dir_all(folder).map_err(LabError::io(what))?;
        let files = [
            ("container.json", json),
            ("container.csv", page::csv(self)),
            ("container.html", page::page(self)),
        ];
        files
            .into_iter()
            .map(|(name, text)| {
                let path = folder.join(name);
                fs::write(&path, text).map_err(LabError::io(what))?;
                Ok(path)
            })
            .collect()
    }
}

/// Each workload of the published tables once, with the tables that it stands in.
pub fn cases(rows: &[Row]) -> Vec<(Workload, Vec<String>)> {
    let mut cases: Vec<(Workload, Vec<String>)> = Vec::new();
    for table in sweep::tables(rows) {
        let through = |workload: &Workload| workload.interface != Interface::Native;
        for workload in table.cells.iter().filter_map(|cell| cell.workload.clone()).filter(through) {
            match cases.iter_mut().find(|(known, _)| *known == workload) {
                Some((_, tables)) if tables.contains(&table.id) => {}
                Some((_, tables)) => tables.push(table.id.clone()),
                None => cases.push((workload, vec![table.id.clone()])),
            }
        }
    }
    cases
}

/// Compares the cases; `progress` is told the case, the runs done and the runs in all.
///
/// # Errors
/// [`LabError::Interrupted`]; [`LabError::Io`] where a process does not start or ends; [`LabError::Facility`] where
/// the home does not start. A case that fails is left out and named.
pub fn run(
    cases: Vec<(Workload, Vec<String>)>,
    effort: Effort,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(&str, usize, usize),
) -> Result<Compared, LabError> {
    let namespaces = Namespaces::of_this_machine();
    let mut compared =
        Compared { effort, tenant: String::new(), cases: Vec::new(), left_out: Vec::new(), namespaces };
    if compared.namespaces.granted.is_empty() {
        return Ok(compared);
    }
    let plan = Plan::of(cases.iter().map(|(workload, _)| workload.clone()).collect());
    let needs =
        Needs { coprocessors: plan.coprocessors, accelerators: plan.accelerators, ..Needs::default() };
    let mut target = Target::throwaway(&needs, Arc::clone(stop))?;
    let guests = guests(&[Limits::default()]);
    target.bring(&guests)?;
    let credential = target.write_credential(&guests[0].name)?;
    let home = target.folder().ok_or(Refusal::NoHome)?;
    let mut command = compared.namespaces.command();
    command.env(facility::credential::VARIABLE, &credential);
    let mut sides = [Helper::beside(home)?, Helper::within(command, home)?, Helper::beside(home)?];
    compared.tenant.clone_from(&guests[0].name);
    let mut runs: Vec<Option<[Vec<f64>; 3]>> = vec![Some(Default::default()); cases.len()];
    let total = cases.len() * effort.passes;
    for pass in 0..effort.passes {
        for (index, (workload, _)) in cases.iter().enumerate() {
            let Some(rates) = &mut runs[index] else { continue };
            progress(&workload.case(), pass * cases.len() + index, total);
            let workload = Workload { seconds: effort.seconds, ..workload.clone() };
            match in_turn(&mut sides, pass + index, &workload, rates) {
                Ok(()) => {}
                Err(error @ LabError::Io { .. }) => return Err(error),
                Err(error) => {
                    let fault = !matches!(error, LabError::Refused(_));
                    let (case, why) = (workload.case(), error.to_string());
                    compared.left_out.push(LeftOut { case, why, fault });
                    runs[index] = None;
                }
            }
            if stop.load(Ordering::Relaxed) {
                return Err(LabError::Interrupted);
            }
        }
    }
    let pairs = cases.into_iter().zip(runs);
    compared.cases =
        pairs.filter_map(|((workload, tables), runs)| summed_up(workload, tables, &runs?)).collect();
    Ok(compared)
}

/// Runs a case once on every side; the first side changes from pass to pass.
fn in_turn(
    sides: &mut [Helper; 3],
    turn: usize,
    workload: &Workload,
    rates: &mut [Vec<f64>; 3],
) -> Result<(), LabError> {
    for step in 0..sides.len() {
        let side = (turn + step) % sides.len();
        rates[side].push(sides[side].run(workload)?.ops_per_s);
    }
    Ok(())
}

fn summed_up(workload: Workload, tables: Vec<String>, runs: &[Vec<f64>; 3]) -> Option<Case> {
    let [native, container, again] = runs;
    let sides = compare(container, native)?;
    let itself = compare(again, native)?.ratio;
    Some(Case { workload, tables, native: sides.peer, container: sides.ours, ratio: sides.ratio, itself })
}

/// A ratio of exactly 1.01 is within 1 percent, whatever its last bit.
const ROUNDING: f64 = 1e-12;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::measurements;

    #[test]
    fn shares_count_what_is_within() {
        let agreement = Agreement::of(&[1.0, 0.99, 1.011, 0.97, 1.02]).unwrap();
        assert_eq!((agreement.cases, agreement.min, agreement.max), (5, 0.97, 1.02));
        assert_eq!((agreement.within_1, agreement.within_2), (40.0, 80.0));
        assert!((agreement.average - 0.9982).abs() < 1e-12);
        assert_eq!(Agreement::of(&[]), None);
    }

    #[test]
    fn every_case_of_the_sweeps_beyond_the_caller_is_compared_once() {
        let rows = measurements();
        let cases = cases(&rows);
        let wanted: Vec<(String, Workload)> = sweep::tables(&rows)
            .into_iter()
            .flat_map(|table| table.cells.into_iter().map(move |cell| (table.id.clone(), cell.workload)))
            .filter_map(|(id, workload)| Some((id, workload?)))
            .filter(|(_, workload)| workload.interface != Interface::Native)
            .collect();
        assert!(cases.len() > 200 && wanted.len() >= cases.len());
        for (table, workload) in &wanted {
            let found = cases.iter().filter(|(known, tables)| known == workload && tables.contains(table));
            assert_eq!(found.count(), 1, "{}", workload.case());
        }
        assert!(cases.iter().any(|(workload, _)| workload.interface == Interface::Facility));
        assert!(cases.iter().any(|(workload, _)| workload.cards == 12 && workload.jobs == 96));
    }

    #[test]
    fn passes_become_a_case() {
        let workload = Workload::of("rsa2048-crt".parse().unwrap());
        let runs = [vec![100.0, 110.0, 100.0], vec![99.0, 111.1, 98.0], vec![110.0, 121.0, 100.0]];
        let case = summed_up(workload.clone(), vec!["t".to_owned()], &runs).unwrap();
        assert!((case.ratio.median - 0.99).abs() < 1e-9 && (case.itself.median - 1.1).abs() < 1e-9);
        assert!(summed_up(workload, Vec::new(), &[vec![0.0], vec![1.0], vec![1.0]]).is_none());
    }
}

//! The workloads of the published Linux report over IPsec: without IPsec, with the engine held to the portable level,
//! and with the engine at its best.
//!
//! What the originals had was ESP in the kernel, with ciphers in software or by the processor's own instructions
//! (CPACF). Here it is our data plane; what the level changes is its engine alone.

mod page;
mod statements;

pub(crate) use page::{rows, section};
pub(crate) use statements::judge;

pub use crate::experiment::seconds;

use super::desk::Desk;
use super::suite::Suite;
use super::tunnel::{SERVER, Tunnel, TunnelKind};
use crate::experiment::{self, LeftOut, Progress, Thoroughness, outcome};
use crate::kit::statistics::{Summary, ratio};
use crate::load::LabError;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use traffic::{Load as Typed, ProcessTime, Report, Workload};

/// The journal within the folder of a report.
pub const JOURNAL: &str = "ipsec.jsonl";
/// Anchor of the part in the page, and its heading.
pub(crate) const ANCHOR: &str = "ipsec";
pub(crate) const TITLE: &str = "Workloads over IPsec";
/// Seconds that a run takes beside its own time: namespaces, data planes, server.
const AROUND_SECONDS: f64 = 0.8;
/// Warm-up of a run as a share of its time; it is not counted.
const WARM_SHARE: f64 = 0.25;
const CONNECTIONS: u32 = 8;

/// A workload of the published report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Load {
    /// A request of 200 bytes and a response of 1,000, over connections that stay open: an online transaction.
    Rr1k,
    /// A new connection for each request of 64 bytes and response of 8,192: a request to a website.
    Crr8k,
    /// A request of 200 bytes and a response of 32,768, over connections that stay open: a query of a database.
    Rr32k,
}

impl Load {
    /// Every workload.
    pub const ALL: [Self; 3] = [Self::Rr1k, Self::Crr8k, Self::Rr32k];

    /// The name in the published report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rr1k => "rr200x1k",
            Self::Crr8k => "crr64x8k",
            Self::Rr32k => "rr200x32k",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Rr1k => "200/1,000 bytes, connections that stay (an online transaction)",
            Self::Crr8k => "64/8,192 bytes, a connection each (a request to a website)",
            Self::Rr32k => "200/32,768 bytes, connections that stay (a query of a database)",
        }
    }

    /// Bytes of a request and of a response.
    const fn bytes(self) -> (u32, u32) {
        match self {
            Self::Rr1k => (200, 1000),
            Self::Crr8k => (64, 8192),
            Self::Rr32k => (200, 32_768),
        }
    }

    fn typed(self) -> Typed {
        let workload = if self == Self::Crr8k { Workload::Crr } else { Workload::Rr };
        let (request, response) = self.bytes();
        let (request, response) = (Some(request), Some(response));
        Typed { workload, request, response, connections: CONNECTIONS, ..Typed::default() }
    }
}

/// The protection between the ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// No IPsec.
    Without,
    /// A suite, with the engine held to the portable level.
    Portable(Suite),
    /// A suite, with the engine at its best.
    Best(Suite),
}

impl Way {
    fn name(self) -> String {
        match self {
            Self::Without => "without IPsec".to_owned(),
            Self::Portable(suite) => format!("{}, portable", suite.name()),
            Self::Best(suite) => format!("{}, best", suite.name()),
        }
    }

    const fn kind(self) -> TunnelKind {
        match self {
            Self::Without => TunnelKind::Plain,
            Self::Portable(suite) => TunnelKind::Ours { suite, threads: 1, sas: 1, level: Some("portable") },
            Self::Best(suite) => TunnelKind::ours(suite),
        }
    }
}

/// A workload by a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Case {
    /// The workload of the case.
    pub load: Load,
    /// The protection between the ends.
    pub way: Way,
}

impl Case {
    /// Name of the case: workload and way.
    pub fn id(self) -> String {
        format!("ipsec/{}, {}", self.load.name(), self.way.name())
    }
}

/// The cases with these suites: workload by workload, first without IPsec.
fn cases(suites: &[Suite]) -> Vec<Case> {
    let ways = || {
        let of = suites.iter().flat_map(|suite| [Way::Portable(*suite), Way::Best(*suite)]);
        [Way::Without].into_iter().chain(of)
    };
    Load::ALL.into_iter().flat_map(|load| ways().map(move |way| Case { load, way })).collect()
}

/// The plan of the part.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Passes and seconds.
    pub thoroughness: Thoroughness,
    /// The cases to run.
    pub cases: Vec<Case>,
}

impl Plan {
    const QUICK: Thoroughness = Thoroughness { passes: 1, seconds: 0.5, seconds_max: None };
    const FULL: Thoroughness = Thoroughness { passes: 3, seconds: 2.0, seconds_max: None };

    /// Every case; or, for a quick report, the cases of two suites once.
    pub fn new(is_quick: bool) -> Self {
        match is_quick {
            true => Self { thoroughness: Self::QUICK, cases: cases(&[Suite::Gcm, Suite::CbcSha1]) },
            false => Self { thoroughness: Self::FULL, cases: cases(&Suite::ALL) },
        }
    }

    /// A plan without cases.
    pub fn empty() -> Self {
        Self { thoroughness: Self::QUICK, cases: Vec::new() }
    }
}

impl experiment::Plan for Plan {
    fn thoroughness(&self) -> Thoroughness {
        self.thoroughness
    }

    fn order(&self) -> Vec<(usize, usize)> {
        // The ways of a workload run next to each other within a pass.
        experiment::by_groups([self.cases.len()], self.thoroughness.passes)
    }

    fn name(&self, case: usize) -> String {
        self.cases[case].id()
    }

    fn cost(&self, _: usize, seconds: f64) -> f64 {
        seconds * (1.0 + WARM_SHARE) + AROUND_SECONDS
    }
}

/// One run of a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The counted time, in seconds.
    pub seconds: f64,
    /// Completed transactions.
    pub transactions: u64,
    /// Mean time of a transaction, in microseconds.
    pub mean_us: f64,
    /// The 99th percentile of the transactions' times, in microseconds.
    pub p99_us: f64,
    /// Processor time of both data planes, in seconds.
    pub planes_s: f64,
    /// Processor time of client and server, in seconds.
    pub ends_s: f64,
}

/// A figure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Transactions a second.
    Rate,
    /// Mean time of a transaction, in microseconds.
    Response,
    /// Processor time of a transaction, in microseconds: data planes, client and server.
    Processor,
    /// Processor time of a transaction in the data planes alone, in microseconds.
    Planes,
}

impl Run {
    fn of(report: &Report) -> Self {
        let sum = |is_server: bool| -> f64 {
            let of = report.processes.iter().filter(|process| (process.name == SERVER) == is_server);
            // An empty sum is 0, not the -0 that a sum of floats begins with.
            of.filter_map(ProcessTime::total_s).fold(0.0, |sum, seconds| sum + seconds)
        };
        Self {
            seconds: report.seconds,
            transactions: report.transactions,
            mean_us: report.latency_us.map_or(0.0, |times| times.mean),
            p99_us: report.latency_us.map_or(0.0, |times| times.p99),
            planes_s: sum(false),
            ends_s: sum(true) + report.driver.total_s().unwrap_or(0.0),
        }
    }

    /// A figure of the run.
    pub fn figure(&self, figure: Figure) -> f64 {
        let count = self.transactions.max(1) as f64;
        match figure {
            Figure::Rate => self.transactions as f64 / self.seconds.max(1e-9),
            Figure::Response => self.mean_us,
            Figure::Processor => 1e6 * (self.planes_s + self.ends_s) / count,
            Figure::Planes => 1e6 * self.planes_s / count,
        }
    }
}

/// The runs of a case.
pub type IpsecOutcome = outcome::CaseOutcome<Run>;
/// The outcomes of a report.
pub type Outcomes = outcome::Outcomes<Run>;

impl Outcomes {
    fn summary(&self, case: Case, figure: Figure) -> Option<Summary> {
        self.named(&case.id())?.summary(|run| run.figure(figure))
    }

    /// A figure of one way over that of another, pass by pass; none if a way has no runs.
    fn over(&self, load: Load, (a, b): (Way, Way), figure: Figure) -> Option<Summary> {
        let of = |way| Some(self.named(&Case { load, way }.id())?.values(|run| run.figure(figure)));
        ratio(&of(a)?, &of(b)?)
    }
}

/// Runs a plan, or what an interrupted run of it in the same folder left over.
///
/// # Errors
/// As [`experiment::run`].
pub fn run(
    plan: &Plan,
    level: &str,
    folder: &Path,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(&Progress),
) -> Result<(Outcomes, Vec<LeftOut>), LabError> {
    let make = || {
        let desk = Desk::new()?;
        desk.ours().map(drop)?;
        Ok(desk)
    };
    let mut one = |desk: &mut Desk, case: usize, seconds: f64| {
        let case = plan.cases[case];
        let load = Typed { seconds, warm_up: seconds * WARM_SHARE, ..case.load.typed() };
        let tunnel = Tunnel::start(desk, case.way.kind())?;
        tunnel.drive_booking_both_ends(&load, stop).map(|report| Run::of(&report))
    };
    outcome::outcomes(plan, (ANCHOR, make), &mut one, (level, &folder.join(JOURNAL)), progress)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::experiment::Plan as _;
    use std::collections::BTreeSet;

    /// Without IPsec 1,000 a second; the portable level takes four times what the best does, of 3DES thirteen times.
    pub(crate) fn made_up() -> Outcomes {
        let run = |case: &Case| {
            let (rate, processor) = match case.way {
                Way::Without => (1000, 0.1),
                Way::Best(_) => (500, 0.2),
                Way::Portable(Suite::TdesSha1) => (150, 0.78),
                Way::Portable(_) => (250, 0.4),
            };
            let mean_us = 8e6 / rate as f64;
            let (planes_s, ends_s) = (processor / 2.0, processor / 2.0);
            Run { seconds: 1.0, transactions: rate, mean_us, p99_us: 2.0 * mean_us, planes_s, ends_s }
        };
        let outcome = |case: &Case| IpsecOutcome { case: case.id(), runs: vec![run(case); 2] };
        outcome::Outcomes(cases(&Suite::ALL).iter().map(outcome).collect())
    }

    #[test]
    fn each_workload_runs_without_and_by_each_suite_at_both_levels() {
        let plan = Plan::new(false);
        assert_eq!(plan.cases.len(), 3 * (1 + 2 * Suite::ALL.len()));
        assert_eq!(plan.cases.iter().map(|case| case.id()).collect::<BTreeSet<_>>().len(), plan.cases.len());
        assert_eq!(plan.order().len(), 3 * plan.cases.len());
        assert!(plan.cases.iter().all(|case| case.id().starts_with("ipsec/")));
        let quick = Plan::new(true);
        assert!(quick.cases.iter().all(|case| plan.cases.contains(case)) && seconds(&quick) < 30.0);
        assert!(Plan::empty().order().is_empty());
    }
}

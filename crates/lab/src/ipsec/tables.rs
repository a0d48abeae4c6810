//! The workloads of the published Linux report over IPsec: without it, with the engine held to the portable level, and with its best.
//!
//! What the originals had was ESP in the kernel, with ciphers in software or by the processor's own instructions (CPACF). Here it is our data plane; what
//! the level changes is its engine alone.

use super::desk::Desk;
use super::suite::Suite;
use super::tunnel::{Kind, Tunnel};
use crate::experiment::judged::Expect::{self, About, AtMost};
use crate::experiment::judged::{Figure as Weighable, Judged};
use crate::experiment::{self, LeftOut, Progress, Thoroughness};
use crate::kit::digits::rounded;
use crate::kit::page::{self, TableRow};
use crate::kit::statistics::{Summary, compare};
use crate::load::LabError;
use crate::published::{Claim, Row, Sheet};
use maud::{Markup, html};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use traffic::{ProcessTime, Report, Typed, Workload};

/// The journal within the folder of a report.
pub const JOURNAL: &str = "ipsec.jsonl";
/// Where the part begins, and its heading.
pub(crate) const ANCHOR: &str = "ipsec";
pub(crate) const TITLE: &str = "Workloads over IPsec";
/// What a run costs beside its time: namespaces, data planes, server.
const AROUND_SECONDS: f64 = 0.8;
/// Part of a run that is not counted.
const WARM_SHARE: f64 = 0.25;
const CONNECTIONS: u32 = 8;

/// A workload of the published report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Load {
    /// A request of 200 bytes and a response of 1,000, over connections that stay: an online transaction.
    Rr1k,
    /// A connection, 64 bytes and 8,192: a request to a website.
    Crr8k,
    /// 200 bytes and 32,768, over connections that stay: a query of a database.
    Rr32k,
}

impl Load {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Rr1k, Self::Crr8k, Self::Rr32k];

    /// As the published report calls it.
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

    fn typed(self) -> Typed {
        let (workload, request, response) = match self {
            Self::Rr1k => (Workload::Rr, 200, 1000),
            Self::Crr8k => (Workload::Crr, 64, 8192),
            Self::Rr32k => (Workload::Rr, 200, 32_768),
        };
        let (request, response) = (Some(request), Some(response));
        Typed { workload, request, response, connections: CONNECTIONS, ..Typed::default() }
    }
}

/// What stands between the ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// Nothing.
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

    const fn kind(self) -> Kind {
        match self {
            Self::Without => Kind::Plain,
            Self::Portable(suite) => Kind::Ours { suite, threads: 1, level: Some("portable") },
            Self::Best(suite) => Kind::ours(suite),
        }
    }
}

/// A workload by a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Case {
    /// The workload.
    pub load: Load,
    /// What stands between the ends.
    pub way: Way,
}

impl Case {
    /// Its name.
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

/// What is run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How thoroughly.
    pub thoroughness: Thoroughness,
    /// The cases.
    pub cases: Vec<Case>,
}

impl Plan {
    const QUICK: Thoroughness = Thoroughness { passes: 1, seconds: 0.5, seconds_max: None };
    const FULL: Thoroughness = Thoroughness { passes: 3, seconds: 2.0, seconds_max: None };

    /// Every case, or those of two suites once.
    pub fn new(is_quick: bool) -> Self {
        match is_quick {
            true => Self { thoroughness: Self::QUICK, cases: cases(&[Suite::Gcm, Suite::CbcSha1]) },
            false => Self { thoroughness: Self::FULL, cases: cases(&Suite::ALL) },
        }
    }

    /// Nothing.
    pub fn empty() -> Self {
        Self { thoroughness: Self::QUICK, cases: Vec::new() }
    }
}

impl experiment::Plan for Plan {
    fn thoroughness(&self) -> Thoroughness {
        self.thoroughness
    }

    fn order(&self) -> Vec<(usize, usize)> {
        // Ways of a workload stand beside each other within a pass.
        (0..self.thoroughness.passes)
            .flat_map(|pass| (0..self.cases.len()).map(move |case| (case, pass)))
            .collect()
    }

    fn name(&self, case: usize) -> String {
        self.cases[case].id()
    }

    fn cost(&self, _: usize, seconds: f64) -> f64 {
        seconds * (1.0 + WARM_SHARE) + AROUND_SECONDS
    }

    fn seconds_min(&self) -> f64 {
        self.thoroughness.seconds
    }
}

/// One run of a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// How long was counted, in seconds.
    pub seconds: f64,
    /// Transactions that were done.
    pub transactions: u64,
    /// Their mean time, in microseconds.
    pub mean_us: f64,
    /// 99 of 100 took at most this long, in microseconds.
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
    /// That of the data planes alone.
    Planes,
}

impl Run {
    fn of(report: &Report) -> Self {
        let sum = |is_server: bool| -> f64 {
            let of = report.processes.iter().filter(|process| (process.name == SERVER) == is_server);
            // Of none it is zero, not the negative one that a sum begins with.
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

    /// A figure.
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

/// What the server is called among the processes that are booked.
const SERVER: &str = super::tunnel::SERVER;

/// The runs of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Its name.
    pub case: String,
    /// Its runs, in the order of the passes.
    pub runs: Vec<Run>,
}

/// The outcomes of a report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Outcomes(pub Vec<Outcome>);

impl Outcomes {
    fn values(&self, case: Case, figure: Figure) -> Option<Vec<f64>> {
        let name = case.id();
        let outcome = self.0.iter().find(|outcome| outcome.case == name)?;
        Some(outcome.runs.iter().map(|run| run.figure(figure)).collect())
    }

    fn summary(&self, case: Case, figure: Figure) -> Option<Summary> {
        Summary::of(&self.values(case, figure)?)
    }

    /// A figure of one way over that of another, pass by pass.
    fn over(&self, load: Load, (a, b): (Way, Way), figure: Figure) -> Option<Summary> {
        let of = |way| self.values(Case { load, way }, figure);
        let (a, b) = (of(a)?, of(b)?);
        let count = a.len().min(b.len());
        Some(compare(&a[..count], &b[..count])?.ratio)
    }
}

/// About how long a plan takes, in seconds.
pub fn seconds(plan: &Plan) -> f64 {
    experiment::seconds(plan)
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
    if plan.cases.is_empty() {
        return Ok((Outcomes::default(), Vec::new()));
    }
    let desk = Desk::new()?;
    if let Err(error) = desk.ours() {
        return Ok((
            Outcomes::default(),
            vec![LeftOut { case: ANCHOR.to_owned(), why: error.to_string(), fault: true }],
        ));
    }
    let mut one = |case: usize, seconds: f64| {
        let case = plan.cases[case];
        let load = Typed { seconds, warm_up: seconds * WARM_SHARE, ..case.load.typed() };
        let tunnel = Tunnel::start(&desk, case.way.kind())?;
        tunnel.drive_booking_both_ends(&load, stop).map(|report| Run::of(&report))
    };
    let (runs, left_out) = experiment::run(plan, &mut one, level, &folder.join(JOURNAL), progress)?;
    let outcomes = plan.cases.iter().filter_map(|case| {
        let runs: Vec<Run> = runs.get(&case.id())?.values().cloned().collect();
        (!runs.is_empty()).then(|| Outcome { case: case.id(), runs })
    });
    Ok((Outcomes(outcomes.collect()), left_out))
}

/// The published statements, held against what the cases gave.
pub(crate) fn judge(claims: &[Claim], outcomes: &Outcomes) -> Vec<Judged> {
    let all = |of: &dyn Fn(Load, Suite) -> Option<Summary>| -> Vec<Weighable> {
        let every =
            Load::ALL.into_iter().flat_map(|load| Suite::ALL.into_iter().map(move |suite| (load, suite)));
        every.filter_map(|(load, suite)| of(load, suite)).map(|summary| Weighable::of(&summary)).collect()
    };
    // The largest of all is what such a statement is about.
    let largest = |figures: Vec<Weighable>| -> Vec<Weighable> {
        figures.into_iter().max_by(|a, b| a.value.total_cmp(&b.value)).into_iter().collect()
    };
    let portable_over_best = largest(all(&|load, suite| {
        outcomes.over(load, (Way::Portable(suite), Way::Best(suite)), Figure::Response)
    }));
    let portable_over_best = portable_over_best.first().map_or(0.0, |figure| figure.value);
    let held: [(&str, Vec<Weighable>, Expect, String); 3] = [
        (
            "lnx.c.ipsec-lowers-rate",
            all(&|load, suite| outcomes.over(load, (Way::Best(suite), Way::Without), Figure::Rate)),
            AtMost(1.0),
            "rate with IPsec over that without, the largest of all workloads and suites, engine at its best".to_owned(),
        ),
        (
            "lnx.c.ipsec-response",
            largest(all(&|load, suite| {
                outcomes.over(load, (Way::Portable(suite), Way::Without), Figure::Response)
            })),
            AtMost(7.0),
            format!(
                "response time with the engine at the portable level over that without IPsec, the largest of all workloads and suites; over that at its best, the \
                 other reading of what the statement leaves open, it is {portable_over_best:.1}"
            ),
        ),
        (
            "lnx.c.ipsec-cpu",
            largest(all(&|load, suite| {
                outcomes.over(load, (Way::Portable(suite), Way::Best(suite)), Figure::Processor)
            })),
            About(13.0),
            "processor time of a transaction at the portable level over that at the best, the largest of all workloads and suites; client and server included"
                .to_owned(),
        ),
    ];
    let judged = held.into_iter().filter_map(|(id, figures, expect, compared)| {
        let claim = claims.iter().find(|claim| claim.id == id)?;
        Some(Judged::weighed(claim, &expect.weigh(figures)?, format!("{compared} (IPsec)")))
    });
    judged.collect()
}

const COLUMNS: [&str; 9] = [
    "<case",
    "transactions\n/s",
    "\u{b1}",
    "rate, without\nIPsec 1",
    "response\nmean, us",
    "response, without\nIPsec 1",
    "99 of 100\nwithin, us",
    "processor\ntime, us",
    "of it data\nplanes, us",
];

/// The part of a report's page; empty where no case ran.
pub(crate) fn section(outcomes: &Outcomes) -> Markup {
    let cases = cases(&Suite::ALL);
    html! {
        @if !outcomes.0.is_empty() {
            h2 id=(ANCHOR) { (TITLE) }
            p.remark {
                "The workloads of the published Linux report between two network namespaces, 8 connections, every byte checked, our data plane at both ends, a \
                 thread each; all share the processors of this machine. " i { "Portable" } " holds the engine to the level without the processor's instructions \
                 for ciphers, " i { "best" } " leaves it all of them. The originals had ESP in the kernel: their statements are \"up to 7 times\" the response time \
                 and 13 times the processor cost in software, without naming what is compared. " b { "Processor time" } " is that of a transaction: data planes, \
                 client and server."
            }
            @for load in Load::ALL {
                @let rows: Vec<Case> = cases.iter().copied().filter(|case| case.load == load && outcomes.summary(*case, Figure::Rate).is_some()).collect();
                @if !rows.is_empty() {
                    h3 id={ (ANCHOR) "-" (load.name()) } { (load.title()) }
                    (page::table(&COLUMNS, rows.into_iter().map(|case| row(outcomes, case))))
                }
            }
        }
    }
}

fn row(outcomes: &Outcomes, case: Case) -> TableRow {
    let figure = |figure| outcomes.summary(case, figure);
    let median = |of| figure(of).map(|summary| summary.median);
    let relative = |of| outcomes.over(case.load, (case.way, Way::Without), of).map(|summary| summary.median);
    let p99 = outcomes.0.iter().find(|outcome| outcome.case == case.id());
    let p99 =
        p99.and_then(|outcome| Summary::of(&outcome.runs.iter().map(|run| run.p99_us).collect::<Vec<_>>()));
    TableRow::Cells(vec![
        page::name(&case.way.name()),
        page::measured(median(Figure::Rate), 0),
        page::spread(figure(Figure::Rate).as_ref()),
        page::measured(relative(Figure::Rate), 3),
        page::measured(median(Figure::Response), 1),
        page::measured(relative(Figure::Response), 2),
        page::measured(p99.map(|summary| summary.median), 1),
        page::measured(median(Figure::Processor), 1),
        page::measured(median(Figure::Planes), 1),
    ])
}

/// The figures in the columns of the published table.
pub(crate) fn rows(sheet: &mut Sheet, outcomes: &Outcomes, published: &[Row]) {
    let largest = |of: &dyn Fn(Load, Suite) -> Option<Summary>| {
        let every =
            Load::ALL.into_iter().flat_map(|load| Suite::ALL.into_iter().map(move |suite| (load, suite)));
        every.filter_map(|(load, suite)| of(load, suite)).map(|summary| summary.median).max_by(f64::total_cmp)
    };
    let response =
        largest(&|load, suite| outcomes.over(load, (Way::Portable(suite), Way::Without), Figure::Response));
    let processor = largest(&|load, suite| {
        outcomes.over(load, (Way::Portable(suite), Way::Best(suite)), Figure::Processor)
    });
    for (id, value) in [("lnx.ipsec.response.ratio", response), ("lnx.ipsec.cpu.ratio", processor)] {
        let (Some(value), Some(row)) = (value, published.iter().find(|row| row.id() == id)) else { continue };
        let note = "the largest of all workloads and suites".to_owned();
        sheet.add(Some(row), &[("id", format!("cryptand.{id}")), ("value", rounded(value)), ("note", note)]);
    }
    for case in cases(&Suite::ALL) {
        for (name, metric, unit, figure) in [
            ("rate", "tx_per_s", "transactions/s", Figure::Rate),
            ("response", "response_us", "us", Figure::Response),
            ("processor", "us_per_tx", "us", Figure::Processor),
            ("planes", "planes_us_per_tx", "us", Figure::Planes),
        ] {
            let Some(summary) = outcomes.summary(case, figure) else { continue };
            let id = case.id().replace(", ", ".").replace([' ', '/'], "-");
            sheet.add(
                None,
                &[
                    ("id", format!("cryptand.{id}.{name}")),
                    ("section", "ipsec".to_owned()),
                    ("table", case.load.name().to_owned()),
                    ("interface", "ipsec".to_owned()),
                    ("operation", "ipsec".to_owned()),
                    ("jobs", CONNECTIONS.to_string()),
                    ("metric", metric.to_owned()),
                    ("unit", unit.to_owned()),
                    ("value", rounded(summary.median)),
                    (
                        "note",
                        format!(
                            "{}; {} runs, {:.1} % apart",
                            case.id(),
                            summary.runs,
                            summary.spread() * 100.0
                        ),
                    ),
                ],
            );
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::experiment::Plan as _;
    use crate::experiment::judged::Verdict;
    use crate::published;
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
        let outcome = |case: &Case| Outcome { case: case.id(), runs: vec![run(case); 2] };
        Outcomes(cases(&Suite::ALL).iter().map(outcome).collect())
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

    #[test]
    fn statements_are_held_against_the_largest() {
        let (claims, outcomes) = (published::claims(), made_up());
        let judged = judge(&claims, &outcomes);
        let of = |id: &str| judged.iter().find(|one| one.id == id).unwrap();
        assert_eq!(of("lnx.c.ipsec-lowers-rate").measured, Some(0.5));
        assert_eq!(of("lnx.c.ipsec-lowers-rate").verdict, Verdict::Confirmed);
        let response = of("lnx.c.ipsec-response");
        assert!((response.measured.unwrap() - 1000.0 / 150.0).abs() < 1e-9);
        assert_eq!(response.verdict, Verdict::Confirmed);
        let processor = of("lnx.c.ipsec-cpu");
        assert!((processor.measured.unwrap() - 13.0).abs() < 1e-9, "{processor:?}");
        assert_eq!((processor.published, &processor.verdict), (Some(13.0), &Verdict::Confirmed));
        assert_eq!(judge(&claims, &Outcomes::default()), []);
    }

    #[test]
    fn the_page_and_the_sheet_have_every_case() {
        let outcomes = made_up();
        let page = section(&outcomes).into_string();
        for load in Load::ALL {
            assert!(page.contains(&format!("id=\"ipsec-{}\"", load.name())));
        }
        assert_eq!(page.matches("without IPsec</td>").count(), 3);
        assert!(section(&Outcomes::default()).into_string().is_empty());
        let mut sheet = Sheet::new(Vec::new());
        rows(&mut sheet, &outcomes, &published::measurements());
        let read = published::read_measurements(&sheet.finish()).unwrap();
        assert_eq!(read.len(), 2 + 4 * cases(&Suite::ALL).len());
        let response = read.iter().find(|row| row.id() == "cryptand.lnx.ipsec.response.ratio").unwrap();
        assert_eq!(response.field("unit"), "ratio");
    }
}

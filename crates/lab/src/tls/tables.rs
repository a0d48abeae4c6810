//! The published measurements of TLS servers, run again under the load driver: whole servers with their keys in
//! software, on timed cards of the published speeds, and on cards that are not timed.
//!
//! The rate of timed cards is the published one by construction; what is found is what server, queues and driver make
//! of it. So the report gives ratios, and says of a row whether the cards or the driver was the limit.

mod case;
mod page;
mod public;
mod rows;
mod statements;

pub use case::{Case, Engine, Queue, Shares, Suite, Table, cases};
pub(crate) use page::{ANCHOR, TITLE, section};
pub(crate) use rows::rows;
pub(crate) use statements::judge;

pub use crate::experiment::seconds;

use super::cards::{Cards, Wanted};
use super::desk::Desk;
use super::drive::{Data, Drive, Driven, Length, ResumeBy, Version};
use super::server::{KeyHolder, Server, Serving, Sessions, Work};
use crate::cards::own;
use crate::experiment::{self, LeftOut, Progress, Thoroughness, outcome};
use crate::kit::machine::processors_online;
use crate::kit::statistics::Summary;
use crate::load::LabError;
use crate::load::tenants::{in_flight, sharing};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The journal within the folder of a report.
pub const JOURNAL: &str = "tls.jsonl";
/// Seconds that a run takes beside its own time: starting servers and driver.
const AROUND_SECONDS: f64 = 0.3;
/// Seconds that each further server and each home adds.
const SERVER_SECONDS: f64 = 0.05;
const HOME_SECONDS: f64 = 0.6;
/// Warm-up of a run as a share of its time; it is not counted.
const WARM_SHARE: f64 = 0.2;
/// Entries of a session cache and their life in seconds, as z/VM's table 8 has them.
const SESSIONS: (u32, u32) = (16_000, 180);

/// The plan of the part.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Passes and seconds.
    pub thoroughness: Thoroughness,
    /// The cases. Neighbours that the same home serves run in turn.
    pub cases: Vec<Case>,
}

impl Plan {
    /// About a minute: some cases, one pass.
    pub const QUICK: Thoroughness = Thoroughness { passes: 1, seconds: 0.5, seconds_max: None };
    /// Every case three times.
    pub const FULL: Thoroughness = Thoroughness { passes: 3, seconds: 2.0, seconds_max: None };

    /// Every case, or those of a quick report.
    pub fn new(is_quick: bool) -> Self {
        let thoroughness = if is_quick { Self::QUICK } else { Self::FULL };
        Self { thoroughness, cases: cases().into_iter().filter(|case| case.is_quick || !is_quick).collect() }
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
        let groups = self.cases.chunk_by(Case::is_served_like);
        experiment::by_groups(groups.map(<[Case]>::len), self.thoroughness.passes)
    }

    fn name(&self, case: usize) -> String {
        self.cases[case].id()
    }

    fn cost(&self, case: usize, seconds: f64) -> f64 {
        let case = &self.cases[case];
        let home = if case.engine.cards() > 0 { HOME_SECONDS } else { 0.0 };
        seconds * (1.0 + WARM_SHARE) + AROUND_SECONDS + home + SERVER_SECONDS * case.servers as f64
    }
}

/// One run of a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The counted time, in seconds.
    pub seconds: f64,
    /// Completed handshakes, each with its data.
    pub transactions: u64,
    /// Messages that were answered.
    pub messages: u64,
    /// Bytes within TLS, both ways.
    pub bytes: u64,
    /// Processor time of the servers, in seconds.
    pub server_s: f64,
    /// Processor time of the cards, in seconds.
    pub cards_s: f64,
    /// Mean requests of a pass.
    pub fill: f64,
    /// Median time of a transaction, in microseconds.
    pub p50_us: f64,
    /// 99th percentile of the transactions' times, in microseconds.
    pub p99_us: f64,
    /// Whether the driver limited the rate.
    pub is_bound_by_driver: bool,
    /// Operations of each of two cards: the clients' public ones, then the server's private ones; empty without a
    /// tenant of the clients.
    #[serde(default)]
    pub by_card: Vec<(f64, f64)>,
}

/// The runs of a case.
pub type TlsOutcome = outcome::CaseOutcome<Run>;
/// The outcomes of a report.
pub type Outcomes = outcome::Outcomes<Run>;

/// A figure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Transactions a second; on kept connections, messages a second.
    Rate,
    /// Share of the servers' processors that was used.
    Server,
    /// Share of the cards that was used; 0 without cards.
    Cards,
    /// Rate over the servers' utilisation.
    Itr,
    /// Processor time of the servers for one transaction, in milliseconds.
    ServerMs,
    /// Processor time of the cards for one transaction, in milliseconds.
    CardsMs,
    /// Bytes a second, in 10^6.
    Megabytes,
}

impl Run {
    /// A figure of the run, for this case.
    pub fn figure(&self, case: &Case, figure: Figure) -> f64 {
        let count = if case.is_kept() { self.messages } else { self.transactions }.max(1) as f64;
        let seconds = self.seconds.max(1e-9);
        let processors = case.processors.min(processors_online()).max(1) as f64;
        let server = self.server_s / (seconds * processors);
        match figure {
            Figure::Rate => count / seconds,
            Figure::Server => server,
            Figure::Cards => match (case.engine.full(), case.engine.cards()) {
                (_, 0) => 0.0,
                (Some(full), cards) if !case.resumes => count / seconds / (full * cards as f64),
                (_, cards) => self.cards_s / (seconds * cards as f64),
            },
            Figure::Itr => count / seconds / server.max(1e-9),
            Figure::ServerMs => 1e3 * self.server_s / count,
            Figure::CardsMs => 1e3 * self.cards_s / count,
            Figure::Megabytes => self.bytes as f64 / seconds / 1e6,
        }
    }
}

impl TlsOutcome {
    /// A figure of the runs.
    pub fn figure(&self, case: &Case, figure: Figure) -> Option<Summary> {
        self.summary(|run| run.figure(case, figure))
    }

    /// Whether the driver limited the rate in most runs.
    pub fn is_bound_by_driver(&self) -> bool {
        self.runs.iter().filter(|run| run.is_bound_by_driver).count() * 2 > self.runs.len()
    }
}

impl Outcomes {
    /// The outcome of a case; none if it has no run.
    pub fn of(&self, case: &Case) -> Option<&TlsOutcome> {
        self.named(&case.id())
    }
}

/// Runs a plan, or the rest of an interrupted run in the same folder. If keys cannot be made, nothing runs, and the
/// reason is left out under the part's name.
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
    let make = || Desk::new().map(|desk| House { cards: None, desk, stop });
    let mut one = |house: &mut House, case: usize, seconds: f64| house.run(&plan.cases[case], seconds);
    outcome::outcomes(plan, ("tls", make), &mut one, (level, &folder.join(JOURNAL)), progress)
}

/// The running home, if any.
struct House<'a> {
    /// The cards, with the case that they were started for. They end before the folder of their home is removed.
    cards: Option<(Case, Cards)>,
    desk: Desk,
    stop: &'a Arc<AtomicBool>,
}

impl House<'_> {
    fn run(&mut self, case: &Case, seconds: f64) -> Result<Run, LabError> {
        if case.engine.cards() > 0 {
            let serves = self.cards.as_ref().is_some_and(|(of, _)| of.is_served_like(case));
            if !serves {
                // The old home ends before the new one begins.
                self.cards = None;
                let timings = case.engine.timings();
                let wanted = Wanted { cards: case.engine.cards(), processor: None, timings };
                self.cards = Some((case.clone(), Cards::start(&self.desk, &wanted, self.stop)?));
            }
        }
        let servers =
            (0..case.servers).map(|number| self.serve(case, number)).collect::<Result<Vec<_>, _>>()?;
        let Some(shares) = case.client_tenant else { return self.drive(case, &servers, seconds) };
        // The clients' tenant works as long as the servers are driven, warming up included.
        let Some((_, cards)) = self.cards.as_mut() else { return Err(LabError::Interrupted) };
        let clients = public::Clients::open(cards, shares)?;
        let before = clients.look(cards)?;
        let held = std::mem::take(&mut self.cards);
        let Some((of, mut cards)) = held else { return Err(LabError::Interrupted) };
        let (told, desk, stop) = (self.told(case, seconds), &self.desk, self.stop);
        let (run, ran) = std::thread::scope(|scope| {
            let drive = scope.spawn(|| {
                let mut drive = told;
                drive.connections = case.connections;
                drive.address = servers[0].address.to_string();
                drive.processes =
                    servers[0].pids().into_iter().map(|pid| (pid, "server".to_owned())).collect();
                drive.run(desk.ours(), stop)
            });
            let ran = clients.run(cards.target(), seconds * (1.0 + WARM_SHARE));
            (drive.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), ran)
        });
        let after = clients.look(&cards)?;
        self.cards = Some((of, cards));
        let mut run = Run::of(&[run?], 0.0);
        run.by_card = public::shares(&before, &after, &ran?);
        Ok(run)
    }

    fn serve(&mut self, case: &Case, number: usize) -> Result<Server, LabError> {
        let mut credential = None;
        let holder = match &mut self.cards {
            Some((_, cards)) if case.engine.cards() > 0 => {
                if let Some(shares) = case.client_tenant {
                    credential = Some(cards.tenant(&public::server(shares))?);
                } else if let Queue::Limited(most) = case.queue {
                    credential = Some(cards.tenant(&sharing(format!("server-{number}"), in_flight(most)))?);
                }
                KeyHolder::Cards(PathBuf::from(cards.folder()?))
            }
            _ => KeyHolder::Process,
        };
        let (entries, life) = SESSIONS;
        Server::ours(
            &self.desk,
            &Serving {
                policy: if case.suite == Suite::Tls13 { "modern" } else { "legacy-insecure" },
                sessions: match case.resumes {
                    true => Sessions::Ids { entries, seconds: life },
                    false => Sessions::None,
                },
                asks_clients: case.clients,
                work: Work::Exchange { receive: case.send, send: case.receive },
                loops: case.processors,
                level: (case.engine == Engine::Software).then_some("portable"),
                credential,
                ..Serving::handshakes(case.kind, holder, if case.processors == 1 { own(0) } else { None })
            },
        )
    }

    fn drive(&self, case: &Case, servers: &[Server], seconds: f64) -> Result<Run, LabError> {
        let cards = self.cards.as_ref().filter(|_| case.engine.cards() > 0).map(|(_, cards)| cards);
        let processes = cards.map_or(Ok(Vec::new()), Cards::processes)?;
        let before = cards.map(Cards::done).transpose()?;
        let one = |number: usize, server: &Server| {
            let mut drive = self.told(case, seconds);
            drive.address = server.address.to_string();
            drive.connections = (case.connections / servers.len()).max(1);
            drive.processes = server.pids().into_iter().map(|pid| (pid, "server".to_owned())).collect();
            if number == 0 {
                drive.processes.extend(processes.clone());
            }
            drive.run(self.desk.ours(), self.stop)
        };
        let driven: Result<Vec<Driven>, LabError> = std::thread::scope(|scope| {
            let one = &one;
            let threads: Vec<_> = servers
                .iter()
                .enumerate()
                .map(|(number, server)| scope.spawn(move || one(number, server)))
                .collect();
            let joined = threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            joined.collect()
        });
        let driven = driven?;
        let fill = match (cards, before) {
            (Some(cards), Some(before)) => cards.done()?.fill_since(before),
            _ => 0.0,
        };
        Ok(Run::of(&driven, fill))
    }

    fn told(&self, case: &Case, seconds: f64) -> Drive {
        let is_tls13 = case.suite == Suite::Tls13;
        Drive {
            warm_up: WARM_SHARE * seconds,
            threads: if case.servers == 1 { processors_online().min(case.connections) } else { 1 },
            resume: case.resumes.then_some((100, ResumeBy::SessionId)),
            client: case.clients.then(|| self.desk.client(case.kind)),
            data: Data::Messages {
                send: case.send,
                receive: case.receive,
                messages: case.messages,
                packets: 1,
            },
            version: if is_tls13 { Version::Tls13 } else { Version::Tls12 },
            suite: case.suite.told().to_owned(),
            group: is_tls13.then(|| "X25519".to_owned()),
            is_gnutls: case.suite.is_gnutls(),
            ..Drive::handshakes("", &self.desk.chain(case.kind), Length::Seconds(seconds))
        }
    }
}

impl Run {
    /// The run of several drivers at once: counts and processor times are summed, counted times and medians averaged;
    /// the longest 99th percentile stands for all.
    fn of(driven: &[Driven], fill: f64) -> Self {
        let sum = |of: fn(&Driven) -> f64| driven.iter().map(of).sum::<f64>();
        let count = |of: fn(&Driven) -> u64| driven.iter().map(of).sum::<u64>();
        let most = |of: fn(&Driven) -> f64| driven.iter().map(of).fold(0.0, f64::max);
        Self {
            seconds: sum(|one| one.seconds) / driven.len().max(1) as f64,
            transactions: count(|one| one.transactions),
            messages: count(|one| one.messages),
            bytes: count(|one| one.bytes_sent + one.bytes_received),
            server_s: sum(|one| one.booked_of("server")),
            cards_s: sum(|one| one.booked_of("card")),
            fill,
            p50_us: sum(|one| one.transaction_us.p50) / driven.len().max(1) as f64,
            p99_us: most(|one| one.transaction_us.p99),
            is_bound_by_driver: driven.iter().any(|one| one.driver.limit),
            by_card: Vec::new(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Outcomes of every case: cards are full, and a processor with software does a tenth of that.
    pub(crate) fn made_up() -> Outcomes {
        let run = |case: &Case| {
            let rate = match case.engine {
                Engine::Software if case.is_kept() => 1000.0,
                Engine::Software => 300.0,
                Engine::Process => 5000.0,
                Engine::Real(_) => 4000.0,
                _ => case.engine.full().unwrap_or(0.0) * case.engine.cards() as f64,
            };
            let rate = if case.clients { rate / 2.0 } else { rate };
            Run {
                seconds: 1.0,
                transactions: rate as u64,
                messages: rate as u64,
                bytes: rate as u64 * (case.send + case.receive),
                server_s: if case.engine == Engine::Software { 1.0 } else { 0.5 },
                cards_s: if case.engine.cards() > 0 { 0.25 } else { 0.0 },
                fill: 4.0,
                p50_us: 100.0,
                p99_us: 900.0,
                is_bound_by_driver: false,
                by_card: if case.client_tenant.is_some() { vec![(500.0, 500.0); 2] } else { Vec::new() },
            }
        };
        outcome::Outcomes(
            cases().iter().map(|case| TlsOutcome { case: case.id(), runs: vec![run(case); 2] }).collect(),
        )
    }

    #[test]
    fn figures_are_worked_out_from_a_run() {
        let all = cases();
        let case = all.iter().find(|case| case.id() == "ssl-304/4 PCICA").unwrap();
        let run = Run { seconds: 2.0, transactions: 4372, server_s: 0.5, cards_s: 0.1, ..Run::default() };
        let figure = |figure| run.figure(case, figure);
        assert!((figure(Figure::Rate) - 2186.0).abs() < 1e-9 && (figure(Figure::Cards) - 0.5).abs() < 1e-9);
        assert!((figure(Figure::Server) - 0.25).abs() < 1e-9 && (figure(Figure::Itr) - 8744.0).abs() < 1e-6);
    }

    #[test]
    fn drivers_of_several_servers_are_summed_up() {
        let one: Driven = serde_json::from_str(crate::tls::drive::tests::SAMPLE).unwrap();
        let run = Run::of(&[one.clone(), one], 3.0);
        assert_eq!((run.transactions, run.messages, run.seconds), (6000, 6000, 1.5));
        assert!((run.server_s - 0.6).abs() < 1e-9 && (run.cards_s - 0.6).abs() < 1e-9 && run.fill == 3.0);
    }

    #[test]
    fn a_quick_plan_is_quick() {
        assert!(seconds(&Plan::new(true)) < 60.0, "{}", seconds(&Plan::new(true)));
        assert!(Plan::new(false).cases.len() > 100 && seconds(&Plan::empty()) == 0.0);
    }
}

//! The sides of all rows: servers side by side, each driven in turn.

use crate::cards::own;
use crate::experiment::groups::Effort;
use crate::experiment::promise::{Measure, Promise};
use crate::kit::statistics::{Comparison, compare, median};
use crate::load::LabError;
use crate::load::operation::{Operation, RsaForm};
use crate::load::{Interface, Workload};
use crate::tls::cards::{Cards, Wanted};
use crate::tls::desk::{Desk, PACKAGES, TlsKey};
use crate::tls::drive::{Drive, Driven, Length, Version};
use crate::tls::server::{KeyHolder, Server, Serving, free};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Warm-up of a side as a share of its time; it is not counted.
const WARM_SHARE: f64 = 0.15;

/// Programs and cards of the part.
pub(super) struct Bench {
    pub desk: Desk,
    pub effort: Effort,
    pub stop: Arc<AtomicBool>,
    /// Cards on the servers' processor.
    pub cards: Cards,
    /// Private operations a second of the engine alone, eight at a time; none until it is measured.
    rsa2048: Option<f64>,
}

/// The kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// nginx.
    Nginx,
    /// Our server, the key in its process.
    Process,
    /// Our server, the key on a card.
    Card,
}

/// A case: the settings of the servers and of the driver.
#[derive(Clone)]
pub(super) struct Case {
    pub serving: Serving,
    pub drive: Drive,
    /// Factor of the sides' figures: 1 for transactions, or the bytes of a transaction.
    pub per_transaction: f64,
}

/// One run of a side.
#[derive(Clone, Debug)]
pub(super) struct Ran {
    pub driven: Driven,
    /// Mean requests of a pass; 0 without cards.
    pub fill: f64,
}

/// The runs of a side, in the order of the rounds.
pub(super) struct Side {
    pub who: Who,
    pub runs: Vec<Ran>,
    per_transaction: f64,
}

impl Bench {
    pub fn new(desk: Desk, effort: Effort, stop: &Arc<AtomicBool>) -> Result<Self, LabError> {
        let wanted = Wanted { cards: 1, processor: own(0), timings: None };
        let cards = Cards::start(&desk, &wanted, stop)?;
        Ok(Self { desk, effort, stop: Arc::clone(stop), cards, rsa2048: None })
    }

    /// Full handshakes by TLS 1.3 with a kind of key, on the servers' processor.
    pub fn case(&self, kind: TlsKey) -> Case {
        let mut drive = Drive::handshakes("", &self.desk.chain(kind), Length::Seconds(self.effort.seconds));
        drive.warm_up = WARM_SHARE * self.effort.seconds;
        drive.processor = own(1);
        let serving = Serving::handshakes(kind, KeyHolder::Process, own(0));
        Case { serving, drive, per_transaction: 1.0 }
    }

    /// Starts a side's server; none if nginx is not installed.
    pub fn serve(&self, case: &Case, who: Who) -> Result<Option<Server>, LabError> {
        match who {
            Who::Process => {
                Server::ours(&self.desk, &Serving { holder: KeyHolder::Process, ..case.serving.clone() })
                    .map(Some)
            }
            Who::Card => {
                let holder = KeyHolder::Cards(PathBuf::from(self.cards.folder()?));
                Server::ours(&self.desk, &Serving { holder, ..case.serving.clone() }).map(Some)
            }
            Who::Nginx => {
                let address = free()?;
                let is_tls13 = case.drive.version == Version::Tls13;
                let text = case.serving.nginx(&self.desk, address, is_tls13, &case.drive.suite);
                let (Some(text), Some(nginx)) = (text, self.desk.nginx()) else { return Ok(None) };
                Server::nginx(&self.desk, &nginx.program, &text, address, case.serving.processor).map(Some)
            }
        }
    }

    /// Drives a side's server once.
    pub fn drive(&self, case: &Case, who: Who, server: &Server) -> Result<Ran, LabError> {
        let mut drive = case.drive.clone();
        drive.address = server.address.to_string();
        drive.processes = server.pids().into_iter().map(|pid| (pid, "server".to_owned())).collect();
        if who == Who::Card {
            drive.processes.extend(self.cards.processes()?);
        }
        let before = self.cards.done()?;
        let driven = drive.run(self.desk.ours(), &self.stop)?;
        Ok(Ran { driven, fill: self.cards.done()?.fill_since(before) })
    }

    /// Runs sides in turn, in an order that changes from round to round; sides whose server is not installed are left
    /// out.
    pub fn sides(&self, case: &Case, who: &[Who]) -> Result<Vec<Side>, LabError> {
        let mut servers = Vec::new();
        for who in who {
            if let Some(server) = self.serve(case, *who)? {
                let side = Side { who: *who, runs: Vec::new(), per_transaction: case.per_transaction };
                servers.push((server, side));
            }
        }
        for round in 0..self.effort.rounds {
            for turn in 0..servers.len() {
                let at = (turn + round) % servers.len();
                let (server, side) = &mut servers[at];
                side.runs.push(self.drive(case, side.who, server)?);
            }
        }
        Ok(servers.into_iter().map(|(_, side)| side).collect())
    }

    /// Microseconds of one RSA-2048 private operation of the engine, eight at a time, on the servers' processor.
    pub fn engine_us(&mut self, kind: TlsKey) -> Result<Option<f64>, LabError> {
        if kind != TlsKey::Rsa2048 {
            return Ok(None);
        }
        if self.rsa2048.is_none() {
            let rsa = Operation::Rsa { bits: 2048, form: RsaForm::Crt };
            let work = Workload { jobs: 8, seconds: 0.3, interface: Interface::Native, ..Workload::of(rsa) };
            let target = self.cards.target();
            let run = crate::cards::bound(own(0), || target.run(&work))?;
            self.rsa2048 = Some(run.ops_per_s);
        }
        Ok(self.rsa2048.map(|rate| 1e6 / rate))
    }
}

impl Side {
    /// A side with these runs.
    pub fn of_runs(who: Who, runs: Vec<Ran>) -> Self {
        Self { who, runs, per_transaction: 1.0 }
    }

    /// Transactions, or their bytes, for each second of processor time of server and cards.
    pub fn rates(&self) -> Vec<f64> {
        self.values(|ran| ran.driven.transactions as f64 / ran.driven.booked_s().max(1e-9))
            .into_iter()
            .map(|rate| rate * self.per_transaction)
            .collect()
    }

    pub fn values(&self, value: impl Fn(&Ran) -> f64) -> Vec<f64> {
        self.runs.iter().map(value).collect()
    }

    pub fn median(&self, value: impl Fn(&Ran) -> f64) -> f64 {
        median(&self.values(value))
    }

    /// Whether the driver limited the rate in most runs.
    pub fn is_bound_by_driver(&self) -> bool {
        self.runs.iter().filter(|ran| ran.driven.driver.limit).count() * 2 > self.runs.len()
    }

    /// A text on where the time of a transaction went.
    pub fn where_it_goes(&self, engine_us: Option<f64>) -> String {
        let per = |of: fn(&Driven) -> f64| {
            self.median(|ran| 1e6 * of(&ran.driven) / ran.driven.transactions.max(1) as f64)
        };
        let (server, kernel) =
            (per(|driven| driven.booked_of("server")), per(|driven| driven.system_of("server")));
        let card = per(|driven| driven.booked_of("card"));
        let mut text = format!("{:.0} us in the server, {kernel:.0} of them in the kernel", server);
        if self.who == Who::Card {
            let fill = self.median(|ran| ran.fill);
            text += &format!("; {card:.0} us in the card, {fill:.1} of 8 in a pass");
        }
        if let Some(engine) = engine_us.filter(|_| self.who == Who::Card && card > 0.0) {
            let limit = server + engine;
            text += &format!(
                ", {engine:.0} of them the engine's with full passes: {:.0} % of that limit",
                100.0 * limit / (server + card)
            );
        }
        if self.is_bound_by_driver() {
            text += "; the driver was the limit";
        }
        text
    }
}

/// The side of this kind of server; none if it was left out.
pub(super) fn of(sides: &[Side], who: Who) -> Option<&Side> {
    sides.iter().find(|side| side.who == who)
}

/// A row of our side beside another one.
pub(super) fn row(
    case: &str,
    unit: &str,
    ours: &Side,
    peer: (&str, Option<&Side>),
    promised: Option<(f64, f64)>,
    bound: String,
) -> Measure {
    let own = ours.rates();
    let sides: Option<Comparison> = peer.1.and_then(|peer| compare(&own, &peer.rates()));
    let promise = promised.map(|(least, _)| Promise::RatioAtLeast(least));
    let alone = Measure::alone(case, unit, &own, promise);
    let row = match sides {
        Some(sides) => alone.against(peer.0, Some(sides)),
        None => Measure { peer: format!("nginx, which is not here: install {PACKAGES}"), ..alone },
    };
    Measure { stretch: promised.map(|(_, stretch)| stretch), ..row }.bounded_by(bound)
}

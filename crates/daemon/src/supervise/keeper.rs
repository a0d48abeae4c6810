//! The keeper as the daemon sees it: its process, and the answers that it owes, in order.

use super::backoff::{Backoff, End};
use super::card::{Phase, Running};
use super::program::FileMark;
use home::Settings;
use link::Ended;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::time::Instant;
use wire::control::{ClientReply, Isolation, KeeperOrder, OfficerOrder, RegisterRow, Served, Unsealing};

/// What the keeper is started as; one of another specification is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeeperSpecification {
    /// Domains, from 0.
    pub domains: u16,
    /// The number that a development home's master keys are derived from.
    pub insecure_seed: Option<u64>,
}

impl KeeperSpecification {
    /// What the settings ask for.
    pub fn wanted(settings: &Settings) -> Self {
        let insecure_seed = settings.development.map(|development| development.insecure_seed);
        Self { domains: settings.cards.domains, insecure_seed }
    }
}

/// An order that the keeper has not answered yet.
#[derive(Debug)]
pub enum Ask {
    /// Start or adoption: answered by its readiness.
    Ready,
    /// A coprocessor is to be served.
    Serve,
    /// An officer's order.
    Officer {
        /// Who asked.
        client: u64,
        /// Whether the registers differ after success.
        changes: Changes,
    },
    /// The registers, asked for after a change; then the reply is passed on.
    Refresh {
        /// Who waits.
        client: u64,
        /// What for.
        reply: Box<ClientReply>,
    },
}

/// An officer's order that is not passed on yet.
pub struct Ordered {
    /// Who asked.
    pub client: u64,
    /// The order.
    pub order: OfficerOrder,
    /// The sealed registers of the home, where it needs them.
    pub sealed_registers: Option<Vec<u8>>,
}

/// New master keys that cards are being given.
#[derive(Debug)]
pub struct Spreading {
    /// Who waits.
    pub client: u64,
    /// What for.
    pub reply: ClientReply,
    /// Domains that are not done yet, one bit each.
    pub domains: u16,
}

/// What a successful officer's order changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// Nothing.
    Nothing,
    /// The new registers.
    New,
    /// What cards work with.
    Current,
}

impl Changes {
    /// What an order changes.
    pub fn of(order: &OfficerOrder) -> Self {
        match order {
            // Here nothing waits for a second officer.
            OfficerOrder::Pending | OfficerOrder::Confirm { .. } | OfficerOrder::MayLoad { .. } => {
                Self::Nothing
            }
            OfficerOrder::StartupKey | OfficerOrder::Registers | OfficerOrder::SealUnder { .. } => {
                Self::Nothing
            }
            OfficerOrder::LoadPart { .. } | OfficerOrder::ClearNew { .. } => Self::New,
            OfficerOrder::Set { .. } | OfficerOrder::Unseal { .. } => Self::Current,
        }
    }
}

/// The keeper of a home.
pub struct Keeper {
    /// What it is to be.
    pub wanted: KeeperSpecification,
    /// What the running process was started as.
    pub running_as: Option<KeeperSpecification>,
    /// Which file it runs; none where another program started it.
    pub program: Option<FileMark>,
    /// Where it stands, as for a card; it is never [`Phase::Broken`].
    pub phase: Phase,
    /// Counts the processes that have been the keeper.
    pub generation: u64,
    /// Waits between failures.
    pub backoff: Backoff,
    /// The process.
    pub process: Option<Running<KeeperOrder>>,
    /// Orders not answered yet, in order.
    pub asks: VecDeque<Ask>,
    /// When the first of them was sent, or became the first.
    pub asked: Instant,
    /// Ends of socket pairs of coprocessors that started while it was not ready.
    pub awaiting: Vec<(u32, OwnedFd)>,
    /// An order that waits for the end of cards which would not hear of what it changes.
    pub held: Option<Ordered>,
    /// Orders that were carried out, but for what cards have not got yet.
    pub spreading: Vec<Spreading>,
    /// Cards that it served when it was adopted.
    pub cards: Vec<Served>,
    /// Its registers when it last said.
    pub registers: Vec<RegisterRow>,
    /// How it is confined.
    pub isolation: Isolation,
    /// How it was unsealed as it started.
    pub unsealing: Unsealing,
    /// Whether it was given a credential as it started, and has not said yet what came of it.
    pub trying: bool,
}

impl Keeper {
    /// A keeper that is to be started now.
    pub fn new(wanted: KeeperSpecification, now: Instant) -> Self {
        Self {
            wanted,
            running_as: None,
            program: None,
            phase: Phase::Down(Some(now)),
            generation: 0,
            backoff: Backoff::default(),
            process: None,
            asks: VecDeque::new(),
            asked: now,
            awaiting: Vec::new(),
            held: None,
            spreading: Vec::new(),
            cards: Vec::new(),
            registers: Vec::new(),
            isolation: Isolation::default(),
            unsealing: Unsealing::default(),
            trying: false,
        }
    }

    /// Whether it answers orders.
    pub fn is_serving(&self) -> bool {
        self.phase == Phase::Serving
    }

    /// Whether nothing more is to be expected before it serves.
    pub fn is_settled(&self) -> bool {
        self.is_serving() || self.backoff.failures() > FAILURES_SETTLED
    }

    /// Sends an order and notes the answer that it owes.
    pub fn order(&mut self, order: KeeperOrder, descriptors: Vec<OwnedFd>, ask: Ask, now: Instant) {
        if self.asks.is_empty() {
            self.asked = now;
        }
        self.asks.push_back(ask);
        if let Some(process) = &mut self.process {
            process.channel.send(order, descriptors);
        }
    }

    /// Takes the order that a notice answers.
    pub fn answered(&mut self, now: Instant) -> Option<Ask> {
        self.asked = now;
        self.asks.pop_front()
    }

    /// Notes that the process is gone; returns what it owed. The one of a secure home comes back
    /// without keys: an officer unseals it again, and running cards keep theirs meanwhile.
    pub fn note_end(&mut self, ended: Option<Ended>, now: Instant) -> VecDeque<Ask> {
        let end = self.process.take().map_or(End::AT_START, |process| process.end(ended, now));
        self.running_as = None;
        self.registers.clear();
        self.phase = Phase::Down(Some(match self.phase {
            Phase::Stopping(_) => now,
            _ => self.backoff.after(end, now),
        }));
        std::mem::take(&mut self.asks)
    }
}

const FAILURES_SETTLED: u32 = 3;

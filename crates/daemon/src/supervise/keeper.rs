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

/// The specification that the keeper is started with; a keeper of another specification is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeeperSpecification {
    /// Number of domains, which count from 0.
    pub domains: u16,
    /// The number that a development home's master keys are derived from.
    pub insecure_seed: Option<u64>,
}

impl KeeperSpecification {
    /// The specification that the settings ask for.
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
    /// A coprocessor is to be handed its registers.
    Serve,
    /// An officer's order.
    Officer {
        /// The client that asked.
        client: u64,
        /// Changes of the registers if the order succeeds.
        changes: Changes,
    },
    /// A question for the registers after a change, before the client that made the change is answered.
    Refresh {
        /// The client that waits.
        client: u64,
        /// The reply that the client then gets.
        reply: Box<ClientReply>,
    },
}

/// An officer's order that is not passed on yet.
pub struct Ordered {
    /// The client that asked.
    pub client: u64,
    /// The order.
    pub order: OfficerOrder,
    /// The sealed registers of the home, if the order needs them.
    pub sealed_registers: Option<Vec<u8>>,
}

/// An officer's order whose new master keys are on their way to cards.
#[derive(Debug)]
pub struct Spreading {
    /// The client that waits.
    pub client: u64,
    /// The reply that the client gets when all cards have the keys.
    pub reply: ClientReply,
    /// Domains that are not done yet, one bit each.
    pub domains: u16,
}

/// Changes that a successful officer's order makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// No registers.
    Nothing,
    /// The new registers.
    New,
    /// The registers that cards work with.
    Current,
}

impl Changes {
    /// The changes that an order makes if it succeeds.
    pub fn of(order: &OfficerOrder) -> Self {
        match order {
            // Orders through the daemon do not wait for a second officer.
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
    /// The specification that the settings ask for.
    pub wanted: KeeperSpecification,
    /// The specification that the running process was started with.
    pub running_as: Option<KeeperSpecification>,
    /// The file that the process runs; `None` if another program started it.
    pub program: Option<FileMark>,
    /// The phase of its process, as for a card; never [`Phase::Broken`].
    pub phase: Phase,
    /// Generation: counts the processes that have been the keeper.
    pub generation: u64,
    /// The waits before it is started again after failures.
    pub backoff: Backoff,
    /// The running process; `None` if there is none.
    pub process: Option<Running<KeeperOrder>>,
    /// Orders not answered yet, in the order in which they were sent.
    pub asks: VecDeque<Ask>,
    /// When the oldest of these orders was sent, or became the oldest.
    pub asked: Instant,
    /// Coprocessors that started while it was not ready, with its ends of their socket pairs.
    pub awaiting: Vec<(u32, OwnedFd)>,
    /// An order that waits until no card is left that would not learn of its change.
    pub held: Option<Ordered>,
    /// Orders that were carried out, except that some cards have not got the new keys yet.
    pub spreading: Vec<Spreading>,
    /// Cards that it served when it was adopted.
    pub cards: Vec<Served>,
    /// The keeper's registers, as it last reported them.
    pub registers: Vec<RegisterRow>,
    /// How its process is confined.
    pub isolation: Isolation,
    /// How it was unsealed as it started.
    pub unsealing: Unsealing,
    /// Whether the keeper was given a credential as it started, and has not yet reported the outcome.
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

    /// Whether the keeper answers orders.
    pub fn is_serving(&self) -> bool {
        self.phase == Phase::Serving
    }

    /// Whether waiting for it to serve is over: it serves, or has failed several times.
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

    /// Takes the oldest order, which a notice at `now` answers; `None` if no order waits for an answer.
    pub fn answered(&mut self, now: Instant) -> Option<Ask> {
        self.asked = now;
        self.asks.pop_front()
    }

    /// Notes that the process is gone, and returns the orders that it has not answered. The keeper of a secure home
    /// comes back without keys: an officer unseals it again, and running cards keep theirs meanwhile.
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

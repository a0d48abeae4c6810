//! One card as the daemon sees it: its process, its channel, and where it stands.
//!
//! ```text
//!            start                Ready                 order
//!   Down ------------> Starting --------> Serving ----------------> Stopping
//!    ^  \  adopt          |   Adopted      |  \                        |
//!    |   `----> Adopting -+--------------->'   `--Failed--> Broken     |
//!    |             |      | no answer in time: killed         |        |
//!    `-------------+------+-----------------------------------+--------'
//!                       the process is gone (pidfd)
//! ```
//! Only the end of the process leads back to `Down`: a card is replaced after it is known dead.

use super::backoff::Backoff;
use super::keeper::KeeperSpecification;
use super::plan::Specification;
use super::process::Identity;
use crate::outbox::Outbox;
use crate::rows::Row;
use link::{PidFd, StatusView};
use serde::{Deserialize, Serialize};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use wire::control::{CardOrder, CardRow, CardState};

/// Where a card stands with the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No process; to be started at this time, or never where none.
    Down(Option<Instant>),
    /// Started; is to say ready until this time.
    Starting(Instant),
    /// Started by an earlier daemon; is to answer until this time.
    Adopting(Instant),
    /// Said ready.
    Serving,
    /// Said that a self-check failed.
    Broken,
    /// Ordered to stop; killed at this time.
    Stopping(Instant),
}

/// A running process of a card or of the keeper.
pub struct Running<O> {
    /// Who it is.
    pub identity: Identity,
    /// Its descriptor, which becomes readable when it ends.
    pub pidfd: PidFd,
    /// The control channel.
    pub channel: Outbox<O>,
    /// When this daemon started or met it.
    pub since: Instant,
    /// Since when it no longer listens. It is about to end, or has given this daemon up.
    pub closed: Option<Instant>,
}

impl<O> Running<O> {
    /// Whether it closed its channel a while ago and still runs.
    pub fn is_deaf(&self, now: Instant) -> bool {
        self.closed.is_some_and(|closed| now.saturating_duration_since(closed) >= DEAF_WAIT)
    }
}

/// One card of the home.
pub struct Card {
    /// Index within the home.
    pub index: u32,
    /// What it is to be; none for one that the settings no longer ask for.
    pub wanted: Option<Specification>,
    /// Whether it is to take no requests.
    pub quiesced: bool,
    /// What the running process was started as.
    pub running_as: Option<Specification>,
    /// Where it stands.
    pub phase: Phase,
    /// Counts the processes that have been this card.
    pub generation: u64,
    /// Times that it had to be started again.
    pub restarts: u32,
    /// Waits between failures.
    pub backoff: Backoff,
    /// The process.
    pub process: Option<Running<CardOrder>>,
    /// The status page, for reading.
    pub status: Option<(OwnedFd, StatusView)>,
    /// Queues attached or being attached.
    pub queues: usize,
    /// Name of the engine's level.
    pub level: String,
    /// Requests that it would like in one batch.
    pub lanes: u32,
    /// Sandbox measures that the machine lacks.
    pub missing: Vec<String>,
    /// From start to ready in microseconds.
    pub start_us: u64,
    /// State after the last notice.
    pub state: CardState,
    /// Which process of the keeper holds the other end of its socket; 0 for none.
    pub keeper_generation: u64,
    /// Whether the keeper has handed it the registers.
    pub is_served: bool,
    /// Heartbeat last seen, and when it last changed.
    pub heartbeat: (u64, Instant),
}

/// What a later daemon must know to take over a process. The row of a card lies at its index, the
/// keeper's after those of all cards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessRow {
    /// The process.
    pub identity: Identity,
    /// Its generation.
    pub generation: u64,
    /// What a card was started as.
    pub card: Option<Specification>,
    /// What the keeper was started as.
    pub keeper: Option<KeeperSpecification>,
    /// Generation of the keeper that serves a card; 0 for none.
    pub keeper_generation: u64,
}

impl Row for ProcessRow {
    /// With a list of all processors of the largest machines.
    const BYTES: usize = 4096;
}

impl Card {
    /// A card that is to be started now.
    pub fn new(index: u32, wanted: Option<Specification>, now: Instant) -> Self {
        Self {
            index,
            wanted,
            quiesced: false,
            running_as: None,
            phase: Phase::Down(Some(now)),
            generation: 0,
            restarts: 0,
            backoff: Backoff::default(),
            process: None,
            status: None,
            queues: 0,
            level: String::new(),
            lanes: 0,
            missing: Vec::new(),
            start_us: 0,
            state: CardState::Created,
            keeper_generation: 0,
            is_served: false,
            heartbeat: (0, now),
        }
    }

    /// Whether a queue may be attached now.
    pub fn is_ready(&self) -> bool {
        self.phase == Phase::Serving && self.state == CardState::Ready
    }

    /// Whether nothing more is to be expected before it serves: it does, or it cannot.
    pub fn is_settled(&self) -> bool {
        match self.phase {
            Phase::Serving => true,
            Phase::Broken => true,
            Phase::Down(None) => true,
            // Starts again and again without getting anywhere.
            Phase::Down(Some(_)) | Phase::Starting(_) => self.backoff.failures() > FAILURES_SETTLED,
            Phase::Adopting(_) | Phase::Stopping(_) => false,
        }
    }

    /// The card as clients see it.
    pub fn row(&self) -> Option<CardRow> {
        let specification = self.running_as.as_ref().or(self.wanted.as_ref())?;
        let state = match self.phase {
            Phase::Broken => CardState::Failed,
            Phase::Down(_) | Phase::Adopting(_) => CardState::Created,
            // Its own page knows more than its notices while it starts.
            Phase::Starting(_) => self.status.as_ref().map_or(CardState::Created, |(_, view)| view.state()),
            Phase::Serving | Phase::Stopping(_) => self.state,
        };
        Some(CardRow {
            index: self.index,
            generation: self.generation,
            personality: specification.personality,
            state,
            pid: self.process.as_ref().map_or(0, |process| process.identity.pid),
            level: self.level.clone(),
            lanes: self.lanes,
            queues: u32::try_from(self.queues).unwrap_or(u32::MAX),
            missing: self.missing.clone(),
            start_us: self.start_us,
            restarts: self.restarts,
            poll: specification.poll,
            processors: specification.processors.clone(),
            dedicated: Vec::new(),
        })
    }

    /// Sends an order; a card that cannot take it is dead or stopped, which shows elsewhere.
    pub fn order(&mut self, order: CardOrder, descriptors: Vec<OwnedFd>) {
        if let Some(process) = &mut self.process {
            process.channel.send(order, descriptors);
        }
    }

    /// Has the process quiesce, or serve again, as it is wanted.
    pub fn order_quiesced(&mut self) {
        let order = if self.quiesced { CardOrder::Quiesce } else { CardOrder::Resume };
        self.order(order, Vec::new());
    }

    /// Notes that the process is gone, and when to start the next one; true where it should have lived.
    pub fn note_end(&mut self, now: Instant) -> bool {
        let since = self.process.take().map_or(now, |process| process.since);
        let failed = !matches!(self.phase, Phase::Stopping(_));
        self.status = None;
        self.running_as = None;
        self.queues = 0;
        self.keeper_generation = 0;
        self.is_served = false;
        self.phase = match (self.phase, &self.wanted) {
            (_, None) => Phase::Down(None),
            // What failed its self-check once is not tried again before the settings are read anew.
            (Phase::Broken, _) => Phase::Broken,
            (Phase::Stopping(_), _) => Phase::Down(Some(now)),
            _ => Phase::Down(Some(self.backoff.after_failure(since, now))),
        };
        if failed && self.wanted.is_some() {
            self.restarts += 1;
        }
        failed
    }
}

const FAILURES_SETTLED: u32 = 3;
/// How long a process may take to end after it closed its channel.
const DEAF_WAIT: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;
    use wire::control::{Personality, PollMode};

    fn card(now: Instant) -> Card {
        let specification = Specification {
            personality: Personality::Coprocessor,
            domains: 1,
            poll: PollMode::Adaptive,
            separate_tenants: false,
            weak_algorithms: false,
            processors: None,
            level: None,
        };
        Card::new(0, Some(specification), now)
    }

    #[test]
    fn a_dead_card_is_started_again_and_counted() {
        let now = Instant::now();
        let mut card = card(now);
        card.phase = Phase::Serving;
        card.state = CardState::Ready;
        assert!(card.is_ready());
        assert!(card.note_end(now));
        assert_eq!((card.phase, card.restarts), (Phase::Down(Some(now)), 1));
        assert!(!card.is_ready());
        card.phase = Phase::Starting(now);
        card.note_end(now);
        assert!(matches!(card.phase, Phase::Down(Some(at)) if at > now));
    }

    #[test]
    fn a_card_that_was_told_to_stop_is_not_counted() {
        let now = Instant::now();
        let mut card = card(now);
        card.phase = Phase::Stopping(now);
        assert!(!card.note_end(now));
        assert_eq!((card.phase, card.restarts), (Phase::Down(Some(now)), 0));
        card.wanted = None;
        card.phase = Phase::Stopping(now);
        card.note_end(now);
        assert_eq!(card.phase, Phase::Down(None));
        assert_eq!(card.row(), None);
    }

    #[test]
    fn a_card_that_failed_its_checks_stays_down() {
        let now = Instant::now();
        let mut card = card(now);
        card.phase = Phase::Broken;
        card.note_end(now);
        assert_eq!(card.phase, Phase::Broken);
        assert_eq!(card.row().unwrap().state, CardState::Failed);
        assert!(card.is_settled());
    }
}

//! One card as the daemon sees it: its process, its channel, and its phase.
//!
//! ```text
//!            start                Ready                 order
//!   Down ------------> Starting --------> Serving ----------------> Stopping
//!    ^  \  adopt       |  |   Adopted      |                           |
//!    |   `----> Adopting -+--------------->|                           |
//!    |             |   |  | no answer in time: killed                  |
//!    `-------------+---|--+----------------+---------------------------'
//!                      |   the process is gone (pidfd)
//!                      `--Failed--> Broken, until the settings are read again
//! ```
//! Only the end of the process leads back to `Down`: a card is replaced after it is known dead.

use super::backoff::{Backoff, End, WAIT_ALONE_MAX};
use super::keeper::KeeperSpecification;
use super::plan::Specification;
use super::process::Identity;
use super::program::FileMark;
use crate::outbox::Outbox;
use crate::poller::Interest;
use crate::quarantine::Present;
use crate::rows::RowValue;
use link::{Ended, PidFd, SamplesView, StatusView};
use serde::{Deserialize, Serialize};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use wire::control::{CardOrder, CardRow, CardState, Isolation, Personality};
use wire::registers::HeldRegisters;

/// The phase of a card's process as the daemon sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No process; to be started at this time, or never if `None`.
    Down(Option<Instant>),
    /// Started; must say that it is ready by this time.
    Starting(Instant),
    /// Started by an earlier daemon; must answer by this time.
    Adopting(Instant),
    /// The card said that it is ready.
    Serving,
    /// The card said, before it served, that a self-check failed.
    Broken,
    /// Ordered to stop; killed at this time.
    Stopping(Instant),
}

/// The next step for a card that is to be replaced because its keeper is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// The card is to be replaced now.
    Replace,
    /// The card is on its way down or up: nothing is done yet.
    Wait,
    /// No step: the card was replaced, is no coprocessor any more, or does not come back.
    Done,
}

/// A running process of a card or of the keeper.
pub struct Running<O> {
    /// Process id and start time.
    pub identity: Identity,
    /// Descriptor of the process, which becomes readable when the process ends.
    pub pidfd: PidFd,
    /// The control channel.
    pub channel: Outbox<O>,
    /// The events that the channel is watched for.
    pub watched: Interest,
    /// When this daemon started or met it.
    pub since: Instant,
    /// Since when it serves, as far as this daemon knows.
    pub serving: Option<Instant>,
    /// When it was killed; it takes a moment to end.
    pub killed: Option<Instant>,
    /// When it closed its channel: it is about to end, or has given this daemon up.
    pub closed: Option<Instant>,
    /// Whether the process was killed because it made no progress with its requests.
    pub hangs: bool,
    /// The tenants whose requests it held when it said that it failed.
    pub present: Option<Present>,
}

impl<O> Running<O> {
    /// A process that was just started, or met.
    pub fn new(identity: Identity, pidfd: PidFd, channel: Outbox<O>, now: Instant) -> Self {
        let (serving, killed, closed) = (None, None, None);
        Self {
            identity,
            pidfd,
            channel,
            watched: Interest::Reading,
            since: now,
            serving,
            killed,
            closed,
            hangs: false,
            present: None,
        }
    }

    /// Whether requests may have ended the process: it served, and then crashed, exited with a failure, or was killed
    /// because it made no progress. Signals from people and the kernel say nothing of requests, and neither does an end
    /// that nobody saw.
    pub fn died_of_work(&self, ended: Option<Ended>) -> bool {
        let by_itself = match ended {
            Some(Ended::Code(code)) => code != 0,
            Some(Ended::Signal(_)) => !End::of(None, ended).outside,
            None => false,
        };
        self.serving.is_some() && (self.hangs || (by_itself && self.killed.is_none()))
    }

    /// The end of the process at this time, as [`Backoff`] counts it; `ended` is what the system reports.
    pub fn end(&self, ended: Option<Ended>, now: Instant) -> End {
        let end = End::of(self.serving.map(|serving| now.saturating_duration_since(serving)), ended);
        // A kill by this daemon counts as the process's own fault.
        End { outside: end.outside && self.killed.is_none(), ..end }
    }

    /// Whether the process closed its channel a while ago and still runs.
    pub fn is_deaf(&self, now: Instant) -> bool {
        self.closed.is_some_and(|closed| now.saturating_duration_since(closed) >= DEAF_WAIT)
    }
}

/// One card of the home.
pub struct Card {
    /// Index within the home.
    pub index: u32,
    /// The specification that the settings ask for; `None` if they no longer ask for the card.
    pub wanted: Option<Specification>,
    /// Whether the card is to take no requests.
    pub quiesced: bool,
    /// The specification that the running process was started with.
    pub running_as: Option<Specification>,
    /// The file that the process runs; `None` if another program started it.
    pub program: Option<FileMark>,
    /// The phase of its process.
    pub phase: Phase,
    /// Number that tells its process from all others that have been this card.
    pub generation: u64,
    /// Number of times that it had to be started again.
    pub restarts: u32,
    /// The waits before it is started again after failures.
    pub backoff: Backoff,
    /// The running process; `None` if there is none.
    pub process: Option<Running<CardOrder>>,
    /// Descriptor and mapping of its status page, for reading.
    pub status: Option<(OwnedFd, StatusView)>,
    /// Descriptor and mapping of its samples, for reading: the first is handed out, the second shows the master keys
    /// that it holds.
    pub samples: Option<(OwnedFd, SamplesView)>,
    /// Number of queues attached or being attached.
    pub queues: usize,
    /// Name of its engine's instruction-set level.
    pub level: String,
    /// Number of requests that it would like in one batch.
    pub lanes: u32,
    /// How its process is confined.
    pub isolation: Isolation,
    /// Time from start to ready in microseconds.
    pub start_us: u64,
    /// State after the last notice.
    pub state: CardState,
    /// Generation of the keeper's process that holds the other end of its socket; 0 for none.
    pub keeper_generation: u64,
    /// Whether the card holds the registers that the keeper handed out.
    pub is_served: bool,
    /// Whether an earlier daemon started its process.
    pub adopted: bool,
    /// Heartbeat last seen, and when it last changed.
    pub heartbeat: (u64, Instant),
    /// When its last process ended, or could not be started.
    pub ended: Instant,
}

/// What a later daemon must know to take over a process. The row of a card lies at its index, the
/// keeper's after those of all cards. The process stands first in every version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessRow {
    /// Process id and start time.
    pub identity: Identity,
    /// Generation of the process: of the card, or of the keeper.
    pub generation: u64,
    /// The specification that a card was started with; `None` for the keeper.
    pub card: Option<Specification>,
    /// The specification that the keeper was started with; `None` for a card.
    pub keeper: Option<KeeperSpecification>,
    /// Generation of the keeper that serves a card; 0 for none.
    pub keeper_generation: u64,
    /// Times that a card had to be started again.
    pub restarts: u32,
    /// The file that the process runs; `None` if another program started it.
    pub program: Option<FileMark>,
}

impl RowValue for ProcessRow {
    /// Enough for a list of all processors of the largest machines.
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
            program: None,
            phase: Phase::Down(Some(now)),
            generation: 0,
            restarts: 0,
            backoff: Backoff::default(),
            process: None,
            status: None,
            samples: None,
            queues: 0,
            level: String::new(),
            lanes: 0,
            isolation: Isolation::default(),
            start_us: 0,
            state: CardState::Created,
            keeper_generation: 0,
            is_served: false,
            adopted: false,
            heartbeat: (0, now),
            ended: now,
        }
    }

    /// Whether a queue may be attached now.
    pub fn is_ready(&self) -> bool {
        self.phase == Phase::Serving && self.state == CardState::Ready
    }

    /// Whether the card serves, or cannot: then nobody waits for it any longer.
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

    /// Whether it runs as a coprocessor with master keys from another process of the keeper than the one of generation
    /// `current`, which hands it no changes. An accelerator has no keeper, and neither has a coprocessor that waits for
    /// one.
    pub fn is_of_another_keeper(&self, current: u64) -> bool {
        let runs_as = self.running_as.as_ref().map(|of| of.personality);
        runs_as == Some(Personality::Coprocessor) && ![0, current].contains(&self.keeper_generation)
    }

    /// The next step for a card that is to be replaced because its keeper is gone; `current` is the generation of the
    /// present keeper.
    pub fn renewal(&self, current: u64) -> Renewal {
        match self.phase {
            Phase::Serving if self.is_of_another_keeper(current) => Renewal::Replace,
            // A card that does not come back does not keep the others from being replaced.
            Phase::Starting(_) | Phase::Stopping(_) | Phase::Down(Some(_)) if !self.is_settled() => {
                Renewal::Wait
            }
            _ => Renewal::Done,
        }
    }

    /// Shortens the wait of a card that is down to [`WAIT_ALONE_MAX`] after its end, since no other of its kind serves.
    pub fn hasten(&mut self) {
        if let Phase::Down(Some(at)) = self.phase {
            self.phase = Phase::Down(Some(at.min(self.ended + WAIT_ALONE_MAX)));
        }
    }

    /// The master keys that it holds, as its samples say.
    pub fn held(&self) -> HeldRegisters {
        self.samples.as_ref().map_or(HeldRegisters::NONE, |(_, samples)| samples.registers())
    }

    /// The card as seen by a client that may use these domains: a coprocessor without keys of any of them is sealed.
    /// `None` if the card neither runs nor is wanted.
    pub fn row(&self, may_use: impl Fn(u16) -> bool) -> Option<CardRow> {
        let specification = self.running_as.as_ref().or(self.wanted.as_ref())?;
        let state = match self.phase {
            Phase::Broken => CardState::Failed,
            Phase::Down(_) | Phase::Adopting(_) => CardState::Created,
            // While a card starts, its status page tells more than its notices.
            Phase::Starting(_) => self.status.as_ref().map_or(CardState::Created, |(_, view)| view.state()),
            Phase::Serving | Phase::Stopping(_) => self.state,
        };
        let has_keys = || self.held().domains().any(may_use);
        let is_sealed =
            state == CardState::Ready && specification.personality == Personality::Coprocessor && !has_keys();
        let state = if is_sealed { CardState::Sealed } else { state };
        Some(CardRow {
            index: self.index,
            generation: self.generation,
            personality: specification.personality,
            state,
            pid: self.process.as_ref().map_or(0, |process| process.identity.pid),
            level: self.level.clone(),
            lanes: self.lanes,
            queues: u32::try_from(self.queues).unwrap_or(u32::MAX),
            isolation: self.isolation.clone(),
            start_us: self.start_us,
            restarts: self.restarts,
            poll: specification.poll,
            processors: specification.processors.clone(),
            dedicated: Vec::new(),
        })
    }

    /// Sends an order. A card that cannot take it is dead or stopped, which is found elsewhere.
    pub fn order(&mut self, order: CardOrder, descriptors: Vec<OwnedFd>) {
        if let Some(process) = &mut self.process {
            process.channel.send(order, descriptors);
        }
    }

    /// Orders the process to quiesce, or to serve again, as the card is to be.
    pub fn order_quiesced(&mut self) {
        let order = if self.quiesced { CardOrder::Quiesce } else { CardOrder::Resume };
        self.order(order, Vec::new());
    }

    /// Notes that the card serves from now on.
    pub fn note_serving(&mut self, now: Instant) {
        self.phase = Phase::Serving;
        if let Some(process) = &mut self.process {
            process.serving.get_or_insert(now);
        }
    }

    /// Notes that a self-check of the process failed. A card that has not served yet is not started again before the
    /// settings are read anew. A card that served ends by itself, and is started again as after any fault: no request
    /// can leave its place empty for good.
    pub fn note_failed(&mut self) {
        if !matches!(self.phase, Phase::Serving | Phase::Stopping(_)) {
            self.phase = Phase::Broken;
        }
        self.state = CardState::Failed;
    }

    /// Whether requests may have ended its process, by what the system reports of the end; false if the card was told
    /// to stop.
    pub fn died_of_work(&self, ended: Option<Ended>) -> bool {
        let is_stopping = matches!(self.phase, Phase::Stopping(_));
        !is_stopping && self.process.as_ref().is_some_and(|process| process.died_of_work(ended))
    }

    /// Notes that the process is gone, what the system reports of its end, and when to start the next one; true if the
    /// card was not told to stop.
    pub fn note_end(&mut self, ended: Option<Ended>, now: Instant) -> bool {
        let end = self.process.take().map_or(End::AT_START, |process| process.end(ended, now));
        let failed = !matches!(self.phase, Phase::Stopping(_));
        self.ended = now;
        self.status = None;
        self.samples = None;
        self.running_as = None;
        self.queues = 0;
        self.keeper_generation = 0;
        (self.is_served, self.adopted) = (false, false);
        self.phase = match (self.phase, &self.wanted) {
            (_, None) => Phase::Down(None),
            // A card that failed its self-check is not tried again before the settings are read anew.
            (Phase::Broken, _) => Phase::Broken,
            (Phase::Stopping(_), _) => Phase::Down(Some(now)),
            _ => Phase::Down(Some(self.backoff.after(end, now))),
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
    use wire::control::{Personality, PollMode, TokenForms};

    fn card(now: Instant) -> Card {
        let specification = Specification {
            personality: Personality::Coprocessor,
            domains: 1,
            poll: PollMode::Adaptive,
            separate_tenants: false,
            weak_algorithms: false,
            tokens: TokenForms::default(),
            processors: None,
            level: None,
            prepared_keys_bytes: 0,
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
        assert!(card.note_end(None, now));
        assert_eq!((card.phase, card.restarts), (Phase::Down(Some(now)), 1));
        assert!(!card.is_ready());
        card.phase = Phase::Starting(now);
        card.note_end(None, now);
        assert!(matches!(card.phase, Phase::Down(Some(at)) if at > now));
    }

    #[test]
    fn a_card_that_is_missed_is_not_waited_for_for_long() {
        let now = Instant::now();
        let mut card = card(now);
        for _ in 0..20 {
            card.phase = Phase::Starting(now);
            card.note_end(None, now);
        }
        assert!(card.phase.due().unwrap() > now + 2 * WAIT_ALONE_MAX);
        card.hasten();
        assert_eq!(card.phase.due(), Some(now + WAIT_ALONE_MAX));
        card.phase = Phase::Down(None);
        card.hasten();
        assert_eq!(card.phase, Phase::Down(None));
    }

    #[test]
    fn a_card_that_was_told_to_stop_is_not_counted() {
        let now = Instant::now();
        let mut card = card(now);
        card.phase = Phase::Stopping(now);
        assert!(!card.note_end(None, now));
        assert_eq!((card.phase, card.restarts), (Phase::Down(Some(now)), 0));
        card.wanted = None;
        card.phase = Phase::Stopping(now);
        card.note_end(None, now);
        assert_eq!(card.phase, Phase::Down(None));
        assert_eq!(card.row(|_| true), None);
    }

    /// An operator may make an accelerator of a coprocessor that waits for its turn: it was replaced again and again.
    #[test]
    fn a_card_is_replaced_once_for_a_keeper_that_is_gone() {
        let now = Instant::now();
        let mut card = card(now);
        card.running_as.clone_from(&card.wanted);
        (card.phase, card.keeper_generation) = (Phase::Serving, 2);
        assert_eq!((card.renewal(3), card.renewal(2)), (Renewal::Replace, Renewal::Done));
        for phase in [Phase::Stopping(now), Phase::Down(Some(now)), Phase::Starting(now)] {
            card.phase = phase;
            assert_eq!(card.renewal(3), Renewal::Wait);
        }
        // It has its keys from the new keeper, or waits for that one to come back, or needs none.
        card.phase = Phase::Serving;
        for (personality, keeper) in
            [(Personality::Coprocessor, 3), (Personality::Coprocessor, 0), (Personality::Accelerator, 0)]
        {
            card.keeper_generation = keeper;
            card.running_as.as_mut().unwrap().personality = personality;
            assert_eq!(card.renewal(3), Renewal::Done, "{personality:?} {keeper}");
        }
        card.phase = Phase::Down(None);
        assert_eq!(card.renewal(3), Renewal::Done);
    }

    #[test]
    fn a_card_that_failed_its_checks_at_the_start_stays_down() {
        let now = Instant::now();
        let mut card = card(now);
        card.phase = Phase::Starting(now);
        card.note_failed();
        card.note_end(None, now);
        assert_eq!(card.phase, Phase::Broken);
        assert_eq!(card.row(|_| true).unwrap().state, CardState::Failed);
        assert!(card.is_settled());
    }

    #[test]
    fn a_card_whose_result_failed_its_check_is_started_again() {
        let now = Instant::now();
        let mut card = card(now);
        let mut waits = Vec::new();
        for _ in 0..12 {
            card.phase = Phase::Serving;
            card.note_failed();
            assert!(!card.is_ready());
            assert!(card.note_end(Some(Ended::Code(4)), now));
            let Phase::Down(Some(at)) = card.phase else { panic!("{:?}", card.phase) };
            waits.push(at - now);
        }
        assert!(waits[0].is_zero() && waits.is_sorted());
        card.phase = Phase::Stopping(now);
        card.note_failed();
        assert_eq!(card.phase, Phase::Stopping(now));
    }
}

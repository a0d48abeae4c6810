//! Cards: what they are, their states, and the daemon's orders to them.

use super::Isolation;
use crate::card::{Personality, PollMode};
use crate::grant::Grant;
use crate::key::KeyReference;
use crate::pin::{CountingKey, DecimalisationTable, Told};
use crate::role::Role;
use serde::{Deserialize, Serialize};

/// How a card wraps the keys of internal DES and AES tokens of fixed length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TokenForm {
    /// By this system's own method (HCTR2): changes of a token are detected, and parts of tokens cannot be combined.
    #[default]
    Authenticated,
    /// By CCA's: DES keys in ECB under the master key xor the control vector, AES keys in CBC.
    Compatible,
}

/// Which forms of internal tokens a card makes and takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TokenForms {
    /// Form of the tokens that it makes.
    pub form: TokenForm,
    /// Whether compatible ones open.
    pub open_compatible: bool,
}

/// The default if the settings say nothing: a home continues to accept the tokens that it has.
impl Default for TokenForms {
    fn default() -> Self {
        Self { form: TokenForm::Authenticated, open_compatible: true }
    }
}

/// Where a card stands in its life.
///
/// ```text
/// Created --self-tests passed--> Sealed, Ready <--resume-- Quiescing
///                                      |------quiesce--------^   |
///    any --a self-check failed--> Failed        Sealed, Ready, Quiescing --zeroize--> Zeroized
/// ```
/// The daemon orders quiesce, resume and zeroize; the card makes every other transition. Whether a card that serves is
/// shown as ready or as sealed depends on the keys in it and on who asks: for a guest, only keys of its own
/// domains count. The card's own status page, which every client reads, says ready for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u32)]
#[serde(rename_all = "kebab-case")]
pub enum CardState {
    /// The process exists.
    Created = 0,
    /// A coprocessor that serves requests, but holds no master key that the asker could use.
    Sealed = 1,
    /// Serves requests; a coprocessor with at least one master key.
    Ready = 2,
    /// Finishes what it took and takes nothing new.
    Quiescing = 3,
    /// Its secrets are gone.
    Zeroized = 4,
    /// A self-check failed: it serves nothing, ever.
    Failed = 5,
}

impl CardState {
    /// Whether queues are attached and requests taken.
    pub const fn serves(self) -> bool {
        matches!(self, Self::Sealed | Self::Ready)
    }

    /// The state of this number.
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Created,
            1 => Self::Sealed,
            2 => Self::Ready,
            3 => Self::Quiescing,
            4 => Self::Zeroized,
            5 => Self::Failed,
            _ => return None,
        })
    }
}

/// One card, as the daemon shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardRow {
    /// Index of the card within its home.
    pub index: u32,
    /// Distinguishes its process from all other processes that have ever been this card of its home.
    pub generation: u64,
    /// What it is for.
    pub personality: Personality,
    /// Where it stands in its life.
    pub state: CardState,
    /// Its process.
    pub pid: u32,
    /// Name of the engine's level.
    pub level: String,
    /// Requests that it would like in one batch.
    pub lanes: u32,
    /// Queues attached.
    pub queues: u32,
    /// How it is confined.
    pub isolation: Isolation,
    /// From its start to ready, in microseconds.
    pub start_us: u64,
    /// Times that the daemon had to start it again.
    pub restarts: u32,
    /// How it waits.
    pub poll: PollMode,
    /// Processors that it may run on; none for all.
    pub processors: Option<Vec<u32>>,
    /// Names of the tenants to which it, or a share of it, is dedicated, with the percentage.
    pub dedicated: Vec<(String, u8)>,
}

/// From the daemon to a card, in order; the first is [`CardOrder::Start`] on descriptor 3.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CardOrder {
    /// What the card is. Descriptors: doorbell socket (bound datagram), listener for a later daemon (seqpacket,
    /// listening), status page (read-write), key table (read-only), accounts (read-write), samples (read-write), and
    /// for a coprocessor its end of the socket pair to the keeper. In a system service instead of that, for every card:
    /// status page and samples (read-only both).
    Start(CardStart),
    /// A new queue, answered by [`CardNotice::Attached`]. Descriptors: request memory (read-only), reply memory
    /// (read-write), and where the client is an event loop the cards' end of its completion socket.
    Attach {
        /// What the queue may do.
        grant: Grant,
        /// Slots of the queue.
        slots: u32,
    },
    /// A role that grants name from now on; unanswered. A number that the grant of a queue names keeps the points
    /// that it has: told others, the card lets it permit nothing.
    Role(Role),
    /// A new grant of a queue: the tenant's role, limits or share changed. Number, tenant, account and
    /// domain of the grant stay; unanswered.
    Regrant {
        /// All of it.
        grant: Grant,
    },
    /// Ends a queue: its requests are finished, its memory is unmapped; answered by [`CardNotice::Detached`].
    Detach {
        /// Number of the queue.
        queue: u64,
    },
    /// Finish what was taken, take nothing new; answered by [`CardNotice::State`].
    Quiesce,
    /// Serve again; answered by [`CardNotice::State`].
    Resume,
    /// Wipe all secrets; answered by [`CardNotice::State`].
    Zeroize,
    /// Wipe all secrets and exit.
    Stop,
    /// A new daemon takes over, sent on a connection to the listener; answered by [`CardNotice::Adopted`].
    /// The connection replaces the one before.
    Adopt,
    /// The decimalisation tables that are stored, in place of those it was told before, beside the one that every card
    /// has; unanswered.
    Tables(Vec<DecimalisationTable>),
    /// Counts failures of PINs from now on, under digests by this key; until then the card verifies none. Descriptor:
    /// the table of failures (read-only). Unanswered.
    Counting {
        /// The same for all cards of the home, and after each start.
        key: CountingKey,
    },
    /// The card's failures are durable up to this number; unanswered.
    Counted {
        /// [`Told::number`].
        number: u64,
    },
}

/// What a card is told at its start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardStart {
    /// [`CONTROL_VERSION`](super::CONTROL_VERSION) of the daemon.
    pub version: u16,
    /// Index within the home.
    pub index: u32,
    /// Generation of this process.
    pub generation: u64,
    /// What the card is for.
    pub personality: Personality,
    /// Domains, from 0.
    pub domains: u16,
    /// How the card waits.
    pub poll: PollMode,
    /// Keep requests of different tenants out of one batch.
    pub separate_tenants: bool,
    /// Serve weak algorithms.
    pub weak_algorithms: bool,
    /// Forms of internal tokens.
    pub tokens: TokenForms,
    /// Processors that the card may use; none for all.
    pub processors: Option<Vec<u32>>,
}

/// From a card to the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CardNotice {
    /// Self-tests passed; the card serves.
    Ready {
        /// Name of the engine's level.
        level: String,
        /// Requests that it would like in one batch.
        lanes: u32,
        /// How it is confined.
        isolation: Isolation,
    },
    /// The card will never serve, for this reason.
    Failed {
        /// Which check, for people; never a secret.
        why: String,
    },
    /// The queue is served from now on.
    Attached {
        /// Number of the queue.
        queue: u64,
    },
    /// The order could not be carried out: the reason, for people.
    Rejected {
        /// Number of the queue.
        queue: u64,
        /// Which rule it broke.
        why: String,
    },
    /// The queue's memory is unmapped.
    Detached {
        /// Number of the queue.
        queue: u64,
    },
    /// The card's state after an order.
    State(CardState),
    /// Answer to [`CardOrder::Adopt`]. Descriptors: status page and samples (read-only both).
    Adopted {
        /// What the card was started as.
        start: CardStart,
        /// Its state.
        state: CardState,
        /// Name of the engine's level.
        level: String,
        /// Requests that it would like in one batch.
        lanes: u32,
        /// How it is confined.
        isolation: Isolation,
        /// Whether its keeper has handed it the registers of every domain; of an accelerator, which has none, too.
        holds_registers: bool,
        /// The roles that its queues have.
        roles: Vec<Role>,
        /// Its queues.
        queues: Vec<Grant>,
    },
    /// A client broke the rules of the link; its queue was ended.
    Offence {
        /// Number of the queue.
        queue: u64,
        /// Which rule.
        rule: String,
    },
    /// What became of verifications of PINs, at most [`crate::bounds::GUESSES_PER_NOTICE_MAX`]; of failures
    /// [`CardOrder::Counted`] says that they are durable. Those that it did not say it of are told again to a later
    /// daemon.
    Guesses(Vec<Told>),
    /// Requests that were refused for want of a right since it was last told.
    Denied {
        /// By tenant and kind, at most [`crate::bounds::DENIALS_PER_NOTICE_MAX`].
        kinds: Vec<Denial>,
        /// Those of further tenants.
        others: u64,
    },
}

/// Requests of one tenant that a card refused alike for want of a right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// Tenant of the queue.
    pub tenant: u32,
    /// User of the queue.
    pub user: u32,
    /// How often.
    pub times: u64,
    /// What was refused; none for those of this user beyond the kinds that are told apart.
    pub what: Option<Denied>,
}

/// What was refused for want of a right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denied {
    /// Number of the verb.
    pub verb: u16,
    /// What decided it.
    pub by: DeniedBy,
    /// The key reference of the request: the one that was refused, or the first.
    pub key: Option<KeyReference>,
}

/// What decided that a request is refused for want of a right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeniedBy {
    /// The role lacks the verb's point.
    Verb,
    /// The role lacks the point for wrapped keys as bytes.
    TokenBytes,
    /// What the tenant may do with the label's key.
    Label,
    /// The verb itself, with 8/90: a point of a keyword or of a parameter, or a bound that counts as one.
    Answer,
}

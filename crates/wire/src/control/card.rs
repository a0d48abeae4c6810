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
    /// By CCA's method: DES keys in ECB under the master key xor the control vector, AES keys in
    /// CBC.
    Compatible,
}

/// Which forms of internal tokens a card makes and opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TokenForms {
    /// Form of the tokens that the card makes.
    pub form: TokenForm,
    /// Whether the card also opens tokens of the compatible form.
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
    /// The process exists; its self-tests have not passed yet.
    Created = 0,
    /// A coprocessor that serves requests, but holds no master key that the asker could use.
    Sealed = 1,
    /// Serves requests; a coprocessor with at least one master key.
    Ready = 2,
    /// Finishes what it took and takes nothing new.
    Quiescing = 3,
    /// The card has wiped its secrets, and serves nothing any more.
    Zeroized = 4,
    /// A self-check failed: it serves nothing, ever.
    Failed = 5,
}

impl CardState {
    /// Whether a card in this state takes queues and requests.
    pub const fn serves(self) -> bool {
        matches!(self, Self::Sealed | Self::Ready)
    }

    /// The state with this number; none for a number that no state has.
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
    /// The card's personality.
    pub personality: Personality,
    /// The card's state, as shown to the client that asks.
    pub state: CardState,
    /// Process id of the card.
    pub pid: u32,
    /// Name of the engine's level.
    pub level: String,
    /// Number of requests that the card prefers in one batch.
    pub lanes: u32,
    /// Number of queues that are attached to the card.
    pub queues: u32,
    /// How the card's process is confined.
    pub isolation: Isolation,
    /// From its start to ready, in microseconds.
    pub start_us: u64,
    /// Times that the daemon had to start it again.
    pub restarts: u32,
    /// How the card waits for requests.
    pub poll: PollMode,
    /// Processors that the card may run on; none for all.
    pub processors: Option<Vec<u32>>,
    /// Names of the tenants to which the card, or a share of it, is dedicated, each with its
    /// percentage.
    pub dedicated: Vec<(String, u8)>,
}

/// From the daemon to a card, in order; the first is [`CardOrder::Start`] on descriptor 3.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CardOrder {
    /// What the card is. Descriptors: doorbell socket (bound datagram), listener for a later daemon
    /// (seqpacket, listening), status page (read-write), key table (read-only), accounts
    /// (read-write), samples (read-write), and for a coprocessor its end of the socket pair to the
    /// keeper. In a system service every card gets, in place of that end, the status page and the
    /// samples once more (both read-only).
    Start(CardStart),
    /// A new queue, answered by [`CardNotice::Attached`]. Descriptors: request memory (read-only), reply memory
    /// (read-write), and where the client is an event loop the cards' end of its completion socket.
    Attach {
        /// The rights, limits and domain of the queue.
        grant: Grant,
        /// Slots of the queue.
        slots: u32,
    },
    /// A role that later grants may name; unanswered. While the grant of a queue names a number,
    /// the points of that role do not change: if the card is told other points, it lets the role
    /// permit nothing.
    Role(Role),
    /// A new grant of a queue: the tenant's role, limits or share changed. Number, tenant, account and
    /// domain of the grant stay; unanswered.
    Regrant {
        /// The whole grant, with the parts that stay.
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
    /// The stored decimalisation tables, in place of those that the card was told before; the table
    /// that every card has stays. Unanswered.
    Tables(Vec<DecimalisationTable>),
    /// From now on the card counts failures of PINs, under digests made with this key; until then
    /// it verifies no PIN. Descriptor: the table of failures (read-only). Unanswered.
    Counting {
        /// The key of the digests: the same for all cards of the home, and after each start.
        key: CountingKey,
    },
    /// The failures that the card has told are stored durably up to this number; unanswered.
    Counted {
        /// Number of the last failure that is durable: its [`Told::number`].
        number: u64,
    },
}

/// The options that a card is given at its start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardStart {
    /// [`CONTROL_VERSION`](super::CONTROL_VERSION) of the daemon.
    pub version: u16,
    /// Index of the card within its home.
    pub index: u32,
    /// Generation of the card's process.
    pub generation: u64,
    /// The card's personality.
    pub personality: Personality,
    /// Number of domains, which are numbered from 0.
    pub domains: u16,
    /// How the card waits for requests.
    pub poll: PollMode,
    /// Whether requests of different tenants are kept out of one batch.
    pub separate_tenants: bool,
    /// Whether the card serves weak algorithms.
    pub weak_algorithms: bool,
    /// Forms of internal tokens that the card makes and opens.
    pub tokens: TokenForms,
    /// Processors that the card may use; none for all.
    pub processors: Option<Vec<u32>>,
    /// Memory for prepared keys, in bytes.
    pub prepared_keys_bytes: u64,
}

/// From a card to the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CardNotice {
    /// Self-tests passed; the card serves.
    Ready {
        /// Name of the engine's level.
        level: String,
        /// Number of requests that the card prefers in one batch.
        lanes: u32,
        /// How the card's process is confined.
        isolation: Isolation,
    },
    /// The card will never serve, for this reason.
    Failed {
        /// The check that failed, in words for people; never a secret.
        why: String,
    },
    /// The queue is served from now on.
    Attached {
        /// Number of the queue.
        queue: u64,
    },
    /// [`CardOrder::Attach`] could not be carried out.
    Rejected {
        /// Number of the queue.
        queue: u64,
        /// Why not, in words for people.
        why: String,
    },
    /// The queue's memory is unmapped.
    Detached {
        /// Number of the queue.
        queue: u64,
    },
    /// The card's state after an order that changes it.
    State(CardState),
    /// Answer to [`CardOrder::Adopt`]. Descriptors: status page and samples (read-only both).
    Adopted {
        /// The options with which the card was started.
        start: CardStart,
        /// The card's present state.
        state: CardState,
        /// Name of the engine's level.
        level: String,
        /// Number of requests that the card prefers in one batch.
        lanes: u32,
        /// How the card's process is confined.
        isolation: Isolation,
        /// Whether the keeper has handed the card the registers of every domain; true for an
        /// accelerator, which has none.
        holds_registers: bool,
        /// The roles that the grants of the card's queues name.
        roles: Vec<Role>,
        /// The grants of the card's queues.
        queues: Vec<Grant>,
    },
    /// A client broke the rules of the link; its queue was ended.
    Offence {
        /// Number of the queue.
        queue: u64,
        /// The rule that the client broke, in words for people.
        rule: String,
    },
    /// Failed verifications of PINs, at most [`crate::bounds::GUESSES_PER_NOTICE_MAX`]. [`CardOrder::Counted`]
    /// confirms that they are durable; those not confirmed are told again to a later daemon.
    Guesses(Vec<Told>),
    /// Requests that were refused for want of a right since the last such notice.
    Denied {
        /// By tenant and kind, at most [`crate::bounds::DENIALS_PER_NOTICE_MAX`].
        kinds: Vec<Denial>,
        /// Number of refused requests of tenants that `kinds` does not list.
        others: u64,
    },
}

/// Requests of one user of a tenant that a card refused for the same want of a right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// Tenant of the queue.
    pub tenant: u32,
    /// User id of the queue's client.
    pub user: u32,
    /// How many requests were refused.
    pub times: u64,
    /// What was refused; none for requests of this user beyond the kinds that are told apart.
    pub what: Option<Denied>,
}

/// A kind of refusal for want of a right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denied {
    /// Number of the verb.
    pub verb: u16,
    /// The check that refused the request.
    pub by: DeniedBy,
    /// The key reference that was refused, or the first one of the request; none for a request
    /// without one.
    pub key: Option<KeyReference>,
}

/// Which check refuses a request for want of a right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeniedBy {
    /// The role lacks the verb's point.
    Verb,
    /// The role lacks the point for wrapped keys as bytes.
    TokenBytes,
    /// The tenant may not do this with the key of the label.
    Label,
    /// The verb itself, with 8/90: a point of a keyword or of a parameter, or a bound that counts as one.
    Answer,
}

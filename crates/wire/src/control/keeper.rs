//! The keeper: the daemon's orders to it, and what it hands to cards.

use super::{Isolation, OfficerOrder, OfficerReply, RegisterRow};
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// From the daemon to the keeper; the first is [`KeeperOrder::Start`] on descriptor 3.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeeperOrder {
    /// The keeper's options; answered by [`KeeperNotice::Ready`]. Descriptors: listener for a later
    /// daemon, except for the keeper of a system service; then the credential, if
    /// [`Unattended::Credential`] announces one.
    Start {
        /// [`CONTROL_VERSION`](super::CONTROL_VERSION) of the daemon.
        version: u16,
        /// Number of domains, which are numbered from 0.
        domains: u16,
        /// For a development home: master keys of every domain are derived from this number.
        insecure_seed: Option<u64>,
        /// The keeper of a system service: two officers are needed for what one could do alone, no
        /// later daemon adopts it, and it ends with its channel.
        service: bool,
        /// What the keeper unseals itself with as it starts; none if officers unseal it.
        unattended: Option<Unattended>,
    },
    /// A coprocessor starts: hand it the registers now and after each change. Answered by
    /// [`KeeperNotice::Done`], and by [`KeeperNotice::Holds`] once it has them. Descriptors: the keeper's end of the
    /// socket pair to the card.
    Serve(Served),
    /// An officer's order, with the sealed registers of the home if it [needs
    /// them](OfficerOrder::needs_sealed); answered by [`KeeperNotice::Officer`].
    Officer {
        /// The officer's order.
        order: OfficerOrder,
        /// The sealed registers, as stored; none if the home has none, or the order does not need
        /// them.
        sealed_registers: Option<Vec<u8>>,
        /// Memory for deriving a key from a passphrase when registers are sealed, in MiB. The
        /// keeper takes at least the memory of RFC 9106's second option, whatever is given here.
        seal_memory_mib: u32,
        /// User id of the officer; none in a home of one user.
        officer: Option<u32>,
    },
    /// The registers that the keeper sealed last were not stored, so they are no sealed copy. Not
    /// answered.
    NotStored,
    /// A new daemon takes over; answered by [`KeeperNotice::Ready`].
    Adopt,
    /// Wipe everything and exit.
    Stop,
    /// A successor replaces this keeper, and gets the registers from it, unless a key is being
    /// loaded or handed out. This keeper ends when the daemon is gone or orders it. Not answered.
    /// Descriptor: one end of a socket pair to the successor.
    HandOver,
    /// Take the registers from the predecessor; answered by [`KeeperNotice::Ready`], with the state
    /// after that. Descriptor: the other end of the socket pair of [`KeeperOrder::HandOver`].
    TakeOver,
}

/// The means by which a keeper unseals itself as it starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unattended {
    /// A descriptor of the file that holds the passphrase, which nobody else reads.
    Credential {
        /// The sealed registers, as stored.
        sealed_registers: Vec<u8>,
    },
    /// No credential, for this reason, in words for people.
    Nothing(String),
}

/// How the master keys of a home are unsealed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unseal {
    /// An officer types the passphrase after each start of the keeper.
    #[default]
    Attended,
    /// The keeper reads the passphrase, as it starts, from a credential that the service manager has opened.
    Unattended,
}

/// How the running keeper was to be unsealed when it started, and the result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unsealing {
    /// By officers: the keeper tried nothing as it started.
    #[default]
    Attended,
    /// By a credential, which opened the sealed registers.
    Unattended,
    /// By a credential that did not open them, for this reason, in words for people. A typed
    /// passphrase still unseals the keeper.
    Failed(String),
}

/// From the keeper to the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeeperNotice {
    /// The keeper serves orders from now on.
    Ready {
        /// How the keeper's process is confined.
        isolation: Isolation,
        /// Rows of all registers of the keeper.
        registers: Vec<RegisterRow>,
        /// The cards whose socket pairs it holds, and whether each has the registers as they stand.
        cards: Vec<(Served, bool)>,
        /// How the keeper was unsealed as it started.
        unsealing: Unsealing,
    },
    /// The order was carried out.
    Done,
    /// Answer for an officer; to [`OfficerOrder::SealUnder`], with the sealed registers to store.
    Officer {
        /// The answer for the officer.
        reply: OfficerReply,
        /// Sealed registers to be stored durably before the answer is passed on.
        store: Option<Vec<u8>>,
        /// Domains whose new keys cards are being given, one bit each. The order is carried out
        /// once [`KeeperNotice::Spread`] has named each of them.
        spreads: u16,
    },
    /// Unasked: the card has the present registers of every domain, and hears of each change before
    /// any card wraps under a new key. The card may serve from now on.
    Holds(Served),
    /// Unasked: every card that may serve has the new keys of this domain, and wraps under them.
    Spread {
        /// Number of the domain.
        domain: u16,
    },
    /// Unasked: these cards have not taken new keys, which nobody can use before all cards have
    /// them. The daemon is to end these cards.
    Lagging(Vec<Served>),
}

/// A process of a card that a keeper serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// Index of the card.
    pub card: u32,
    /// Generation of the card's process.
    pub generation: u64,
}

/// From the keeper to a card: the master keys of one domain. Answered by [`Received`]. Never passes
/// the daemon.
///
/// A new master key comes twice: first as `next`, under which the card opens tokens and wraps none, and once every
/// card has it, as the current one. So no card ever gets a token under a key that it does not have.
#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct Delivery {
    /// Number of the delivery within its domain; a later delivery replaces an earlier one.
    pub serial: u64,
    /// The keys that the card works with now.
    pub handout: Handout,
    /// The keys that become current next, one for each of [`Register::ALL`](super::Register::ALL);
    /// empty for none.
    pub next: [Vec<u8>; 4],
}

/// From a card to the keeper: the card has taken a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// Number of the delivery's domain.
    pub domain: u16,
    /// Number of the delivery: its [`Delivery::serial`].
    pub serial: u64,
}

/// The first message of a card to the keeper of a system service, on a connection of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardGreeting {
    /// [`CONTROL_VERSION`](super::CONTROL_VERSION) of the card.
    pub version: u16,
    /// Index and generation that the daemon has given the card.
    pub served: Served,
}

/// The master keys of one domain.
#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct Handout {
    /// Number of the domain.
    pub domain: u16,
    /// One pair for each of [`Register::ALL`](super::Register::ALL), in that order.
    pub keys: [MasterKeyPair; 4],
}

/// The current and the old master key of one register; an absent key is empty.
#[derive(Default, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct MasterKeyPair {
    /// The current key, which wraps new tokens.
    pub current: Vec<u8>,
    /// The old key, which still opens tokens.
    pub old: Vec<u8>,
}

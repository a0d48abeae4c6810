//! The keeper: the daemon's orders to it, and what it hands to cards.

use super::{Isolation, OfficerOrder, OfficerReply, RegisterRow};
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// From the daemon to the keeper; the first is [`KeeperOrder::Start`] on descriptor 3.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeeperOrder {
    /// What the keeper is; answered by [`KeeperNotice::Ready`]. Descriptors: listener for a later daemon, but for the
    /// keeper of a system service; then the credential, where [`Unattended::Credential`] says that there is one.
    Start {
        /// [`CONTROL_VERSION`](super::CONTROL_VERSION) of the daemon.
        version: u16,
        /// Domains, from 0.
        domains: u16,
        /// For a development home: master keys of every domain are derived from this number.
        insecure_seed: Option<u64>,
        /// The keeper of a system service: two officers are needed for what one could do alone, nobody adopts it, and
        /// it ends with its channel.
        service: bool,
        /// What it unseals itself with; none where officers do it.
        unattended: Option<Unattended>,
    },
    /// A coprocessor starts: hand it the registers now and after each change. Answered by
    /// [`KeeperNotice::Done`], and by [`KeeperNotice::Holds`] once it has them. Descriptors: the keeper's end of the
    /// socket pair to the card.
    Serve(Served),
    /// An officer's order, with the sealed registers of the home where it [needs them](OfficerOrder::needs_sealed);
    /// answered by [`KeeperNotice::Officer`].
    Officer {
        /// The order.
        order: OfficerOrder,
        /// The sealed registers, as stored; none where there are none, or the order does not need them.
        sealed_registers: Option<Vec<u8>>,
        /// Memory that deriving a key from a passphrase may take where registers are sealed, in MiB; the keeper takes
        /// no less than RFC 9106's second option, whatever it is told.
        seal_memory_mib: u32,
        /// User id of the officer; none in a home of one user.
        officer: Option<u32>,
    },
    /// What was sealed last was not stored: it is no sealed copy. Not answered.
    NotStored,
    /// A new daemon takes over; answered by [`KeeperNotice::Ready`].
    Adopt,
    /// Wipe everything and exit.
    Stop,
    /// A successor replaces this keeper: it is given the registers, unless a key is being loaded or handed out, and
    /// this keeper ends when the daemon is gone or orders it. Not answered. Descriptor: one end of a socket pair to the
    /// successor.
    HandOver,
    /// Take the registers from the predecessor; answered by [`KeeperNotice::Ready`], with the state after that.
    /// Descriptor: the other end.
    TakeOver,
}

/// What a keeper is given to unseal itself with as it starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unattended {
    /// A descriptor of the file that holds the passphrase, which nobody else reads.
    Credential {
        /// The sealed registers, as stored.
        sealed_registers: Vec<u8>,
    },
    /// Nothing, for this reason, for people.
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
    /// By officers: at its start it tried nothing.
    #[default]
    Attended,
    /// By a credential, which opened the sealed registers.
    Unattended,
    /// By a credential, and it stayed sealed for this reason, for people; a typed passphrase unseals it.
    Failed(String),
}

/// From the keeper to the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeeperNotice {
    /// The keeper serves.
    Ready {
        /// How it is confined.
        isolation: Isolation,
        /// Its registers.
        registers: Vec<RegisterRow>,
        /// The cards whose socket pairs it holds, and whether each has the registers as they stand.
        cards: Vec<(Served, bool)>,
        /// How it was unsealed as it started.
        unsealing: Unsealing,
    },
    /// It is done.
    Done,
    /// Answer for an officer; for [`OfficerOrder::SealUnder`] with the blob to store.
    Officer {
        /// The answer.
        reply: OfficerReply,
        /// Sealed registers to be stored durably before the answer is passed on.
        store: Option<Vec<u8>>,
        /// Domains whose keys cards are given now, one bit each: it is done once each of them is
        /// [`KeeperNotice::Spread`].
        spreads: u16,
    },
    /// Unasked: the card has the registers of every domain as they stand, and hears of each change before any
    /// card wraps under a new key. It may serve from now on.
    Holds(Served),
    /// Unasked: every card that may serve has the new keys of this domain, and wraps under them.
    Spread {
        /// The domain.
        domain: u16,
    },
    /// Unasked: these cards have not taken new keys, which wait for them. They are to be ended.
    Lagging(Vec<Served>),
}

/// A process of a card that a keeper serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// Index of the card.
    pub card: u32,
    /// Generation of its process.
    pub generation: u64,
}

/// From the keeper to a card: what it is to know of one domain. Answered by [`Received`]. Never passes the daemon.
///
/// A new master key comes twice: first as `next`, under which the card opens tokens and wraps none, and once every
/// card has it, as the current one. So no card ever gets a token under a key that it does not have.
#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct Delivery {
    /// Counts what was handed out of this domain; a later one takes the place of an earlier.
    pub serial: u64,
    /// The keys that it works with.
    pub handout: Handout,
    /// The keys that are current soon, one for each of [`Register::ALL`](super::Register::ALL); empty for none.
    pub next: [Vec<u8>; 4],
}

/// From a card to the keeper: it has what was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// The domain.
    pub domain: u16,
    /// [`Delivery::serial`].
    pub serial: u64,
}

/// The first message of a card to the keeper of a system service, on a connection of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardGreeting {
    /// [`CONTROL_VERSION`](super::CONTROL_VERSION) of the card.
    pub version: u16,
    /// What the daemon calls it.
    pub served: Served,
}

/// The master keys of one domain.
#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct Handout {
    /// The domain.
    pub domain: u16,
    /// One pair for each of [`Register::ALL`](super::Register::ALL), in that order.
    pub keys: [MasterKeyPair; 4],
}

/// The current and the old master key of one register; empty where there is none.
#[derive(Default, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct MasterKeyPair {
    /// Wraps new tokens.
    pub current: Vec<u8>,
    /// Still opens tokens.
    pub old: Vec<u8>,
}

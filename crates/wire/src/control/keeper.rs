//! The keeper: what the daemon orders of it, and what it hands to cards.

use super::{OfficerOrder, OfficerReply, RegisterRow};
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// From the daemon to the keeper; the first is [`KeeperOrder::Start`] on descriptor 3.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeeperOrder {
    /// What the keeper is; answered by [`KeeperNotice::Ready`]. Descriptors: listener for a later daemon.
    Start {
        /// [`CONTROL_VERSION`](super::CONTROL_VERSION) of the daemon.
        version: u16,
        /// Domains, from 0.
        domains: u16,
        /// For a development home: master keys of every domain are derived from this number.
        insecure_seed: Option<u64>,
    },
    /// A coprocessor starts: hand it the registers now and after each change. Answered by
    /// [`KeeperNotice::Done`]. Descriptors: the keeper's end of the socket pair to the card.
    Serve {
        /// Index of the card.
        card: u32,
    },
    /// An officer's order, with the sealed registers of the home where it is [`OfficerOrder::Unseal`];
    /// answered by [`KeeperNotice::Officer`].
    Officer {
        /// The order.
        order: OfficerOrder,
        /// The sealed registers, as stored.
        sealed_registers: Option<Vec<u8>>,
    },
    /// A new daemon takes over; answered by [`KeeperNotice::Ready`].
    Adopt,
    /// Wipe everything and exit.
    Stop,
}

/// From the keeper to the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeeperNotice {
    /// The keeper serves.
    Ready {
        /// Sandbox measures that the machine lacks, by name.
        missing: Vec<String>,
        /// Its registers.
        registers: Vec<RegisterRow>,
    },
    /// It is done.
    Done,
    /// Answer for an officer; for [`OfficerOrder::SealUnder`] with the blob to store.
    Officer {
        /// The answer.
        reply: OfficerReply,
        /// Sealed registers to be stored durably before the answer is passed on.
        store: Option<Vec<u8>>,
    },
}

/// From the keeper to a card: the master keys of one domain. Never passes the daemon.
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

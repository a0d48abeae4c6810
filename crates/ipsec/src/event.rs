//! What the caller must be told.

use crate::address::Endpoint;
use crate::inner::Flow;
use crate::policy::PolicyId;
use crate::sa::SaName;

/// Events that a thread keeps until they are taken. What finds no place is raised again while its cause lasts.
pub const EVENTS_MAX: usize = 256;

/// Something that the IKE daemon, or whoever else owns SAs and policies, acts on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A limit of an SA was reached: a soft one asks for rekeying, after a hard one its packets are dropped. Each is
    /// told once.
    Expire {
        /// Which.
        sa: SaName,
        /// Whether it was the hard one.
        hard: bool,
    },
    /// A packet that was authenticated, and is the newest, came from another address or port than the SA's peer.
    /// Nothing follows it until [`crate::Sa::follow`] is called.
    Mapping {
        /// Which.
        sa: SaName,
        /// Where the peer was.
        from: Endpoint,
        /// Where it is.
        to: Endpoint,
    },
    /// A packet needs an SA that is not there.
    Acquire {
        /// Whose template it is.
        policy: PolicyId,
        /// The packet.
        flow: Flow,
    },
}

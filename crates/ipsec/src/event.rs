//! Events, on which the owner of SAs and policies must act.

use crate::address::Endpoint;
use crate::inner::Flow;
use crate::policy::PolicyId;
use crate::sa::SaName;

/// Upper bound of the events that a thread keeps until they are taken. An event that finds no place is raised again
/// while its cause lasts.
pub const EVENTS_MAX: usize = 256;

/// An event that the owner of SAs and policies, such as an IKE daemon, acts on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A limit of an SA was reached: a soft one asks for rekeying, after a hard one its packets are dropped. Each is
    /// told once.
    Expire {
        /// The SA whose limit was reached.
        sa: SaName,
        /// True for the hard limit, false for the soft one.
        hard: bool,
    },
    /// The newest packet that was authenticated came from another address or port than the SA's peer. The SA does not
    /// follow it until [`crate::Sa::follow`] is called.
    Mapping {
        /// The SA whose peer has moved.
        sa: SaName,
        /// Address and port that the peer had.
        from: Endpoint,
        /// Address and port that the peer has now.
        to: Endpoint,
    },
    /// A packet needs an SA that does not exist.
    Acquire {
        /// The policy whose template asks for the SA.
        policy: PolicyId,
        /// The flow of the packet.
        flow: Flow,
    },
}

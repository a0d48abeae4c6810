//! Messages between supervisor and worker on their channel.

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};

/// Upper bound of addresses, of pairs to be added and of pairs to be removed in one message, so that it fits into a
/// control message.
pub const LISTED_MAX: usize = 800;

/// Orders from the supervisor to the worker.
#[derive(Serialize, Deserialize, Debug)]
pub enum Order {
    /// The first order. Its descriptors are the listeners of XFRM and of observers, the journal, and the lock, which
    /// the worker holds until it ends.
    Start(Start),
    /// UDP sockets of an address, one for each thread, as many as fit into a message.
    Sockets {
        /// The address that the sockets are bound to.
        address: SocketAddr,
        /// Whether another message has further sockets of this address.
        more: bool,
    },
    /// The addresses of this machine, in place of those told before.
    Addresses {
        /// This message's part of the addresses.
        addresses: Vec<IpAddr>,
        /// Whether another message has further addresses.
        more: bool,
    },
    /// The last order of the start: everything that a worker begins with was told.
    Begin,
    /// The answer to [`Notice::Restored`]: the egress filter is in force, or none is asked for. Before this order a
    /// worker carries no packet.
    Serve,
    /// Whether the egress filter is in force from here on.
    EgressFilter(bool),
    /// All of [`Notice::Routes`] and [`Notice::Filter`] up to this number is done, or was refused.
    Routed {
        /// Number of the last message that is answered.
        number: u64,
        /// Why the additions are not in force; None if they are, or if the message did not ask to be refused.
        refused: Option<Refused>,
    },
}

/// Settings with which a worker begins.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Start {
    /// Name of the TUN device.
    pub device: String,
    /// Threads of the packet path, each with a queue.
    pub threads: usize,
    /// MTU of the links outside, in bytes, the IP header included.
    pub outside_mtu: usize,
    /// Whether weak suites (3DES and NULL) may be used.
    pub weak_suites: bool,
    /// Whether the egress filter is in force, until [`Order::EgressFilter`] says otherwise.
    pub egress_filter: bool,
    /// Number of workers started before this one.
    pub restarts: u64,
}

/// A route, or a rule of the egress filter, that the kernel refuses.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// The kernel's error number, as in errno(3).
    pub errno: i32,
    /// The action that failed, its object, and the reason.
    pub text: String,
}

/// Source and destination prefixes of traffic that a policy matches, and that must not leave in clear.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pair {
    /// Prefix of the packets' destination.
    pub destination: IpNet,
    /// Prefix of the packets' source.
    pub source: IpNet,
}

/// Upper bound of policies to be added, and of policies to be removed, in one message for the egress filter.
pub const FILTER_LISTED_MAX: usize = 300;

/// An outbound policy, as the egress filter enforces it.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
pub struct FilterRow {
    /// Prefix of the packets' source.
    pub source: IpNet,
    /// Prefix of the packets' destination, of the source's family.
    pub destination: IpNet,
    /// The protocol above IP; None for any.
    pub protocol: Option<u8>,
    /// Port of the source and the mask of its bits that count; for ICMP, the type.
    pub source_ports: (u16, u16),
    /// Port of the destination and the mask of its bits that count; for ICMP, the code.
    pub destination_ports: (u16, u16),
    /// Priority: of the matching policies the lowest wins.
    pub priority: u32,
    /// Order of two policies with one priority: the lowest wins. No two policies have the same age.
    pub age: u64,
    /// Whether matching packets pass in clear; else they must not leave in clear.
    pub passes: bool,
}

impl FilterRow {
    /// Priority, then age: of two matching policies the one with the lower rank wins.
    pub fn rank(&self) -> (u32, u64) {
        (self.priority, self.age)
    }
}

/// Notices from the worker to the supervisor.
#[derive(Serialize, Deserialize, Debug)]
pub enum Notice {
    /// The worker serves.
    Ready {
        /// Parts of the sandbox that this machine lacks.
        lacks: Vec<String>,
    },
    /// A change of the traffic that must be led into the device, on top of earlier messages.
    Routes {
        /// Number of this message, for its answer.
        number: u64,
        /// Traffic that must be led into the device from here on.
        add: Vec<Pair>,
        /// Traffic that need not be led into the device any more.
        remove: Vec<Pair>,
        /// Whether this is the last of several messages, which is answered.
        last: bool,
        /// Whether a failed addition is refused as a whole, with nothing left of it. Otherwise it is tried again
        /// whenever routes change.
        whole: bool,
    },
    /// A change of the outbound policies that the egress filter enforces, on top of earlier messages.
    Filter {
        /// Number of this message, for its answer.
        number: u64,
        /// Policies that the egress filter must enforce from here on.
        add: Vec<FilterRow>,
        /// Policies that the egress filter need not enforce any more.
        remove: Vec<FilterRow>,
        /// Whether a failed addition is refused as a whole, with nothing left of it. Otherwise it is tried again.
        whole: bool,
    },
    /// All routes and policies of earlier workers were told; any that were not told are void. The worker waits for
    /// [`Order::Serve`].
    Restored,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_messages_fit() {
        let prefix: IpNet = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128".parse().unwrap();
        let pairs = vec![Pair { destination: prefix, source: prefix }; LISTED_MAX];
        let routes =
            Notice::Routes { number: u64::MAX, add: pairs.clone(), remove: pairs, last: true, whole: true };
        assert!(wire::control::encode(&routes).is_ok());
        let row = FilterRow {
            source: prefix,
            destination: prefix,
            protocol: Some(u8::MAX),
            source_ports: (u16::MAX, u16::MAX),
            destination_ports: (u16::MAX, u16::MAX),
            priority: u32::MAX,
            age: u64::MAX,
            passes: true,
        };
        let rows = vec![row; FILTER_LISTED_MAX];
        let filter = Notice::Filter { number: u64::MAX, add: rows.clone(), remove: rows, whole: true };
        assert!(wire::control::encode(&filter).is_ok());
        let addresses = Order::Addresses { addresses: vec![prefix.addr(); LISTED_MAX], more: true };
        assert!(wire::control::encode(&addresses).is_ok());
    }
}

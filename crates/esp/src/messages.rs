//! What supervisor and worker say to each other on their channel.

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};

/// Most addresses, and most pairs of prefixes to be added and to be removed, in one message: they fit into a control
/// message.
pub const LISTED_MAX: usize = 800;

/// What the worker is told.
#[derive(Serialize, Deserialize, Debug)]
pub enum Order {
    /// The first: its descriptors are the listeners of XFRM and of observers, the journal, and the lock, which the
    /// worker holds until it ends.
    Start(Start),
    /// UDP sockets of an address, one for each thread, as many as fit into a message; `more` says that another message
    /// has the rest.
    Sockets {
        /// Where they are bound.
        address: SocketAddr,
        /// Whether this was not the last of them.
        more: bool,
    },
    /// The addresses of this machine, in place of those that were told before.
    Addresses {
        /// Some of them.
        addresses: Vec<IpAddr>,
        /// Whether another message has the rest.
        more: bool,
    },
    /// Everything that a worker begins with was told.
    Begin,
    /// The answer to [`Notice::Restored`]: the egress filter is as it must be, or there is to be none. Before that a
    /// worker carries no packet.
    Serve,
    /// Whether the egress filter is in force from here on.
    EgressFilter(bool),
    /// All of [`Notice::Routes`] and [`Notice::Filter`] up to this number is done, or was refused.
    Routed {
        /// The number.
        number: u64,
        /// Why what it added is not there; None where it is, and where that was not asked for.
        refused: Option<Refused>,
    },
}

/// With what a worker begins.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Start {
    /// Name of the TUN.
    pub device: String,
    /// Threads of the packet path, each with a queue.
    pub threads: usize,
    /// MTU of the links outside, in bytes, from IP's header on.
    pub outside_mtu: usize,
    /// Whether suites that are weak may be used.
    pub weak_suites: bool,
    /// Whether the egress filter is in force, until [`Order::EgressFilter`] says otherwise.
    pub egress_filter: bool,
    /// How often a worker was started before this one.
    pub restarts: u64,
}

/// A route, or a rule of the egress filter, that the kernel refuses.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// What the kernel said, as in errno(3).
    pub errno: i32,
    /// What was done, with what, and why that failed.
    pub text: String,
}

/// Source and destination of traffic that a policy is for, which must not leave in clear.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pair {
    /// To where packets go.
    pub destination: IpNet,
    /// From where they come.
    pub source: IpNet,
}

/// Most policies to be added, and most to be removed, in one message for the egress filter.
pub const FILTER_LISTED_MAX: usize = 300;

/// A policy for what goes out, as the egress filter has it.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
pub struct FilterRow {
    /// From where packets come.
    pub source: IpNet,
    /// To where they go, of the same family.
    pub destination: IpNet,
    /// The protocol above IP; None for any.
    pub protocol: Option<u8>,
    /// Port of the source, and its bits that count; type of ICMP.
    pub source_ports: (u16, u16),
    /// Port of the destination, and its bits that count; code of ICMP.
    pub destination_ports: (u16, u16),
    /// The lowest wins.
    pub priority: u32,
    /// Of two with one priority the lowest wins. No two policies have the same.
    pub age: u64,
    /// Whether its packets pass in clear; else they must not leave as they are.
    pub passes: bool,
}

impl FilterRow {
    /// Lower is better.
    pub fn rank(&self) -> (u32, u64) {
        (self.priority, self.age)
    }
}

/// What the worker tells.
#[derive(Serialize, Deserialize, Debug)]
pub enum Notice {
    /// It serves.
    Ready {
        /// What of the sandbox the machine does not give.
        lacks: Vec<String>,
    },
    /// Traffic that policies are for, beside what was told before.
    Routes {
        /// Number of this message.
        number: u64,
        /// What must lead into the device from here on.
        add: Vec<Pair>,
        /// What need not.
        remove: Vec<Pair>,
        /// Whether an answer is wanted: the last of several messages.
        last: bool,
        /// Whether what cannot be added is to be refused, with nothing left of it. Otherwise it is tried again whenever
        /// routes change.
        whole: bool,
    },
    /// Policies for what goes out, beside what was told before.
    Filter {
        /// Number of this message.
        number: u64,
        /// What the egress filter must have from here on.
        add: Vec<FilterRow>,
        /// What it need not.
        remove: Vec<FilterRow>,
        /// Whether what cannot be added is to be refused, with nothing left of it. Otherwise it is tried again.
        whole: bool,
    },
    /// Everything that the worker knows of earlier workers has been told: what they told beside it is void. It waits
    /// for [`Order::Serve`].
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

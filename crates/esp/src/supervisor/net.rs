//! The part of rtnetlink(7) that the supervisor needs: links, addresses, rules and routes.

use ipnet::IpNet;
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleFlags, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_ROUTE;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

mod news;

pub use news::News;

/// The routing table for traffic that policies protect: `ip route show table 58624`.
pub const TABLE: u32 = 0xE500;
/// Priority of the rules that lead there: before those of IKE daemons (charon has 220) and behind that of local
/// addresses (0).
pub const RULE_PRIORITY: u32 = 200;
/// Metric of the routes to the device.
const DEVICE_METRIC: u32 = 1;
/// Metric of the routes that drop, which decide once the device is gone.
const BLACKHOLE_METRIC: u32 = 0x7fff_fff0;
/// Protocol number by which `ip route` shows the supervisor's routes and rules.
const PROTOCOL: RouteProtocol = RouteProtocol::Other(PROTOCOL_NUMBER);
const PROTOCOL_NUMBER: u8 = 0xE5;
/// Longest superpacket of the device, in bytes: with all headers of ESP it fits one call with `UDP_SEGMENT`.
const SUPERPACKET_BYTES_MAX: u32 = 61_440;
/// How long the kernel may take to answer, in seconds.
const ANSWER_SECONDS: i64 = 10;

/// A request that the kernel refused.
#[derive(Debug)]
pub struct NetError {
    operation: String,
    cause: io::Error,
}

impl NetError {
    /// An error of an operation, with its cause.
    pub(super) fn new(operation: &str, cause: io::Error) -> NetError {
        NetError { operation: operation.to_owned(), cause }
    }

    /// The kernel's error number, as in errno(3); EIO if its answer was no error message.
    pub fn errno(&self) -> i32 {
        self.cause.raw_os_error().unwrap_or(rustix::io::Errno::IO.raw_os_error())
    }
}

impl fmt::Display for NetError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.operation, self.cause)?;
        match rustix::io::Errno::from_raw_os_error(self.errno()) {
            rustix::io::Errno::PERM => out.write_str(
                "; it takes root, CAP_NET_ADMIN, or a user and network namespace of your own (unshare -Urn)",
            ),
            // Returned for routes of IPv6 (fib6_nh_init of the kernel).
            rustix::io::Errno::ACCESS => {
                out.write_str("; IPv6 is disabled there: sysctl -w net.ipv6.conf.DEVICE.disable_ipv6=0")
            }
            _ => Ok(()),
        }
    }
}

impl std::error::Error for NetError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

/// One socket of rtnetlink, for requests and their answers.
pub struct Net {
    socket: Socket,
    port: u32,
    sequence: u32,
}

/// A network link, as the kernel lists it.
#[derive(Clone, Debug)]
pub struct Link {
    /// Index of the link.
    pub index: u32,
    /// Name of the link.
    pub name: String,
    /// Longest packet, in bytes.
    pub mtu: u32,
    /// Whether the link is the loopback device.
    pub loopback: bool,
    /// Whether the link is up.
    pub up: bool,
}

fn socket(operation: &str) -> Result<Socket, NetError> {
    Socket::new(NETLINK_ROUTE).map_err(|cause| NetError { operation: operation.to_owned(), cause })
}

impl Net {
    /// Connects to the kernel.
    ///
    /// # Errors
    /// The error of the system.
    pub fn open() -> Result<Net, NetError> {
        const OPERATION: &str = "opening a socket of rtnetlink";
        let mut socket = socket(OPERATION)?;
        let opened = socket.bind_auto().and_then(|bound| {
            let timeout = nix::sys::time::TimeVal::new(ANSWER_SECONDS, 0);
            nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::ReceiveTimeout, &timeout)
                .map_err(io::Error::from)?;
            Ok(bound.port_number())
        });
        let port = opened.map_err(|cause| NetError { operation: OPERATION.to_owned(), cause })?;
        Ok(Net { socket, port, sequence: 0 })
    }

    /// The socket's netlink port, by which news name the sender of a change.
    pub fn port(&self) -> u32 {
        self.port
    }

    /// Sends a request and returns its answers up to the last one.
    fn ask(
        &mut self,
        operation: impl Fn() -> String,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> Result<Vec<RouteNetlinkMessage>, NetError> {
        let error = |cause: io::Error| NetError { operation: operation(), cause };
        self.sequence = self.sequence.wrapping_add(1);
        let mut request = NetlinkMessage::from(message);
        request.header.flags = NLM_F_REQUEST | flags;
        request.header.sequence_number = self.sequence;
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0).map_err(error)?;
        let mut found = Vec::new();
        loop {
            let (datagram, _) = match self.socket.recv_from_full() {
                // A call on a socket with a timeout is not resumed by the kernel after a stop.
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                other => other.map_err(error)?,
            };
            let mut rest = datagram.as_slice();
            while !rest.is_empty() {
                let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                    .map_err(|cause| error(io::Error::new(io::ErrorKind::InvalidData, cause.to_string())))?;
                let length = answer.header.length as usize;
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
                if answer.header.sequence_number != self.sequence {
                    continue;
                }
                match answer.payload {
                    NetlinkPayload::Done(_) => return Ok(found),
                    NetlinkPayload::Error(answer) => {
                        return match answer.code {
                            None => Ok(found),
                            Some(_) => Err(error(answer.to_io())),
                        };
                    }
                    NetlinkPayload::InnerMessage(message) => found.push(message),
                    _ => {}
                }
            }
        }
    }

    /// All links.
    ///
    /// # Errors
    /// [`NetError`].
    pub fn links(&mut self) -> Result<Vec<Link>, NetError> {
        let request = RouteNetlinkMessage::GetLink(LinkMessage::default());
        let found = self.ask(|| "asking for links".to_owned(), request, NLM_F_DUMP)?;
        let links = found.into_iter().filter_map(|message| {
            let RouteNetlinkMessage::NewLink(link) = message else { return None };
            let mut known = Link {
                index: link.header.index,
                name: String::new(),
                mtu: 0,
                loopback: link.header.flags.contains(LinkFlags::Loopback),
                up: link.header.flags.contains(LinkFlags::Up),
            };
            for attribute in link.attributes {
                match attribute {
                    LinkAttribute::IfName(name) => known.name = name,
                    LinkAttribute::Mtu(mtu) => known.mtu = mtu,
                    _ => {}
                }
            }
            Some(known)
        });
        Ok(links.collect())
    }

    /// Sets a link up, with an MTU in bytes.
    ///
    /// # Errors
    /// [`NetError`].
    pub fn set_up(&mut self, link: &Link, mtu: u32) -> Result<(), NetError> {
        let mut message = LinkMessage::default();
        message.header.index = link.index;
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
        message.attributes.push(LinkAttribute::Mtu(mtu));
        let operation = || format!("setting {} up with an MTU of {mtu} bytes", link.name);
        self.ask(operation, RouteNetlinkMessage::SetLink(message), NLM_F_ACK)?;
        let mut message = LinkMessage::default();
        message.header.index = link.index;
        message.attributes.push(LinkAttribute::GsoMaxSize(SUPERPACKET_BYTES_MAX));
        // Without this setting the longest superpackets take one call more.
        let _ = self.ask(operation, RouteNetlinkMessage::SetLink(message), NLM_F_ACK);
        Ok(())
    }

    /// Removes a link.
    ///
    /// # Errors
    /// [`NetError`].
    pub fn remove_link(&mut self, link: &Link) -> Result<(), NetError> {
        let mut message = LinkMessage::default();
        message.header.index = link.index;
        let operation = || format!("removing the device {}", link.name);
        self.ask(operation, RouteNetlinkMessage::DelLink(message), NLM_F_ACK).map(drop)
    }

    /// The addresses of this machine.
    ///
    /// # Errors
    /// [`NetError`].
    pub fn addresses(&mut self) -> Result<BTreeSet<IpAddr>, NetError> {
        let request = RouteNetlinkMessage::GetAddress(AddressMessage::default());
        let found = self.ask(|| "asking for addresses".to_owned(), request, NLM_F_DUMP)?;
        let mut addresses = BTreeSet::new();
        for message in found {
            let RouteNetlinkMessage::NewAddress(message) = message else { continue };
            // `Local` is this end where `Address` is the peer's, on point-to-point links.
            let local = message.attributes.iter().find_map(|attribute| match attribute {
                AddressAttribute::Local(address) => Some(*address),
                _ => None,
            });
            let address = message.attributes.iter().find_map(|attribute| match attribute {
                AddressAttribute::Address(address) => Some(*address),
                _ => None,
            });
            addresses.extend(local.or(address));
        }
        Ok(addresses)
    }

    /// Adds the rules that lead all packets without the mark to [`TABLE`], in both families; existing ones stay. True
    /// if IPv6 has its rule: a kernel without IPv6 has none, and no packets for it.
    ///
    /// # Errors
    /// [`NetError`], for IPv4.
    pub fn add_rules(&mut self) -> Result<bool, NetError> {
        self.change_rule(AddressFamily::Inet, true)?;
        Ok(self.change_rule(AddressFamily::Inet6, true).is_ok())
    }

    /// Removes these rules in both families.
    ///
    /// # Errors
    /// [`NetError`].
    pub fn remove_rules(&mut self) -> Result<(), NetError> {
        let four = self.change_rule(AddressFamily::Inet, false);
        let _ = self.change_rule(AddressFamily::Inet6, false);
        four
    }

    fn change_rule(&mut self, family: AddressFamily, add: bool) -> Result<(), NetError> {
        let mut message = RuleMessage::default();
        message.header.family = family;
        message.header.action = RuleAction::ToTable;
        message.header.flags = RuleFlags::Invert;
        message.attributes = vec![
            RuleAttribute::Priority(RULE_PRIORITY),
            RuleAttribute::FwMark(plane::MARK),
            RuleAttribute::FwMask(u32::MAX),
            RuleAttribute::Table(TABLE),
            RuleAttribute::Protocol(PROTOCOL),
        ];
        let (request, flags, verb, expected) = if add {
            let flags = NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
            (RouteNetlinkMessage::NewRule(message), flags, "adding", rustix::io::Errno::EXIST)
        } else {
            (RouteNetlinkMessage::DelRule(message), NLM_F_ACK, "removing", rustix::io::Errno::NOENT)
        };
        let operation = || format!("{verb} the rule of {family:?} that leads to table {TABLE}");
        match self.ask(operation, request, flags) {
            Err(error) if error.cause.raw_os_error() == Some(expected.raw_os_error()) => Ok(()),
            other => other.map(drop),
        }
    }

    /// Sets the route to the device for a prefix, in the place of an older one. `source` is the source address for
    /// packets that have none.
    ///
    /// # Errors
    /// [`NetError`].
    pub fn set_route(
        &mut self,
        destination: IpNet,
        device: &Link,
        source: Option<IpAddr>,
    ) -> Result<(), NetError> {
        let mut message = route(destination, RouteType::Unicast, DEVICE_METRIC);
        message.attributes.push(RouteAttribute::Oif(device.index));
        message.attributes.extend(source.map(|source| RouteAttribute::PrefSource(route_address(source))));
        let operation = || format!("setting the route of {destination} to {}", device.name);
        let flags = NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
        self.ask(operation, RouteNetlinkMessage::NewRoute(message), flags).map(drop)
    }

    /// Sets the route that drops packets to a prefix once its device is gone.
    ///
    /// # Errors
    /// [`NetError`].
    pub fn set_blackhole(&mut self, destination: IpNet) -> Result<(), NetError> {
        let message = route(destination, RouteType::BlackHole, BLACKHOLE_METRIC);
        let operation = || format!("setting the route that drops packets to {destination}");
        let flags = NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
        self.ask(operation, RouteNetlinkMessage::NewRoute(message), flags).map(drop)
    }

    /// Removes both routes of a prefix; missing routes are no error.
    ///
    /// # Errors
    /// [`NetError`].
    pub fn remove_routes(&mut self, destination: IpNet) -> Result<(), NetError> {
        for (kind, metric) in [(RouteType::Unicast, DEVICE_METRIC), (RouteType::BlackHole, BLACKHOLE_METRIC)]
        {
            let message = route(destination, kind, metric);
            let operation = || format!("removing the route of {destination}");
            match self.ask(operation, RouteNetlinkMessage::DelRoute(message), NLM_F_ACK) {
                Err(error) if error.cause.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {}
                other => drop(other?),
            }
        }
        Ok(())
    }

    /// The prefixes with a route in [`TABLE`], each with its kinds of route. Routes to a device other than `device` do
    /// not count.
    ///
    /// # Errors
    /// [`NetError`].
    pub fn routed(&mut self, device: Option<u32>) -> Result<BTreeMap<IpNet, Routed>, NetError> {
        let mut routed: BTreeMap<IpNet, Routed> = BTreeMap::new();
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            let mut message = RouteMessage::default();
            message.header.address_family = family;
            let request = RouteNetlinkMessage::GetRoute(message);
            // A kernel without IPv6 has no routes of it.
            let found = match self.ask(|| "asking for routes".to_owned(), request, NLM_F_DUMP) {
                Err(error) if family == AddressFamily::Inet => return Err(error),
                other => other.unwrap_or_default(),
            };
            for message in found {
                let RouteNetlinkMessage::NewRoute(route) = message else { continue };
                let Some(prefix) = prefix_in_table(family, &route) else { continue };
                let entry = routed.entry(prefix).or_default();
                let out = route.attributes.iter().find_map(|attribute| match attribute {
                    RouteAttribute::Oif(index) => Some(*index),
                    _ => None,
                });
                match route.header.kind {
                    RouteType::BlackHole => entry.drops = true,
                    RouteType::Unicast => entry.to_device |= device.is_none() || out == device,
                    _ => {}
                }
            }
        }
        Ok(routed)
    }
}

/// The kinds of route that a prefix has.
#[derive(Clone, Copy, Default, Debug)]
pub struct Routed {
    to_device: bool,
    drops: bool,
}

impl Routed {
    /// Whether the prefix has both routes.
    pub fn is_whole(self) -> bool {
        self.to_device && self.drops
    }
}

/// The destination prefix of a route; None if the route is not in [`TABLE`].
fn prefix_in_table(family: AddressFamily, route: &RouteMessage) -> Option<IpNet> {
    let in_table = route.attributes.iter().any(|attribute| matches!(attribute, RouteAttribute::Table(TABLE)));
    if !in_table {
        return None;
    }
    let address = route.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Destination(RouteAddress::Inet(address)) => Some(IpAddr::V4(*address)),
        RouteAttribute::Destination(RouteAddress::Inet6(address)) => Some(IpAddr::V6(*address)),
        _ => None,
    });
    let address = address.unwrap_or(match family {
        AddressFamily::Inet6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        _ => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    });
    IpNet::new(address, route.header.destination_prefix_length).ok()
}

fn route_address(address: IpAddr) -> RouteAddress {
    match address {
        IpAddr::V4(address) => RouteAddress::Inet(address),
        IpAddr::V6(address) => RouteAddress::Inet6(address),
    }
}

fn route(destination: IpNet, kind: RouteType, metric: u32) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = match destination.addr() {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    };
    message.header.destination_prefix_length = destination.prefix_len();
    message.header.protocol = PROTOCOL;
    message.header.scope = RouteScope::Universe;
    message.header.kind = kind;
    message.attributes = vec![
        RouteAttribute::Destination(route_address(destination.addr())),
        RouteAttribute::Table(TABLE),
        RouteAttribute::Priority(metric),
    ];
    message
}

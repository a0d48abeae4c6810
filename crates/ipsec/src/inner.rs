//! The headers of a packet of IP: read strictly, copied out, and bounded.

use crate::address::{self, Family};
use crate::checksum;
use crate::reason::Reason;
use std::net::IpAddr;

/// The fields by which policies and selectors decide.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Flow {
    pub(crate) family: Family,
    pub(crate) source: u128,
    pub(crate) destination: u128,
    /// Number of the protocol above IP.
    pub protocol: u8,
    /// Port of the source; type of an ICMP message; 0 if there is neither, and in fragments but the first.
    pub source_port: u16,
    /// Port of the destination; code of an ICMP message.
    pub destination_port: u16,
}

impl Flow {
    /// A flow; `None` if the addresses are of two families.
    pub fn new(source: IpAddr, destination: IpAddr, protocol: u8, ports: (u16, u16)) -> Option<Flow> {
        let family = Family::of(source);
        (family == Family::of(destination)).then_some(Flow {
            family,
            source: address::number(source),
            destination: address::number(destination),
            protocol,
            source_port: ports.0,
            destination_port: ports.1,
        })
    }

    /// Version of IP.
    pub fn family(&self) -> Family {
        self.family
    }

    /// Source address.
    pub fn source(&self) -> IpAddr {
        address::address(self.family, self.source)
    }

    /// Destination address.
    pub fn destination(&self) -> IpAddr {
        address::address(self.family, self.destination)
    }
}

/// The fields of a packet's headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inner {
    /// The flow that the packet belongs to.
    pub flow: Flow,
    /// Length of the packet in bytes; further packets may follow it.
    pub bytes: usize,
    /// Offset of the protocol above, in bytes: behind all options and extensions.
    pub payload: usize,
    /// DSCP (six bits) and ECN (two bits).
    pub traffic_class: u8,
    /// Hop limit, or time to live.
    pub hop_limit: u8,
    /// Whether routers must not cut the packet: always so with IPv6.
    pub dont_fragment: bool,
    /// Whether the packet is a piece of another packet.
    pub is_fragment: bool,
    /// Flow label of IPv6; 0 for IPv4.
    pub flow_label: u32,
}

/// Upper bound of the extension headers that are walked through (RFC 8200, 4.1 has six).
pub const EXTENSIONS_MAX: usize = 8;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
pub(crate) const FRAGMENT: u8 = 44;
const DESTINATION_OPTIONS: u8 = 60;
const MOBILITY: u8 = 135;
const ICMP: u8 = 1;
const ICMP_V6: u8 = 58;

impl Inner {
    /// Reads the packet at the front of `bytes`. [`Reason::Inner`] if its headers contradict themselves, or if it is
    /// shorter than they say.
    #[inline]
    pub fn read(bytes: &[u8]) -> Result<Inner, Reason> {
        match bytes.first().map(|first| first >> 4) {
            Some(4) => read_v4(bytes),
            Some(6) => read_v6(bytes),
            _ => Err(Reason::Inner),
        }
    }
}

#[inline]
fn octets<const N: usize>(header: &[u8], at: usize) -> [u8; N] {
    let mut octets = [0; N];
    octets.copy_from_slice(&header[at..at + N]);
    octets
}

fn read_v4(bytes: &[u8]) -> Result<Inner, Reason> {
    let header = bytes.first_chunk::<20>().ok_or(Reason::Inner)?;
    let header_bytes = usize::from(header[0] & 15) * 4;
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if header_bytes < 20 || header_bytes > total || total > bytes.len() {
        return Err(Reason::Inner);
    }
    let fragment = u16::from_be_bytes([header[6], header[7]]);
    let (offset, more) = (fragment & 0x1fff, fragment & 0x2000 != 0);
    let address = |at: usize| u128::from(u32::from_be_bytes(octets(header, at))) << 96;
    let flow = Flow {
        family: Family::V4,
        source: address(12),
        destination: address(16),
        protocol: header[9],
        source_port: 0,
        destination_port: 0,
    };
    Ok(Inner {
        flow: if offset == 0 { with_ports(flow, &bytes[header_bytes..total]) } else { flow },
        bytes: total,
        payload: header_bytes,
        traffic_class: header[1],
        hop_limit: header[8],
        dont_fragment: fragment & 0x4000 != 0,
        is_fragment: offset != 0 || more,
        flow_label: 0,
    })
}

fn read_v6(bytes: &[u8]) -> Result<Inner, Reason> {
    let header = bytes.first_chunk::<40>().ok_or(Reason::Inner)?;
    let total = 40 + usize::from(u16::from_be_bytes([header[4], header[5]]));
    let packet = bytes.get(..total).ok_or(Reason::Inner)?;
    let first = u32::from_be_bytes([header[0], header[1], header[2], header[3]]);
    let address = |at: usize| u128::from_be_bytes(octets(header, at));
    let (mut protocol, mut at) = (header[6], 40);
    let (mut offset, mut is_fragment, mut extensions) = (0, false, 0);
    // No header follows that of a later fragment.
    while offset == 0 && matches!(protocol, HOP_BY_HOP | ROUTING | FRAGMENT | DESTINATION_OPTIONS | MOBILITY)
    {
        if at + 8 > total {
            return Err(Reason::Inner);
        }
        let bytes = if protocol == FRAGMENT {
            let field = u16::from_be_bytes(octets(packet, at + 2));
            (offset, is_fragment) = (field >> 3, is_fragment || field >> 3 != 0 || field & 1 != 0);
            8
        } else {
            extension_bytes(packet, at)
        };
        extensions += 1;
        if extensions > EXTENSIONS_MAX || at + bytes > total {
            return Err(Reason::Inner);
        }
        protocol = packet[at];
        at += bytes;
    }
    let flow = Flow {
        family: Family::V6,
        source: address(8),
        destination: address(24),
        protocol,
        source_port: 0,
        destination_port: 0,
    };
    Ok(Inner {
        flow: if offset == 0 { with_ports(flow, &packet[at..]) } else { flow },
        bytes: total,
        payload: at,
        traffic_class: (first >> 20) as u8,
        hop_limit: header[7],
        dont_fragment: true,
        is_fragment,
        flow_label: first & 0xf_ffff,
    })
}

/// The place of a piece in its packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    /// Identification that pieces of one packet share, besides addresses and, with IPv4, the protocol.
    pub(crate) id: u32,
    /// Offset of the piece in the part of the packet that is cut, in bytes.
    pub(crate) offset: usize,
    /// Whether more pieces follow it.
    pub(crate) more: bool,
    /// Offset in this packet of the part that was cut, in bytes.
    pub(crate) payload: usize,
    /// With IPv6: offset of the fragment header, and (`named_at`) of the byte that names it. With IPv4 both are 0.
    pub(crate) header: usize,
    pub(crate) named_at: usize,
}

impl Piece {
    /// Reads the place of a piece from a packet that was read as `inner`; `None` if it has no fragment header.
    pub(crate) fn read(packet: &[u8], inner: &Inner) -> Option<Piece> {
        if inner.flow.family == Family::V4 {
            let field = u16::from_be_bytes(octets(packet, 6));
            return Some(Piece {
                id: u32::from(u16::from_be_bytes(octets(packet, 4))),
                offset: 8 * usize::from(field & 0x1fff),
                more: field & 0x2000 != 0,
                payload: inner.payload,
                header: 0,
                named_at: 0,
            });
        }
        let (mut kind, mut named_at, mut at) = (packet[6], 6, 40);
        while at < inner.payload && kind != FRAGMENT {
            (named_at, kind) = (at, packet[at]);
            at += extension_bytes(packet, at);
        }
        if at >= inner.payload {
            return None;
        }
        let field = u16::from_be_bytes(octets(packet, at + 2));
        Some(Piece {
            id: u32::from_be_bytes(octets(packet, at + 4)),
            offset: usize::from(field & !7),
            more: field & 1 != 0,
            payload: at + 8,
            header: at,
            named_at,
        })
    }
}

/// The flow with the ports of a packet that is whole or a first piece; a payload that is too short has no ports.
#[inline]
fn with_ports(mut flow: Flow, payload: &[u8]) -> Flow {
    match (flow.protocol, payload) {
        // TCP, UDP, DCCP, SCTP, UDP-Lite.
        (6 | 17 | 33 | 132 | 136, [a, b, c, d, ..]) => {
            flow.source_port = u16::from_be_bytes([*a, *b]);
            flow.destination_port = u16::from_be_bytes([*c, *d]);
        }
        (ICMP | ICMP_V6, [kind, code, ..]) => {
            flow.source_port = u16::from(*kind);
            flow.destination_port = u16::from(*code);
        }
        _ => {}
    }
    flow
}

/// How many bytes of a packet that was read stand before ESP in transport mode: of IPv4 the header with its options; of
/// IPv6 the headers that routers look at, and options for every destination on the way (RFC 4303, 3.1.1). A fragment
/// header stands behind ESP, since the packet is whole.
pub(crate) fn before_esp(packet: &[u8], inner: &Inner) -> usize {
    if inner.flow.family == Family::V4 {
        return inner.payload;
    }
    let (mut kind, mut at, mut has_routing) = (packet[6], 40, false);
    while at < inner.payload {
        match kind {
            HOP_BY_HOP => {}
            ROUTING => has_routing = true,
            // Options behind the route are for its end alone.
            DESTINATION_OPTIONS if !has_routing => {}
            _ => break,
        }
        kind = packet[at];
        at += extension_bytes(packet, at);
    }
    at
}

/// Length of the extension header at `at`, in bytes, unless it is a fragment header.
fn extension_bytes(packet: &[u8], at: usize) -> usize {
    8 * (1 + usize::from(packet[at + 1]))
}

/// Offset of the byte that names what follows these headers, the front of a packet that was read.
pub(crate) fn number_at(headers: &[u8]) -> usize {
    if headers[0] >> 4 == 4 {
        return 9;
    }
    let (mut kind, mut place, mut at) = (headers[6], 6, 40);
    while at < headers.len() {
        place = at;
        at += if kind == FRAGMENT { 8 } else { extension_bytes(headers, at) };
        kind = headers[place];
    }
    place
}

/// Writes protocol and length of what follows into the headers at the front of a packet; those of IPv4 get their
/// checksum. The packet must not be longer than IP allows.
pub(crate) fn set_payload(packet: &mut [u8], header_bytes: usize, protocol: u8) {
    let bytes = packet.len();
    let headers = &mut packet[..header_bytes];
    headers[number_at(headers)] = protocol;
    if headers[0] >> 4 == 4 {
        headers[2..4].copy_from_slice(&(bytes as u16).to_be_bytes());
        headers[10..12].fill(0);
        let checksum = checksum::fold(checksum::sum(0, headers));
        headers[10..12].copy_from_slice(&checksum.to_be_bytes());
    } else {
        headers[4..6].copy_from_slice(&((bytes - 40) as u16).to_be_bytes());
    }
}

/// Sets DSCP and ECN of a packet that was read, its checksum included.
pub(crate) fn set_traffic_class(packet: &mut [u8], traffic_class: u8) {
    match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= 20 => {
            let from = u16::from_be_bytes([packet[0], packet[1]]);
            packet[1] = traffic_class;
            let to = u16::from_be_bytes([packet[0], packet[1]]);
            let checksum = checksum::changed(u16::from_be_bytes([packet[10], packet[11]]), from, to);
            packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
        Some(6) if packet.len() >= 40 => {
            packet[0] = 0x60 | traffic_class >> 4;
            packet[1] = traffic_class << 4 | packet[1] & 15;
        }
        _ => {}
    }
}

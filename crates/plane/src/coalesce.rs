//! Packets for the TUN are put together: segments of TCP that follow each other, and datagrams of UDP of one length,
//! become superpackets. So the kernel takes many packets in one write, and mostly handles them as one in all its
//! layers.
//!
//! 1. A superpacket that is cut again gives the packets that were put together. Headers may differ only in lengths,
//!    checksums, numbers and PSH. TCP's sequence numbers must follow each other, and so must IPv4's identifications if
//!    DF is not set.
//! 2. A checksum above IP is verified before it is left out. A packet whose checksum is wrong goes alone, as it came,
//!    and the kernel refuses it.
//! 3. Packets of a flow keep their order. Payloads are not copied: a write gathers them from where they were opened.

use crate::bounds::{FLOWS_MAX, PACKET_BYTES_MAX, SEGMENTS_MAX};
use crate::vnet::{GsoType, VNET_BYTES, Vnet};
use engine::Engine;
use ipsec::checksum;
use std::io::IoSlice;
use std::net::IpAddr;

const TCP: u8 = 6;
const UDP: u8 = 17;
const ACK: u8 = 0x10;
const PSH: u8 = 0x08;
/// Upper bound of the headers of IP and TCP in a superpacket, in bytes: IPv6 without extensions, TCP with all options.
const HEADER_BYTES_MAX: usize = 40 + 60;

/// Writes packets of IP, some of them together: `write` gets the parts of one write to the TUN, and the number of
/// packets in it. `with_udp` says whether the TUN takes superpackets of UDP.
pub fn coalesce(
    engine: &Engine,
    packets: &[&[u8]],
    with_udp: bool,
    mut write: impl FnMut(&[IoSlice<'_>], usize),
) {
    let mut open: [Option<Joined>; FLOWS_MAX] = [const { None }; FLOWS_MAX];
    // The place that was given up last: if all are taken, they are given up in turn.
    let mut oldest = 0;
    for (index, packet) in packets.iter().enumerate() {
        let Some(flow) = FlowKey::read(packet) else {
            write_one(packet, &mut write);
            continue;
        };
        let place = open.iter().position(|joined| joined.as_ref().is_some_and(|joined| joined.flow == flow));
        let Some(shape) = Shape::read(packet, &flow, with_udp) else {
            if let Some(joined) = place.and_then(|place| open[place].take()) {
                joined.write(packets, &mut write);
            }
            write_one(packet, &mut write);
            continue;
        };
        if let Some(place) = place {
            let taken =
                open[place].as_mut().is_some_and(|joined| joined.take(engine, packets, index, &shape));
            // A superpacket is written when it is complete, or when this packet does not continue it.
            let gone = open[place].take_if(|joined| !taken || joined.is_closed);
            if let Some(joined) = gone {
                joined.write(packets, &mut write);
            }
            if taken {
                continue;
            }
        }
        let joined = Joined::begin(flow, index, shape);
        if joined.is_closed {
            joined.write(packets, &mut write);
            continue;
        }
        let place = place.or_else(|| open.iter().position(Option::is_none)).unwrap_or_else(|| {
            oldest = (oldest + 1) % FLOWS_MAX;
            oldest
        });
        if let Some(joined) = open[place].replace(joined) {
            joined.write(packets, &mut write);
        }
    }
    for joined in open.into_iter().flatten() {
        joined.write(packets, &mut write);
    }
}

fn write_one(packet: &[u8], write: &mut impl FnMut(&[IoSlice<'_>], usize)) {
    let vnet = Vnet::WHOLE.bytes();
    write(&[IoSlice::new(&vnet), IoSlice::new(packet)], 1);
}

/// The fields by which flows of TCP and UDP are told apart: addresses, ports and protocol.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FlowKey {
    source: [u8; 16],
    destination: [u8; 16],
    ports: [u8; 4],
    protocol: u8,
    is_v6: bool,
}

impl FlowKey {
    #[inline]
    fn read(packet: &[u8]) -> Option<FlowKey> {
        let (mut source, mut destination) = ([0; 16], [0; 16]);
        let (protocol, at, is_v6) = match packet.first()? >> 4 {
            4 => {
                source[..4].copy_from_slice(packet.get(12..16)?);
                destination[..4].copy_from_slice(packet.get(16..20)?);
                (packet[9], usize::from(packet[0] & 15) * 4, false)
            }
            _ => {
                source.copy_from_slice(packet.get(8..24)?);
                destination.copy_from_slice(packet.get(24..40)?);
                (packet[6], 40, true)
            }
        };
        if protocol != TCP && protocol != UDP {
            return None;
        }
        let ports = *packet.get(at..)?.first_chunk()?;
        Some(FlowKey { source, destination, ports, protocol, is_v6 })
    }

    fn addresses(&self) -> (IpAddr, IpAddr) {
        if self.is_v6 {
            return (self.source.into(), self.destination.into());
        }
        let short = |bytes: &[u8; 16]| IpAddr::from([bytes[0], bytes[1], bytes[2], bytes[3]]);
        (short(&self.source), short(&self.destination))
    }
}

/// The fields of a packet that decide whether it joins a superpacket.
#[derive(Clone, Copy)]
struct Shape {
    ip_bytes: usize,
    header_bytes: usize,
    payload_bytes: usize,
    sequence: u32,
    id: u16,
    /// Whether routers may cut the packet (IPv4 without DF): only then the identification has a meaning.
    is_cuttable: bool,
    is_pushed: bool,
}

impl Shape {
    /// `None` for packets that always go alone.
    #[inline]
    fn read(packet: &[u8], flow: &FlowKey, with_udp: bool) -> Option<Shape> {
        let (ip_bytes, id, is_cuttable) = if flow.is_v6 {
            (40, 0, false)
        } else {
            let fragment = u16::from_be_bytes([packet[6], packet[7]]);
            // No options, no piece, and no flag but DF.
            if packet[0] != 0x45 || fragment & 0xbfff != 0 {
                return None;
            }
            (20, u16::from_be_bytes([packet[4], packet[5]]), fragment & 0x4000 == 0)
        };
        let transport = packet.get(ip_bytes..)?;
        let mut shape = Shape {
            ip_bytes,
            header_bytes: 0,
            payload_bytes: 0,
            sequence: 0,
            id,
            is_cuttable,
            is_pushed: false,
        };
        if flow.protocol == TCP {
            let header = transport.first_chunk::<20>()?;
            // The only flags are ACK and PSH; the reserved bits and the urgent pointer are 0.
            if header[13] & !PSH != ACK || header[12] & 15 != 0 || header[18..20] != [0; 2] {
                return None;
            }
            shape.header_bytes = ip_bytes + usize::from(header[12] >> 4) * 4;
            shape.sequence = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
            shape.is_pushed = header[13] & PSH != 0;
        } else {
            let header = transport.first_chunk::<8>()?;
            let stated = usize::from(u16::from_be_bytes([header[4], header[5]]));
            // A datagram without a checksum would come out with one.
            if !with_udp || header[6..] == [0; 2] || stated != transport.len() {
                return None;
            }
            shape.header_bytes = ip_bytes + 8;
        }
        shape.payload_bytes = packet.len().checked_sub(shape.header_bytes)?;
        let least = ip_bytes + if flow.protocol == TCP { 20 } else { 8 };
        (shape.payload_bytes > 0 && shape.header_bytes >= least).then_some(shape)
    }
}

/// Packets that are written together, as one superpacket.
struct Joined {
    flow: FlowKey,
    first: Shape,
    pieces: [u32; SEGMENTS_MAX],
    count: usize,
    payload_bytes: usize,
    /// Whether the superpacket is complete: its last packet is shorter or has PSH, or it is full.
    is_closed: bool,
    is_pushed: bool,
}

impl Joined {
    fn begin(flow: FlowKey, index: usize, first: Shape) -> Joined {
        let mut pieces = [0; SEGMENTS_MAX];
        pieces[0] = index as u32;
        Joined {
            flow,
            first,
            pieces,
            count: 1,
            payload_bytes: first.payload_bytes,
            is_closed: first.is_pushed,
            is_pushed: first.is_pushed,
        }
    }

    /// Takes another packet; false if it does not continue the superpacket, or if its checksum or the first packet's is
    /// wrong.
    #[inline]
    fn take(&mut self, engine: &Engine, packets: &[&[u8]], index: usize, shape: &Shape) -> bool {
        let (first, packet) = (&self.first, packets[index]);
        let head = packets[self.pieces[0] as usize];
        let follows = self.count < SEGMENTS_MAX
            && shape.payload_bytes <= first.payload_bytes
            && shape.header_bytes == first.header_bytes
            && first.header_bytes + self.payload_bytes + shape.payload_bytes <= PACKET_BYTES_MAX - 40
            && shape.is_cuttable == first.is_cuttable
            && (!first.is_cuttable || shape.id == first.id.wrapping_add(self.count as u16))
            && (self.flow.protocol != TCP
                || shape.sequence == first.sequence.wrapping_add(self.payload_bytes as u32))
            && same_header(&self.flow, first, head, packet);
        let good = |shape: &Shape, packet: &[u8]| is_sum_right(engine, &self.flow, shape.ip_bytes, packet);
        if !follows || !good(shape, packet) || (self.count == 1 && !good(first, head)) {
            return false;
        }
        self.pieces[self.count] = index as u32;
        self.count += 1;
        self.payload_bytes += shape.payload_bytes;
        self.is_pushed = shape.is_pushed;
        self.is_closed =
            shape.is_pushed || shape.payload_bytes < self.first.payload_bytes || self.count == SEGMENTS_MAX;
        true
    }

    fn write(&self, packets: &[&[u8]], write: &mut impl FnMut(&[IoSlice<'_>], usize)) {
        let head = packets[self.pieces[0] as usize];
        let Shape { ip_bytes, header_bytes, .. } = self.first;
        let mut memory = [0; VNET_BYTES + HEADER_BYTES_MAX];
        let Some(written) = memory.get_mut(..VNET_BYTES + header_bytes).filter(|_| self.count > 1) else {
            // A packet that stands alone. Headers longer than `HEADER_BYTES_MAX` do not occur.
            return write_one(head, write);
        };
        let (vnet, headers) = written.split_at_mut(VNET_BYTES);
        headers.copy_from_slice(&head[..header_bytes]);
        let (ip, transport) = headers.split_at_mut(ip_bytes);
        let above = header_bytes - ip_bytes + self.payload_bytes;
        if self.flow.is_v6 {
            ip[4..6].copy_from_slice(&(above as u16).to_be_bytes());
        } else {
            ip[2..4].copy_from_slice(&((ip_bytes + above) as u16).to_be_bytes());
            ip[10..12].fill(0);
            let sum = checksum::fold(checksum::sum(0, ip));
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        let (source, destination) = self.flow.addresses();
        let begun = checksum::pseudo_header(source, destination, self.flow.protocol, above);
        let offset = if self.flow.protocol == TCP {
            if self.is_pushed {
                transport[13] |= PSH;
            }
            16
        } else {
            transport[4..6].copy_from_slice(&(above as u16).to_be_bytes());
            6
        };
        transport[offset..offset + 2].copy_from_slice(&(!checksum::fold(begun)).to_be_bytes());
        let kind = match (self.flow.protocol, self.flow.is_v6) {
            (UDP, _) => GsoType::Udp,
            (_, false) => GsoType::TcpV4,
            (_, true) => GsoType::TcpV6,
        };
        let header = Vnet {
            needs_checksum: true,
            kind,
            header_bytes: header_bytes as u16,
            segment_bytes: self.first.payload_bytes as u16,
            checksum_start: ip_bytes as u16,
            checksum_offset: offset as u16,
        };
        vnet.copy_from_slice(&header.bytes());
        let mut parts = [IoSlice::new(&[]); 1 + SEGMENTS_MAX];
        parts[0] = IoSlice::new(written);
        for (part, piece) in parts[1..].iter_mut().zip(&self.pieces[..self.count]) {
            *part = IoSlice::new(&packets[*piece as usize][header_bytes..]);
        }
        write(&parts[..=self.count], self.count);
    }
}

/// Whether two packets of a flow have equal header fields, as far as their superpacket states these once.
#[inline]
fn same_header(flow: &FlowKey, first: &Shape, head: &[u8], packet: &[u8]) -> bool {
    let Shape { ip_bytes, header_bytes, .. } = *first;
    let same_ip = if flow.is_v6 {
        head[..4] == packet[..4] && head[7] == packet[7]
    } else {
        head[1] == packet[1] && head[8] == packet[8]
    };
    let (head, packet) = (&head[ip_bytes..header_bytes], &packet[ip_bytes..header_bytes]);
    // Acknowledgement number, header length, window, options.
    same_ip
        && (flow.protocol != TCP
            || (head[8..13] == packet[8..13] && head[14..16] == packet[14..16] && head[20..] == packet[20..]))
}

/// Whether the checksum above IP, and that of IPv4's header, are right.
#[inline]
fn is_sum_right(engine: &Engine, flow: &FlowKey, ip_bytes: usize, packet: &[u8]) -> bool {
    let (ip, transport) = packet.split_at(ip_bytes);
    let (source, destination) = flow.addresses();
    let begun = checksum::pseudo_header(source, destination, flow.protocol, transport.len());
    (flow.is_v6 || checksum::fold(checksum::sum(0, ip)) == 0)
        && checksum::fold(checksum::long_sum(engine, begun, transport)) == 0
}

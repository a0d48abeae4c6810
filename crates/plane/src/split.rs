//! One read of the TUN: a packet whose checksum may be missing, or a superpacket, which is cut into the packets that
//! travel.
//!
//! ```text
//! read:     | vnet header | IP | TCP | payload of 46 and a bit segments |
//! written:  IP' TCP' payload 1     IP' TCP' payload 2     ...             each where it will be sealed
//! ```
//!
//! Bytes of the payload are copied once, and summed where they were copied to.

use crate::vnet::{GsoType, VNET_BYTES, Vnet};
use engine::Engine;
use ipsec::{Amount, Family, Inner, checksum};

const TCP: u8 = 6;
const UDP: u8 = 17;
/// Length of a header of TCP without options, in bytes.
const TCP_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
/// Flags that only the last segment keeps: FIN, PSH.
const LAST_FLAGS: u8 = 0x09;
/// The flag that only the first segment keeps: CWR.
const FIRST_FLAGS: u8 = 0x80;

/// The bytes read from the TUN are malformed: headers contradict each other or lie outside the packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed;

/// One packet or many, as read from the TUN.
#[derive(Clone, Copy, Debug)]
pub struct Superpacket<'a> {
    packet: &'a [u8],
    inner: Inner,
    cut: Cut,
}

#[derive(Clone, Copy, Debug)]
enum Cut {
    Whole,
    /// The sum of the bytes from `start` on is to be written to `at`.
    Sum {
        start: usize,
        at: usize,
    },
    /// The payload is cut into pieces, each behind a copy of the headers.
    Pieces {
        protocol: u8,
        header_bytes: usize,
        segment_bytes: usize,
    },
}

impl<'a> Superpacket<'a> {
    /// Reads bytes from the TUN: a vnet header, and a packet of IP behind it.
    ///
    /// # Errors
    /// [`Malformed`] if headers contradict each other or lie outside the packet.
    pub fn read(bytes: &'a [u8]) -> Result<Superpacket<'a>, Malformed> {
        let (vnet, packet) = bytes.split_first_chunk::<VNET_BYTES>().ok_or(Malformed)?;
        let vnet = Vnet::read(vnet).ok_or(Malformed)?;
        let inner = Inner::read(packet).map_err(|_| Malformed)?;
        let packet = &packet[..inner.bytes];
        let (protocol, family) = match vnet.kind {
            GsoType::Whole => return Superpacket::whole(&vnet, packet, inner),
            GsoType::TcpV4 => (TCP, Some(Family::V4)),
            GsoType::TcpV6 => (TCP, Some(Family::V6)),
            GsoType::Udp => (UDP, None),
        };
        let flow = inner.flow;
        let fits = flow.protocol == protocol
            && !inner.is_fragment
            && family.is_none_or(|family| family == flow.family());
        let segment_bytes = usize::from(vnet.segment_bytes);
        // Extension headers may stand between. TCP or UDP must begin where the kernel says.
        if !fits || segment_bytes == 0 || usize::from(vnet.checksum_start) != inner.payload {
            return Err(Malformed);
        }
        let transport = &packet[inner.payload..];
        let transport_bytes = match protocol {
            TCP => usize::from(transport.get(12).ok_or(Malformed)? >> 4) * 4,
            _ => UDP_BYTES,
        };
        let least = if protocol == TCP { TCP_BYTES } else { UDP_BYTES };
        if transport_bytes < least || transport_bytes > transport.len() {
            return Err(Malformed);
        }
        let header_bytes = inner.payload + transport_bytes;
        Ok(Superpacket { packet, inner, cut: Cut::Pieces { protocol, header_bytes, segment_bytes } })
    }

    fn whole(vnet: &Vnet, packet: &'a [u8], inner: Inner) -> Result<Superpacket<'a>, Malformed> {
        if !vnet.needs_checksum {
            return Ok(Superpacket { packet, inner, cut: Cut::Whole });
        }
        // A checksum covers a whole packet: a piece cannot have its own.
        if inner.is_fragment {
            return Err(Malformed);
        }
        let start = usize::from(vnet.checksum_start);
        let at = start + usize::from(vnet.checksum_offset);
        // The checksum must lie above IP: the headers that were read stay as they are.
        if start < inner.payload || at + 2 > packet.len() {
            return Err(Malformed);
        }
        Ok(Superpacket { packet, inner, cut: Cut::Sum { start, at } })
    }

    /// The headers that were read; the length is that of the whole superpacket.
    pub fn inner(&self) -> &Inner {
        &self.inner
    }

    /// The packet or superpacket without its vnet header, as it was read: enough to look at headers.
    pub fn bytes(&self) -> &'a [u8] {
        self.packet
    }

    /// Number of packets that it is cut into.
    pub fn frames(&self) -> usize {
        match self.cut {
            Cut::Whole | Cut::Sum { .. } => 1,
            Cut::Pieces { header_bytes, segment_bytes, .. } => {
                (self.packet.len() - header_bytes).div_ceil(segment_bytes).max(1)
            }
        }
    }

    /// Packets and bytes of all packets that it is cut into.
    pub fn amount(&self) -> Amount {
        let frames = self.frames();
        // A superpacket has its headers once, and each packet that is cut from it has a copy.
        let repeated = match self.cut {
            Cut::Whole | Cut::Sum { .. } => 0,
            Cut::Pieces { header_bytes, .. } => (frames - 1) * header_bytes,
        };
        Amount { packets: frames as u64, bytes: (self.packet.len() + repeated) as u64 }
    }

    /// Length of the packet with this number, in bytes. The first is the longest.
    #[inline]
    pub fn frame_bytes(&self, number: usize) -> usize {
        match self.cut {
            Cut::Whole | Cut::Sum { .. } => self.packet.len(),
            Cut::Pieces { header_bytes, segment_bytes, .. } => {
                let rest = self.packet.len().saturating_sub(header_bytes + number * segment_bytes);
                header_bytes + rest.min(segment_bytes)
            }
        }
    }

    /// Writes the packet with this number, which is below [`Superpacket::frames`], to memory of
    /// [`Superpacket::frame_bytes`].
    #[inline]
    pub fn write(&self, engine: &Engine, number: usize, to: &mut [u8]) {
        match self.cut {
            Cut::Whole => to.copy_from_slice(self.packet),
            Cut::Sum { start, at } => {
                to.copy_from_slice(self.packet);
                // The field holds the sum of the pseudo-header and is summed with the rest.
                let sum = checksum::fold(checksum::long_sum(engine, 0, &to[start..]));
                let is_udp = self.inner.flow.protocol == UDP;
                to[at..at + 2].copy_from_slice(&written(sum, is_udp).to_be_bytes());
            }
            Cut::Pieces { protocol, header_bytes, segment_bytes } => {
                self.write_piece(engine, number, to, (protocol, header_bytes, segment_bytes));
            }
        }
    }

    #[inline]
    fn write_piece(
        &self,
        engine: &Engine,
        number: usize,
        to: &mut [u8],
        (protocol, header_bytes, segment_bytes): (u8, usize, usize),
    ) {
        let from = header_bytes + number * segment_bytes;
        let bytes = to.len();
        let payload = &self.packet[from..from + bytes - header_bytes];
        to[..header_bytes].copy_from_slice(&self.packet[..header_bytes]);
        to[header_bytes..].copy_from_slice(payload);
        let (header, transport) = to.split_at_mut(self.inner.payload);
        match self.inner.flow.family() {
            Family::V4 => {
                header[2..4].copy_from_slice(&(bytes as u16).to_be_bytes());
                let id = u16::from_be_bytes([header[4], header[5]]).wrapping_add(number as u16);
                header[4..6].copy_from_slice(&id.to_be_bytes());
                header[10..12].fill(0);
                let sum = checksum::fold(checksum::sum(0, header));
                header[10..12].copy_from_slice(&sum.to_be_bytes());
            }
            Family::V6 => header[4..6].copy_from_slice(&((bytes - 40) as u16).to_be_bytes()),
        }
        let at = if protocol == TCP {
            let sequence = u32::from_be_bytes([transport[4], transport[5], transport[6], transport[7]]);
            let sequence = sequence.wrapping_add((number * segment_bytes) as u32);
            transport[4..8].copy_from_slice(&sequence.to_be_bytes());
            if from + payload.len() < self.packet.len() {
                transport[13] &= !LAST_FLAGS;
            }
            if number > 0 {
                transport[13] &= !FIRST_FLAGS;
            }
            16
        } else {
            let bytes = transport.len() as u16;
            transport[4..6].copy_from_slice(&bytes.to_be_bytes());
            6
        };
        transport[at..at + 2].fill(0);
        let flow = &self.inner.flow;
        let begun = checksum::pseudo_header(flow.source(), flow.destination(), protocol, transport.len());
        let sum = checksum::fold(checksum::long_sum(engine, begun, transport));
        transport[at..at + 2].copy_from_slice(&written(sum, protocol == UDP).to_be_bytes());
    }
}

/// The checksum as written: 0 would mean "none" in UDP, so 0xFFFF stands for it (RFC 768).
fn written(sum: u16, is_udp: bool) -> u16 {
    if is_udp && sum == 0 { u16::MAX } else { sum }
}

//! The headers outside an ESP packet: described, for callers whose sockets write them, and written, for callers that do
//! so themselves.

use crate::address::{self, Endpoint, Family};
use crate::checksum;
use crate::frame::Frame;
use crate::inner::Inner;
use crate::mtu::UDP_BYTES;
use crate::reason::Reason;
use std::net::IpAddr;

/// The number of ESP above IP.
pub const ESP_PROTOCOL: u8 = 50;
/// The number of UDP above IP.
pub const UDP_PROTOCOL: u8 = 17;
/// The port of IKE and ESP behind NAT (RFC 3948).
pub const NAT_PORT: u16 = 4500;

/// The fields of the headers outside a packet that was sealed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outer {
    /// Source address and port; the port is 0 without UDP.
    pub source: Endpoint,
    /// Destination address and port; the port is 0 without UDP.
    pub destination: Endpoint,
    /// Whether the packet is to be sent in UDP.
    pub in_udp: bool,
    /// Whether the frame begins with these headers, and with UDP's if the SA is in UDP: they are the packet's own, with
    /// options or extensions, and a socket must not write others.
    pub is_whole: bool,
    /// DSCP (six bits) and ECN (two bits).
    pub traffic_class: u8,
    /// Hop limit, or time to live.
    pub hop_limit: u8,
    /// Whether routers must not cut the packet.
    pub dont_fragment: bool,
    /// Flow label of IPv6, derived from the SPI alone: it tells no more of the traffic inside than the SPI does.
    pub flow_label: u32,
}

/// Hop limit of a packet in tunnel mode.
pub(crate) const HOP_LIMIT: u8 = 64;

impl Outer {
    /// Writes the headers of IP, and UDP, before an ESP packet, unless it is whole. [`Reason::NoRoom`] if there is no
    /// room, [`Reason::TooLong`] if IP does not allow such a length; then the frame is unchanged.
    pub fn write(&self, frame: &mut Frame<'_>) -> Result<(), Reason> {
        if self.is_whole {
            return Ok(());
        }
        let (family, esp_bytes) = (Family::of(self.source.address), frame.len());
        let udp_bytes = if self.in_udp { UDP_BYTES } else { 0 };
        let header_bytes = family.header_bytes();
        let payload_bytes = udp_bytes + esp_bytes;
        let counted = payload_bytes + if family == Family::V4 { header_bytes } else { 0 };
        let Ok(counted) = u16::try_from(counted) else { return Err(Reason::TooLong) };
        if !frame.grow_front(header_bytes + udp_bytes) {
            return Err(Reason::NoRoom);
        }
        let (header, payload) = frame.bytes_mut().split_at_mut(header_bytes);
        if self.in_udp {
            self.write_udp(payload);
        }
        let protocol = if self.in_udp { UDP_PROTOCOL } else { ESP_PROTOCOL };
        write_ip(header, self, protocol, counted);
        Ok(())
    }

    pub(crate) fn write_udp(&self, datagram: &mut [u8]) {
        let bytes = datagram.len();
        datagram[..2].copy_from_slice(&self.source.port.to_be_bytes());
        datagram[2..4].copy_from_slice(&self.destination.port.to_be_bytes());
        datagram[4..6].copy_from_slice(&(bytes as u16).to_be_bytes());
        datagram[6..8].fill(0);
        // No checksum over IPv4 (RFC 3948, 2.1); IPv6 demands one.
        if Family::of(self.source.address) == Family::V6 {
            let (source, destination) = (self.source.address, self.destination.address);
            checksum::write_transport(source, destination, UDP_PROTOCOL, datagram);
        }
    }
}

/// Writes a header of IP without options. `counted` is the length that it states.
pub(crate) fn write_ip(header: &mut [u8], outer: &Outer, protocol: u8, counted: u16) {
    let (source, destination) =
        (address::number(outer.source.address), address::number(outer.destination.address));
    header.fill(0);
    match <&mut [u8; 20]>::try_from(&mut *header) {
        Ok(header) => {
            header[0] = 0x45;
            header[1] = outer.traffic_class;
            header[2..4].copy_from_slice(&counted.to_be_bytes());
            // No identification: a packet that may be cut gets one from whoever sends it (RFC 6864, 4.1).
            header[6] = if outer.dont_fragment { 0x40 } else { 0 };
            header[8] = outer.hop_limit;
            header[9] = protocol;
            header[12..16].copy_from_slice(&source.to_be_bytes()[..4]);
            header[16..].copy_from_slice(&destination.to_be_bytes()[..4]);
            checksum::write_ipv4(header);
        }
        Err(_) => {
            let first = 6 << 28 | u32::from(outer.traffic_class) << 20 | outer.flow_label & 0xf_ffff;
            header[..4].copy_from_slice(&first.to_be_bytes());
            header[4..6].copy_from_slice(&counted.to_be_bytes());
            header[6] = protocol;
            header[7] = outer.hop_limit;
            header[8..24].copy_from_slice(&source.to_be_bytes());
            header[24..].copy_from_slice(&destination.to_be_bytes());
        }
    }
}

/// The fields of the headers with which an ESP packet came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Source address and port; the port is 0 without UDP.
    pub source: Endpoint,
    /// Address of this machine that it was sent to.
    pub destination: IpAddr,
    /// DSCP (six bits) and ECN (two bits).
    pub traffic_class: u8,
    /// Hop limit that it had left: a packet opened in transport mode has this.
    pub hop_limit: u8,
}

impl Arrival {
    /// An arrival without DSCP and ECN, with the usual hop limit (64).
    pub const fn new(source: Endpoint, destination: IpAddr) -> Arrival {
        Arrival { source, destination, traffic_class: 0, hop_limit: HOP_LIMIT }
    }

    /// Reads the headers of a whole packet of IP and leaves the ESP packet within it. [`Reason::Inner`] if they
    /// contradict themselves, [`Reason::NextHeader`] if the packet is not ESP, [`Reason::Fragment`] if it is a piece of
    /// a packet (RFC 4303, 3.4.1).
    pub fn read(frame: &mut Frame<'_>) -> Result<Arrival, Reason> {
        Arrival::read_headers(frame).map(|(arrival, _)| arrival)
    }

    /// As [`Arrival::read`], with the length of the headers of IP: they are left before the ESP packet, with UDP's
    /// behind them.
    pub(crate) fn read_headers(frame: &mut Frame<'_>) -> Result<(Arrival, usize), Reason> {
        let packet = Inner::read(frame.bytes())?;
        if packet.is_fragment {
            return Err(Reason::Fragment);
        }
        let flow = packet.flow;
        let udp_bytes = match flow.protocol {
            ESP_PROTOCOL => 0,
            UDP_PROTOCOL => UDP_BYTES,
            _ => return Err(Reason::NextHeader),
        };
        if udp_bytes > 0 {
            let datagram = &frame.bytes()[packet.payload..packet.bytes];
            if classify(datagram.get(UDP_BYTES..).ok_or(Reason::Inner)?) != Datagram::Esp {
                return Err(Reason::NextHeader);
            }
        }
        frame.truncate(packet.bytes);
        frame.shrink_front(packet.payload + udp_bytes);
        let arrival = Arrival {
            source: Endpoint::new(flow.source(), if udp_bytes > 0 { flow.source_port } else { 0 }),
            destination: flow.destination(),
            traffic_class: packet.traffic_class,
            hop_limit: packet.hop_limit,
        };
        Ok((arrival, packet.payload))
    }
}

/// The kind of a datagram at port 4500 (RFC 3948, 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Datagram {
    /// ESP: it begins with an SPI.
    Esp,
    /// IKE: four bytes of zeros stand before it.
    Ike,
    /// A keepalive: one byte FF.
    Keepalive,
    /// None of these.
    Other,
}

/// The kind of a datagram with this payload.
pub fn classify(payload: &[u8]) -> Datagram {
    match payload {
        [0xff] => Datagram::Keepalive,
        [0, 0, 0, 0, ..] => Datagram::Ike,
        // An ESP packet has at least a header.
        [_, _, _, _, _, _, _, _, ..] => Datagram::Esp,
        _ => Datagram::Other,
    }
}

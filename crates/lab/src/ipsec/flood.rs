//! Packets of ESP, good ones or ones to be refused, that are sent to a data plane as fast as possible by a process of
//! this program at the other end.

use super::ours::SPIS;
use super::suite::Suite;
use super::tunnel::Tunnel;
use crate::load::{LabError, child};
use ::ipsec::{
    Direction, Frame, HEAD_ROOM, KeyBytes, NAT_PORT, Sa, SaParameters, SealItem, TAIL_ROOM, Time,
    UDP_PROTOCOL, Worker,
};
use engine::Engine;
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use pacing::usage::Used;
use serde::{Deserialize, Serialize};
use std::io::IoSlice;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::process::Stdio;
use std::time::{Duration, Instant};
use traffic::command::PORT;
use traffic::namespaces::End;

/// Environment variable that tells a process of this program to send; its value is a [`Flood`] as JSON.
const SEND: &str = "CRYPTAND_LAB_FLOOD";
/// Bytes of a packet: IP and UDP headers and 64 bytes of data; and the offset of the UDP header.
const PACKET_BYTES: usize = 20 + 8 + 64;
const UDP_AT: usize = 20;
/// Packets that are made together and sent by one call: as many as the kernel merges for a network card (`UDP_GRO`), so
/// that the cost of each packet shows beside that of the call.
const TOGETHER: usize = 64;
/// The first of the SPIs that belong to no SA.
const UNKNOWN: u32 = 0x8000_0000;
/// How long sent packets may wait to be received, and how often that is checked.
const DRAIN_MAX: Duration = Duration::from_secs(2);
const DRAIN_LOOK: Duration = Duration::from_millis(5);

/// The kind of packets that are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Packets {
    /// Each is sealed, and new.
    Good,
    /// One accepted packet, sent again and again.
    Replayed,
    /// Packets whose SPI belongs to no SA.
    UnknownSpi,
    /// New packets, with one bit of the ICV inverted.
    WrongIcv,
}

impl Packets {
    /// Every kind, good packets first.
    pub const ALL: [Self; 4] = [Self::Good, Self::Replayed, Self::UnknownSpi, Self::WrongIcv];

    /// The name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Good => "good packets",
            Self::Replayed => "replayed packets",
            Self::UnknownSpi => "packets of unknown SPIs",
            Self::WrongIcv => "packets with a wrong ICV",
        }
    }

    /// The drop reason of docs/understand/ipsec.md under which the data plane counts these packets; none for good ones.
    const fn reason(self) -> Option<&'static str> {
        match self {
            Self::Good => None,
            Self::Replayed => Some("replayed"),
            Self::UnknownSpi => Some("unknown-spi"),
            Self::WrongIcv => Some("unauthenticated"),
        }
    }
}

/// The settings of a sender.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Flood {
    packets: Packets,
    suite: Suite,
    seconds: f64,
}

/// The cost of a flood at the data plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flooded {
    /// Packets that the data plane accepted, or refused for the right reason.
    pub packets: u64,
    /// Processor time of the data plane, in seconds.
    pub processor_s: f64,
    /// Bytes that the data plane wrote to its log.
    pub log_bytes: u64,
}

/// Floods the second end of a tunnel of ours, which must not have carried anything before.
///
/// # Errors
/// [`LabError::Program`] where the sender fails, or packets were dropped for another reason than theirs;
/// [`LabError::Io`].
pub fn flood(tunnel: &Tunnel, suite: Suite, packets: Packets, seconds: f64) -> Result<Flooded, LabError> {
    const WHAT: &str = "flood a data plane";
    let used = || -> Vec<(u32, Used)> {
        let of = |pid| Used::of(pid).map(|used| (pid, used));
        tunnel.processes(End::B).into_iter().filter_map(of).collect()
    };
    let handled = || {
        tunnel.status(End::B).map(|status| match packets.reason() {
            None => status.totals.opened,
            Some(reason) => status.dropped(reason),
        })
    };
    let (log_before, before) = (tunnel.log_bytes(End::B)?, used());
    let line = child::line(WHAT, &Flood { packets, suite, seconds })?;
    let output = tunnel.itself()?.env(SEND, line).stdin(Stdio::null()).stderr(Stdio::piped()).output();
    let output = output.map_err(LabError::io(WHAT))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(LabError::Program(format!("{}: {}", packets.name(), said.trim())));
    }
    // Packets that its socket still holds are received within a moment.
    let (begin, mut count) = (Instant::now(), handled()?);
    while begin.elapsed() < DRAIN_MAX {
        std::thread::sleep(DRAIN_LOOK);
        let earlier = std::mem::replace(&mut count, handled()?);
        if earlier == count {
            break;
        }
    }
    let after = used();
    let since = |(pid, before): &(u32, Used)| {
        let after = after.iter().find(|after| after.0 == *pid)?;
        Some(after.1.since(before).total())
    };
    let processor_s = before.iter().filter_map(since).sum();
    if count == 0 {
        let drops = tunnel.status(End::B)?.drops;
        return Err(LabError::Program(format!(
            "{}: none was handled as such, but {drops:?}",
            packets.name()
        )));
    }
    let log_bytes = tunnel.log_bytes(End::B)?.saturating_sub(log_before);
    Ok(Flooded { packets: count, processor_s, log_bytes })
}

/// Sends packets if this process was started for that; none otherwise.
pub(super) fn serve_if_asked() -> Option<Result<(), LabError>> {
    let told = std::env::var_os(SEND)?;
    Some(child::read("read what to send", &told.to_string_lossy()).and_then(|flood| send(&flood)))
}

fn send(flood: &Flood) -> Result<(), LabError> {
    let what = "send packets to a data plane";
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(LabError::io(what))?;
    socket.connect(SocketAddr::new(End::B.outer(), NAT_PORT)).map_err(LabError::io(what))?;
    let mut sealer = Sealer::new(flood.suite)?;
    let mut last = sealer.seal(1).pop().unwrap_or_default();
    if flood.packets == Packets::Replayed {
        socket.send(&last).map_err(LabError::io(what))?;
    }
    if let (Packets::WrongIcv, Some(byte)) = (flood.packets, last.last_mut()) {
        *byte ^= 1;
    }
    let segment = last.len();
    let mut burst = last.repeat(TOGETHER);
    let mut spi = UNKNOWN;
    let (begin, seconds) = (Instant::now(), Duration::from_secs_f64(flood.seconds));
    while begin.elapsed() < seconds {
        match flood.packets {
            Packets::Good => burst = sealer.seal(TOGETHER).concat(),
            Packets::UnknownSpi => {
                for packet in burst.chunks_mut(segment) {
                    packet[..4].copy_from_slice(&spi.to_be_bytes());
                    spi = spi.wrapping_add(1) | UNKNOWN;
                }
            }
            Packets::Replayed | Packets::WrongIcv => {}
        }
        let size = u16::try_from(segment).unwrap_or(u16::MAX);
        let control = [ControlMessage::UdpGsoSegments(&size)];
        let sent =
            sendmsg::<()>(socket.as_raw_fd(), &[IoSlice::new(&burst)], &control, MsgFlags::empty(), None);
        sent.map_err(LabError::io(what))?;
    }
    Ok(())
}

/// Seals packets of one datagram, as the first end would.
struct Sealer {
    worker: Worker,
    sa: Sa,
    packet: Vec<u8>,
}

impl Sealer {
    fn new(suite: Suite) -> Result<Self, LabError> {
        let refused = |cause: &dyn std::fmt::Debug| LabError::Program(format!("packets of ESP: {cause:?}"));
        let engine = Engine::new(engine::Options::default()).map_err(|cause| refused(&cause))?;
        let (encryption, integrity) = suite.keys(true, 0);
        let keys = KeyBytes { encryption: &encryption, integrity: &integrity };
        let ends = (End::A.outer(), End::B.outer());
        let parameters = SaParameters::tunnel(SPIS[0], Direction::Out, suite.of_library(), keys, ends);
        let sa = Sa::new(&engine, &parameters, true).map_err(|cause| refused(&cause))?;
        Ok(Self { worker: Worker::new(engine), sa, packet: datagram() })
    }

    /// Seals `count` packets of ESP, each from SPI to ICV.
    fn seal(&mut self, count: usize) -> Vec<Vec<u8>> {
        let room = [&[0; HEAD_ROOM][..], &self.packet, &[0; TAIL_ROOM]].concat();
        let mut memory = vec![room; count];
        let frame = |memory| Frame::new(memory, HEAD_ROOM, HEAD_ROOM + PACKET_BYTES);
        let mut items: Vec<_> =
            memory.iter_mut().filter_map(|memory| Some(SealItem::new(&self.sa, frame(memory)?))).collect();
        self.worker.seal(Time::default(), &mut items);
        let done = items.iter().filter(|item| item.outcome.is_done());
        done.map(|item| item.frame.bytes().to_vec()).collect()
    }
}

/// A datagram of zeros from the first end to the server of the second, with both checksums, so that the kernel may
/// merge it with others.
fn datagram() -> Vec<u8> {
    let mut packet = vec![0; PACKET_BYTES];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&(PACKET_BYTES as u16).to_be_bytes());
    // Don't Fragment is set, as UDP sockets do by default.
    packet[6] = 0x40;
    packet[8..10].copy_from_slice(&[64, UDP_PROTOCOL]);
    for (at, end) in [(12, End::A), (16, End::B)] {
        if let IpAddr::V4(address) = end.inner() {
            packet[at..at + 4].copy_from_slice(&address.octets());
        }
    }
    let length = ((PACKET_BYTES - UDP_AT) as u16).to_be_bytes();
    for (at, field) in [(0, PORT.to_be_bytes()), (2, PORT.to_be_bytes()), (4, length)] {
        packet[UDP_AT + at..UDP_AT + at + 2].copy_from_slice(&field);
    }
    let header = checksum(&[&packet[..UDP_AT]]);
    let udp = checksum(&[&packet[12..], &[0, UDP_PROTOCOL], &length]);
    packet[10..12].copy_from_slice(&header);
    packet[UDP_AT + 6..UDP_AT + 8].copy_from_slice(&udp);
    packet
}

/// The checksum of IP and UDP over parts of even lengths (RFC 1071).
fn checksum(parts: &[&[u8]]) -> [u8; 2] {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let sum: u32 = words.map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    (!(sum as u16 + (sum >> 16) as u16)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::ipsec::{Arrival, Endpoint, Inner, OpenItem, Sad};
    use std::sync::Arc;

    #[test]
    fn what_is_sealed_is_opened_by_the_keys_of_the_tunnel() {
        for suite in Suite::ALL {
            let mut sealer = Sealer::new(suite).unwrap();
            let mut sealed = sealer.seal(3);
            assert_eq!(sealed.len(), 3);
            let engine = Engine::new(engine::Options::default()).unwrap();
            let (encryption, integrity) = suite.keys(true, 0);
            let keys = KeyBytes { encryption: &encryption, integrity: &integrity };
            let ends = (End::A.outer(), End::B.outer());
            let parameters = SaParameters::tunnel(SPIS[0], Direction::In, suite.of_library(), keys, ends);
            let mut sad = Sad::new();
            sad.add(Arc::new(Sa::new(&engine, &parameters, true).unwrap())).unwrap();
            let arrival = Arrival::new(Endpoint::new(ends.0, 0), ends.1);
            let mut worker = Worker::new(engine);
            let mut items: Vec<_> = sealed
                .iter_mut()
                .map(|packet| {
                    let end = packet.len();
                    OpenItem::new(Frame::new(packet, 0, end).unwrap(), arrival)
                })
                .collect();
            worker.open(&sad, Time::default(), &mut items);
            for item in &items {
                assert!(item.outcome.is_done(), "{suite:?}: {:?}", item.outcome);
                assert_eq!(item.frame.bytes(), datagram());
                assert!(Inner::read(item.frame.bytes()).is_ok());
            }
        }
    }
}

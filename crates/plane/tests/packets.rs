//! Superpackets are cut and put together as a plain implementation, written here from RFC 9293, RFC 791 and RFC 768,
//! does.

use engine::{Engine, Options};
use plane::{GsoType, Superpacket, VNET_BYTES, Vnet, coalesce};
use proptest::prelude::*;
use std::io::IoSlice;
use std::sync::LazyLock;

const ACK: u8 = 0x10;
const PSH: u8 = 0x08;

/// A segment of TCP, or a datagram of UDP, as its sender means it.
#[derive(Clone, Debug, PartialEq)]
struct Packet {
    is_v6: bool,
    is_tcp: bool,
    ports: (u16, u16),
    traffic_class: u8,
    hops: u8,
    id: u16,
    dont_fragment: bool,
    sequence: u32,
    acknowledged: u32,
    flags: u8,
    window: u16,
    options: Vec<u8>,
    payload: Vec<u8>,
}

/// RFC 1071, a byte at a time.
fn sum(bytes: &[u8]) -> u16 {
    let mut sum = 0_u32;
    for (at, byte) in bytes.iter().enumerate() {
        sum += u32::from(*byte) << if at % 2 == 0 { 8 } else { 0 };
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

impl Packet {
    fn protocol(&self) -> u8 {
        if self.is_tcp { 6 } else { 17 }
    }

    fn ends(&self) -> (Vec<u8>, Vec<u8>) {
        if self.is_v6 {
            let end = |last| [&[0xfd; 8][..], &[0; 7], &[last]].concat();
            (end(1), end(2))
        } else {
            (vec![10, 0, 0, 1], vec![10, 0, 0, 2])
        }
    }

    /// TCP or UDP, with the checksum left out.
    fn transport(&self) -> Vec<u8> {
        let mut bytes = [self.ports.0.to_be_bytes(), self.ports.1.to_be_bytes()].concat();
        if self.is_tcp {
            bytes.extend(self.sequence.to_be_bytes());
            bytes.extend(self.acknowledged.to_be_bytes());
            bytes.extend([(((20 + self.options.len()) / 4) << 4) as u8, self.flags]);
            bytes.extend(self.window.to_be_bytes());
            bytes.extend([0; 4]);
            bytes.extend(&self.options);
        } else {
            bytes.extend((8 + self.payload.len() as u16).to_be_bytes());
            bytes.extend([0; 2]);
        }
        bytes.extend(&self.payload);
        bytes
    }

    fn checksum_at(&self) -> usize {
        if self.is_tcp { 16 } else { 6 }
    }

    fn pseudo(&self, bytes: usize) -> Vec<u8> {
        let (source, destination) = self.ends();
        [&source[..], &destination, &(bytes as u32).to_be_bytes(), &u32::from(self.protocol()).to_be_bytes()]
            .concat()
    }

    fn ip(&self, transport_bytes: usize) -> Vec<u8> {
        let (source, destination) = self.ends();
        if self.is_v6 {
            let first = 6_u32 << 28 | u32::from(self.traffic_class) << 20 | 0x12345;
            let mut header = first.to_be_bytes().to_vec();
            header.extend((transport_bytes as u16).to_be_bytes());
            header.extend([self.protocol(), self.hops]);
            [&header[..], &source, &destination].concat()
        } else {
            let mut header = vec![0x45, self.traffic_class];
            header.extend((20 + transport_bytes as u16).to_be_bytes());
            header.extend(self.id.to_be_bytes());
            header.extend([if self.dont_fragment { 0x40 } else { 0 }, 0, self.hops, self.protocol(), 0, 0]);
            header.extend([source, destination].concat());
            let checksum = !sum(&header);
            header[10..12].copy_from_slice(&checksum.to_be_bytes());
            header
        }
    }

    fn header_bytes(&self) -> usize {
        (if self.is_v6 { 40 } else { 20 }) + if self.is_tcp { 20 + self.options.len() } else { 8 }
    }

    /// The packet as it travels.
    fn bytes(&self) -> Vec<u8> {
        let mut transport = self.transport();
        let mut checksum = !sum(&[self.pseudo(transport.len()), transport.clone()].concat());
        if !self.is_tcp && checksum == 0 {
            checksum = u16::MAX;
        }
        let at = self.checksum_at();
        transport[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
        [self.ip(transport.len()), transport].concat()
    }

    /// The packet as the kernel gives it, its checksum to be completed.
    fn superpacket(&self, segment_bytes: u16) -> Vec<u8> {
        let mut transport = self.transport();
        let begun = sum(&self.pseudo(transport.len()));
        let at = self.checksum_at();
        transport[at..at + 2].copy_from_slice(&begun.to_be_bytes());
        let ip = self.ip(transport.len());
        let vnet = Vnet {
            needs_checksum: true,
            kind: match (segment_bytes, self.is_tcp, self.is_v6) {
                (0, ..) => GsoType::Whole,
                (_, false, _) => GsoType::Udp,
                (_, true, false) => GsoType::TcpV4,
                (_, true, true) => GsoType::TcpV6,
            },
            header_bytes: self.header_bytes() as u16,
            segment_bytes,
            checksum_start: ip.len() as u16,
            checksum_offset: at as u16,
        };
        [&vnet.bytes()[..], &ip, &transport].concat()
    }

    /// What it is cut into.
    fn pieces(&self, segment_bytes: usize) -> Vec<Packet> {
        let chunks: Vec<&[u8]> = self.payload.chunks(segment_bytes).collect();
        let piece = |(number, payload): (usize, &&[u8])| {
            let is_last = number + 1 == chunks.len();
            let mut flags = self.flags;
            if !is_last {
                flags &= !0x09;
            }
            if number > 0 {
                flags &= !0x80;
            }
            Packet {
                id: self.id.wrapping_add(number as u16),
                sequence: self.sequence.wrapping_add((number * segment_bytes) as u32),
                flags,
                payload: payload.to_vec(),
                ..self.clone()
            }
        };
        chunks.iter().enumerate().map(piece).collect()
    }
}

prop_compose! {
    fn any_packet(payload_bytes: std::ops::Range<usize>)(
        (is_v6, is_tcp, dont_fragment) in any::<(bool, bool, bool)>(),
        ports in any::<(u16, u16)>(),
        (traffic_class, hops, flags) in any::<(u8, u8, u8)>(),
        (id, window) in any::<(u16, u16)>(),
        (sequence, acknowledged) in any::<(u32, u32)>(),
        options in 0..=10_usize,
        payload in proptest::collection::vec(any::<u8>(), payload_bytes),
    ) -> Packet {
        Packet {
            is_v6, is_tcp, ports, traffic_class, hops, id, dont_fragment, sequence, acknowledged,
            flags: flags & !0x20, window, options: vec![1; 4 * options], payload,
        }
    }
}

/// Made once.
fn engine() -> Engine {
    static ENGINE: LazyLock<Engine> = LazyLock::new(|| Engine::new(Options::default()).unwrap());
    *ENGINE
}

/// All packets that something read from the TUN becomes: as many as are counted before they are cut.
fn split(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let packets = Superpacket::read(bytes).ok()?;
    let engine = engine();
    let write = |number| {
        let mut packet = vec![0xaa; packets.frame_bytes(number)];
        packets.write(&engine, number, &mut packet);
        packet
    };
    let written: Vec<Vec<u8>> = (0..packets.frames()).map(write).collect();
    let bytes: usize = written.iter().map(Vec::len).sum();
    let expected = ipsec::Amount { packets: written.len() as u64, bytes: bytes as u64 };
    assert_eq!(packets.amount(), expected);
    Some(written)
}

/// What is written to the TUN for these packets.
fn join(packets: &[Vec<u8>]) -> Vec<(Vec<u8>, usize)> {
    let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    let mut written = Vec::new();
    let join = |parts: &[IoSlice<'_>]| parts.iter().flat_map(|part| part.iter().copied()).collect();
    coalesce(&engine(), &packets, true, |parts, count| written.push((join(parts), count)));
    written
}

proptest! {
    #[test]
    fn superpackets_are_cut_as_plainly(packet in any_packet(1..9000), segment_bytes in 1..2000_u16) {
        let expected: Vec<_> =
            packet.pieces(segment_bytes.into()).iter().map(Packet::bytes).collect();
        prop_assert_eq!(split(&packet.superpacket(segment_bytes)), Some(expected));
    }

    #[test]
    fn checksums_are_completed(packet in any_packet(0..2000)) {
        prop_assert_eq!(split(&packet.superpacket(0)), Some(vec![packet.bytes()]));
    }

    #[test]
    fn what_is_put_together_and_cut_is_what_it_was(
        flows in proptest::collection::vec((any_packet(1..9000), 64..2000_usize), 1..12),
        order in any::<u64>(),
    ) {
        // Segments of several flows among each other.
        let mut queues: Vec<Vec<Vec<u8>>> = flows
            .iter()
            .enumerate()
            .map(|(number, (packet, segment))| {
                let flags = ACK | packet.flags & PSH;
                let packet = Packet { ports: (number as u16, 80), flags, ..packet.clone() };
                packet.pieces(*segment).iter().rev().map(Packet::bytes).collect()
            })
            .collect();
        let mut random = seeded::Random(order);
        let mut packets = Vec::new();
        while queues.iter().any(|queue| !queue.is_empty()) {
            let number = random.number() as usize % queues.len();
            // Some of one flow in a row.
            for _ in 0..=random.number() % 8 {
                packets.extend(queues[number].pop());
            }
        }
        let written = join(&packets);
        prop_assert_eq!(written.iter().map(|(_, count)| *count).sum::<usize>(), packets.len());
        let mut cut: Vec<_> = written.iter().flat_map(|(bytes, _)| split(bytes).unwrap()).collect();
        // Order holds within a flow.
        let ports = |packet: &Vec<u8>| {
            let at = if packet[0] >> 4 == 4 { 20 } else { 40 };
            (packet[0] >> 4, packet[if at == 20 { 9 } else { 6 }], packet[at..at + 4].to_vec())
        };
        cut.sort_by_key(ports);
        packets.sort_by_key(ports);
        prop_assert_eq!(cut, packets);
    }

    #[test]
    fn any_bytes_are_cut_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..300), kind in 0..8_u8) {
        if let [_, gso, _, _, _, _, _, _, _, _, version, _, high, ..] = &mut bytes[..] {
            (*gso, *version, *high) = (kind, if kind % 2 == 0 { 0x45 } else { 0x60 }, 0);
        }
        if let Some(packets) = split(&bytes) {
            prop_assert!(packets.iter().all(|packet| packet.len() <= bytes.len()));
        }
    }

    #[test]
    fn any_packets_are_written_whole(packets in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..120), 0..20)) {
        let written = join(&packets);
        prop_assert_eq!(written.len(), packets.len());
        prop_assert!(written.iter().zip(&packets).all(|((bytes, _), packet)| bytes[VNET_BYTES..] == packet[..]));
    }
}

fn tcp(payload: usize) -> Packet {
    Packet {
        is_v6: false,
        is_tcp: true,
        ports: (1000, 2000),
        traffic_class: 0,
        hops: 64,
        id: 7,
        dont_fragment: true,
        sequence: u32::MAX - 5,
        acknowledged: 9,
        flags: ACK,
        window: 100,
        options: vec![1; 12],
        payload: (0..payload).map(|at| at as u8).collect(),
    }
}

#[test]
fn contradictions_are_refused() {
    let good = tcp(5000).superpacket(1400);
    assert_eq!(split(&good).unwrap().len(), 4);
    let with = |at: usize, value: u16| {
        let mut bytes = good.clone();
        bytes[at..at + 2].copy_from_slice(&value.to_ne_bytes());
        split(&bytes)
    };
    assert_eq!(with(4, 0), None, "no length of segments");
    assert_eq!(with(6, 19), None, "TCP begins elsewhere");
    assert_eq!(with(6, u16::MAX), None, "TCP begins beyond");
    let byte = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        split(&bytes)
    };
    assert_eq!(byte(1, 3), None, "fragments of UDP were not offered");
    assert_eq!(byte(1, 4), None, "it is not IPv6");
    assert_eq!(byte(1, 5), None, "it is not UDP");
    assert_eq!(byte(VNET_BYTES + 9, 17), None, "it is not TCP");
    assert_eq!(byte(VNET_BYTES + 6, 0x20), None, "a fragment");
    assert_eq!(byte(VNET_BYTES + 32, 0x40), None, "a header of TCP shorter than its shortest");
    let mut short = tcp(0).superpacket(1400);
    assert_eq!(split(&short).unwrap().len(), 1);
    short[VNET_BYTES + 32] = 0xf0;
    assert_eq!(split(&short), None, "a header of TCP beyond the packet");
    for bytes in 0..VNET_BYTES + 20 {
        assert_eq!(split(&good[..bytes]), None);
    }
    // A checksum outside the packet, or in the header of IP, of one packet.
    let whole = tcp(10).superpacket(0);
    for (at, value) in [(6, u16::MAX), (8, u16::MAX), (6, 61), (8, 41), (6, 0), (6, 19)] {
        let mut bytes = whole.clone();
        bytes[at..at + 2].copy_from_slice(&value.to_ne_bytes());
        assert_eq!(split(&bytes), None);
    }
}

#[test]
fn segments_that_follow_are_written_together() {
    let pieces: Vec<_> = tcp(60_000).pieces(1400).iter().map(Packet::bytes).collect();
    let written = join(&pieces);
    assert_eq!(written.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [43]);
    assert_eq!(split(&written[0].0).unwrap(), pieces);
}

/// A name, and what is changed.
type Change = (&'static str, fn(&mut Packet));

#[test]
fn what_differs_is_not_written_together() {
    let pieces = tcp(2800).pieces(1400);
    let changes: [Change; 10] = [
        ("sequence", |packet| packet.sequence += 1),
        ("acknowledgement", |packet| packet.acknowledged += 1),
        ("window", |packet| packet.window += 1),
        ("options", |packet| packet.options[5] = 2),
        ("length of options", |packet| packet.options.truncate(8)),
        ("flags", |packet| packet.flags |= 0x01),
        ("congestion", |packet| packet.traffic_class = 3),
        ("hops", |packet| packet.hops = 63),
        ("fragmentation", |packet| packet.dont_fragment = false),
        ("port", |packet| packet.ports.1 += 1),
    ];
    for (name, change) in changes {
        let mut pieces = pieces.clone();
        change(&mut pieces[1]);
        let bytes: Vec<_> = pieces.iter().map(Packet::bytes).collect();
        assert_eq!(join(&bytes).len(), 2, "{name}");
    }
    assert_eq!(join(&pieces.iter().map(Packet::bytes).collect::<Vec<_>>()).len(), 1);
}

#[test]
fn a_wrong_checksum_is_left_to_the_kernel() {
    for wrong in 0..3 {
        let mut bytes: Vec<_> = tcp(4200).pieces(1400).iter().map(Packet::bytes).collect();
        bytes[wrong][60] ^= 1;
        let written = join(&bytes);
        let alone = written.iter().find(|(packet, _)| packet[VNET_BYTES..] == bytes[wrong][..]);
        assert_eq!(alone.unwrap().0[..VNET_BYTES], Vnet::WHOLE.bytes());
    }
}

#[test]
fn a_pushed_segment_and_a_short_one_end_what_is_put_together() {
    let mut pieces = tcp(5600).pieces(1400);
    pieces[1].flags |= PSH;
    let counts = |pieces: &[Packet]| {
        let bytes: Vec<_> = pieces.iter().map(Packet::bytes).collect();
        join(&bytes).iter().map(|(_, count)| *count).collect::<Vec<_>>()
    };
    assert_eq!(counts(&pieces), [2, 2]);
    let mut pieces = tcp(5600).pieces(1400);
    pieces[1].payload.truncate(1000);
    pieces[2].sequence -= 400;
    pieces[3].sequence -= 400;
    assert_eq!(counts(&pieces), [2, 2]);
}

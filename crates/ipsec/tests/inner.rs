//! What packets say of themselves, and when they contradict themselves.

use crate::common::{self, checksum, ip, packet, udp_packet};
use ipsec::*;

fn v4() -> Vec<u8> {
    udp_packet(ip("10.0.0.1"), ip("10.0.0.2"), b"abcd")
}

/// A chain of extension headers before a datagram, the first of `kinds` named by IPv6's header.
fn v6(kinds: &[u8]) -> Vec<u8> {
    let datagram = common::udp(ip("fd00::1"), ip("fd00::2"), 4000, 5000, b"abcd");
    let mut payload = Vec::new();
    for next in kinds.iter().skip(1).chain([&17]) {
        payload.extend([*next, 0, 0, 0, 0, 0, 0, 0]);
    }
    if kinds.is_empty() {
        payload.clear();
    }
    payload.extend(datagram);
    packet(ip("fd00::1"), ip("fd00::2"), kinds.first().copied().unwrap_or(17), &payload)
}

#[test]
fn headers_of_ipv4_that_contradict_are_refused() {
    assert!(Inner::read(&v4()).is_ok());
    let refused: [fn(&mut Vec<u8>); 8] = [
        |packet| packet.clear(),
        |packet| packet.truncate(19),
        |packet| packet.truncate(31),
        |packet| packet[0] = 0x35,
        |packet| packet[0] = 0x44,
        // Less in all than the header has.
        |packet| packet[2..4].copy_from_slice(&[0, 19]),
        |packet| {
            packet[0] = 0x4f;
            // A later piece has no ports that would be looked for.
            packet[7] = 1;
        },
        |packet| packet[2..4].copy_from_slice(&[0, 33]),
    ];
    for (at, change) in refused.into_iter().enumerate() {
        let mut packet = v4();
        change(&mut packet);
        assert_eq!(Inner::read(&packet), Err(Reason::Inner), "{at}");
    }
    // What follows a packet is not of it.
    let mut padded = v4();
    padded.extend([0; 9]);
    assert_eq!(Inner::read(&padded).unwrap().bytes, 32);
}

#[test]
fn ports_are_those_of_whole_packets_and_first_pieces() {
    let read = |packet: &[u8]| Inner::read(packet).unwrap();
    assert_eq!((read(&v4()).flow.source_port, read(&v4()).flow.destination_port), (4000, 5000));
    let mut first = v4();
    first[6] = 0x20;
    assert!(read(&first).is_fragment && !read(&first).dont_fragment);
    assert_eq!(read(&first).flow.source_port, 4000);
    let mut later = v4();
    later[7] = 1;
    assert!(read(&later).is_fragment);
    assert_eq!(read(&later).flow.source_port, 0);
    let icmp = packet(ip("10.0.0.1"), ip("10.0.0.2"), 1, &[3, 4, 0, 0]);
    assert_eq!((read(&icmp).flow.source_port, read(&icmp).flow.destination_port), (3, 4));
    // Too short to say.
    let short = packet(ip("10.0.0.1"), ip("10.0.0.2"), 6, &[1, 2, 3]);
    assert_eq!(read(&short).flow.source_port, 0);
}

#[test]
fn extension_headers_are_walked_through() {
    let ports =
        |packet: &[u8]| Inner::read(packet).map(|inner| (inner.flow.protocol, inner.flow.source_port));
    for kinds in [&[][..], &[0], &[0, 43], &[60, 43, 60], &[0, 43, 44, 60], &[135], &[60; EXTENSIONS_MAX]] {
        let packet = v6(kinds);
        assert_eq!(ports(&packet), Ok((17, 4000)), "{kinds:?}");
        let inner = Inner::read(&packet).unwrap();
        assert_eq!(inner.payload, 40 + 8 * kinds.len());
        assert!(!inner.is_fragment, "a header of pieces that says that it is whole");
    }
    assert_eq!(ports(&v6(&[60; EXTENSIONS_MAX + 1])), Err(Reason::Inner));
    // A piece: behind its header stands no other header.
    for (field, is_first) in [([0, 1], true), ([0, 8], false), ([0, 9], false)] {
        let mut piece = v6(&[44, 60]);
        piece[42..44].copy_from_slice(&field);
        let inner = Inner::read(&piece).unwrap();
        assert!(inner.is_fragment);
        assert_eq!((inner.flow.protocol, inner.payload), if is_first { (17, 56) } else { (60, 48) });
    }
    // A header that ends behind the packet, and one that begins there.
    let mut long = v6(&[60]);
    long[41] = 2;
    assert_eq!(ports(&long), Err(Reason::Inner));
    let bare = packet(ip("fd00::1"), ip("fd00::2"), 60, &[]);
    assert_eq!(ports(&bare), Err(Reason::Inner));
    let mut cut = v6(&[]);
    cut.truncate(51);
    assert_eq!(ports(&cut), Err(Reason::Inner));
}

/// A sum of zero is written as ones in a datagram (RFC 768): of IPv6, zero says that there is none, which is not
/// allowed.
#[test]
fn a_checksum_of_zero_is_written_as_ones() {
    let (source, destination) = (ip("fd00::1"), ip("fd00::2"));
    let outer = Outer {
        source: Endpoint::new(source, 4500),
        destination: Endpoint::new(destination, 4500),
        in_udp: true,
        is_whole: false,
        traffic_class: 0,
        hop_limit: 64,
        dont_fragment: true,
        flow_label: 0,
    };
    let written = |payload: &[u8]| {
        let mut memory = common::Memory::new(payload);
        let mut frame = memory.frame();
        outer.write(&mut frame).unwrap();
        frame.bytes().to_vec()
    };
    let mut payload = vec![9; 20];
    payload[18..].fill(0);
    let first = written(&payload);
    // The checksum itself, where it was summed as zeros, makes the sum complete.
    payload[18..].copy_from_slice(&first[46..48]);
    let second = written(&payload);
    assert_eq!(second[46..48], [0xff, 0xff]);
    let pseudo = common::pseudo(source, destination, 17, 28);
    assert_eq!(checksum(&[&pseudo, &second[40..]].concat()), 0);
}

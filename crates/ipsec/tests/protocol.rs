//! What RFC 4303 and its neighbours ask for, one rule a test.

// Eight bits of DSCP and ECN are six and two.
#![allow(clippy::unusual_byte_groupings)]

use crate::common::*;
use ipsec::*;
use seeded::Random;
use std::net::IpAddr;
use std::sync::Arc;

const GCM: Suite = Suite::AesGcm16(AesKey::Bits128);
const CBC: Suite = Suite::Separate(Encryption::AesCbc(AesKey::Bits256), Integrity::Sha256);
const TDES: Suite = Suite::Separate(Encryption::TdesCbc, Integrity::Sha1);

/// Both ends of a connection, and what opens.
struct Link {
    out: Sa,
    sad: Sad,
    worker: Worker,
    keys: RawKeys,
    suite: Suite,
}

const SPI: u32 = 0xc0ffee;

fn ends() -> (IpAddr, IpAddr) {
    (ip("192.0.2.1"), ip("198.51.100.7"))
}

fn link(suite: Suite, change: impl Fn(SaParameters<'_>) -> SaParameters<'_>) -> Link {
    let keys = RawKeys::random(suite, &mut Random(u64::from(SPI)));
    let parameters = change(SaParameters::tunnel(SPI, Direction::Out, suite, keys.bytes(), ends()));
    let (out, inbound) = pair(&engine(), &parameters);
    let mut sad = Sad::new();
    sad.add(Arc::new(inbound)).unwrap();
    Link { out, sad, worker: Worker::new(engine()), keys, suite }
}

impl Link {
    fn seal(&mut self, inner: &[u8]) -> Result<(Sealed, Vec<u8>), Reason> {
        seal(&mut self.worker, &self.out, inner)
    }

    fn open(&mut self, packet: &[u8], arrival: Arrival) -> Result<Vec<u8>, Reason> {
        open(&mut self.worker, &self.sad, packet, arrival)
    }

    fn inbound(&self) -> &Arc<Sa> {
        self.sad.inbound(SPI).unwrap()
    }

    /// A packet that the second ESP makes.
    fn forged(&self, number: u64, payload: &[u8], next_header: u8) -> Vec<u8> {
        let iv = vec![9; self.suite.iv_bytes()];
        let extended = self.out.extended();
        let plain = twin::Plain { spi: SPI, number, extended, iv: &iv, payload, next_header };
        twin::seal(self.suite, &self.keys, &plain)
    }
}

fn v4(payload: &[u8]) -> Vec<u8> {
    udp_packet(ip("10.0.0.1"), ip("10.0.0.2"), payload)
}

fn v6(payload: &[u8]) -> Vec<u8> {
    udp_packet(ip("fd00::1"), ip("fd00::2"), payload)
}

#[test]
fn every_family_goes_through_every_family() {
    for outside in [ends(), (ip("2001:db8::1"), ip("2001:db8::2"))] {
        for in_udp in [false, true] {
            for inner in [v4(b"inside"), v6(b"inside"), v4(b""), v6(&[7; 1300])] {
                let mut link = link(GCM, |parameters| SaParameters {
                    source: Endpoint::new(outside.0, if in_udp { 4500 } else { 0 }),
                    destination: Endpoint::new(outside.1, if in_udp { 31000 } else { 0 }),
                    in_udp,
                    ..parameters
                });
                let (done, esp) = link.seal(&inner).unwrap();
                let mut memory = Memory::new(&esp);
                let mut frame = memory.frame();
                done.outer.write(&mut frame).unwrap();
                let whole = frame.bytes().to_vec();
                assert_eq!(
                    whole.len(),
                    sealed_bytes(GCM, Path { family: Family::of(outside.0), in_udp }, inner.len())
                );
                check_outer(&whole, &done.outer);
                let arrival = Arrival::read(&mut frame).unwrap();
                assert_eq!((arrival.source, arrival.destination), (done.outer.source, outside.1));
                assert_eq!(frame.bytes(), esp);
                assert_eq!(link.open(&esp, arrival), Ok(inner.clone()));
                assert!(link.worker.take_events().is_empty(), "the peer is where it was");
            }
        }
    }
}

/// Checksums and lengths of what is outside.
fn check_outer(whole: &[u8], outer: &Outer) {
    let udp = match outer.source.address {
        IpAddr::V4(_) => {
            assert_eq!(checksum(&whole[..20]), 0);
            assert_eq!(whole[9], if outer.in_udp { 17 } else { 50 });
            &whole[20..]
        }
        IpAddr::V6(_) => {
            assert_eq!(whole[6], if outer.in_udp { 17 } else { 50 });
            &whole[40..]
        }
    };
    if !outer.in_udp {
        return;
    }
    assert_eq!(udp[..4], [outer.source.port.to_be_bytes(), outer.destination.port.to_be_bytes()].concat());
    assert_eq!(udp[4..6], (udp.len() as u16).to_be_bytes());
    match outer.source.address {
        IpAddr::V4(_) => assert_eq!(udp[6..8], [0, 0], "none over IPv4"),
        IpAddr::V6(_) => {
            let pseudo = pseudo(outer.source.address, outer.destination.address, 17, udp.len() as u32);
            assert_eq!(checksum(&[&pseudo, udp].concat()), 0);
        }
    }
}

#[test]
fn transport_mode_puts_the_header_back() {
    for (source, destination) in [ends(), (ip("2001:db8::1"), ip("2001:db8::2"))] {
        for suite in [GCM, CBC, TDES] {
            let mut link = link(suite, |parameters| SaParameters {
                mode: Mode::Transport,
                source: Endpoint::new(source, 0),
                destination: Endpoint::new(destination, 0),
                ..parameters
            });
            let inner = udp_packet(source, destination, b"above IP");
            let (done, esp) = link.seal(&inner).unwrap();
            let mut opened = link.open(&esp, arrival(&done.outer)).unwrap();
            if Family::of(source) == Family::V4 {
                assert_eq!(checksum(&opened[..20]), 0);
                // What IP's layer below fills in: identification, and the checksum over it.
                opened[4..6].copy_from_slice(&inner[4..6]);
                opened[10..12].copy_from_slice(&inner[10..12]);
            }
            assert_eq!(opened, inner);
        }
    }
}

/// A peer behind NAT: what its transport mode says of addresses is not what they are here, and checksums become right
/// again.
#[test]
fn checksums_of_transport_mode_behind_nat_are_made_again() {
    let (inside, outside, here) = (ip("10.9.9.9"), ip("203.0.113.5"), ip("198.51.100.7"));
    let mut link = link(GCM, |parameters| SaParameters {
        mode: Mode::Transport,
        source: Endpoint::new(outside, 4500),
        destination: Endpoint::new(here, 4500),
        in_udp: true,
        ..parameters
    });
    let mut tcp = vec![0; 20];
    tcp[12] = 0x50;
    let sum = checksum(&[&pseudo(inside, here, 6, 20)[..], &tcp].concat());
    tcp[16..18].copy_from_slice(&sum.to_be_bytes());
    for (number, (protocol, segment)) in
        [(6, tcp), (17, udp(inside, here, 1, 2, b"x")), (17, vec![0, 1, 0, 2, 0, 9, 0, 0, 7])]
            .into_iter()
            .enumerate()
    {
        let esp = link.forged(number as u64 + 1, &segment, protocol);
        let opened = link.open(&esp, Arrival::new(Endpoint::new(outside, 4500), here)).unwrap();
        let has_none = protocol == 17 && segment[6..8] == [0, 0];
        if has_none {
            assert_eq!(opened[20..], segment, "a datagram without a checksum stays so");
        } else {
            let pseudo = pseudo(outside, here, protocol, segment.len() as u32);
            assert_eq!(checksum(&[&pseudo, &opened[20..]].concat()), 0, "protocol {protocol}");
        }
    }
}

#[test]
fn transport_mode_refuses_what_it_does_not_serve() {
    let transport = || link(GCM, |parameters| SaParameters { mode: Mode::Transport, ..parameters });
    let whole = udp_packet(ends().0, ends().1, b"x");
    let mut piece = whole.clone();
    piece[6] = 0x20;
    assert_eq!(transport().seal(&piece).unwrap_err(), Reason::Fragment);
    let other = udp_packet(ends().0, ip("198.51.100.8"), b"x");
    assert_eq!(transport().seal(&other).unwrap_err(), Reason::Address);
    assert!(transport().seal(&whole).is_ok());
    // Of an SA for the other direction.
    let link = transport();
    let mut worker = Worker::new(engine());
    assert_eq!(seal(&mut worker, link.inbound(), &whole).unwrap_err(), Reason::Direction);
}

#[test]
fn padding_and_next_header_are_checked() {
    for suite in
        [GCM, CBC, TDES, Suite::ChaCha20Poly1305, Suite::Separate(Encryption::Null, Integrity::Sha512)]
    {
        let mut link = link(suite, |parameters| parameters);
        let arrival = || arrival_of(ends());
        let inner = v4(b"seventeen bytes..");
        assert_eq!(link.open(&link.forged(1, &inner, 4), arrival()), Ok(inner.clone()));
        // TFC padding behind the packet, and of no meaning.
        let mut filled = inner.clone();
        filled.extend([0xee; 301]);
        assert_eq!(link.open(&link.forged(2, &filled, 4), arrival()), Ok(inner.clone()));
        assert_eq!(link.open(&link.forged(3, &inner, 41), arrival()), Err(Reason::Inner));
        assert_eq!(link.open(&link.forged(4, &inner, 17), arrival()), Err(Reason::NextHeader));
        assert_eq!(link.open(&link.forged(5, &[1, 2, 3], 59), arrival()), Err(Reason::Dummy));
        assert_eq!(link.open(&link.forged(6, &[], 59), arrival()), Err(Reason::Dummy));
        assert_eq!(link.open(&link.forged(7, &inner[..19], 4), arrival()), Err(Reason::Inner));
        assert_eq!(link.worker.counters().dropped(Reason::Dummy), 2);
        assert_eq!(link.worker.counters().opened, 2);
    }
}

/// Padding that does not count from 1, longer than the packet, and what is authentic but has no trailer that fits: NULL
/// lets it be written.
#[test]
fn padding_that_does_not_count_is_refused() {
    let suite = Suite::Separate(Encryption::Null, Integrity::Sha1);
    let mut link = link(suite, |parameters| parameters);
    let inner = v4(b"0123456789");
    let bytes = inner.len();
    assert_eq!(bytes % 4, 2, "so that no padding would be needed");
    for (number, trailer) in [
        (1, &[1, 2, 3, 4, 4, 4][..]),
        (2, &[1, 2, 3, 5, 4, 4]),
        (3, &[0, 1, 2, 3, 4, 4]),
        (4, &[0, 0, 0, 0, 4, 4]),
        (5, &[1, 2, 3, 4, 200, 4]),
        (6, &[0, 0, 0, 0, 255, 4]),
    ] {
        let text = [&inner, trailer].concat();
        // The last two bytes are the trailer that the second ESP writes, for its padding is empty.
        let mut esp = [SPI.to_be_bytes(), (number as u32).to_be_bytes()].concat();
        esp.extend(&text);
        let mac = engine().hmac_key(engine::HashAlgorithm::Sha1, &link.keys.integrity).unwrap();
        let mut items = [engine::HmacItem::new(&mac, &esp)];
        engine().hmac_batch(&mut items);
        let icv = items[0].mac[..12].to_vec();
        esp.extend(icv);
        let expected = if number == 1 { Ok(inner.clone()) } else { Err(Reason::Padding) };
        assert_eq!(link.open(&esp, arrival_of(ends())), expected, "{number}");
    }
}

#[test]
fn tfc_padding_fills_packets_of_a_tunnel() {
    let mut link = link(GCM, |parameters| SaParameters { tfc_bytes: 1000, ..parameters });
    let lengths: Vec<usize> = [0, 10, 500, 972]
        .into_iter()
        .map(|bytes| {
            let inner = v4(&vec![3; bytes]);
            let (_, esp) = link.seal(&inner).unwrap();
            assert_eq!(link.open(&esp, arrival_of(ends())), Ok(inner));
            esp.len()
        })
        .collect();
    assert!(lengths.iter().all(|bytes| *bytes == lengths[0]));
    let (_, esp) = link.seal(&v4(&[3; 1200])).unwrap();
    assert!(esp.len() > lengths[0]);
}

#[test]
fn dummies_are_thrown_away() {
    for suite in Suite::ALL {
        let mut link = link(suite, |parameters| parameters);
        let mut memory = Memory::new(&[0; 300]);
        let mut items = [SealItem::dummy(&link.out, memory.frame())];
        link.worker.seal(Time::seconds(1), &mut items);
        assert!(items[0].outcome.is_done());
        let esp = items[0].frame.bytes().to_vec();
        assert_eq!(link.open(&esp, arrival_of(ends())), Err(Reason::Dummy));
        assert_eq!(link.open(&esp, arrival_of(ends())), Err(Reason::Replayed));
    }
}

/// Whatever is cut off, lengthened or changed: refused, by the cheapest reason that applies, and the packet itself is
/// opened after all of that.
#[test]
fn every_change_of_a_packet_is_refused() {
    for suite in Suite::ALL {
        for extended in [false, true] {
            let mut link = link(suite, |parameters| SaParameters { extended, ..parameters });
            let inner = v4(b"what must not change");
            let (_, esp) = link.seal(&inner).unwrap();
            for bytes in 0..esp.len() {
                let expected = link.open(&esp[..bytes], arrival_of(ends())).unwrap_err();
                assert!(
                    matches!(expected, Reason::Malformed | Reason::Unauthenticated),
                    "{suite}: {expected}"
                );
            }
            assert!(link.open(&[&esp[..], &[0; 16]].concat(), arrival_of(ends())).is_err());
            for at in 0..esp.len() {
                let mut changed = esp.clone();
                changed[at] ^= 0x10;
                let expected = match at {
                    0..4 => Reason::UnknownSpi,
                    _ => Reason::Unauthenticated,
                };
                assert_eq!(link.open(&changed, arrival_of(ends())), Err(expected), "{suite}, byte {at}");
            }
            assert_eq!(link.inbound().window().unwrap().top(), 0, "nothing moved");
            assert_eq!(link.open(&esp, arrival_of(ends())), Ok(inner));
            assert_eq!(link.inbound().figures().packets, 1);
        }
    }
}

#[test]
fn extended_numbers_go_over_two_to_the_32() {
    for suite in [GCM, CBC, TDES, Suite::ChaCha20Poly1305] {
        let start = (1 << 32) - 5;
        let mut link = link(suite, |parameters| SaParameters { extended: true, number: start, ..parameters });
        let inner = v4(b"over the border");
        let packets: Vec<_> = (0..12).map(|_| link.seal(&inner).unwrap()).collect();
        // Out of order around the border.
        for at in [0, 5, 3, 4, 2, 1, 11, 8, 7, 6, 10, 9] {
            let (done, esp) = &packets[at];
            assert_eq!(done.number, start + 1 + at as u64);
            assert_eq!(link.open(esp, arrival_of(ends())), Ok(inner.clone()), "{suite}, {at}");
            assert_eq!(link.open(esp, arrival_of(ends())), Err(Reason::Replayed));
        }
        assert_eq!(link.inbound().window().unwrap().top(), start + 12);
        // The same low half in another cycle is another number.
        let forged = link.forged((1 << 32) + (start & 0xffff_ffff) + 3, &inner, 4);
        assert!(link.open(&forged, arrival_of(ends())).is_err());
    }
}

#[test]
fn numbers_end() {
    let last = u64::from(u32::MAX);
    let mut link = link(GCM, |parameters| SaParameters { number: last - 2, ..parameters });
    let inner = v4(b"x");
    assert!(link.seal(&inner).is_ok());
    let expected = |hard| Event::Expire { sa: link.out.name(), hard };
    assert_eq!(link.worker.take_events(), [expected(false)], "rekeying is asked for long before");
    let (done, _) = seal(&mut link.worker, &link.out, &inner).unwrap();
    assert_eq!(done.number, last);
    assert_eq!(link.worker.take_events(), [expected(true)]);
    assert_eq!(seal(&mut link.worker, &link.out, &inner).unwrap_err(), Reason::SequenceEnd);
    // Several of which only some have a number.
    let out = Sa::new(
        &engine(),
        &SaParameters {
            number: last - 3,
            ..SaParameters::tunnel(SPI, Direction::Out, GCM, link.keys.bytes(), ends())
        },
        false,
    )
    .unwrap();
    let mut memories: Vec<_> = (0..5).map(|_| Memory::new(&inner)).collect();
    let mut items: Vec<_> = memories.iter_mut().map(|memory| SealItem::new(&out, memory.frame())).collect();
    link.worker.seal(Time::seconds(1), &mut items);
    let reasons: Vec<_> = items.iter().map(|item| item.outcome.reason()).collect();
    assert_eq!(reasons, [None, None, None, Some(Reason::SequenceEnd), Some(Reason::SequenceEnd)]);
}

#[test]
fn marks_of_congestion_are_carried_over() {
    let traffic_class = |packet: &[u8], to: u8| {
        let mut packet = packet.to_vec();
        if packet[0] >> 4 == 4 {
            packet[1] = to;
            packet[10..12].fill(0);
            let sum = checksum(&packet[..20]);
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
        } else {
            packet[0] = 0x60 | to >> 4;
            packet[1] = to << 4;
        }
        packet
    };
    for inner in [v4(b"x"), v6(b"x")] {
        let mut plain = link(GCM, |parameters| parameters);
        let inner = traffic_class(&inner, 0b101110_10);
        let (done, esp) = plain.seal(&inner).unwrap();
        assert_eq!(done.outer.traffic_class, 0b101110_10);
        let marked = Arrival { traffic_class: 0b000000_11, ..arrival_of(ends()) };
        assert_eq!(plain.open(&esp, marked), Ok(traffic_class(&inner, 0b101110_11)));
        // One that does not know ECN cannot be told.
        let (_, esp) = plain.seal(&traffic_class(&inner, 0)).unwrap();
        assert_eq!(plain.open(&esp, marked), Err(Reason::Congestion));
        let mut without = link(GCM, |parameters| SaParameters {
            ecn: false,
            dscp: DscpRule::Set(8),
            dscp_in: true,
            ..parameters
        });
        let (done, esp) = without.seal(&inner).unwrap();
        assert_eq!(done.outer.traffic_class, 0b001000_00);
        let marked = Arrival { traffic_class: 0b010100_11, ..arrival_of(ends()) };
        assert_eq!(without.open(&esp, marked), Ok(traffic_class(&inner, 0b010100_10)));
    }
}

#[test]
fn whether_routers_may_cut_follows_the_rule() {
    for (rule, may_be_cut, must_not) in [
        (FragmentRule::Copy, false, true),
        (FragmentRule::Never, true, true),
        (FragmentRule::Always, false, false),
    ] {
        let mut link = link(GCM, |parameters| SaParameters { fragments: rule, ..parameters });
        let whole = v4(b"x");
        let mut cut = whole.clone();
        cut[6] = 0;
        assert_eq!(link.seal(&whole).unwrap().0.outer.dont_fragment, must_not);
        assert_eq!(link.seal(&cut).unwrap().0.outer.dont_fragment, may_be_cut);
        assert_eq!(link.seal(&v6(b"x")).unwrap().0.outer.dont_fragment, must_not);
    }
}

/// The table of facts that IPsec's users know by heart: 1,500 bytes outside, UDP over IPv4.
#[test]
fn what_a_suite_leaves_of_an_mtu() {
    let path = Path { family: Family::V4, in_udp: true };
    let cbc = |mac| Suite::Separate(Encryption::AesCbc(AesKey::Bits128), mac);
    for (suite, bytes) in [
        (GCM, 1438),
        (Suite::ChaCha20Poly1305, 1438),
        (cbc(Integrity::Sha1), 1422),
        (cbc(Integrity::Sha256), 1422),
        (TDES, 1438),
    ] {
        assert_eq!(payload_bytes_max(suite, path, 1500), bytes, "{suite}");
    }
    for suite in Suite::ALL {
        for family in [Family::V4, Family::V6] {
            for in_udp in [false, true] {
                let path = Path { family, in_udp };
                for mtu in [0, 60, 576, 1280, 1500, 9000] {
                    let most = payload_bytes_max(suite, path, mtu);
                    assert!(most == 0 || sealed_bytes(suite, path, most) <= mtu, "{suite}");
                    assert!(sealed_bytes(suite, path, most + 1) > mtu, "{suite}");
                }
            }
        }
    }
}

#[test]
fn memory_without_room_is_said_and_nothing_is_written() {
    let inner = v4(&[5; 100]);
    for suite in Suite::ALL {
        let link = link(suite, |parameters| parameters);
        let mut worker = Worker::new(engine());
        let before = 8 + suite.iv_bytes();
        for (head, tail, fits) in
            [(before, TAIL_ROOM, true), (before - 1, TAIL_ROOM, false), (before, 13, false)]
        {
            let mut memory = Memory::with_room(&inner, head, tail);
            let untouched = memory.0.clone();
            let mut items = [SealItem::new(&link.out, memory.frame())];
            worker.seal(Time::seconds(1), &mut items);
            assert_eq!(items[0].outcome.is_done(), fits, "{suite} {head} {tail}");
            if !fits {
                assert_eq!(items[0].outcome.reason(), Some(Reason::NoRoom));
                assert_eq!(memory.0, untouched);
            }
        }
    }
}

#[test]
fn what_arrives_at_port_4500_is_told_apart() {
    assert_eq!(classify(&[0xff]), Datagram::Keepalive);
    assert_eq!(classify(&[0, 0, 0, 0, 1, 2, 3, 4, 5]), Datagram::Ike);
    assert_eq!(classify(&[0, 0, 0, 1, 0, 0, 0, 1]), Datagram::Esp);
    for other in [&[][..], &[0xfe], &[0xff, 0xff], &[1, 2, 3, 4, 5, 6, 7]] {
        assert_eq!(classify(other), Datagram::Other);
    }
}

//! Pieces of packets: judged together, put together as they were cut, and never passed on in part.

use crate::common::*;
use ipsec::*;
use proptest::prelude::*;
use std::net::IpAddr;
use std::time::Duration;

fn ends(is_v6: bool) -> (IpAddr, IpAddr) {
    if is_v6 { (ip("fd01::1"), ip("fd02::1")) } else { (ip("10.1.0.1"), ip("10.2.0.1")) }
}

/// A datagram to port 5000 with a pattern in it.
fn datagram(is_v6: bool, bytes: usize) -> Vec<u8> {
    let payload: Vec<u8> = (0..bytes).map(|at| (at * 7 + at / 256) as u8).collect();
    udp_packet(ends(is_v6).0, ends(is_v6).1, &payload)
}

fn cut(packet: &[u8], mtu: usize, id: u32) -> Vec<Vec<u8>> {
    fragment_outside(&mut packet.to_vec(), mtu, id).unwrap()
}

/// Policies that name the port of [`datagram`], for one family.
fn spd(is_v6: bool, action: Action) -> Spd {
    let family = if is_v6 { Family::V6 } else { Family::V4 };
    let (source, destination) = ends(is_v6);
    let fields = SelectorFields {
        source: Prefix::one(source),
        destination: Prefix::one(destination),
        protocol: Some(17),
        source_ports: Ports::ALL,
        destination_ports: Ports::one(5000),
    };
    let mut spd = Spd::new();
    assert_eq!(Selector::all(family).family(), family);
    let policy = Policy { id: 1, selector: Selector::new(&fields).unwrap(), priority: 5, action };
    spd.add(PolicyDirection::Out, policy).unwrap();
    spd.add(PolicyDirection::In, policy).unwrap();
    spd
}

fn tunnel() -> Action {
    let ends = (ip("192.0.2.1"), ip("192.0.2.2"));
    Action::Protect(Template { request: 1, mode: Mode::Tunnel, ends: Some(ends), spi: None })
}

fn route(worker: &mut Worker, spd: &Spd, packet: &[u8]) -> Result<&'static str, Reason> {
    let sad = Sad::new();
    let amount = Amount::one(packet.len());
    worker.route(&sad, spd, Time::default(), packet, amount).map(|route| match route {
        Route::Bypass => "passes",
        Route::Seal(_) => "sealed",
        Route::Gather => "kept",
    })
}

/// A raw socket writes an identification of its own where it is 0, into each piece another: they would never be put
/// together.
#[test]
fn no_identification_is_zero() {
    for (id, expected) in [(0, 1), (1, 1), (0x1_0000, 1), (0x1_0009, 9)] {
        for piece in cut(&datagram(false, 3900), 1376, id) {
            assert_eq!(piece[4..6], u16::to_be_bytes(expected));
        }
    }
    assert_eq!(cut(&datagram(true, 3900), 1376, 0x1_0000)[1][44..48], [0, 1, 0, 0]);
}

/// What a look-up by headers alone finds for a later piece: nothing, so that it passed in clear.
#[test]
fn later_pieces_have_no_ports_and_are_kept_all_the_same() {
    for is_v6 in [false, true] {
        for action in [tunnel(), Action::Discard] {
            let (spd, mut worker) = (spd(is_v6, action), Worker::new(engine()));
            let pieces = cut(&datagram(is_v6, 3900), 1376, 9);
            assert_eq!(pieces.len(), 3);
            for (number, piece) in pieces.iter().enumerate() {
                let flow = Inner::read(piece).unwrap().flow;
                let by_headers = spd.lookup(PolicyDirection::Out, &flow);
                assert_eq!(by_headers.is_some(), number == 0);
                assert_eq!(route(&mut worker, &spd, piece), Ok("kept"));
            }
            // Together they are what the policy is for; without an SA, dropped.
            let mut gathering = Gathering::default();
            let mut gathered =
                pieces.iter().filter_map(|piece| worker.gather(&mut gathering, Time::default(), piece));
            let whole = gathered.next().unwrap();
            assert!(gathered.next().is_none() && whole.pieces == pieces);
            let reason = if action == Action::Discard { Reason::Blocked } else { Reason::NoSa };
            assert_eq!(route(&mut worker, &spd, &whole.packet), Err(reason));
            assert!(gathering.is_empty() && gathering.bytes() == 0);
        }
    }
}

#[test]
fn pieces_go_by_themselves_where_all_go_the_same_way() {
    let other = (ip("10.1.0.1"), ip("10.3.0.1"));
    let mut worker = Worker::new(engine());
    let mut spd = spd(false, tunnel());
    let strange = udp_packet(other.0, other.1, &[7; 3000]);
    let protocol = packet(ends(false).0, ends(false).1, 47, &[7; 3000]);
    for piece in [cut(&strange, 1376, 1), cut(&protocol, 1376, 2)].concat() {
        assert_eq!(route(&mut worker, &spd, &piece), Ok("passes"));
    }
    // A better policy that looks at no ports decides alone; a worse one does not.
    for (priority, expected) in [(9, "kept"), (1, "passes")] {
        let mut fields = Selector::all(Family::V4).fields();
        fields.destination = Prefix::new(ip("10.2.0.0"), 16 + priority as u8);
        let selector = Selector::new(&fields).unwrap();
        spd.add(PolicyDirection::Out, Policy { id: 2, selector, priority, action: Action::Bypass }).unwrap();
        for piece in cut(&datagram(false, 3000), 1376, 3) {
            assert_eq!(route(&mut worker, &spd, &piece), Ok(expected));
        }
    }
    // As it was once the policy with ports is gone.
    let names = spd.iter(PolicyDirection::Out).find(|policy| policy.id == 1).unwrap().selector;
    spd.remove(PolicyDirection::Out, &names).unwrap();
    assert_eq!(route(&mut worker, &spd, &cut(&datagram(false, 3000), 1376, 3)[1]), Ok("passes"));
}

/// Pieces of IPv6 state a protocol each, and that of the first counts (RFC 8200, 4.5).
#[test]
fn with_ipv6_no_piece_says_of_which_protocol_it_is() {
    let (spd, mut worker) = (spd(true, tunnel()), Worker::new(engine()));
    let mut pieces = cut(&datagram(true, 3900), 1376, 9);
    for piece in &mut pieces[1..] {
        piece[40] = 47;
        assert_eq!(route(&mut worker, &spd, piece), Ok("kept"));
    }
    let mut gathering = Gathering::default();
    let gathered: Vec<_> =
        pieces.iter().filter_map(|piece| worker.gather(&mut gathering, Time::default(), piece)).collect();
    assert_eq!(gathered[0].packet, datagram(true, 3900));
}

#[test]
fn pieces_that_came_out_of_a_tunnel_are_dropped_where_ports_decide() {
    for is_v6 in [false, true] {
        let (spd, mut worker) = (spd(is_v6, Action::Discard), Worker::new(engine()));
        for piece in cut(&datagram(is_v6, 3900), 1376, 9) {
            let flow = Inner::read(&piece).unwrap().flow;
            let admitted =
                worker.admit_piece(&spd, PolicyDirection::In, &flow, None, Amount::one(piece.len()));
            assert_eq!(admitted, Err(Reason::PortsUnknown));
        }
        assert_eq!(worker.counters().dropped(Reason::PortsUnknown), 3);
    }
}

/// Gathers all; what came out.
fn gather(pieces: &[Vec<u8>]) -> (Vec<Gathered>, Worker, Gathering) {
    let (mut worker, mut gathering) = (Worker::new(engine()), Gathering::default());
    let out =
        pieces.iter().filter_map(|piece| worker.gather(&mut gathering, Time::default(), piece)).collect();
    (out, worker, gathering)
}

/// Changes what a piece says of its place, in units of eight bytes, and whether others follow.
fn placed(piece: &[u8], offset: u16, more: bool) -> Vec<u8> {
    let mut piece = piece.to_vec();
    if piece[0] >> 4 == 4 {
        piece[6..8].copy_from_slice(&(offset | if more { 0x2000 } else { 0 }).to_be_bytes());
    } else {
        piece[42..44].copy_from_slice(&(offset << 3 | u16::from(more)).to_be_bytes());
    }
    piece
}

fn shortened(piece: &[u8], bytes: usize) -> Vec<u8> {
    let mut piece = piece[..bytes].to_vec();
    if piece[0] >> 4 == 4 {
        piece[2..4].copy_from_slice(&(bytes as u16).to_be_bytes());
    } else {
        piece[4..6].copy_from_slice(&((bytes - 40) as u16).to_be_bytes());
    }
    piece
}

#[test]
fn pieces_that_contradict_each_other_drop_all_of_their_packet() {
    for is_v6 in [false, true] {
        let good = cut(&datagram(is_v6, 3900), 1376, 9);
        let header = good[0].len() - Inner::read(&good[0]).unwrap().payload;
        let unit = (header / 8) as u16;
        let (first, second, last) = (&good[0], &good[1], &good[2]);
        let mut changed = second.clone();
        *changed.last_mut().unwrap() ^= 1;
        let headers = first.len() - header;
        for (what, bad) in [
            ("it overlaps the one before", placed(second, unit - 1, true)),
            ("it overlaps the first, whose ports it would write anew", placed(second, 0, true)),
            ("the same place with other bytes", changed),
            ("it is behind the last one", placed(second, 3 * unit, true)),
            ("another last one", placed(second, 3 * unit, false)),
            ("it is not of whole units", shortened(second, second.len() - 1)),
            ("it holds nothing", shortened(second, headers)),
            ("it is longer than any packet", placed(second, 0x1fff, true)),
        ] {
            let mut pieces = vec![first.clone(), second.clone(), bad.clone(), last.clone()];
            if what == "it is behind the last one" || what == "another last one" {
                pieces = vec![first.clone(), last.clone(), bad, second.clone()];
            }
            let (out, worker, gathering) = gather(&pieces);
            assert!(out.is_empty(), "{what}");
            assert_eq!(worker.counters().dropped(Reason::Pieces), 4, "{what}");
            assert_eq!(gathering.bytes(), 0, "{what}");
        }
        // A first piece without ports, or with little more (RFC 1858).
        let tiny = [placed(&shortened(first, headers + 4), 0, true), second.clone()];
        assert!(gather(&tiny).0.is_empty());
        // The same twice does no harm.
        let again = [first, second, second, first, last].map(Clone::clone);
        assert!(gather(&again).0[0].pieces == good);
        // What is no piece, and what is no packet.
        assert!(gather(&[datagram(is_v6, 100), vec![0x45; 8]]).0.is_empty());
    }
}

#[test]
fn options_and_extension_headers_stay_as_the_first_piece_has_them() {
    // A router alert of IPv4, copied to no later piece.
    let plain = datagram(false, 3000);
    let mut first = cut(&plain, 1396, 5);
    let mut piece = [&first[0][..20], &[0x14, 4, 0, 0], &first[0][20..]].concat();
    piece[0] = 0x46;
    let bytes = piece.len() as u16;
    piece[2..4].copy_from_slice(&bytes.to_be_bytes());
    first[0] = piece;
    let (out, ..) = gather(&first);
    let inner = Inner::read(&out[0].packet).unwrap();
    assert_eq!((inner.payload, inner.bytes, inner.is_fragment), (24, plain.len() + 4, false));
    assert_eq!(out[0].packet[24..], plain[20..]);
    // Options for the end, behind the header of fragments.
    let (source, destination) = ends(true);
    let behind = [&[17, 0, 1, 4, 0, 0, 0, 0][..], &udp(source, destination, 4000, 5000, &[9; 3000])].concat();
    let whole = packet(source, destination, 60, &behind);
    let pieces = cut(&whole, 1376, 6);
    let (spd, mut worker) = (spd(true, tunnel()), Worker::new(engine()));
    assert_eq!(route(&mut worker, &spd, &pieces[1]), Ok("kept"));
    assert_eq!(gather(&pieces).0[0].packet, whole);
    assert_eq!(route(&mut worker, &spd, &whole), Err(Reason::NoSa));
    // A piece within a piece comes to nothing.
    let nested = packet(source, destination, 47, &[&[17, 0, 0, 9, 0, 0, 0, 1][..], &[9; 2000]].concat());
    let mut nested = cut(&nested, 1376, 7);
    nested[0][40] = 44;
    let (out, worker, _) = gather(&nested);
    assert!(out.is_empty() && worker.counters().dropped(Reason::Pieces) > 0);
}

#[test]
fn floods_are_bounded_and_never_pass() {
    for is_v6 in [false, true] {
        let (spd, mut worker) = (spd(is_v6, tunnel()), Worker::new(engine()));
        let mut gathering = Gathering::default();
        // Pieces without a first one, each of a packet of its own.
        let later = cut(&datagram(is_v6, 3900), 1376, 0)[1].clone();
        let number = 200_000_u32;
        for id in 0..number {
            let mut piece = later.clone();
            if is_v6 {
                piece[44..48].copy_from_slice(&id.to_be_bytes());
            } else {
                piece[4..6].copy_from_slice(&(id as u16).to_be_bytes());
                piece[15] = (id >> 16) as u8;
            }
            if id % 1000 == 0 {
                assert_ne!(route(&mut worker, &spd, &piece), Ok("sealed"));
            }
            assert_eq!(worker.gather(&mut gathering, Time::default(), &piece), None);
            assert!(gathering.len() <= GATHERED_MAX && gathering.bytes() <= GATHERED_BYTES_MAX);
        }
        let dropped = worker.counters().dropped(Reason::Incomplete);
        assert_eq!(dropped + gathering.len() as u64, u64::from(number));
        // Another source's packet finds its place among them.
        let (source, destination) =
            if is_v6 { (ip("fd01::2"), ip("fd02::1")) } else { (ip("10.1.9.9"), ip("10.2.0.1")) };
        let other = udp_packet(source, destination, &[7; 3900]);
        let pieces = cut(&other, 1376, 1);
        assert_eq!(worker.gather(&mut gathering, Time::default(), &pieces[0]), None);
        for id in number..number + 5000 {
            let mut piece = later.clone();
            let at = if is_v6 { 44 } else { 2 };
            if is_v6 {
                piece[at..at + 4].copy_from_slice(&id.to_be_bytes())
            } else {
                piece[4..6].copy_from_slice(&(id as u16).to_be_bytes())
            }
            worker.gather(&mut gathering, Time::default(), &piece);
        }
        let one = worker.gather(&mut gathering, Time::default(), &pieces[1]);
        assert!(one.is_none() && pieces.len() == 3, "{is_v6} {}", pieces.len());
        assert!(worker.gather(&mut gathering, Time::default(), &pieces[2]).unwrap().pieces == pieces);
        // What waits too long goes with the next that comes.
        let late = Time(GATHERING_TIME + Duration::from_millis(1));
        worker.gather(&mut gathering, late, &later);
        assert_eq!(gathering.len(), 1);
    }
}

/// Whoever takes all the bytes loses his own packets, although they are fewer than those of others; whoever takes all
/// the places loses his, although they are shorter.
#[test]
fn one_sender_takes_no_place_from_others() {
    let from = |source: u8, id: u16, bytes: usize| {
        let mut whole = udp_packet(ip(&format!("10.1.0.{source}")), ip("10.2.0.1"), &vec![source; bytes]);
        whole[6] = 0;
        cut(&whole, bytes / 2 + 100, 1 + u32::from(id))
    };
    // Hostile pieces of 30 kB, of many packets; each of two others has 90 short ones.
    let (mut worker, mut gathering) = (Worker::new(engine()), Gathering::default());
    let time = |number: u64| Time(Duration::from_micros(number));
    let others: Vec<_> = (0..90).flat_map(|id| [from(2, id, 200), from(9, id, 200)]).collect();
    for (number, pieces) in others.iter().enumerate() {
        assert_eq!(worker.gather(&mut gathering, time(number as u64), &pieces[0]), None);
    }
    for id in 0..200 {
        worker.gather(&mut gathering, time(200 + u64::from(id)), &from(5, id, 60_000)[0]);
        assert!(gathering.bytes() <= GATHERED_BYTES_MAX);
    }
    for pieces in &others {
        assert!(pieces.len() == 2 && worker.gather(&mut gathering, time(500), &pieces[1]).is_some());
    }
    // Hostile packets of a few bytes, and one long one of another, which came first.
    let (mut worker, mut gathering) = (Worker::new(engine()), Gathering::default());
    let long = from(9, 1, 60_000);
    assert_eq!(worker.gather(&mut gathering, time(0), &long[0]), None);
    for id in 0..2000 {
        worker.gather(&mut gathering, time(1), &from(5, id, 200)[0]);
        assert!(gathering.len() <= GATHERED_MAX);
    }
    assert!(worker.gather(&mut gathering, time(2), &long[1]).is_some());
    // Of two sources with as much the older packet goes.
    for (first, second) in [(3, 4), (4, 3)] {
        let (mut worker, mut gathering) = (Worker::new(engine()), Gathering::default());
        let mut number = 0;
        for id in 0..GATHERED_MAX as u16 / 2 {
            for source in [first, second] {
                number += 1;
                worker.gather(&mut gathering, time(number), &from(source, id, 200)[0]);
            }
        }
        assert_eq!(gathering.len(), GATHERED_MAX);
        worker.gather(&mut gathering, time(number + 1), &from(7, 1, 200)[0]);
        assert!(worker.gather(&mut gathering, time(number + 2), &from(second, 0, 200)[1]).is_some());
        assert_eq!(worker.gather(&mut gathering, time(number + 2), &from(first, 0, 200)[1]), None);
    }
}

/// Many short pieces of one packet, and long ones of many.
#[test]
fn neither_pieces_nor_bytes_are_without_a_bound() {
    let piece = |id: u16, offset: usize, bytes: usize| {
        let mut piece = packet(ip("10.1.0.1"), ip("10.2.0.1"), 17, &vec![1; bytes]);
        piece[4..6].copy_from_slice(&id.to_be_bytes());
        piece[6..8].copy_from_slice(&(0x2000 | (offset / 8) as u16).to_be_bytes());
        piece
    };
    let (mut worker, mut gathering) = (Worker::new(engine()), Gathering::default());
    for number in 0..=PIECES_MAX {
        assert_eq!(gathering.bytes() > 0, number > 0);
        worker.gather(&mut gathering, Time::default(), &piece(1, 8 * number, 8));
    }
    assert_eq!((gathering.len(), gathering.bytes()), (1, 0));
    assert_eq!(worker.counters().dropped(Reason::Pieces), 1 + PIECES_MAX as u64);
    for id in 2..200 {
        worker.gather(&mut gathering, Time::default(), &piece(id, 0, 60_000));
        assert!(gathering.bytes() <= GATHERED_BYTES_MAX);
    }
    assert!(gathering.len() < 40 && worker.counters().dropped(Reason::Incomplete) > 150);
}

proptest! {
    #[test]
    fn what_was_cut_is_put_together_in_any_order(
        is_v6 in any::<bool>(),
        bytes in 100_usize..9000,
        mtu in 300_usize..1500,
        order in any::<u64>(),
        repeated in any::<bool>(),
    ) {
        let whole = datagram(is_v6, bytes);
        let mut pieces = cut(&whole, mtu, 77);
        prop_assume!(pieces.len() > 1);
        let as_cut = pieces.clone();
        prop_assert!(pieces.iter().all(|piece| piece.len() <= mtu && Inner::read(piece).unwrap().is_fragment));
        let mut state = order;
        for at in (1..pieces.len()).rev() {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            pieces.swap(at, (state >> 33) as usize % (at + 1));
        }
        if repeated {
            pieces = pieces.iter().flat_map(|piece| [piece.clone(), piece.clone()]).collect();
        }
        let (out, _, gathering) = gather(&pieces);
        prop_assert_eq!(out.len(), 1);
        let mut expected = whole;
        if !is_v6 {
            // Whoever cut it named it, and let it be cut.
            expected[4..6].copy_from_slice(&77_u16.to_be_bytes());
            expected[6] &= !0x40;
            checksum::write_ipv4((&mut expected[..20]).try_into().unwrap());
        }
        prop_assert!(out[0].packet == expected);
        prop_assert!(out[0].pieces == as_cut);
        // With a repetition of the last one a new packet has begun.
        prop_assert!(gathering.len() <= usize::from(repeated));
    }
}

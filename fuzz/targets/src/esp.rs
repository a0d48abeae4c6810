//! Packets of ESP as they arrive, packets of IP as they are sealed, and policies.

use engine::{Engine, HashAlgorithm, HmacItem, Options};
use ipsec::*;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

/// The SPI of every SA here.
const SPI: u32 = 4096;
/// Keys are this byte.
const KEY: u8 = 0x5a;

pub(crate) fn engine() -> Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    *ENGINE.get_or_init(|| Engine::new(Options::default()).expect("an engine"))
}

fn ends(is_v6: bool) -> (IpAddr, IpAddr) {
    match is_v6 {
        true => ([0xfd; 16].into(), [0xfe; 16].into()),
        false => ([192, 0, 2, 1].into(), [192, 0, 2, 2].into()),
    }
}

/// A change of parameters, whatever they borrow.
fn change_of<F>(change: F) -> F
where
    F: for<'p> Fn(SaParameters<'p>) -> SaParameters<'p>,
{
    change
}

fn sa(suite: Suite, change: impl Fn(SaParameters<'_>) -> SaParameters<'_>, ends: (IpAddr, IpAddr)) -> Sa {
    let (encryption, integrity) =
        (vec![KEY; suite.encryption_key_bytes()], vec![KEY; suite.integrity_key_bytes()]);
    let keys = KeyBytes { encryption: &encryption, integrity: &integrity };
    let parameters = change(SaParameters::tunnel(SPI, Direction::In, suite, keys, ends));
    Sa::new(&engine(), &parameters, true).expect("parameters that make sense")
}

/// Memory around a packet.
fn memory(packet: &[u8]) -> Vec<u8> {
    [&[0xaa; HEAD_ROOM][..], packet, &[0xbb; TAIL_ROOM + 300]].concat()
}

fn frame<'a>(memory: &'a mut [u8], packet: &[u8]) -> Frame<'a> {
    Frame::new(memory, HEAD_ROOM, HEAD_ROOM + packet.len()).expect("within its memory")
}

/// A packet of ESP for SAs of every suite, as it is; then the same bytes as what is enciphered, with a right ICV. The
/// first byte says which mode, family and suite. What opens is a packet of IP, and what else it is agrees with the
/// rules written out here.
pub fn esp_packet(data: &[u8]) {
    let Some((choice, data)) = data.split_first() else { return };
    let (mode, is_v6) = (if choice & 1 == 0 { Mode::Tunnel } else { Mode::Transport }, choice & 2 != 0);
    let (in_udp, extended) = (choice & 4 != 0, choice & 8 != 0);
    let suite = Suite::ALL[usize::from(choice >> 4) % Suite::ALL.len()];
    let ends = ends(is_v6);
    let change = change_of(|parameters| SaParameters {
        mode,
        extended,
        in_udp,
        source: Endpoint::new(ends.0, 4500),
        destination: Endpoint::new(ends.1, 4500),
        ..parameters
    });
    let arrival = Arrival::new(Endpoint::new(ends.0, 4500), ends.1);
    let mut worker = Worker::new(engine());
    // As it is, from a socket that gives headers of IP and from one that does not.
    for with_headers in [true, false] {
        let mut sad = Sad::new();
        sad.add(Arc::new(sa(suite, change, ends))).expect("room");
        let mut memory = memory(data);
        let frame = frame(&mut memory, data);
        let mut items = match with_headers {
            true => match OpenItem::read(frame) {
                Ok(item) => [item],
                Err(_) => continue,
            },
            false => [OpenItem::new(frame, arrival)],
        };
        worker.open(&sad, Time::default(), &mut items);
        check(&items[0]);
    }
    // Authentic, so that padding and what is inside are looked at.
    let suite = Suite::Separate(Encryption::Null, Integrity::Sha1);
    let mut packet = [SPI.to_be_bytes(), 1_u32.to_be_bytes()].concat();
    packet.extend_from_slice(data);
    let key = engine().hmac_key(HashAlgorithm::Sha1, &[KEY; 20]).expect("any length");
    let authenticated = [&packet[..], if extended { &[0; 4][..] } else { &[] }].concat();
    let mut items = [HmacItem::new(&key, &authenticated)];
    engine().hmac_batch(&mut items);
    packet.extend_from_slice(&items[0].mac[..12]);
    let mut sad = Sad::new();
    sad.add(Arc::new(sa(suite, change, ends))).expect("room");
    let mut memory = memory(&packet);
    let mut items = [OpenItem::new(frame(&mut memory, &packet), arrival)];
    worker.open(&sad, Time::default(), &mut items);
    check(&items[0]);
    let is_open = items[0].outcome.is_done();
    let moved = sad.inbound(SPI).expect("it was added").figures().sequence == 1;
    assert_eq!(
        moved,
        data.len() >= 2 && data.len().is_multiple_of(4),
        "whatever is authentic moves the window"
    );
    let Some((payload, next_header)) = by_the_rules(data) else { return assert!(!is_open) };
    if is_open {
        match mode {
            Mode::Tunnel => assert!(payload.starts_with(items[0].frame.bytes())),
            Mode::Transport => assert_ne!(next_header, NO_NEXT_HEADER),
        }
    } else if mode == Mode::Transport && next_header != NO_NEXT_HEADER {
        assert_eq!(items[0].outcome.reason(), Some(Reason::Inner), "extension headers may be wrong");
    }
}

/// RFC 4303, 2.4 and 2.6, byte by byte.
fn by_the_rules(text: &[u8]) -> Option<(&[u8], u8)> {
    let [before @ .., padding, next_header] = text else { return None };
    let payload = before.len().checked_sub((*padding).into())?;
    let counts = before[payload..].iter().zip(1..).all(|(byte, number)| u16::from(*byte) == number);
    (counts && text.len().is_multiple_of(4)).then_some((&before[..payload], *next_header))
}

fn check(item: &OpenItem<'_, '_>) {
    match &item.outcome {
        PacketOutcome::Done(opened) => {
            let inner = Inner::read(item.frame.bytes()).expect("what opens is a packet");
            assert_eq!((inner.flow, inner.bytes), (opened.flow, item.frame.len()));
        }
        PacketOutcome::Dropped(_) => {}
        PacketOutcome::Waiting => panic!("every packet has an outcome"),
    }
}

/// Packets, each behind two bytes of length, as they come from a TUN: pieces among them are kept and put together. What
/// comes out is a whole packet that holds what its pieces held, bounds hold, and everything that does not come out is
/// dropped and counted, or still kept. Then each whole one is cut outside, and put together again.
pub fn pieces(data: &[u8]) {
    let (mut worker, mut gathering, mut rest) = (Worker::new(engine()), Gathering::default(), data);
    let (mut taken, mut out) = (0, 0);
    let mut seconds = 0;
    while let Some((length, behind)) = rest.split_first_chunk::<2>() {
        let length = usize::from(u16::from_be_bytes(*length)).min(behind.len());
        let (packet, behind) = behind.split_at(length);
        rest = behind;
        // The last byte of a packet moves the time.
        seconds += u64::from(packet.last().is_some_and(|last| *last == 0xff));
        taken += 1;
        if let Some(gathered) = worker.gather(&mut gathering, Time::seconds(seconds), packet) {
            out += gathered.pieces.len();
            let inner = Inner::read(&gathered.packet).expect("a packet");
            assert!(!inner.is_fragment && inner.bytes == gathered.packet.len());
            assert!(
                gathered.pieces.iter().all(|piece| Inner::read(piece).is_ok_and(|piece| piece.is_fragment))
            );
        }
        assert!(gathering.len() <= GATHERED_MAX && gathering.bytes() <= GATHERED_BYTES_MAX);
        again(packet);
    }
    let dropped = |reason| worker.counters().dropped(reason) as usize;
    let known = out + dropped(Reason::Pieces) + dropped(Reason::Incomplete);
    assert!(known <= taken && taken - known <= GATHERED_MAX * PIECES_MAX);
}

/// Cuts a packet, and puts it together again.
fn again(packet: &[u8]) {
    let mut whole = packet.to_vec();
    let Ok(pieces) = fragment_outside(&mut whole, 300, 7) else { return };
    let Ok(inner) = Inner::read(&whole) else { panic!("what was cut is a packet") };
    whole.truncate(inner.bytes);
    if pieces.len() < 2 || pieces.len() > PIECES_MAX {
        return;
    }
    let (mut worker, mut gathering) = (Worker::new(engine()), Gathering::default());
    let mut gathered: Vec<Gathered> = Vec::new();
    for piece in &pieces {
        gathered.extend(worker.gather(&mut gathering, Time::default(), piece));
    }
    // Pieces whose first holds too little of the headers come to nothing.
    if let Some(gathered) = gathered.first() {
        let header = if inner.flow.family() == Family::V4 { inner.payload } else { 40 };
        assert_eq!(gathered.packet[header..], whole[header..]);
    }
}

/// A packet of IP: sealed and opened it is the same; cut, its pieces are the whole; and what tells its sender is a
/// packet.
pub fn inner_packet(data: &[u8]) {
    let Ok(inner) = Inner::read(data) else { return };
    let packet = &data[..inner.bytes];
    let flow = inner.flow;
    for mode in [Mode::Tunnel, Mode::Transport] {
        let ends = (flow.source(), flow.destination());
        let change = change_of(|parameters| SaParameters { mode, ..parameters });
        let suite = Suite::AesGcm16(AesKey::Bits128);
        let out =
            sa(suite, |parameters| SaParameters { direction: Direction::Out, ..change(parameters) }, ends);
        let mut sad = Sad::new();
        sad.add(Arc::new(sa(suite, change, ends))).expect("room");
        let mut worker = Worker::new(engine());
        let mut room = memory(data);
        let mut items = [SealItem::new(&out, frame(&mut room, data))];
        worker.seal(Time::default(), &mut items);
        let [item] = items;
        let PacketOutcome::Done(sealed) = item.outcome else {
            let reason = item.outcome.reason().expect("every packet has an outcome");
            assert!(mode == Mode::Transport || matches!(reason, Reason::TooLong), "{reason}");
            continue;
        };
        let mut frame = item.frame;
        if sealed.outer.write(&mut frame).is_err() {
            // IP's own limit.
            assert!(frame.len() > usize::from(u16::MAX) - 40);
            continue;
        }
        let mut items = [OpenItem::read(frame).expect("what is written is read")];
        worker.open(&sad, Time::default(), &mut items);
        check(&items[0]);
        match (mode, &items[0].outcome) {
            (Mode::Tunnel, PacketOutcome::Done(opened)) => {
                assert_eq!(opened.flow, flow);
                assert_eq!(items[0].frame.bytes(), packet);
            }
            // Headers with options or extensions come back as they were, but for a checksum that was wrong.
            (Mode::Transport, PacketOutcome::Done(_)) => {
                let mut opened = items[0].frame.bytes().to_vec();
                assert_eq!(opened.len(), packet.len());
                let headers = if sealed.outer.is_whole { 0 } else { flow.family().header_bytes() };
                if headers == 0 && flow.family() == Family::V4 {
                    opened[10..12].copy_from_slice(&packet[10..12]);
                }
                assert_eq!(opened[headers..], packet[headers..]);
            }
            // A dummy's number is a protocol that a packet may name.
            (Mode::Transport, PacketOutcome::Dropped(Reason::Dummy)) => {
                assert_eq!(flow.protocol, NO_NEXT_HEADER)
            }
            (_, outcome) => panic!("{mode:?}: {outcome:?}"),
        }
    }
    for mtu in [68, 600, 1280] {
        if let Ok(pieces) = fragment_ipv4(packet, mtu) {
            let payloads = pieces.iter().map(|piece| {
                let read = Inner::read(piece).expect("a piece is a packet");
                assert!(read.bytes == piece.len() && piece.len() <= mtu);
                piece[read.payload..].to_vec()
            });
            assert_eq!(payloads.collect::<Vec<_>>().concat(), packet[inner.payload..]);
        }
        for is_v6 in [false, true] {
            if let Some(message) = too_big(packet, mtu, ends(is_v6).0) {
                let read = Inner::read(&message).expect("a message is a packet");
                assert_eq!(read.flow.destination(), flow.source());
                assert!(read.bytes == message.len() && message.len() <= 1280);
                assert_eq!(too_big(&message, mtu, ends(is_v6).0), None, "errors are not answered");
            }
        }
    }
}

/// Policies that come and go, and packets: what is found is the first of a list that matches. Eight bytes make a step.
pub fn selectors(data: &[u8]) {
    let (mut spd, mut list): (Spd, Vec<Policy>) = (Spd::new(), Vec::new());
    let direction = PolicyDirection::Out;
    for (id, step) in data.as_chunks::<8>().0.iter().enumerate() {
        let [kind, source, source_bits, destination, destination_bits, protocol, ports, mask] = *step;
        let is_v6 = kind & 0x80 != 0;
        let address = |low: u8| match is_v6 {
            true => IpAddr::from([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, low]),
            false => IpAddr::from([10, 0, 0, low]),
        };
        let protocol = [None, Some(6), Some(17), Some(1), Some(50)][usize::from(protocol % 5)];
        let (from, to) = (u16::from(ports >> 4), u16::from(ports & 15));
        if kind & 3 == 0 {
            let flow = Flow::new(address(source), address(destination), protocol.unwrap_or(47), (from, to));
            let flow = flow.expect("of one family");
            let expected = list
                .iter()
                .filter(|policy| policy.selector.matches(&flow))
                .min_by_key(|policy| policy.priority);
            assert_eq!(spd.lookup(direction, &flow), expected);
            continue;
        }
        let mask_of = |bits: u8| [0, 0xffff, 0x000c, 0x8001][usize::from(bits & 3)];
        let fields = SelectorFields {
            source: Prefix::new(address(source), source_bits),
            destination: Prefix::new(address(destination), destination_bits),
            protocol,
            source_ports: Ports { port: from, mask: mask_of(mask) },
            destination_ports: Ports { port: to, mask: mask_of(mask >> 2) },
        };
        let selector = match Selector::new(&fields) {
            Ok(selector) => selector,
            Err(SelectorError::PrefixBits { bits, family }) => {
                assert!(bits > family.address_bits());
                continue;
            }
            Err(SelectorError::PortsWithoutProtocol { protocol }) => {
                assert!(matches!(protocol, None | Some(50)) && mask & 15 != 0);
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        assert_eq!(Selector::new(&selector.fields()), Ok(selector), "what it was made of makes it again");
        let policy =
            Policy { id: id as u32, selector, priority: u32::from(kind >> 2 & 7), action: Action::Discard };
        let at = list.iter().position(|other| other.selector == selector);
        match kind & 3 {
            1 if at.is_some() => assert_eq!(spd.add(direction, policy), Err(SpdError::Exists)),
            1 => {
                spd.add(direction, policy).expect("room");
                list.push(policy);
            }
            2 => {
                let before = spd.replace(direction, policy).expect("room");
                assert_eq!(before, at.map(|at| list.remove(at)));
                list.push(policy);
            }
            _ => assert_eq!(spd.remove(direction, &selector), at.map(|at| list.remove(at))),
        }
        assert_eq!(spd.len(direction), list.len());
    }
}

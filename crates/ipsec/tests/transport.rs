//! Transport mode of packets with options of IPv4 and extension headers of IPv6: where ESP stands, beside a model that
//! is written from the RFCs.

use crate::common::*;
use ipsec::*;
use seeded::Random;
use std::net::IpAddr;
use std::sync::Arc;

const SPI: u32 = 4096;
const KEYS: KeyBytes<'_> = KeyBytes { encryption: &[7; 20], integrity: &[] };
const SUITE: Suite = Suite::AesGcm16(AesKey::Bits128);

fn ends(is_v6: bool) -> (IpAddr, IpAddr) {
    if is_v6 { (ip("2001:db8::1"), ip("2001:db8::2")) } else { (ip("192.0.2.1"), ip("198.51.100.7")) }
}

fn sa(direction: Direction, ends: (IpAddr, IpAddr), in_udp: bool) -> Sa {
    let port = if in_udp { 4500 } else { 0 };
    let parameters = SaParameters {
        mode: Mode::Transport,
        source: Endpoint::new(ends.0, port),
        destination: Endpoint::new(ends.1, port),
        in_udp,
        ..SaParameters::tunnel(SPI, direction, SUITE, KEYS, ends)
    };
    Sa::new(&engine(), &parameters, false).unwrap()
}

/// A packet in its parts: what stays before ESP, what stands behind it, and the number of the latter.
struct Model {
    before: Vec<u8>,
    behind: Vec<u8>,
    number: u8,
    /// Where `before` says that number.
    place: usize,
}

/// IPv4 with so many bytes of options, all of them no operation.
fn v4(options: usize, payload: &[u8]) -> Model {
    let (source, destination) = ends(false);
    let mut before = packet(source, destination, 17, payload)[..20].to_vec();
    before.extend(vec![1; options]);
    before[0] = 0x45 + (options / 4) as u8;
    Model { before, behind: udp(source, destination, 4000, 5000, payload), number: 17, place: 9 }
}

/// IPv6 with extension headers of 8 or 16 bytes: `before` ESP and `behind` it.
fn v6(before: &[u8], behind: &[u8], payload: &[u8]) -> Model {
    let (source, destination) = ends(true);
    let datagram = udp(source, destination, 4000, 5000, payload);
    let chain: Vec<u8> = [before, behind].concat();
    let extension = |at: usize| {
        let long = usize::from(chain[at] != 44 && at % 2 == 1);
        let mut bytes = vec![0; 8 + 8 * long];
        bytes[0] = chain.get(at + 1).copied().unwrap_or(17);
        bytes[1] = long as u8;
        bytes
    };
    let first = chain.first().copied().unwrap_or(17);
    let mut made = packet(source, destination, first, &[]);
    let mut place = 6;
    for at in 0..before.len() {
        place = made.len();
        made.extend(extension(at));
    }
    let behind_bytes: Vec<u8> = (before.len()..chain.len()).flat_map(extension).chain(datagram).collect();
    Model { before: made, behind: behind_bytes, number: behind.first().copied().unwrap_or(17), place }
}

impl Model {
    /// A packet of IP whose headers name `number`, with `payload` behind them.
    fn with(&self, number: u8, payload: &[u8]) -> Vec<u8> {
        let mut made = [&self.before[..], payload].concat();
        made[self.place] = number;
        let bytes = made.len() as u16;
        if made[0] >> 4 == 4 {
            made[2..4].copy_from_slice(&bytes.to_be_bytes());
            made[10..12].fill(0);
            let sum = checksum(&made[..self.before.len()]);
            made[10..12].copy_from_slice(&sum.to_be_bytes());
        } else {
            made[4..6].copy_from_slice(&(bytes - 40).to_be_bytes());
        }
        made
    }

    fn inner(&self) -> Vec<u8> {
        self.with(self.number, &self.behind)
    }

    fn is_bare(&self) -> bool {
        matches!((self.before[0], self.before.len()), (0x45, _) | (0x60, 40))
    }
}

/// RFC 4303, 3.1.1: options stay outside; headers that routers look at, and options for every destination on the way,
/// too; fragments' headers and options for the end alone do not.
#[test]
fn esp_stands_behind_the_headers_that_routers_look_at() {
    let payload = Random(3).bytes(77);
    let models = [
        v4(0, &payload),
        v4(4, &payload),
        v4(40, &payload),
        v6(&[], &[], &payload),
        v6(&[0], &[], &payload),
        v6(&[0, 43], &[], &payload),
        v6(&[0, 60, 43], &[60], &payload),
        v6(&[60], &[], &payload),
        v6(&[43], &[60, 60], &payload),
        // A header of fragments that says that the packet is whole.
        v6(&[], &[44], &payload),
        v6(&[0, 43], &[44, 60], &payload),
        v6(&[0], &[135], &payload),
    ];
    for (at, model) in models.iter().enumerate() {
        for in_udp in [false, true] {
            let inner = model.inner();
            let ends = ends(inner[0] >> 4 == 6);
            let (mut worker, mut sad) = (Worker::new(engine()), Sad::new());
            sad.add(Arc::new(sa(Direction::In, ends, in_udp))).unwrap();
            let out = sa(Direction::Out, ends, in_udp);
            // As little room as it is said to take.
            let (before, behind) = out.room(inner.len());
            let mut memory = Memory::with_room(&inner, before + if model.is_bare() { 40 } else { 0 }, behind);
            let mut items = [SealItem::new(&out, memory.frame())];
            worker.seal(Time::default(), &mut items);
            let [SealItem { outcome, mut frame, .. }] = items;
            let sealed = *outcome.done().unwrap_or_else(|| panic!("{at}: {outcome:?}"));
            assert_eq!(sealed.outer.is_whole, !model.is_bare(), "{at}");
            sealed.outer.write(&mut frame).unwrap();
            let sent = frame.bytes().to_vec();

            // What is outside, and what is inside by the second ESP.
            let (outside, esp) = sent.split_at(model.before.len() + if in_udp { 8 } else { 0 });
            let text = twin_of(esp);
            assert_eq!(text, (model.behind.clone(), model.number), "{at}");
            if !model.is_bare() {
                let number = if in_udp { 17 } else { 50 };
                assert_eq!(sent, model.with(number, &sent[model.before.len()..]), "{at}");
            }
            if in_udp {
                let ports = [4500_u16.to_be_bytes(); 2].concat();
                assert_eq!(outside[model.before.len()..][..4], ports, "{at}");
                let bytes = (8 + esp.len()) as u16;
                assert_eq!(outside[model.before.len() + 4..][..2], bytes.to_be_bytes(), "{at}");
            }

            // It comes back as it was.
            let mut memory = Memory::with_room(&sent, 0, 0);
            let mut items = [OpenItem::read(memory.frame()).unwrap()];
            worker.open(&sad, Time::default(), &mut items);
            let opened = items[0].outcome.done().unwrap_or_else(|| panic!("{at}: {:?}", items[0].outcome));
            assert_eq!(opened.flow, Inner::read(&inner).unwrap().flow, "{at}");
            match model.is_bare() {
                true => assert_eq!(items[0].frame.bytes()[model.before.len()..], inner[model.before.len()..]),
                false => assert_eq!(items[0].frame.bytes(), inner, "{at}"),
            }
        }
    }
}

fn twin_of(esp: &[u8]) -> (Vec<u8>, u8) {
    let keys = RawKeys { encryption: KEYS.encryption.to_vec(), integrity: Vec::new() };
    twin::open(SUITE, &keys, 1, false, esp).expect("authentic")
}

/// Packets of both kinds in one batch; and what does not fit.
#[test]
fn room_and_length_are_checked_with_the_headers() {
    let ends = ends(false);
    let out = sa(Direction::Out, ends, true);
    let mut worker = Worker::new(engine());
    let (with, without) = (v4(8, b"with options").inner(), v4(0, b"without").inner());
    let (before, behind) = out.room(with.len());
    for (less, reason) in [(0, None), (1, Some(Reason::NoRoom))] {
        let mut memories =
            [&with, &without, &with].map(|packet| Memory::with_room(packet, before - less, behind));
        let mut items: Vec<_> =
            memories.iter_mut().map(|memory| SealItem::new(&out, memory.frame())).collect();
        worker.seal(Time::default(), &mut items);
        let reasons: Vec<_> = items.iter().map(|item| item.outcome.reason()).collect();
        assert_eq!(reasons, [reason, None, reason]);
    }
    // Headers of 36 bytes, 16 before and 16 behind; what is enciphered, trailer included, is a multiple of 4 bytes.
    for (bytes, is_long) in [(65_464 - 2 - 8, false), (65_464 - 2 - 8 + 1, true)] {
        let long = v4(8, &vec![1; bytes]).inner();
        let outcome = seal(&mut worker, &out, &long);
        assert_eq!(outcome.err(), is_long.then_some(Reason::TooLong), "{bytes}");
    }
    let mut piece = with;
    piece[6] = 0x20;
    assert_eq!(seal(&mut worker, &out, &piece).unwrap_err(), Reason::Fragment);
}

//! SAs, packets of IP and a second ESP, made of OpenSSL's functions one packet at a time, that the tests compare with.

pub mod twin;

use engine::{Engine, Level, Options};
use ipsec::*;
use seeded::Random;
use std::net::IpAddr;

/// An engine per level that this machine has.
pub fn engines() -> Vec<Engine> {
    let engine = |limit| Engine::new(Options { limit: Some(limit), ..Options::default() }).unwrap();
    let best = Engine::new(Options::default()).unwrap().level();
    Level::ALL.into_iter().filter(|level| *level <= best).map(engine).collect()
}

pub fn engine() -> Engine {
    Engine::new(Options::default()).unwrap()
}

pub fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Keys of an SA as bytes.
#[derive(Clone, Debug)]
pub struct RawKeys {
    pub encryption: Vec<u8>,
    pub integrity: Vec<u8>,
}

impl RawKeys {
    pub fn random(suite: Suite, random: &mut Random) -> RawKeys {
        RawKeys {
            encryption: random.bytes(suite.encryption_key_bytes()),
            integrity: random.bytes(suite.integrity_key_bytes()),
        }
    }

    pub fn bytes(&self) -> KeyBytes<'_> {
        KeyBytes { encryption: &self.encryption, integrity: &self.integrity }
    }
}

/// An SA for each direction, of equal parameters.
pub fn pair(engine: &Engine, parameters: &SaParameters<'_>) -> (Sa, Sa) {
    let make = |direction| Sa::new(engine, &SaParameters { direction, ..*parameters }, true).unwrap();
    (make(Direction::Out), make(Direction::In))
}

/// A datagram of UDP in a packet of IPv4 or IPv6, `payload` bytes long above UDP, with right checksums.
pub fn udp_packet(source: IpAddr, destination: IpAddr, payload: &[u8]) -> Vec<u8> {
    packet(source, destination, 17, &udp(source, destination, 4000, 5000, payload))
}

pub fn udp(source: IpAddr, destination: IpAddr, from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
    let bytes = (payload.len() + 8) as u16;
    let mut datagram =
        [&from.to_be_bytes()[..], &to.to_be_bytes(), &bytes.to_be_bytes(), &[0; 2], payload].concat();
    let checksum = match checksum(&[&pseudo(source, destination, 17, bytes.into())[..], &datagram].concat()) {
        0 => u16::MAX,
        other => other,
    };
    datagram[6..8].copy_from_slice(&checksum.to_be_bytes());
    datagram
}

pub fn pseudo(source: IpAddr, destination: IpAddr, protocol: u8, bytes: u32) -> Vec<u8> {
    let octets = |address: IpAddr| match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    [&octets(source)[..], &octets(destination), &bytes.to_be_bytes(), &u32::from(protocol).to_be_bytes()]
        .concat()
}

/// A packet without options.
pub fn packet(source: IpAddr, destination: IpAddr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let bytes = (payload.len() + 20) as u16;
            let mut header = vec![0x45, 0];
            header.extend(bytes.to_be_bytes());
            header.extend([0x12, 0x34, 0x40, 0, 64, protocol, 0, 0]);
            header.extend(source.octets());
            header.extend(destination.octets());
            let sum = checksum(&header);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
            [&header[..], payload].concat()
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let mut header = vec![0x60, 0, 0, 0];
            header.extend((payload.len() as u16).to_be_bytes());
            header.extend([protocol, 64]);
            header.extend(source.octets());
            header.extend(destination.octets());
            [&header[..], payload].concat()
        }
        _ => panic!("two families"),
    }
}

/// RFC 1071, a byte at a time.
pub fn checksum(bytes: &[u8]) -> u16 {
    let mut sum = 0_u32;
    for (at, byte) in bytes.iter().enumerate() {
        sum += u32::from(*byte) << if at % 2 == 0 { 8 } else { 0 };
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Memory with room around a packet.
pub struct Memory(pub Vec<u8>, usize, usize);

impl Memory {
    pub fn new(packet: &[u8]) -> Memory {
        Memory::with_room(packet, HEAD_ROOM, TAIL_ROOM + 2000)
    }

    pub fn with_room(packet: &[u8], head: usize, tail: usize) -> Memory {
        // What was in the room before must not matter.
        let mut memory = vec![0xaa; head];
        memory.extend_from_slice(packet);
        memory.resize(head + packet.len() + tail, 0x55);
        Memory(memory, head, head + packet.len())
    }

    pub fn frame(&mut self) -> Frame<'_> {
        Frame::new(&mut self.0, self.1, self.2).unwrap()
    }
}

/// Seals one packet of IP alone.
pub fn seal(worker: &mut Worker, sa: &Sa, packet: &[u8]) -> Result<(Sealed, Vec<u8>), Reason> {
    let mut memory = Memory::new(packet);
    let mut items = [SealItem::new(sa, memory.frame())];
    worker.seal(Time::seconds(1), &mut items);
    match &items[0].outcome {
        PacketOutcome::Done(sealed) => Ok((*sealed, items[0].frame.bytes().to_vec())),
        outcome => Err(outcome.reason().unwrap()),
    }
}

/// Opens one packet of ESP alone.
pub fn open(worker: &mut Worker, sad: &Sad, packet: &[u8], arrival: Arrival) -> Result<Vec<u8>, Reason> {
    let mut memory = Memory::new(packet);
    let mut items = [OpenItem::new(memory.frame(), arrival)];
    worker.open(sad, Time::seconds(1), &mut items);
    match &items[0].outcome {
        PacketOutcome::Done(_) => Ok(items[0].frame.bytes().to_vec()),
        outcome => Err(outcome.reason().unwrap()),
    }
}

/// What a packet that was sealed looks like to whom it arrives at.
pub fn arrival(outer: &Outer) -> Arrival {
    Arrival {
        source: outer.source,
        destination: outer.destination.address,
        traffic_class: outer.traffic_class,
        hop_limit: outer.hop_limit,
    }
}

/// As protocol 50 from one end to the other.
pub fn arrival_of(ends: (IpAddr, IpAddr)) -> Arrival {
    Arrival::new(Endpoint::new(ends.0, 0), ends.1)
}

/// Bytes of a text of hexadecimal digits.
pub fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let value = |digit: u8| char::from(digit).to_digit(16).unwrap() as u8;
    digits.chunks(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect()
}

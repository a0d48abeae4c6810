//! How much faster packets are together than one at a time, sealed and opened, for each suite; every answer is checked.
//!
//! ```text
//! cargo run --release -p ipsec --example packets -- [PACKETS [BYTES [ROUNDS]]]
//! ```
//!
//! 47 packets of 1,424 bytes, unless other numbers are given: about what one look at a TUN with segmentation offload brings. Both ways run in turn, a
//! round each; the figure is the median over the rounds, and the ratio is between the medians. Bytes are those of the packet inside.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::{Engine, Options};
use ipsec::{
    Arrival, Direction, Endpoint, Frame, HEAD_ROOM, KeyBytes, OpenItem, Sa, SaParameters, Sad, SealItem,
    Suite, TAIL_ROOM, Time, Worker,
};

fn main() {
    let mut given = std::env::args().skip(1).map(|text| text.parse().expect("a number"));
    let (packets, bytes, rounds) =
        (given.next().unwrap_or(47), given.next().unwrap_or(1424), given.next().unwrap_or(200));
    assert!(packets > 0 && rounds > 0 && (28..=9000).contains(&bytes), "packets have 28 to 9,000 bytes");
    let engine = Engine::new(Options::default()).expect("an engine");
    println!("{packets} packets of {bytes} bytes, level {}, nanoseconds a packet", engine.level());
    println!("{:42}{:>30}{:>30}", "", "seal: together, one, ratio", "open: together, one, ratio");
    for suite in Suite::ALL {
        let figures = measure(&engine, suite, packets, bytes, rounds);
        let [seal, open] = [[figures[0], figures[1]], [figures[2], figures[3]]]
            .map(|[together, one]| format!("{together:>10.0}{one:>10.0}{:>10.2}", one / together));
        println!("{:42}{seal}{open}", suite.to_string());
    }
}

/// A packet of IPv4 of so many bytes.
fn packet(number: usize, bytes: usize) -> Vec<u8> {
    let mut packet: Vec<u8> = (0..bytes).map(|at| (at * 7 + number * 13) as u8).collect();
    packet[..20].fill(0);
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&(bytes as u16).to_be_bytes());
    packet[8..10].copy_from_slice(&[64, 253]);
    packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    packet
}

/// Seal together and alone, open together and alone: the median of each, in nanoseconds a packet.
fn measure(engine: &Engine, suite: Suite, packets: usize, bytes: usize, rounds: usize) -> [f64; 4] {
    let (encryption, integrity) =
        (vec![0x5a; suite.encryption_key_bytes()], vec![0xa5; suite.integrity_key_bytes()]);
    // Three keys of 3DES that are not equal.
    let encryption: Vec<u8> = encryption.iter().enumerate().map(|(at, byte)| byte ^ at as u8).collect();
    let keys = KeyBytes { encryption: &encryption, integrity: &integrity };
    let ends = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
    let inners: Vec<_> = (0..packets).map(|number| packet(number, bytes)).collect();
    let mut memory = vec![vec![0; HEAD_ROOM + bytes + TAIL_ROOM]; packets];
    let mut worker = Worker::new(*engine);
    let mut times: [Vec<Duration>; 4] = Default::default();
    for round in 0..rounds {
        for together in [true, false] {
            // Another pair for each round: limits by packets are never met.
            let make = |direction| {
                let parameters = SaParameters {
                    window: 4096,
                    ..SaParameters::tunnel(4096 + round as u32, direction, suite, keys, ends)
                };
                Sa::new(engine, &parameters, true).expect("an SA")
            };
            let (out, inbound) = (make(Direction::Out), Arc::new(make(Direction::In)));
            let mut sad = Sad::new();
            sad.add(inbound).expect("room for an SA");
            let size = if together { packets } else { 1 };
            for (memory, inner) in memory.iter_mut().zip(&inners) {
                memory[HEAD_ROOM..HEAD_ROOM + bytes].copy_from_slice(inner);
            }
            let mut items: Vec<_> = memory
                .iter_mut()
                .map(|memory| Frame::new(memory, HEAD_ROOM, HEAD_ROOM + bytes).expect("within its memory"))
                .map(|frame| SealItem::new(&out, frame))
                .collect();
            let begun = Instant::now();
            items.chunks_mut(size).for_each(|items| worker.seal(Time::default(), items));
            times[usize::from(!together)].push(begun.elapsed());
            let arrival = Arrival::new(Endpoint::new(ends.0, 0), ends.1);
            let mut items: Vec<_> = items
                .into_iter()
                .map(|item| {
                    assert!(item.outcome.is_done(), "{suite}: {:?}", item.outcome);
                    OpenItem::new(item.frame, arrival)
                })
                .collect();
            let begun = Instant::now();
            items.chunks_mut(size).for_each(|items| worker.open(&sad, Time::default(), items));
            times[2 + usize::from(!together)].push(begun.elapsed());
            for (item, inner) in items.iter().zip(&inners) {
                assert!(item.outcome.is_done() && item.frame.bytes() == inner, "{suite}: {:?}", item.outcome);
            }
        }
    }
    times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2].as_nanos() as f64 / packets as f64
    })
}

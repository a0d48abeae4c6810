//! What a packet takes beside its cryptography, with a thousand SAs and policies, and what packets take that are
//! refused.
//!
//! ```text
//! cargo run --release -p ipsec --example lookups -- [ROUNDS [csv]]
//! ```
//!
//! Packets of 1,400 bytes under AES-128-GCM, 47 in a batch, each of another SA. Each round goes over its batch twice:
//! the first time keys, windows and policies were not used for twenty rounds, the second time just before. A figure is
//! the median over the rounds, in nanoseconds a packet; its share is of what opening takes. With `csv` each line is a
//! row's name with both figures.
#![forbid(unsafe_code)]

use engine::{Engine, Options};
use ipsec::*;
use std::hint::black_box;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

const TABLE: u32 = 1000;
const BATCH: usize = 47;
const BYTES: usize = 1400;
const SUITE: Suite = Suite::AesGcm16(AesKey::Bits128);
/// The SPI of the first SA.
const SPI: u32 = 0x1000;

fn ends() -> (IpAddr, IpAddr) {
    ([192, 0, 2, 1].into(), [192, 0, 2, 2].into())
}

fn net(number: u32) -> IpAddr {
    IpAddr::from((0x0a00_0000 + (number << 8)).to_be_bytes())
}

/// An SA and a policy for each of a thousand nets.
fn tables(engine: &Engine) -> (Sad, Spd) {
    let (mut sad, mut spd) = (Sad::new(), Spd::new());
    for number in 0..TABLE {
        let mut key = [0x5a; 20];
        key[..4].copy_from_slice(&number.to_be_bytes());
        let keys = KeyBytes { encryption: &key, integrity: &[] };
        for direction in [Direction::Out, Direction::In] {
            let parameters = SaParameters {
                window: 4096,
                request: number,
                ..SaParameters::tunnel(SPI + number, direction, SUITE, keys, ends())
            };
            sad.add(Arc::new(Sa::new(engine, &parameters, false).expect("an SA"))).expect("room");
        }
        let selector = Selector::new(&SelectorFields {
            destination: Prefix::new(net(number), 24),
            ..Selector::all(Family::V4).fields()
        });
        let template = Template { request: number, mode: Mode::Tunnel, ends: Some(ends()), spi: None };
        let action = Action::Protect(template);
        let policy =
            Policy { id: number, selector: selector.expect("a prefix"), priority: number % 7, action };
        for direction in [PolicyDirection::Out, PolicyDirection::In] {
            spd.add(direction, policy).expect("room");
        }
    }
    (sad, spd)
}

fn packet(number: u32) -> Vec<u8> {
    let mut packet = vec![7; BYTES];
    packet[..20].fill(0);
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&(BYTES as u16).to_be_bytes());
    packet[8..10].copy_from_slice(&[64, 253]);
    let (source, destination) = (0x0b00_0001_u32, 0x0a00_0005 + (number << 8));
    packet[12..16].copy_from_slice(&source.to_be_bytes());
    packet[16..20].copy_from_slice(&destination.to_be_bytes());
    packet
}

/// Runs something over a batch and gives nanoseconds a packet.
fn timed(run: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    run();
    begun.elapsed().as_nanos() as f64 / BATCH as f64
}

const ROWS: [&str; 11] = [
    "seal",
    "open",
    "policy and SA of a packet that goes out",
    "policy alone, by its tables",
    "SA of a packet that came, by its SPI",
    "window, before and after authentication",
    "policy of a packet that came",
    "refused: unknown SPI",
    "refused: replayed",
    "refused: too old",
    "refused: wrong ICV",
];

fn main() {
    let rounds = std::env::args().nth(1).map_or(300, |text| text.parse().expect("a number of rounds"));
    let engine = Engine::new(Options::default()).expect("an engine");
    let (sad, spd) = tables(&engine);
    let mut worker = Worker::new(engine);
    let mut times: [[Vec<f64>; ROWS.len()]; 2] = Default::default();
    for round in 0..rounds {
        // Steps through the table, so that neighbours are far apart.
        let numbers: Vec<u32> = (0..BATCH as u32).map(|at| (round * 131 + at * 389) % TABLE).collect();
        for times in &mut times {
            let figures = measure(&mut worker, &sad, &spd, &numbers);
            times.iter_mut().zip(figures).for_each(|(times, figure)| times.push(figure));
        }
    }
    let [first, second] = times.map(|rows| {
        rows.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        })
    });
    if std::env::args().nth(2).is_some_and(|last| last == "csv") {
        ROWS.iter().zip(first.iter().zip(&second)).for_each(|(row, (first, second))| {
            println!("\"{row}\",{first},{second}");
        });
        return;
    }
    println!("{TABLE} SAs of each direction, {TABLE} policies, level {}", engine.level());
    println!("{:44}{:>22}{:>22}", "", "first: ns, % of open", "again: ns, % of open");
    for (at, row) in ROWS.iter().enumerate() {
        let [first, second] =
            [&first, &second].map(|all| format!("{:>12.0}{:>10.1}", all[at], 100.0 * all[at] / all[1]));
        println!("{row:44}{first}{second}");
    }
}

fn measure(worker: &mut Worker, sad: &Sad, spd: &Spd, numbers: &[u32]) -> [f64; ROWS.len()] {
    let now = Time::default();
    let inners: Vec<_> = numbers.iter().map(|number| packet(*number)).collect();
    let flows: Vec<_> = inners.iter().map(|inner| Inner::read(inner).expect("a packet").flow).collect();
    let mut routes = Vec::with_capacity(BATCH);
    let route = timed(|| {
        routes.extend(inners.iter().map(|inner| {
            match worker.route(sad, spd, now, inner, Amount::one(BYTES)) {
                Ok(Route::Seal(sa)) => sa,
                other => panic!("{other:?}"),
            }
        }));
    });
    assert!(routes.iter().zip(numbers).all(|(sa, number)| sa.spi() == SPI + number));
    let policy = timed(|| {
        for flow in &flows {
            black_box(spd.lookup(PolicyDirection::Out, flow));
        }
    });
    let mut memory: Vec<_> =
        inners.iter().map(|inner| [&[0; HEAD_ROOM][..], inner, &[0; TAIL_ROOM]].concat()).collect();
    let mut items: Vec<_> = memory
        .iter_mut()
        .zip(&routes)
        .map(|(memory, sa)| {
            SealItem::new(sa, Frame::new(memory, HEAD_ROOM, HEAD_ROOM + BYTES).expect("within"))
        })
        .collect();
    let seal = timed(|| worker.seal(now, &mut items));
    let sealed: Vec<_> = items.iter().map(|item| item.frame.bytes().to_vec()).collect();
    let arrival = Arrival::new(Endpoint::new(ends().0, 0), ends().1);
    // Each way to be refused, and then the packets as they are.
    let mut open = |change: &dyn Fn(&mut [u8]), expected: Option<Reason>| {
        let mut memory: Vec<_> = sealed
            .iter()
            .map(|packet| {
                let mut memory = [&[0; HEAD_ROOM][..], packet, &[0; TAIL_ROOM]].concat();
                change(&mut memory[HEAD_ROOM..HEAD_ROOM + packet.len()]);
                memory
            })
            .collect();
        let mut items: Vec<_> = memory
            .iter_mut()
            .zip(&sealed)
            .map(|(memory, packet)| Frame::new(memory, HEAD_ROOM, HEAD_ROOM + packet.len()).expect("within"))
            .map(|frame| OpenItem::new(frame, arrival))
            .collect();
        let time = timed(|| worker.open(sad, now, &mut items));
        assert!(items.iter().all(|item| item.outcome.reason() == expected), "{:?}", items[0].outcome);
        time
    };
    let unknown = open(&|packet| packet[0] ^= 0x80, Some(Reason::UnknownSpi));
    let wrong = open(&|packet| packet[BYTES] ^= 1, Some(Reason::Unauthenticated));
    let good = open(&|_| {}, None);
    let replayed = open(&|_| {}, Some(Reason::Replayed));
    // Number 0 is never sent.
    let old = open(&|packet| packet[4..8].fill(0), Some(Reason::TooOld));
    let sas: Vec<_> = numbers.iter().map(|number| sad.inbound(SPI + number).expect("an SA")).collect();
    let look_up = timed(|| {
        for number in numbers {
            black_box(sad.inbound(SPI + number));
        }
    });
    // In a window of its own, so that numbers of packets stay free.
    let windows: Vec<_> = numbers.iter().map(|_| Window::new(4096).expect("a size")).collect();
    let window = timed(|| {
        for window in &windows {
            black_box(window.check(5));
            black_box(window.accept(5));
        }
    });
    let admit = timed(|| {
        for (flow, sa) in flows.iter().zip(&sas) {
            let admitted = worker.admit(spd, PolicyDirection::In, flow, Some(sa), Amount::one(BYTES));
            assert_eq!(admitted, Ok(()));
        }
    });
    [seal, good, route, policy, look_up, window, admit, unknown, replayed, old, wrong]
}

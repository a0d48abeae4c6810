//! Batches of every make-up are what each packet is alone, at every level, and what a second ESP makes of it.

use crate::common::{self, Memory, RawKeys, arrival, engines, ip, pair, twin, udp_packet};
use ipsec::*;
use seeded::Random;
use std::sync::Arc;

/// An SA for each direction, and its keys.
struct Connection {
    suite: Suite,
    keys: RawKeys,
    extended: bool,
    tfc_bytes: u16,
    out: Arc<Sa>,
}

fn connections(engine: &engine::Engine, random: &mut Random, count: usize) -> (Vec<Connection>, Sad) {
    let mut sad = Sad::new();
    let connections = (0..count)
        .map(|at| {
            let suite = random.pick(&Suite::ALL);
            let keys = RawKeys::random(suite, random);
            let ends = match random.below(2) {
                0 => (ip("192.0.2.1"), ip("198.51.100.7")),
                _ => (ip("2001:db8::1"), ip("2001:db8:2::7")),
            };
            let parameters = SaParameters {
                extended: random.below(2) == 0,
                window: 4096,
                tfc_bytes: random.pick(&[0, 0, 100, 1500]),
                ..SaParameters::tunnel(1000 + at as u32, Direction::In, suite, keys.bytes(), ends)
            };
            let (out, inbound) = pair(engine, &parameters);
            let (extended, tfc_bytes) = (parameters.extended, parameters.tfc_bytes);
            sad.add(Arc::new(inbound)).unwrap();
            Connection { suite, keys, extended, tfc_bytes, out: Arc::new(out) }
        })
        .collect();
    (connections, sad)
}

fn inner(random: &mut Random) -> Vec<u8> {
    let bytes = match random.below(6) {
        0 => random.below(20),
        1 => 1372,
        _ => random.below(1400),
    };
    let payload = random.bytes(bytes);
    match random.below(2) {
        0 => udp_packet(ip("10.1.0.1"), ip("10.2.0.9"), &payload),
        _ => udp_packet(ip("fd00::1"), ip("fd01::9"), &payload),
    }
}

/// How packets of a batch follow each other.
fn order(random: &mut Random, connections: usize, packets: usize) -> Vec<usize> {
    match random.below(3) {
        // All of one, as a busy connection has them.
        0 => vec![random.below(connections); packets],
        // In runs.
        1 => {
            let mut at = 0;
            (0..packets)
                .map(|_| {
                    if random.below(5) == 0 {
                        at = random.below(connections);
                    }
                    at
                })
                .collect()
        }
        _ => (0..packets).map(|_| random.below(connections)).collect(),
    }
}

#[test]
fn batches_are_what_a_second_esp_makes_of_each_packet() {
    for engine in engines() {
        let mut random = Random(47);
        for round in 0..40 {
            let count = random.pick(&[1, 2, 5, 9]);
            let (connections, sad) = connections(&engine, &mut random, count);
            let (mut worker, mut alone) = (Worker::new(engine), Worker::new(engine));
            let packets = random.pick(&[1, 2, 3, 16, 47, 100]);
            let order = order(&mut random, count, packets);
            let inners: Vec<_> = order.iter().map(|_| inner(&mut random)).collect();
            let mut memories: Vec<_> = inners.iter().map(|inner| Memory::new(inner)).collect();
            let mut items: Vec<_> = order
                .iter()
                .zip(&mut memories)
                .map(|(at, memory)| SealItem::new(&connections[*at].out, memory.frame()))
                .collect();
            worker.seal(Time::seconds(round), &mut items);
            let sealed: Vec<_> = items
                .iter()
                .map(|item| (*item.outcome.done().expect("sealed"), item.frame.bytes().to_vec()))
                .collect();
            let mut numbers = vec![0; count];
            for ((at, inner), (done, packet)) in order.iter().zip(&inners).zip(&sealed) {
                let Connection { suite, keys, extended, tfc_bytes, out } = &connections[*at];
                numbers[*at] += 1;
                assert_eq!(done.number, numbers[*at], "in their order");
                let mut payload = inner.clone();
                payload.resize(payload.len().max(usize::from(*tfc_bytes)), 0);
                let iv = &packet[8..8 + suite.iv_bytes()];
                let next_header = if inner[0] >> 4 == 4 { 4 } else { 41 };
                let plain = twin::Plain {
                    spi: out.spi(),
                    number: done.number,
                    extended: *extended,
                    iv,
                    payload: &payload,
                    next_header,
                };
                assert!(*packet == twin::seal(*suite, keys, &plain), "{suite} at {}", engine.level());
                let opened = twin::open(*suite, keys, done.number, *extended, packet);
                assert!(opened == Some((payload, next_header)), "{suite}");
                if !suite.is_combined() && suite.iv_bytes() > 0 {
                    assert!(
                        !sealed.iter().any(|(_, other)| other != packet && other[8..8 + iv.len()] == *iv)
                    );
                }
            }
            // Opened together, and some of them changed: those alone are refused.
            let changed: Vec<bool> = sealed.iter().map(|_| random.below(7) == 0).collect();
            let mut memories: Vec<_> = sealed.iter().map(|(_, packet)| Memory::new(packet)).collect();
            let mut items: Vec<_> = memories
                .iter_mut()
                .zip(&sealed)
                .zip(&changed)
                .map(|((memory, (done, packet)), changed)| {
                    let mut frame = memory.frame();
                    if *changed {
                        // Not SPI or number, by which it would not be looked at.
                        let at = 8 + random.below(packet.len() - 8);
                        frame.bytes_mut()[at] ^= 1 << random.below(8);
                    }
                    OpenItem::new(frame, arrival(&done.outer))
                })
                .collect();
            worker.open(&sad, Time::seconds(round), &mut items);
            for (((item, inner), (done, packet)), changed) in
                items.iter().zip(&inners).zip(&sealed).zip(&changed)
            {
                if *changed {
                    assert_eq!(item.outcome.reason(), Some(Reason::Unauthenticated));
                    // It comes again as it was, alone: the window was not moved for it.
                    let opened = common::open(&mut alone, &sad, packet, arrival(&done.outer));
                    assert_eq!(opened.as_ref(), Ok(inner));
                } else {
                    let opened = item.outcome.done().expect("opened");
                    assert_eq!(opened.number, done.number);
                    assert!(item.frame.bytes() == inner);
                }
                let again = common::open(&mut alone, &sad, packet, arrival(&done.outer));
                assert_eq!(again, Err(Reason::Replayed));
            }
            let refused = changed.iter().filter(|changed| **changed).count() as u64;
            assert_eq!(worker.counters().dropped(Reason::Unauthenticated), refused);
            assert_eq!(worker.counters().opened, packets as u64 - refused);
            assert_eq!(alone.counters().dropped(Reason::Replayed), packets as u64);
        }
    }
}

/// One packet after the other and all together: the same bytes, where no IV is drawn.
#[test]
fn alone_and_together_give_the_same_bytes() {
    for engine in engines() {
        let mut random = Random(3);
        for suite in Suite::ALL.into_iter().filter(|suite| suite.is_combined() || suite.iv_bytes() == 0) {
            let keys = RawKeys::random(suite, &mut random);
            let ends = (ip("192.0.2.1"), ip("198.51.100.7"));
            let parameters = SaParameters::tunnel(4096, Direction::Out, suite, keys.bytes(), ends);
            let (first, _) = pair(&engine, &parameters);
            let (second, _) = pair(&engine, &parameters);
            let mut worker = Worker::new(engine);
            let inners: Vec<_> = (0..47).map(|_| inner(&mut random)).collect();
            let mut memories: Vec<_> = inners.iter().map(|inner| Memory::new(inner)).collect();
            let mut items: Vec<_> =
                memories.iter_mut().map(|memory| SealItem::new(&first, memory.frame())).collect();
            worker.seal(Time::seconds(1), &mut items);
            for (item, inner) in items.iter().zip(&inners) {
                let (_, alone) = common::seal(&mut worker, &second, inner).unwrap();
                assert!(item.frame.bytes() == alone, "{suite} at {}", engine.level());
            }
        }
    }
}

/// Twice in one batch: taken once.
#[test]
fn a_batch_that_holds_a_packet_twice_gives_it_once() {
    for engine in engines() {
        let mut random = Random(5);
        for suite in Suite::ALL {
            let keys = RawKeys::random(suite, &mut random);
            let ends = (ip("192.0.2.1"), ip("198.51.100.7"));
            let parameters = SaParameters::tunnel(4096, Direction::Out, suite, keys.bytes(), ends);
            let (out, inbound) = pair(&engine, &parameters);
            let mut sad = Sad::new();
            sad.add(Arc::new(inbound)).unwrap();
            let mut worker = Worker::new(engine);
            let (done, packet) = common::seal(&mut worker, &out, &inner(&mut random)).unwrap();
            let mut memories: Vec<_> = (0..5).map(|_| Memory::new(&packet)).collect();
            let mut items: Vec<_> = memories
                .iter_mut()
                .map(|memory| OpenItem::new(memory.frame(), arrival(&done.outer)))
                .collect();
            worker.open(&sad, Time::seconds(1), &mut items);
            assert!(items[0].outcome.is_done());
            assert!(items[1..].iter().all(|item| item.outcome.reason() == Some(Reason::Replayed)));
            assert_eq!(sad.inbound(4096).unwrap().figures().replayed, 4);
        }
    }
}

//! What is counted of policies: exactly, over snapshots and threads, and on when a policy is replaced in its place.

use crate::common::*;
use ipsec::*;
use seeded::Random;
use std::net::IpAddr;
use std::sync::Arc;

const GCM: Suite = Suite::AesGcm16(AesKey::Bits256);

fn ends() -> (IpAddr, IpAddr) {
    (ip("192.0.2.1"), ip("198.51.100.7"))
}

fn sa(direction: Direction) -> Arc<Sa> {
    let keys = RawKeys::random(GCM, &mut Random(1));
    let parameters =
        SaParameters { request: 7, ..SaParameters::tunnel(4096, direction, GCM, keys.bytes(), ends()) };
    Arc::new(Sa::new(&engine(), &parameters, false).unwrap())
}

/// What comes from a network of so many bits.
fn from(address: &str, bits: u8) -> Selector {
    let source = Prefix::new(ip(address), bits);
    Selector::new(&SelectorFields { source, ..Selector::all(Family::V4).fields() }).unwrap()
}

fn protect(selector: Selector, request: u32) -> Policy {
    let template = Template { request, mode: Mode::Tunnel, ends: Some(ends()), spi: None };
    Policy { id: 1, selector, priority: 5, action: Action::Protect(template) }
}

/// Packets, bytes, and what was dropped: for want of an SA, blocked, by another SA, in clear.
fn counts(spd: &Spd, direction: PolicyDirection, selector: &Selector) -> (u64, u64, [u64; 4]) {
    let figures = spd.figures(direction, selector).unwrap();
    let reasons = [Reason::NoSa, Reason::Blocked, Reason::Template, Reason::Clear];
    let dropped = reasons.map(|reason| figures.drops().find(|(named, _)| *named == reason).unwrap().1);
    assert_eq!(figures.drops().count(), reasons.len());
    (figures.packets, figures.bytes, dropped)
}

#[test]
fn what_goes_out_counts_for_its_policy_over_snapshots_and_replacements() {
    let (mut sad, mut worker) = (Sad::new(), Worker::new(engine()));
    let (protected, blocked, clear) = (from("10.1.0.0", 16), from("10.1.1.0", 24), from("10.1.2.0", 25));
    let mut spd = Spd::new();
    // Moved to another place when an older one goes.
    let first = from("10.9.0.0", 16);
    for (selector, action) in [(first, Action::Bypass), (blocked, Action::Discard), (clear, Action::Bypass)] {
        spd.add(PolicyDirection::Out, Policy { id: 2, selector, priority: 1, action }).unwrap();
    }
    spd.add(PolicyDirection::Out, protect(protected, 7)).unwrap();
    let route = |worker: &mut Worker, sad: &Sad, spd: &Spd, source: &str, packets| {
        let packet = udp_packet(ip(source), ip("10.2.0.1"), b"x");
        let amount = Amount { packets, bytes: 100 * packets };
        worker.route(sad, spd, Time::seconds(1), &packet, amount).is_ok()
    };
    let out = |spd: &Spd, selector| counts(spd, PolicyDirection::Out, selector);
    assert!(!route(&mut worker, &sad, &spd, "10.1.0.1", 3));
    assert!(!route(&mut worker, &sad, &spd, "10.1.1.1", 2));
    assert!(route(&mut worker, &sad, &spd, "10.1.2.1", 5));
    assert!(route(&mut worker, &sad, &spd, "10.8.0.1", 50), "no policy is for it");
    assert_eq!(out(&spd, &protected), (0, 0, [3, 0, 0, 0]));
    assert_eq!(out(&spd, &blocked), (0, 0, [0, 2, 0, 0]));
    assert_eq!(out(&spd, &clear), (5, 500, [0; 4]));
    assert_eq!(worker.counters().dropped(Reason::NoSa), 3, "packets, as for the policy");
    assert_eq!(worker.counters().dropped(Reason::Blocked), 2);
    // A thread that looks by the earlier snapshot counts for the same policy.
    sad.add(sa(Direction::Out)).unwrap();
    let before = spd.clone();
    spd.remove(PolicyDirection::Out, &first).unwrap();
    assert!(route(&mut worker, &sad, &before, "10.1.0.1", 4));
    assert!(route(&mut worker, &sad, &spd, "10.1.0.1", 1));
    assert_eq!(
        (out(&spd, &protected), out(&before, &protected)),
        ((5, 500, [3, 0, 0, 0]), (5, 500, [3, 0, 0, 0]))
    );
    assert_eq!(out(&spd, &clear), (5, 500, [0; 4]));
    // In its place, with another request: it goes on, and so does who looks by the earlier one.
    let before = spd.clone();
    assert_eq!(spd.replace(PolicyDirection::Out, protect(protected, 8)), Ok(Some(protect(protected, 7))));
    assert!(!route(&mut worker, &sad, &spd, "10.1.0.1", 1));
    assert!(route(&mut worker, &sad, &before, "10.1.0.1", 2));
    assert_eq!(out(&spd, &protected), (7, 700, [4, 0, 0, 0]));
    // Removed and added again it begins at nothing.
    spd.remove(PolicyDirection::Out, &protected).unwrap();
    assert_eq!(spd.figures(PolicyDirection::Out, &protected), None);
    assert_eq!(spd.replace(PolicyDirection::Out, protect(protected, 7)), Ok(None));
    assert_eq!(out(&spd, &protected), (0, 0, [0; 4]));
}

#[test]
fn what_comes_in_counts_for_the_policy_of_its_direction() {
    let (mut spd, mut worker, sa) = (Spd::new(), Worker::new(engine()), sa(Direction::In));
    let selectors = ["10.1.0.0", "10.1.1.0", "10.1.2.0", "10.1.3.0"].map(|address| from(address, 24));
    let policies = [
        protect(selectors[0], 7),
        Policy { action: Action::Discard, ..protect(selectors[1], 7) },
        Policy { action: Action::Bypass, ..protect(selectors[2], 7) },
        protect(selectors[3], 9),
    ];
    for policy in policies {
        spd.add(PolicyDirection::In, policy).unwrap();
        spd.add(PolicyDirection::Forward, policy).unwrap();
    }
    for (at, (sa, packets)) in
        [(Some(&*sa), 2), (Some(&*sa), 3), (None, 4), (Some(&*sa), 5)].into_iter().enumerate()
    {
        let flow = Flow::new(ip(&format!("10.1.{at}.1")), ip("10.2.0.1"), 6, (1, 2)).unwrap();
        let amount = Amount { packets, bytes: 10 * packets };
        let _ = worker.admit(&spd, PolicyDirection::In, &flow, sa, amount);
        let _ = worker.admit(&spd, PolicyDirection::In, &flow, None, Amount::one(7));
    }
    let counted = selectors.map(|selector| counts(&spd, PolicyDirection::In, &selector));
    let expected = [(2, 20, [0, 0, 0, 1]), (0, 0, [0, 4, 0, 0]), (5, 47, [0; 4]), (0, 0, [0, 0, 5, 1])];
    assert_eq!(counted, expected);
    for selector in selectors {
        assert_eq!(counts(&spd, PolicyDirection::Forward, &selector), (0, 0, [0; 4]));
    }
}

/// More shapes than a look-up goes through each time, so that flows are remembered; threads with snapshots of their
/// own.
#[test]
fn threads_lose_no_count() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 2_000;
    let (mut sad, mut spd) = (Sad::new(), Spd::new());
    sad.add(sa(Direction::Out)).unwrap();
    let selectors: Vec<Selector> = (8..15).map(|bits| from("10.0.0.0", bits)).collect();
    for selector in &selectors {
        spd.add(PolicyDirection::Out, protect(*selector, 7)).unwrap();
    }
    // The oldest of one priority is for all of it.
    let packet = udp_packet(ip("10.1.0.1"), ip("10.2.0.1"), b"x");
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            let (sad, mut spd, packet) = (&sad, spd.clone(), &packet);
            scope.spawn(move || {
                let mut worker = Worker::new(engine());
                for round in 0..ROUNDS {
                    if round % 100 == 0 {
                        spd.replace(PolicyDirection::In, protect(Selector::all(Family::V4), 7)).unwrap();
                    }
                    let amount = Amount { packets: 2, bytes: 30 };
                    worker.route(sad, &spd, Time::seconds(1), packet, amount).unwrap();
                }
            });
        }
    });
    let expected = (2 * THREADS * ROUNDS, 30 * THREADS * ROUNDS, [0; 4]);
    assert_eq!(counts(&spd, PolicyDirection::Out, &selectors[0]), expected);
    for other in &selectors[1..] {
        assert_eq!(counts(&spd, PolicyDirection::Out, other), (0, 0, [0; 4]));
    }
}

//! Cards watched while they work, die, and change their daemon.

use engine::{Engine, MacAlgorithm, Operation};
use facility::observe::Snapshot;
use facility::{FacilityError, Options};
use std::time::{Duration, Instant};
use system_tests::{Installation, PATIENCE, kill, mac_key, mac_request, null};
use wire::Verb;
use wire::control::Refusal;

/// Reads until it holds: what a card did is recorded after its answer is out.
fn until(mut read: impl FnMut() -> Snapshot, holds: impl Fn(&Snapshot) -> bool) -> Snapshot {
    let end = Instant::now() + PATIENCE;
    loop {
        let snapshot = read();
        if holds(&snapshot) {
            return snapshot;
        }
        assert!(Instant::now() < end, "{snapshot:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn what_a_client_does_is_seen_by_an_observer() {
    let installation = Installation::new(1, 0);
    installation.until_ready();
    let facility = installation.facility();
    let key = mac_key(&facility);
    let observed = facility.observe(0).unwrap();
    // A card records a batch once it has answered it.
    let before = until(|| observed.snapshot(), |now| now.total.counts.requests == 1);
    for _ in 0..100 {
        let _ = facility.ask(0, &mac_request(&key, &[7; 64])).unwrap();
    }
    let mac = Verb::MacGenerate.slot();
    let of_verb =
        |snapshot: &Snapshot| snapshot.verbs.iter().find(|(row, _)| *row == mac).map(|(_, of)| of.clone());
    let after = until(|| observed.snapshot(), |now| of_verb(now).is_some_and(|of| of.counts.requests == 100));
    let since = after.total.since(&before.total);
    assert_eq!((since.counts.requests, since.queue.count(), since.service.count()), (100, 100, 100));
    assert_eq!(after.accounts.len(), 1);
    let engine = Engine::new(engine::Options::default()).unwrap();
    let lanes = engine.lanes(Operation::Mac(MacAlgorithm::X919));
    assert_eq!((usize::from(after.lanes[&mac]), after.lanes.len()), (lanes, after.verbs.len()));
    assert!(since.service.quantile_ns(0.5) <= since.service.quantile_ns(0.99));
    assert!(since.service.quantile_ns(0.99) <= since.service.longest_ns());
    assert!(since.queue.longest_ns() < Some(PATIENCE.as_nanos() as u64));
    // Between two requests it waited: by spinning, or asleep where it shares a processor with its client.
    assert!(after.counters.polls + after.counters.sleeps > 0);
    let missing = facility.observe(5).unwrap_err();
    assert!(matches!(missing, FacilityError::Refused { refusal: Refusal::NoSuchCard, .. }), "{missing}");
}

#[test]
fn samples_outlive_the_daemon_and_end_with_their_card() {
    let mut installation = Installation::new(0, 1);
    let cards = installation.until_ready();
    let facility = installation.facility();
    let _ = facility.ask(0, &null()).unwrap();
    let observed = facility.observe(0).unwrap();
    installation.kill_daemon();
    // Without a daemon nothing changes for who holds a handle.
    let _ = facility.ask(0, &null()).unwrap();
    until(|| observed.snapshot(), |now| now.total.counts.requests == 2);
    installation.start();
    installation.until_ready();
    let anew = facility::Facility::open(installation.home.folder(), Options::default()).unwrap();
    let adopted = anew.observe(0).unwrap();
    assert_eq!(adopted.generation(), observed.generation());
    assert!(adopted.is_of(&anew.cards().unwrap()[0]));
    assert_eq!(adopted.snapshot().total, observed.snapshot().total);

    kill(cards[0].pid);
    installation.until("another process", |status| {
        status.cards[0].pid != cards[0].pid && status.cards[0].state == wire::control::CardState::Ready
    });
    let successor = anew.observe(0).unwrap();
    assert!(successor.generation() > observed.generation());
    assert!(!observed.is_of(&anew.cards().unwrap()[0]));
    assert_eq!(successor.snapshot().total.counts.requests, 0);
    // What the dead one did stays readable as long as somebody holds it.
    assert_eq!(observed.snapshot().total.counts.requests, 2);
}

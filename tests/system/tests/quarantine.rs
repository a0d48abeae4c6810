//! Tenants whose requests end cards, over real cards with a flaw: they are shut out, and nobody else is.

use facility::{Facility, FacilityError, Options, Ran, Ticket};
use rustix::process::Signal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
use system_tests::poison::{Poison, poison, poisoned};
use system_tests::{
    Installation, PATIENCE, expected_mac, kill, mac_key, mac_of, mac_request, signal, submit,
};
use wire::code;
use wire::control::{CardState, Refusal};
use wire::tenant::{ConfinedRow, Confinement, Credential, Tenant};

/// A quarantine that outlasts every test, and one that a test waits for.
const LONG_S: u64 = 3_000;
const SHORT_S: u64 = 1;

fn credential(number: u32) -> Credential {
    Credential([number as u8; 32])
}

fn tenant(name: &str, number: u32) -> Tenant {
    let digest = engine::sha256(&credential(number).0);
    Tenant {
        credential_sha256: Some(digest.iter().map(|byte| format!("{byte:02x}")).collect()),
        role: Some(wire::role::OWNER.into()),
        ..Tenant::new(name, number)
    }
}

/// Two cards with this flaw, a hostile tenant (1) and its neighbour (2); quarantines of this length, after so many
/// deaths.
fn installation(flaw: Poison, deaths: u32, first_s: u64) -> Installation {
    poisoned(flaw, 2, |settings| {
        settings.tenants = vec![tenant("hostile", 1), tenant("neighbour", 2)];
        settings.tenant_number_next = 3;
        settings.quarantine.deaths = deaths;
        settings.quarantine.first_s = first_s;
    })
}

fn facility_of(installation: &Installation, number: u32) -> Facility {
    let credential = Some(credential(number));
    let options = Options { credential, card_wait: PATIENCE, ..Options::default() };
    Facility::open(installation.home.folder(), options).unwrap()
}

/// Keeps the neighbour busy with bursts while `meanwhile` runs, which may wait for answers; every request is answered,
/// and rightly, or, where cards may go on dying, fails.
fn beside_neighbour(installation: &Installation, may_fail: bool, meanwhile: impl FnOnce(&dyn Fn())) {
    let neighbour = facility_of(installation, 2);
    let key = mac_key(&neighbour);
    let (stop, answers) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let texts: Vec<[u8; 8]> = (0_u64..16).map(u64::to_le_bytes).collect();
                let sent = texts.iter().map(|text| submit(&neighbour, &mac_request(&key, text)));
                for (text, ticket) in texts.iter().zip(sent.collect::<Vec<_>>()) {
                    match ticket.and_then(Ticket::wait) {
                        Ok(reply) => assert_eq!(mac_of(&reply), expected_mac(text)),
                        Err(error) => assert!(may_fail && !is_quarantine(&error), "the neighbour: {error}"),
                    }
                    answers.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        let more = || {
            let (until, end) = (answers.load(Ordering::Relaxed) + 100, Instant::now() + PATIENCE);
            while answers.load(Ordering::Relaxed) < until {
                assert!(Instant::now() < end, "the neighbour is not served");
                std::thread::yield_now();
            }
        };
        // However it ends, the neighbour stops.
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| meanwhile(&more)));
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = ended {
            std::panic::resume_unwind(panic);
        }
    });
}

fn is_quarantine(error: &FacilityError) -> bool {
    matches!(
        error,
        FacilityError::Quarantined { .. }
            | FacilityError::Refused { refusal: Refusal::Quarantined { .. }, .. }
    )
}

/// Sends poison until it is refused, at most so often; the deaths that its answers told of.
fn send_poison(hostile: &Facility, most: u32) -> Option<u32> {
    for sent in 0..most {
        match hostile.ask(0, &poison()) {
            Ok(reply) => panic!("poison was answered: {}", reply.codes()),
            Err(error) if is_quarantine(&error) => {
                assert_eq!((error.codes(), error.ran()), (code::QUARANTINED, Ran::No), "{error}");
                assert!(error.to_string().contains("quarantine"), "{error}");
                return Some(sent);
            }
            Err(error) => assert!(matches!(error, FacilityError::CardDied { .. }), "{error:?}"),
        }
    }
    None
}

fn restarts(installation: &Installation) -> u64 {
    installation.facility().status().unwrap().cards.iter().map(|card| u64::from(card.restarts)).sum()
}

fn row(installation: &Installation, name: &str) -> Option<ConfinedRow> {
    installation.facility().status().unwrap().confined.into_iter().find(|row| row.name == name)
}

#[test]
fn without_quarantine_a_hostile_tenant_ends_two_cards_with_each_request() {
    let installation = installation(Poison::Always, 0, LONG_S);
    let hostile = facility_of(&installation, 1);
    assert_eq!(send_poison(&hostile, 6), None);
    installation.until("all deaths are seen", |status| {
        status.cards.iter().map(|card| card.restarts).sum::<u32>() >= 12
    });
    assert!(installation.facility().status().unwrap().confined.is_empty());
}

#[test]
fn a_tenant_that_ends_cards_is_refused_and_its_neighbour_is_served() {
    let installation = installation(Poison::Always, 3, LONG_S);
    let hostile = facility_of(&installation, 1);
    beside_neighbour(&installation, false, |more| {
        more();
        // Of the deaths the first ones may have been in company.
        assert!(send_poison(&hostile, 6).is_some(), "it goes on and on");
        more();
        let deaths = restarts(&installation);
        // Nothing of it is taken any more: neither on queues that it has, nor on new ones.
        for _ in 0..20 {
            assert!(is_quarantine(&hostile.ask(0, &poison()).unwrap_err()));
            assert!(is_quarantine(&hostile.ask(0, &system_tests::null()).unwrap_err()));
        }
        match facility_of(&installation, 1).ask(0, &system_tests::null()) {
            Err(FacilityError::Refused { refusal: Refusal::Quarantined { deaths, left_s }, .. }) => {
                assert!((3..=8).contains(&deaths) && (1..=LONG_S).contains(&left_s), "{deaths} {left_s}");
            }
            other => panic!("{:?}", other.map(|reply| reply.codes())),
        }
        more();
        assert_eq!(restarts(&installation), deaths);
        assert!(deaths <= 8, "{deaths}");
    });
    let of_hostile = row(&installation, "hostile").unwrap();
    assert_eq!((of_hostile.confinement, of_hostile.quarantines), (Confinement::Refused, 1));
    assert!((LONG_S..=LONG_S + 1).contains(&(of_hostile.until_unix_s - of_hostile.since_unix_s)));
    // The neighbour was there perhaps, and alone with no death.
    let of_neighbour = row(&installation, "neighbour");
    assert!(of_neighbour.is_none_or(|row| row.deaths == 0 && row.confinement == Confinement::Apart));
    // Each sees its own row alone.
    let seen = hostile.status().unwrap().confined;
    assert_eq!(seen.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["hostile"]);
}

#[test]
fn a_neighbour_that_is_there_at_every_death_is_served_throughout() {
    // So many rounds at the least, and then until so many cards have ended.
    let rounds = |installation: &Installation, may_fail, deaths| {
        let hostile = facility_of(installation, 1);
        let mut quarantined = false;
        let end = Instant::now() + PATIENCE;
        beside_neighbour(installation, may_fail, |more| {
            let mut round = 0;
            while round < 40 || (restarts(installation) < deaths && Instant::now() < end) {
                round += 1;
                let poisons: Vec<_> = (0..16).map(|_| submit(&hostile, &poison())).collect();
                for sent in poisons {
                    quarantined |= sent.and_then(Ticket::wait).is_err_and(|error| is_quarantine(&error));
                }
                more();
            }
        });
        (restarts(installation), quarantined)
    };
    // The attack bites: where no pass is kept apart, cards end for as long as it goes on.
    let (deaths, _) = rounds(&installation(Poison::InCompany, 0, LONG_S), true, 8);
    assert!(deaths >= 8, "{deaths}");
    // The first deaths, on each card one, put both into passes of their own.
    let defended = installation(Poison::InCompany, 3, LONG_S);
    let (deaths, quarantined) = rounds(&defended, false, 1);
    assert!((1..=4).contains(&deaths) && !quarantined, "{deaths}");
    for name in ["hostile", "neighbour"] {
        let row = row(&defended, name).unwrap();
        assert_eq!((row.confinement, row.deaths, row.quarantines), (Confinement::Apart, 0, 0), "{row:?}");
        assert!((1..=deaths).contains(&u64::from(row.shared_deaths)), "{row:?}");
    }
}

#[test]
fn each_quarantine_is_twice_as_long_as_the_one_before_and_administrators_lift_it() {
    let installation = installation(Poison::Always, 3, SHORT_S);
    let (owner, hostile) = (installation.facility(), facility_of(&installation, 1));
    let mut spans = Vec::new();
    for quarantine in 1..=3 {
        let of_hostile = installation.until("it is in quarantine", |status| {
            // At most one more request ends a card in each round after the first.
            let before = status.confined.first().map_or(0, |row| row.quarantines);
            if before < quarantine {
                let _ = hostile.ask(0, &poison());
            }
            status.confined.first().is_some_and(|row| row.quarantines == quarantine)
        });
        let row = &of_hostile.confined[0];
        spans.push(row.until_unix_s - row.since_unix_s);
        installation.until("its time is over", |status| {
            status.confined.first().is_some_and(|row| row.confinement == Confinement::Apart)
        });
        assert!(hostile.ask(0, &system_tests::null()).unwrap().codes().has_output());
    }
    // Rounded to whole seconds of the calendar.
    assert!(spans[0] <= 2 && (2..=3).contains(&spans[1]) && (4..=5).contains(&spans[2]), "{spans:?}");
    assert!(matches!(hostile.lift("hostile"), Err(FacilityError::Denied { .. })));
    owner.lift("hostile").unwrap();
    assert!(owner.status().unwrap().confined.is_empty());
    // All is forgotten: one death is none again.
    assert!(!is_quarantine(&hostile.ask(0, &poison()).unwrap_err()));
    installation.until("it was seen", |status| {
        status
            .confined
            .first()
            .is_some_and(|row| (row.confinement, row.quarantines) == (Confinement::Apart, 0))
    });
    for name in ["neighbour", "nobody-at-all"] {
        assert!(matches!(owner.lift(name), Err(FacilityError::Refused { .. })), "{name}");
    }
}

#[test]
fn a_quarantine_is_lifted_while_it_lasts() {
    let installation = installation(Poison::Always, 2, LONG_S);
    let hostile = facility_of(&installation, 1);
    assert!(send_poison(&hostile, 6).is_some());
    installation.facility().lift("hostile").unwrap();
    let end = Instant::now() + PATIENCE;
    while hostile.ask(0, &system_tests::null()).is_err() {
        assert!(Instant::now() < end, "it is refused still");
    }
}

#[test]
fn a_quarantine_outlasts_the_daemon_that_was_killed() {
    let mut installation = installation(Poison::Always, 2, LONG_S);
    assert!(send_poison(&facility_of(&installation, 1), 6).is_some());
    let before = row(&installation, "hostile").unwrap();
    installation.kill_daemon();
    installation.start();
    let after = row(&installation, "hostile").unwrap();
    assert_eq!((after.confinement, after.quarantines), (Confinement::Refused, 1));
    assert!(after.until_unix_s.abs_diff(before.until_unix_s) <= 1, "{before:?} {after:?}");
    assert!(is_quarantine(&facility_of(&installation, 1).ask(0, &poison()).unwrap_err()));
}

#[test]
fn administrators_are_not_held_to_it() {
    let installation = installation(Poison::Always, 2, LONG_S);
    let owner = installation.facility();
    assert_eq!(send_poison(&owner, 4), None);
    assert!(owner.status().unwrap().confined.is_empty());
    assert!(owner.ask(0, &system_tests::null()).unwrap().codes().has_output());
}

/// Ends the card in this way while a tenant's requests run on it, six times.
fn ended_by(installation: &Installation, how: fn(u32)) {
    let tenant = facility_of(installation, 1);
    let key = mac_key(&tenant);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Always something in a pass: long texts, of which several are in flight.
            let text = vec![7; 100_000];
            while !stop.load(Ordering::Relaxed) {
                let sent: Vec<_> = (0..8).map(|_| submit(&tenant, &mac_request(&key, &text))).collect();
                for ticket in sent.into_iter().flatten() {
                    let _ = ticket.wait();
                }
            }
        });
        for _ in 0..6 {
            let is_at_work = |status: &wire::control::Status| {
                status.cards.iter().all(|card| card.state == CardState::Ready && card.queues > 0)
            };
            let before = installation.until("all are at work", is_at_work).cards;
            before.iter().for_each(|card| how(card.pid));
            let is_other = |status: &wire::control::Status| {
                before.iter().zip(&status.cards).all(|(before, card)| before.pid != card.pid)
            };
            installation.until("all were replaced", is_other);
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn what_people_and_the_kernel_end_is_held_against_nobody() {
    let installation = installation(Poison::Always, 16, LONG_S);
    ended_by(&installation, kill);
    // Stopped by a signal: the daemon kills it.
    ended_by(&installation, |pid| signal(pid, Signal::STOP));
    assert!(installation.facility().status().unwrap().confined.is_empty());
    // Of a fault it is.
    let _ = facility_of(&installation, 1).ask(0, &poison());
    installation.until("two deaths are seen", |status| status.confined.iter().any(|row| row.deaths == 2));
}

#[test]
fn cards_that_are_stopped_or_changed_by_order_are_held_against_nobody() {
    use wire::control::PollMode;
    use wire::tenant::{CardChange, Change};
    let installation = installation(Poison::InCompany, 1, LONG_S);
    beside_neighbour(&installation, false, |more| {
        let owner = installation.facility();
        for poll in [PollMode::Sleep, PollMode::Adaptive] {
            for card in 0..2 {
                let change = CardChange { poll: Some(poll), ..CardChange::default() };
                owner.change(Change::CardSet { card, change }).unwrap();
                more();
            }
        }
        assert!(owner.status().unwrap().confined.is_empty());
    });
}

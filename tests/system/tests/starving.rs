//! Want of descriptors, memory and readers: what cannot be had is refused by name, what is there goes on, and all
//! is well again once there is enough. And the keeper killed under load.

use facility::{Facility, FacilityError, Options, Ran, Selection, Ticket};
use link::Channel;
use rustix::process::{Pid, Resource, Rlimit};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use system_tests::part::{Part, goes_on, say, told};
use system_tests::{
    Installation, PATIENCE, expected_mac, kill, mac_key, mac_of, mac_request, null, settings, submit,
};
use wire::control::{CONTROL_VERSION, CardState, ClientReply, ClientRequest, Refusal};

/// Slots of all queues that one process may have at one card and domain.
const SLOTS: u64 = 16 * 64;

fn is_served(facility: &Facility, key: &[u8]) {
    let text = [4; 70];
    assert_eq!(mac_of(&facility.ask(0, &mac_request(key, &text)).unwrap()), expected_mac(&text));
}

/// Holds a process to a limit; returns the one before.
fn limit(pid: u32, resource: Resource, current: Option<u64>) -> Option<u64> {
    let pid = Pid::from_raw(pid as i32);
    // The highest that may be set is inherited, and may not be raised.
    let maximum = rustix::process::getrlimit(resource).maximum;
    let before = rustix::process::prlimit(pid, resource, Rlimit { current, maximum });
    before.expect("the process is ours").current
}

/// Descriptors that a process has open.
fn descriptors(pid: u32) -> u64 {
    std::fs::read_dir(format!("/proc/{pid}/fd")).expect("the process is ours").count() as u64
}

/// A queue of its own at a card, at once or not at all.
fn another(installation: &Installation, card: u32) -> Result<Facility, FacilityError> {
    another_within(installation, card, Duration::ZERO)
}

/// The same, at a card that may just have become ready: its keeper has yet to hand it its keys.
fn another_within(
    installation: &Installation,
    card: u32,
    card_wait: Duration,
) -> Result<Facility, FacilityError> {
    let options = Options { selection: Selection::card(card), card_wait, ..Options::default() };
    let facility = Facility::open(installation.home.folder(), options)?;
    facility.ask(0, &null()).map(|_| facility)
}

#[test]
fn a_daemon_without_descriptors_refuses_and_recovers() {
    let installation = Installation::new(2, 0);
    let cards = installation.until_ready();
    let (facility, daemon) = (installation.facility(), installation.daemon_pid());
    let key = mac_key(&facility);
    let spare = Facility::open(installation.home.folder(), Options::default()).unwrap();
    let before = limit(daemon, Resource::Nofile, Some(descriptors(daemon)));
    // A queue takes descriptors that the daemon has not.
    let error = spare.ask(0, &null()).unwrap_err();
    let is_refusal = matches!(error, FacilityError::Refused { refusal: Refusal::Storage { .. }, .. });
    assert!(is_refusal && error.ran() == Ran::No, "{error:?}");
    is_served(&facility, &key);
    // Nor can it start a card again.
    kill(cards[1].pid);
    is_served(&facility, &key);
    limit(daemon, Resource::Nofile, before);
    installation.until("the killed card is back", |status| {
        status.cards.iter().all(|card| card.state == CardState::Ready) && status.cards[1].pid != cards[1].pid
    });
    is_served(&spare, &key);
    let zombies = std::fs::read_to_string(format!("/proc/{daemon}/task/{daemon}/children")).unwrap();
    assert_eq!(zombies.split_whitespace().count(), 3, "two cards and the keeper, and no dead child");
}

#[test]
fn a_daemon_without_memory_for_queues_refuses_and_recovers() {
    let mut installation = Installation::stopped(&settings(1, 0));
    installation.start_without_size_signal();
    installation.until_ready();
    let facility = installation.facility();
    let key = mac_key(&facility);
    // The memory of a queue is a file of which so much may not be made.
    let before = limit(installation.daemon_pid(), Resource::Fsize, Some(64 << 10));
    // One is made ahead of need, and was there.
    let attaches = std::iter::repeat_with(|| another(&installation, 0)).take(3);
    let error = attaches.filter_map(Result::err).next().expect("no memory for a queue");
    let is_refusal = matches!(error, FacilityError::Refused { refusal: Refusal::Storage { .. }, .. });
    assert!(is_refusal && error.ran() == Ran::No, "{error:?}");
    is_served(&facility, &key);
    limit(installation.daemon_pid(), Resource::Fsize, before);
    is_served(&another_within(&installation, 0, PATIENCE).unwrap(), &key);
}

#[test]
fn a_card_without_memory_refuses_queues_or_is_replaced() {
    let installation = Installation::new(2, 0);
    let cards = installation.until_ready();
    let facility = installation.facility();
    let key = mac_key(&facility);
    // No mapping more than there are.
    limit(cards[0].pid, Resource::As, Some(1 << 20));
    let mut refused = 0;
    for _ in 0..20 {
        // Whatever comes of it, it comes, and is no answer that is not one.
        if let Err(error) = another(&installation, 0) {
            assert_eq!(error.ran(), Ran::No, "{error}");
            refused += 1;
        }
        is_served(&facility, &key);
    }
    let is_there = facility.status().unwrap().cards[0].pid == cards[0].pid;
    assert!(refused > 0 || !is_there, "the card maps nothing");
    if is_there {
        kill(cards[0].pid);
    }
    installation.until("the starved card is replaced", |status| {
        status.cards.iter().all(|card| card.state == CardState::Ready) && status.cards[0].pid != cards[0].pid
    });
    is_served(&another_within(&installation, 0, PATIENCE).unwrap(), &key);
}

#[test]
fn a_client_without_descriptors_keeps_what_it_has() {
    let installation = Installation::new(2, 0);
    installation.until_ready();
    let mut part =
        Part::start("starving::part_of_a_client_without_descriptors", installation.home.folder(), "");
    part.says("attached");
    let before = limit(part.pid(), Resource::Nofile, Some(descriptors(part.pid())));
    part.go_on();
    part.says("served");
    limit(part.pid(), Resource::Nofile, before);
    part.go_on();
    part.says("served");
}

#[test]
#[ignore = "a part of another test"]
fn part_of_a_client_without_descriptors() {
    let Some((home, _)) = told() else { return };
    let facility = Facility::open(&home, Options::default()).unwrap();
    let key = mac_key(&facility);
    is_served(&facility, &key);
    say("attached");
    // Many at once, so that a second queue is asked for, in vain at first.
    for begin in [0, 1000] {
        if !goes_on() {
            return;
        }
        let texts: Vec<Vec<u8>> =
            (begin..begin + 60u64).map(|number| number.to_le_bytes().to_vec()).collect();
        let mut tickets: Vec<Ticket> =
            texts.iter().map(|text| submit(&facility, &mac_request(&key, text)).unwrap()).collect();
        while let Some(index) = Ticket::wait_any(&mut tickets) {
            assert_eq!(mac_of(&tickets[index].try_wait().unwrap().unwrap()), expected_mac(&texts[index]));
        }
        say("served");
    }
    goes_on();
}

#[test]
fn a_client_that_never_reads_its_answers_takes_its_own_slots_only() {
    let installation = Installation::new(1, 0);
    let cards = installation.until_ready();
    let (reader, idler) = (installation.facility(), installation.facility());
    let key = mac_key(&reader);
    let text = [1; 2000];
    let mut tickets = Vec::new();
    let full = loop {
        match submit(&idler, &mac_request(&key, &text)) {
            Ok(ticket) => tickets.push(ticket),
            Err(error) => break error,
        }
        is_served(&reader, &key);
    };
    assert!(matches!(full, FacilityError::Full { .. }) && full.ran() == Ran::No, "{full}");
    // As many as it has slots, and not one queue more however often it tries.
    assert_eq!((tickets.len() as u64, idler.in_flight()), (SLOTS, SLOTS));
    let queues = installation.facility().cards().unwrap()[0].queues;
    for _ in 0..100 {
        assert!(matches!(submit(&idler, &null()), Err(FacilityError::Full { .. })));
    }
    is_served(&reader, &key);
    assert_eq!(installation.facility().cards().unwrap()[0].queues, queues);
    // The answers are there, and right, when it reads them after all; one that it gave up frees its slot.
    tickets.truncate(tickets.len() / 2);
    for ticket in tickets {
        assert_eq!(mac_of(&ticket.wait().unwrap()), expected_mac(&text));
    }
    is_served(&idler, &key);
    drop(idler);
    let after = installation.until("its queues are given back", |status| status.cards[0].queues < queues);
    assert_eq!((after.cards[0].pid, after.cards[0].restarts), (cards[0].pid, 0));
}

#[test]
fn a_client_that_never_reads_the_daemons_answers_waits_for_itself() {
    let installation = Installation::new(1, 0);
    installation.until_ready();
    let facility = installation.facility();
    let key = mac_key(&facility);
    let deaf = Channel::connect(&installation.home.admin_socket()).unwrap();
    deaf.send(&ClientRequest::Hello { version: CONTROL_VERSION, credential: None, completions: false }, &[])
        .unwrap();
    assert!(matches!(deaf.recv_timeout::<ClientReply>(PATIENCE).unwrap().0, ClientReply::Welcome { .. }));
    let end = Instant::now() + PATIENCE;
    // Until the daemon has hung up: its answers find no room any more.
    while !matches!(deaf.try_send(&ClientRequest::Status, &[]), Err(link::ChannelError::Closed)) {
        assert!(Instant::now() < end, "the daemon keeps answering");
        assert_eq!(facility.status().unwrap().daemon_pid, installation.daemon_pid());
    }
    is_served(&facility, &key);
}

#[test]
fn the_keeper_killed_under_load_is_back_and_no_request_is_lost() {
    let installation = Installation::new(2, 0);
    let cards = installation.until_ready();
    let (stop, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let load = scope.spawn(|| {
            let facility = installation.facility();
            let key = mac_key(&facility);
            while !stop.load(Ordering::Relaxed) {
                let text = answered.load(Ordering::Relaxed).to_le_bytes();
                assert_eq!(mac_of(&facility.ask(0, &mac_request(&key, &text)).unwrap()), expected_mac(&text));
                answered.fetch_add(1, Ordering::Relaxed);
            }
        });
        for round in 0..4 {
            let keeper = installation.facility().status().unwrap().keeper_pid.expect("there is a keeper");
            let before = answered.load(Ordering::Relaxed);
            kill(keeper);
            // A card goes as well, every other time: it comes back by the new keeper.
            if round % 2 == 1 {
                kill(installation.facility().cards().unwrap()[0].pid);
            }
            installation.until("there is another keeper, all cards serve, and work went on", |status| {
                status.keeper_pid.is_some_and(|now| now != keeper)
                    && status.cards.iter().all(|card| card.state == CardState::Ready)
                    && !status.registers.is_empty()
                    && answered.load(Ordering::Relaxed) > before + 100
            });
            assert!(!load.is_finished(), "the load goes on");
        }
        stop.store(true, Ordering::Relaxed);
        load.join().unwrap();
    });
    let after = installation.until_ready();
    assert_eq!(after[1].pid, cards[1].pid, "a card outlives its keeper");
}

#[test]
fn a_card_that_comes_back_as_its_keeper_goes_refuses_nothing() {
    let installation = Installation::new(1, 0);
    let facility = installation.facility();
    installation.until_ready();
    let key = mac_key(&facility);
    for delay_ms in (0..60).step_by(10) {
        let status = installation.until_ready_with_keeper();
        kill(status.cards[0].pid);
        // At some of these moments the card has its end of a channel that nobody will write to.
        std::thread::sleep(Duration::from_millis(delay_ms));
        kill(status.keeper_pid.expect("there is a keeper"));
        is_served(&facility, &key);
    }
}

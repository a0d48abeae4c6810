//! Threads of one process over real cards: a card dies under them, the process forks while they work, and thousands
//! begin and end in turn. Each request is answered once and rightly, and what they used is given back.

use crate::clients::forked;
use facility::{Facility, Options, Reply, SHARES_MAX, Selection, Ticket};
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
use system_tests::load::{Stop, until_grown};
use system_tests::part::{Part, goes_on, say, told};
use system_tests::{Installation, PATIENCE, expected_mac, kill, mac_key, mac_of, mac_request, submit};
use wire::Label;
use wire::control::{CardRow, CardState, Store};

/// How many threads are at work at once.
const THREADS: [usize; 2] = [2, 32];
/// Requests that all of them have under way: those of one share fill no queue.
const IN_FLIGHT: usize = 64;
const CARDS: u32 = 2;
/// Cards killed, and children of fork, one after the other.
const KILLS: usize = 6;
const FORKS: u64 = 6;
/// Threads that begin and end.
const IN_TURN: usize = 10_000;
/// The label of the key that everyone uses.
const LABEL: &str = "THREADS.MAC";

/// What a process holds, of the system and of the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    descriptors: usize,
    /// Memory that is shared with cards and daemon, by its mappings.
    shared: usize,
    /// Queues, as the process and as the daemon counts them, and the memory that they take.
    queues: (usize, usize),
    bytes: u64,
    connections: u32,
}

/// Plays a part in a process of its own for each number of threads, and sees that nothing of it stays in the daemon.
fn plays(part: &str, threads: &[usize]) {
    let installation = Installation::new(CARDS, 0);
    installation.until_ready();
    let facility = installation.facility();
    facility.record_create(Store::Des, &Label::new(LABEL).unwrap(), &mac_key(&facility)).unwrap();
    drop(facility);
    for threads in threads {
        let home = installation.home.folder();
        let mut part = Part::start(&format!("threads::{part}"), home, &threads.to_string());
        part.says("done");
        drop(part);
        installation.until("all that it had is given back", |status| {
            status.cards.iter().all(|card| card.queues == 0)
                && (status.connections, status.queue_memory.own) == (1, 0)
        });
    }
}

/// The facility and the number of threads of a part; none where it is run by itself, outside of its test.
fn part() -> Option<(Facility, usize)> {
    let (home, threads) = told()?;
    Some((open(&home), threads.parse().unwrap()))
}

fn open(home: &Path) -> Facility {
    Facility::open(home, Options { card_wait: PATIENCE, ..Options::default() }).unwrap()
}

/// Sends so many requests at once, no two alike, then one more, and compares each answer.
fn ask(facility: &Facility, who: u64, round: u64, requests: usize) {
    let field = Label::new(LABEL).unwrap().to_field();
    let texts: Vec<Vec<u8>> = (0..=requests as u64)
        .map(|number| [who, round, number].iter().flat_map(|part| part.to_le_bytes()).collect())
        .collect();
    let is_right =
        |reply: &_, at: usize| assert_eq!(mac_of(reply), expected_mac(&texts[at]), "{who}, {round}, {at}");
    let mut tickets: Vec<Ticket> =
        texts[1..].iter().map(|text| submit(facility, &mac_request(&field, text)).unwrap()).collect();
    let mut answered = 0;
    while let Some(index) = Ticket::wait_any(&mut tickets) {
        is_right(&tickets[index].try_wait().expect("it was said to be there").unwrap(), index + 1);
        assert!(tickets[index].try_wait().is_none(), "an answer is collected once");
        answered += 1;
    }
    assert_eq!(answered, requests, "{who}, {round}");
    is_right(&facility.ask(0, &mac_request(&field, &texts[0])).unwrap().into_reply(), 0);
}

/// Threads that ask and compare until `meanwhile` has ended, which is told the rounds of each.
fn at_work(facility: &Facility, threads: usize, meanwhile: impl FnOnce(&[AtomicU64])) {
    let stop = AtomicBool::new(false);
    let rounds: Vec<AtomicU64> = (0..threads).map(|_| AtomicU64::new(0)).collect();
    std::thread::scope(|scope| {
        let _stop = Stop(&stop);
        for (who, rounds) in rounds.iter().enumerate() {
            let stop = &stop;
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    ask(facility, who as u64, rounds.load(Ordering::Relaxed), IN_FLIGHT / threads);
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        meanwhile(&rounds);
    });
}

/// Waits until each thread has ended the round that it is in, and one more.
fn go_on(rounds: &[AtomicU64]) {
    rounds.iter().for_each(|rounds| until_grown(rounds, 2));
}

/// What the process holds once each share has a queue to each card.
fn held(facility: &Facility) -> Held {
    let shares = std::thread::available_parallelism().unwrap().get().min(SHARES_MAX);
    let all = Barrier::new(shares);
    std::thread::scope(|scope| {
        for who in 0..shares {
            let all = &all;
            scope.spawn(move || {
                all.wait();
                for card in 0..CARDS {
                    ask(&facility.with_selection(Selection::card(card)), u64::MAX, who as u64, 1);
                }
                // A thread that ends leaves its share to the other.
                all.wait();
            });
        }
    });
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let status = facility.status().unwrap();
    Held {
        descriptors: std::fs::read_dir("/proc/self/fd").unwrap().count(),
        shared: maps.lines().filter(|line| line.contains("memfd:")).count(),
        queues: (facility.queues(), status.cards.iter().map(|card| card.queues as usize).sum()),
        bytes: status.queue_memory.own,
        connections: status.connections,
    }
}

/// Waits until the process holds what it held before; the daemon may see the end of a queue a moment later.
fn ends_as_it_was(facility: &Facility, before: Held) {
    assert_eq!(facility.in_flight(), 0);
    let (end, mut now) = (Instant::now() + PATIENCE, held(facility));
    while now != before && Instant::now() < end {
        now = held(facility);
    }
    assert_eq!(now, before);
    say("done");
    goes_on();
}

/// The cards, once all of them are ready.
fn ready(facility: &Facility) -> Vec<CardRow> {
    let end = Instant::now() + PATIENCE;
    loop {
        let cards = facility.cards().unwrap();
        if cards.iter().all(|card| card.state == CardState::Ready) {
            return cards;
        }
        assert!(Instant::now() < end, "{cards:?}");
        std::thread::yield_now();
    }
}

#[test]
fn a_card_that_dies_under_many_threads_takes_no_answer_with_it_and_leaves_nothing_behind() {
    plays("part_of_threads_whose_cards_die", &THREADS);
}

#[test]
#[ignore = "a part of another test"]
fn part_of_threads_whose_cards_die() {
    let Some((facility, threads)) = part() else { return };
    at_work(&facility, threads, go_on);
    let before = held(&facility);
    at_work(&facility, threads, |rounds| {
        for number in 0..KILLS {
            kill(ready(&facility)[number % CARDS as usize].pid);
            // What was under way is answered before the next card dies: a request that two cards died with fails.
            go_on(rounds);
        }
    });
    ready(&facility);
    ends_as_it_was(&facility, before);
}

#[test]
fn a_process_forks_while_many_threads_work_and_both_go_on() {
    plays("part_of_threads_that_fork", &THREADS);
}

#[test]
#[ignore = "a part of another test"]
fn part_of_threads_that_fork() {
    let Some((facility, threads)) = part() else { return };
    at_work(&facility, threads, go_on);
    let before = held(&facility);
    at_work(&facility, threads, |rounds| {
        for child in 0..FORKS {
            let code = forked(|| {
                ask(&facility, u64::MAX - 1, child, 8);
                at_work(&facility, threads, go_on);
                let now = held(&facility);
                // The connection of the parent stays, where a thread was asking the daemon at the fork.
                let stays = now.descriptors.saturating_sub(before.descriptors);
                facility.in_flight() == 0 && now.queues.0 == before.queues.0 && stays <= 1
            });
            assert_eq!(code, 0, "child {child} is served, and holds what a process holds");
            go_on(rounds);
        }
    });
    ends_as_it_was(&facility, before);
}

#[test]
fn ten_thousand_threads_in_turn_leave_nothing_behind() {
    plays("part_of_threads_in_turn", &[1, 2, 32]);
}

#[test]
#[ignore = "a part of another test"]
fn part_of_threads_in_turn() {
    let Some((facility, at_once)) = part() else { return };
    let begin_and_end = |threads: usize| {
        for round in 0..threads / at_once {
            std::thread::scope(|scope| {
                for who in 0..at_once {
                    let facility = &facility;
                    scope.spawn(move || begin_and_end_in(facility, who, round));
                }
            });
        }
    };
    begin_and_end(64);
    let (before, lines) = (held(&facility), mappings());
    begin_and_end(IN_TURN);
    // Heaps of the allocator and stacks come and go, but none stays for each thread.
    assert!(mappings() < lines + IN_TURN / 100, "{lines} mappings before, {} after", mappings());
    ends_as_it_was(&facility, before);
}

/// What a thread does in its life: it calls, and in some rounds it sends and waits, sends and ends, or has an
/// event loop.
fn begin_and_end_in(facility: &Facility, who: usize, round: usize) {
    let field = Label::new(LABEL).unwrap().to_field();
    ask(facility, who as u64, round as u64, (who + round) % 2);
    if (who + round).is_multiple_of(8) {
        drop(submit(facility, &mac_request(&field, b"nobody waits")).unwrap());
    }
    if (who + round).is_multiple_of(100) {
        let (mut completions, mut reply) = (facility.completions().unwrap(), Reply::new());
        completions.ask(0, 0, &mac_request(&field, b"a loop")).unwrap();
        while completions.collect(&mut reply).is_none() {
            completions.wait(None);
        }
        assert_eq!(mac_of(&reply), expected_mac(b"a loop"));
    }
}

/// Mappings of any kind.
fn mappings() -> usize {
    std::fs::read_to_string("/proc/self/maps").unwrap().lines().count()
}

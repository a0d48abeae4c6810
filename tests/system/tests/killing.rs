//! Cards killed one after the other under full load: no request is lost, no answer wrong, nothing that may run once
//! runs twice. `CRYPTAND_KILL_SECONDS` says for how long a card is killed every second, `CRYPTAND_KILLS` how many are
//! killed as soon as they are back; `make test-all` asks for ten minutes, and for 200. How soon the rate is back is
//! measured by `cryptand bench --only kills`.

use facility::{Facility, Ticket};
use lab::faults::kill_cards;
use seeded::Random;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use system_tests::{Installation, expected_mac, kill, mac_key, mac_of, mac_request, submit};
use wire::control::CardState;

/// Seconds where nothing else is asked for.
const SECONDS_DEFAULT: f64 = 4.0;
/// Cards killed as soon as all are ready, where nothing else is asked for.
const KILLS_DEFAULT: u32 = 24;
/// Requests always in flight, and how many threads they are of.
const IN_FLIGHT: usize = 64;
const THREADS: [usize; 3] = [1, 2, 32];

#[test]
fn a_card_killed_every_second_under_full_load_loses_nothing() {
    let seconds = std::env::var("CRYPTAND_KILL_SECONDS")
        .map_or(SECONDS_DEFAULT, |text| text.parse().expect("CRYPTAND_KILL_SECONDS is a number"));
    let outcome = kill_cards(2, seconds, &Arc::new(AtomicBool::new(false))).unwrap();
    println!("{outcome:?}");
    assert_eq!((outcome.lost, &outcome.first_loss), (0, &None), "requests were lost");
    assert_eq!(outcome.twice, 0, "something that may run once ran twice");
    assert_eq!(outcome.kills, seconds.ceil() as usize);
    assert!(outcome.answered > 0 && outcome.records > 0);
}

#[test]
fn cards_killed_as_soon_as_they_are_back_lose_no_request() {
    let kills = std::env::var("CRYPTAND_KILLS")
        .map_or(KILLS_DEFAULT, |text| text.parse().expect("CRYPTAND_KILLS is a number"));
    let installation = Installation::new(2, 0);
    installation.until_ready();
    for threads in THREADS {
        kill_under(&installation, threads, kills.div_ceil(THREADS.len() as u32));
    }
}

/// Kills so many cards, one after the other, under threads of one facility.
fn kill_under(installation: &Installation, threads: usize, kills: u32) {
    let (stop, answered) = (AtomicBool::new(false), [const { AtomicU64::new(0) }; IN_FLIGHT]);
    let counts = || answered.each_ref().map(|count| count.load(Ordering::Relaxed));
    std::thread::scope(|scope| {
        let load = scope.spawn(|| keep_asking(installation, threads, &stop, &answered));
        let mut chance = Random(990);
        for _ in 0..kills {
            let before = installation.until_ready();
            let victim = chance.below(before.len());
            let counts_before = counts();
            kill(before[victim].pid);
            // What was in flight is answered before the next card dies: a request that two cards died with fails.
            installation.until("the killed card is back and all that was in flight is answered", |status| {
                let card = &status.cards[victim];
                card.state == CardState::Ready
                    && card.pid != before[victim].pid
                    && counts().iter().zip(counts_before).all(|(now, before)| *now > before)
            });
            assert!(!load.is_finished(), "the load goes on");
        }
        stop.store(true, Ordering::Relaxed);
        load.join().unwrap();
    });
}

/// Threads that keep requests in flight until told to stop; each answer is compared.
fn keep_asking(
    installation: &Installation,
    threads: usize,
    stop: &AtomicBool,
    answered: &[AtomicU64; IN_FLIGHT],
) {
    let facility = installation.facility();
    let key = mac_key(&facility);
    let each = IN_FLIGHT / threads;
    std::thread::scope(|scope| {
        for (thread, answered) in answered.chunks(each).enumerate() {
            let (facility, key) = (&facility, &key);
            scope.spawn(move || keep_in_flight(facility, key, thread * each, stop, answered));
        }
    });
    assert_eq!(facility.in_flight(), 0);
}

/// Keeps as many requests in flight as there are counts; the first one's text has this number.
fn keep_in_flight(facility: &Facility, key: &[u8], first: usize, stop: &AtomicBool, answered: &[AtomicU64]) {
    let texts: Vec<Vec<u8>> = (first..first + answered.len())
        .map(|number| [&number.to_le_bytes()[..], &[number as u8; 500]].concat())
        .collect();
    let expected: Vec<[u8; 8]> = texts.iter().map(|text| expected_mac(text)).collect();
    let ask = |text: &[u8]| submit(facility, &mac_request(key, text)).unwrap();
    let mut tickets: Vec<Ticket> = texts.iter().map(|text| ask(text)).collect();
    while let Some(index) = Ticket::wait_any(&mut tickets) {
        let reply = tickets[index].try_wait().unwrap().unwrap();
        assert_eq!(mac_of(&reply), expected[index]);
        answered[index].fetch_add(1, Ordering::Relaxed);
        if !stop.load(Ordering::Relaxed) {
            tickets[index] = ask(&texts[index]);
        }
    }
}

//! Cards killed one after the other under full load: no request is lost, no answer wrong.
//! `CRYPTAND_KILLS` says how many are killed; `make test-all` asks for more. The daemon starts cards that
//! keep dying ever more slowly, so that each kill soon after another costs more time than the one before.

use facility::Ticket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use system_tests::{Installation, Random, expected_mac, kill, mac_key, mac_of, mac_request};
use wire::control::CardState;

/// Cards killed where nothing else is asked for.
const KILLS_DEFAULT: u32 = 5;
/// Requests always in flight.
const IN_FLIGHT: usize = 64;

#[test]
fn cards_killed_under_load_lose_no_request() {
    let kills = std::env::var("CRYPTAND_KILLS").map_or(KILLS_DEFAULT, |text| text.parse().unwrap());
    let installation = Installation::new(2, 0);
    installation.until_ready();
    let (stop, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let load = scope.spawn(|| keep_asking(&installation, &stop, &answered));
        let mut chance = Random::new(990);
        for _ in 0..kills {
            let before = installation.until_ready();
            let victim = chance.below(before.len() as u32) as usize;
            let answered_before = answered.load(Ordering::Relaxed);
            kill(before[victim].pid);
            installation.until("the killed card is back and work went on", |status| {
                let card = &status.cards[victim];
                card.state == CardState::Ready
                    && card.pid != before[victim].pid
                    && answered.load(Ordering::Relaxed) > answered_before
            });
            assert!(!load.is_finished(), "the load goes on");
        }
        stop.store(true, Ordering::Relaxed);
        load.join().unwrap();
    });
    println!("{kills} cards killed, {} requests answered", answered.load(Ordering::Relaxed));
}

/// Keeps requests in flight until told to stop; each answer is compared.
fn keep_asking(installation: &Installation, stop: &AtomicBool, answered: &AtomicU64) {
    let facility = installation.facility();
    let key = mac_key(&facility);
    let texts: Vec<Vec<u8>> =
        (0..IN_FLIGHT).map(|number| [&number.to_le_bytes()[..], &[number as u8; 500]].concat()).collect();
    let expected: Vec<[u8; 8]> = texts.iter().map(|text| expected_mac(text)).collect();
    let ask = |text: &[u8]| facility.submit(0, &mac_request(&key, text)).unwrap();
    let mut tickets: Vec<Ticket> = texts.iter().map(|text| ask(text)).collect();
    while let Some(index) = Ticket::wait_any(&mut tickets) {
        let reply = tickets[index].try_wait().unwrap().unwrap();
        assert_eq!(mac_of(&reply), expected[index]);
        answered.fetch_add(1, Ordering::Relaxed);
        if !stop.load(Ordering::Relaxed) {
            tickets[index] = ask(&texts[index]);
        }
    }
}

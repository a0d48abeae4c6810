//! Threads of one process that send requests to the cards of a home: whom the test of shared writes watches.
//!
//! Arguments: the home, the field of a key's label, how requests are sent (`calls`, `chosen` for calls that each name
//! their card, `tickets` or `loops`), and the number of requests of each of two threads. The program writes its mapped
//! files (`/proc/self/maps`) to standard output.

use facility::{Facility, Options, Reply, Selection, Ticket};
use std::env;
use std::io::Write;
use std::path::Path;
use std::sync::Barrier;
use system_tests::{mac_of, mac_request, null, submit};
use wire::verb::{Filled, TypedAsk};

const THREADS: usize = 2;
/// Requests that a thread has in flight at once.
const IN_FLIGHT: usize = 8;
const TEXT: &[u8] = &[0x5A; 64];

/// Sends as many requests as this, one after the other.
fn call(facility: &Facility, key: &[u8], requests: usize) {
    let mac = mac_request(key, TEXT);
    for number in 0..requests {
        if number % 2 == 0 {
            assert!(mac_of(&facility.ask(0, &mac).expect("a card answers")) != [0; 8]);
        } else {
            assert!(facility.ask(0, &null()).expect("a card answers").codes().has_output());
        }
    }
}

/// Sends as many requests as this, one after the other, to a card that each names.
fn call_chosen(facility: &Facility, key: &[u8], requests: usize) {
    let (mac, mut filled, mut reply) = (mac_request(key, TEXT), Filled::default(), Reply::new());
    for number in 0..requests {
        let card = Selection::card(number as u32 % 2);
        facility.call_on(card, 0, &mac.arguments(&mut filled), &mut reply).expect("the card answers");
        assert!(mac_of(&reply) != [0; 8]);
    }
}

/// Sends as many requests as this, with several in flight.
fn hold_tickets(facility: &Facility, key: &[u8], requests: usize) {
    let mac = mac_request(key, TEXT);
    let mut tickets: Vec<Ticket> =
        (0..IN_FLIGHT).map(|_| submit(facility, &mac).expect("a card is there")).collect();
    for _ in 0..requests {
        let index = Ticket::wait_any(&mut tickets).expect("requests are in flight");
        let reply: Reply = tickets[index].try_wait().expect("it is answered").expect("a card answers");
        assert!(mac_of(&reply) != [0; 8]);
        tickets[index] = submit(facility, &mac).expect("a card is there");
    }
    for ticket in tickets {
        assert!(ticket.wait().expect("a card answers").codes().has_output());
    }
}

/// Sends as many requests as this from an event loop, with several in flight.
fn hold_loop(facility: &Facility, key: &[u8], requests: usize) {
    let mac = mac_request(key, TEXT);
    let mut completions = facility.completions().expect("descriptors are left");
    let mut reply = Reply::new();
    for number in 0..IN_FLIGHT as u64 {
        completions.ask(number, 0, &mac).expect("a loop holds some requests");
    }
    let mut answered = 0;
    while answered < requests {
        while let Some((number, result)) = completions.collect(&mut reply) {
            result.expect("a card answers");
            assert!(mac_of(&reply) != [0; 8]);
            answered += 1;
            completions.ask(number, 0, &mac).expect("a loop holds some requests");
        }
        completions.wait(None);
    }
}

fn main() {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [home, label, way, requests] = &arguments[..] else { panic!("home, label, way and requests") };
    let requests: usize = requests.parse().expect("a number of requests");
    let facility = Facility::open(Path::new(home), Options::default()).expect("the daemon serves the home");
    let both = Barrier::new(THREADS);
    let work = || {
        both.wait();
        match way.as_str() {
            "calls" => call(&facility, label.as_bytes(), requests),
            "chosen" => call_chosen(&facility, label.as_bytes(), requests),
            "loops" => hold_loop(&facility, label.as_bytes(), requests),
            "tickets" => hold_tickets(&facility, label.as_bytes(), requests),
            other => panic!("no way to send requests: {other}"),
        }
        // A thread that ends leaves its share to the other.
        both.wait();
    };
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(work);
        }
    });
    let maps = std::fs::read("/proc/self/maps").expect("proc is mounted");
    std::io::stdout().write_all(&maps).expect("somebody reads");
}

//! What a card costs: start, memory, the way there and back, secure MACs in flight.
//!
//! `cargo bench -p card` prints one line per measure. The MACs are checked against the engine.

#[path = "../tests/common/mod.rs"]
mod common;

use common::*;
use link::Counter;
use std::time::{Duration, Instant};
use wire::Verb;
use wire::control::{Personality, PollMode};
use wire::frame::Outcome;
use wire::verb::Key;

const CLEAR: [u8; 16] = [0x57; 16];
const SPAN: Duration = Duration::from_millis(1500);

fn main() {
    // `cargo test --benches` runs this too, for its checks alone.
    let span = if std::env::args().any(|argument| argument == "--bench") { SPAN } else { SPAN / 50 };
    starts();
    for poll in [PollMode::Adaptive, PollMode::Spin] {
        round_trip(poll, span);
    }
    for jobs in [1, 2, 4, 8, 16, 64] {
        macs(jobs, span);
    }
    for (queues, tenants) in [(1, 1), (64, 1), (120, 120), (1000, 1), (1000, 120)] {
        backlog(queues, tenants);
    }
}

/// Processor time of a card for each request of many that are there when it looks, in so many queues of
/// so many tenants.
fn backlog(queues: u32, tenants: u32) {
    const SLOTS: u32 = 8;
    const ROUNDS: usize = 9;
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: most.maximum, ..most };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).expect("more descriptors");
    let mut card = Card::ready(card_start(Personality::Accelerator));
    let clients: Vec<_> = (0..queues)
        .map(|queue| {
            let mut grant = card.grant(EVERYTHING);
            (grant.tenant, grant.account) = (queue % tenants, queue % tenants);
            card.attach_with(grant, SLOTS)
        })
        .collect();
    let mut times: Vec<_> = (0..ROUNDS)
        .map(|_| {
            card.program.pause();
            let before = card.program.processor_ns();
            let submit =
                |client| (0..SLOTS).map(move |_| (client, Client::submit(client, Verb::Null as u16, &[])));
            let requests: Vec<_> = clients.iter().flat_map(submit).collect();
            card.program.go_on();
            for (client, request) in &requests {
                client.queue.wait(request, PollMode::Sleep, None, &mut Vec::new()).expect("a reply");
            }
            card.program.pause();
            let span = card.program.processor_ns() - before;
            card.program.go_on();
            span / requests.len() as u64
        })
        .collect();
    times.sort();
    println!(
        "empty verb, {queues:4} queues of {tenants:3} tenants, {SLOTS} requests each: {} ns of processor time each, {} to {}",
        times[ROUNDS / 2],
        times[0],
        times[ROUNDS - 1]
    );
}

fn starts() {
    for personality in [Personality::Accelerator, Personality::Coprocessor] {
        let mut times: Vec<Duration> =
            (0..9).map(|_| Card::ready(card_start(personality)).started_in).collect();
        times.sort();
        let card = Card::ready(card_start(personality));
        println!(
            "start to ready, {personality:?}: median {:.1} ms, worst {:.1} ms; {}; missing {:?}",
            times[4].as_secs_f64() * 1e3,
            times[8].as_secs_f64() * 1e3,
            card.program.status_field("VmRSS:"),
            card.isolation.missing
        );
    }
}

fn round_trip(poll: PollMode, span: Duration) {
    let mut start = card_start(Personality::Accelerator);
    start.poll = poll;
    let mut card = Card::ready(start);
    let client = card.attach();
    let (mut times, mut reply, begin) = (Vec::new(), Vec::new(), Instant::now());
    while begin.elapsed() < span {
        let sent = link::tsc();
        let request = client.submit(Verb::Null as u16, &[]);
        let header = client.queue.wait(&request, PollMode::Spin, None, &mut reply).expect("a reply");
        times.push(link::tsc() - sent);
        assert_eq!(header.outcome, Outcome::Answered);
    }
    times.sort();
    let us = |tsc: u64| tsc as f64 / link::tsc_per_us();
    println!(
        "empty verb, card {poll:?}: median {:.2} us, 99 % {:.2} us",
        us(times[times.len() / 2]),
        us(times[times.len() * 99 / 100])
    );
}

fn macs(jobs: usize, span: Duration) {
    let (_keeper, mut card) = coprocessor();
    let client = card.attach();
    let key = opened_key(&mut card, &client, &CLEAR);
    let text = [0x61; 64];
    let expected = mac_by_engine(&CLEAR, &text);
    let payload = written(&mac_request(Key::Reference(key), &text));
    let number = Verb::MacGenerate as u16;
    let mut in_flight: Vec<_> = (0..jobs).map(|_| client.submit(number, &payload)).collect();
    let (mut done, mut reply, begin) = (0u64, Vec::new(), Instant::now());
    while begin.elapsed() < span {
        for request in &mut in_flight {
            let Some(header) = client.queue.try_reply(request, &mut reply).expect("a queue in order") else {
                continue;
            };
            if done.is_multiple_of(1024) {
                assert_eq!((header.codes, mac_of(&reply)), (wire::code::OK, expected.clone()));
            }
            done += 1;
            *request = client.submit(number, &payload);
        }
    }
    let rate = done as f64 / begin.elapsed().as_secs_f64();
    let view = card.view();
    let fill = view.count(Counter::FillSum) as f64 / view.count(Counter::Batches) as f64;
    let busy =
        view.count(Counter::BusyTsc) as f64 / link::tsc_per_us() / view.count(Counter::Requests) as f64;
    println!(
        "secure MAC, 64 bytes, {jobs:2} jobs: {rate:8.0}/s, fill {fill:.1}, {busy:.2} us in the verbs each"
    );
}

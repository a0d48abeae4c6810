//! Many threads over one queue, with a card that sleeps, spins and ticks: every request is answered
//! once, to the thread that made it.

mod common;

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::{Home, card_parts, echo};
use link::{CardQueue, ClientQueue, Doorbell, LinkError, QueueMemory, StatusPage};
use rustix::event::{PollFd, PollFlags};
use wire::control::PollMode;

/// Serves until told to end; replies are the payload reversed, in an order of the card's own.
fn serve(doorbell: &Doorbell, page: &StatusPage, mut card: CardQueue, mode: PollMode, ended: &AtomicBool) {
    let mut payload = Vec::new();
    let mut taken: Vec<(u32, Vec<u8>)> = Vec::new();
    while !ended.load(Ordering::Relaxed) {
        let timeout = Some(Duration::from_millis(5));
        doorbell.wait(page, mode, true, &[], timeout, || card.pending() != 0).unwrap();
        let mut pending = card.pending();
        while pending != 0 {
            let slot = pending.trailing_zeros();
            pending &= pending - 1;
            card.take(slot, &mut payload).unwrap();
            payload.reverse();
            taken.push((slot, payload.clone()));
        }
        while let Some((slot, reply)) = taken.pop() {
            card.reply(slot, &echo(), &reply).unwrap();
        }
    }
}

fn run(card_mode: PollMode, client_mode: PollMode, threads: usize, rounds: usize) {
    let home = Home::new();
    let page = home.page();
    let (client, card) = home.queue(16, 6);
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| serve(&home.doorbell, &page, card, card_mode, &ended));
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let client = client.clone();
                scope.spawn(move || {
                    let mut out = Vec::new();
                    for round in 0..rounds {
                        let length = if round % 64 == 63 { 9000 } else { round % 100 };
                        let text: Vec<u8> = (0..length).map(|at| (at * 7 + thread + round) as u8).collect();
                        let request = loop {
                            let slot = client.claim_until(None).unwrap();
                            match client.submit(slot, 1, &text) {
                                Err(LinkError::BulkFull) => std::thread::yield_now(),
                                other => break other.unwrap(),
                            }
                        };
                        client.wait(&request, client_mode, None, &mut out).unwrap();
                        out.reverse();
                        assert!(out == text);
                    }
                })
            })
            .collect();
        for worker in workers {
            worker.join().unwrap();
        }
        ended.store(true, Ordering::Relaxed);
    });
    assert_eq!(client.slots_used(), 0);
}

#[test]
fn all_modes_of_waiting_answer_everyone() {
    let every = PollMode::Every { interval_us: 200 };
    for (card, client, threads, rounds) in [
        (PollMode::Sleep, PollMode::Sleep, 40, 100),
        (PollMode::Adaptive, PollMode::Adaptive, 40, 200),
        (PollMode::Adaptive, PollMode::Sleep, 4, 500),
        (PollMode::Sleep, PollMode::Adaptive, 1, 1000),
        (PollMode::Spin, PollMode::Spin, 2, 70),
        (every, PollMode::Sleep, 16, 20),
        (PollMode::Sleep, every, 16, 20),
    ] {
        run(card, client, threads, rounds);
    }
}

#[test]
fn a_thread_waits_for_a_free_slot_until_its_deadline() {
    let home = Home::new();
    let (client, mut card) = home.queue(1, 7);
    let held = client.submit(client.claim().unwrap(), 1, b"").unwrap();
    let soon = Instant::now() + Duration::from_millis(10);
    assert_eq!(client.claim_until(Some(soon)).unwrap_err(), LinkError::TimedOut);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| client.claim_until(None).map(drop));
        card.take(0, &mut Vec::new()).unwrap();
        card.reply(0, &echo(), &[]).unwrap();
        client.try_reply(&held, &mut Vec::new()).unwrap().unwrap();
        waiter.join().unwrap().unwrap();
    });
}

#[test]
fn a_deadline_passes_and_the_request_goes_on() {
    let home = Home::new();
    let (client, mut card) = home.queue(4, 8);
    let request = client.submit(client.claim().unwrap(), 1, b"").unwrap();
    let mut out = Vec::new();
    for mode in [PollMode::Spin, PollMode::Adaptive, PollMode::Sleep, PollMode::Every { interval_us: 50 }] {
        let soon = Instant::now() + Duration::from_millis(2);
        assert_eq!(client.wait(&request, mode, Some(soon), &mut out), Err(LinkError::TimedOut));
    }
    card.take(request.slot(), &mut out).unwrap();
    card.reply(request.slot(), &echo(), b"late").unwrap();
    client.wait(&request, PollMode::Sleep, Some(Instant::now()), &mut out).unwrap();
    assert_eq!(out, b"late");
}

#[test]
fn an_event_loop_is_told_of_armed_requests_only() {
    let home = Home::new();
    let memory = QueueMemory::create(8, 9).unwrap();
    let [client_end, card_end] = QueueMemory::completion_pair().unwrap();
    let mut parts = home.client_parts(&memory, 8, 9, std::process::id());
    parts.completion = Some(client_end);
    let client = ClientQueue::join(parts).unwrap();
    let mut parts = card_parts(&memory, 8, 9);
    parts.completion = Some(card_end);
    let mut card = CardQueue::join(parts).unwrap();

    let is_readable = || {
        let mut fds = [PollFd::from_borrowed_fd(client.completion_descriptor().unwrap(), PollFlags::IN)];
        let now = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut fds, Some(&now)).unwrap() == 1
    };
    let mut out = Vec::new();
    let mut answer = |slot| {
        card.take(slot, &mut Vec::new()).unwrap();
        card.reply(slot, &echo(), &[]).unwrap();
    };
    let [quiet, armed, late] = [0; 3].map(|_| client.submit(client.claim().unwrap(), 1, b"").unwrap());
    assert!(!client.arm(&armed).unwrap());
    answer(quiet.slot());
    assert!(!is_readable());
    answer(armed.slot());
    assert!(is_readable());
    client.drain_completions();
    assert!(!is_readable());
    client.try_reply(&armed, &mut out).unwrap().unwrap();
    client.try_reply(&quiet, &mut out).unwrap().unwrap();
    answer(late.slot());
    assert!(client.arm(&late).unwrap());
    assert!(client.completion_descriptor().unwrap().as_fd().try_clone_to_owned().is_ok());
}

#[test]
fn a_thread_sleeps_on_requests_of_several_queues() {
    let home = Home::new();
    let mut queues = [home.queue(64, 10), home.queue(64, 11), home.queue(64, 12)];
    let requests: Vec<_> = queues
        .iter()
        .flat_map(|(client, _)| (0..64).map(|_| client.submit(client.claim().unwrap(), 1, b"").unwrap()))
        .collect();
    // More than one sleep can watch: the last of them is answered.
    let soon = Instant::now() + Duration::from_millis(2);
    link::sleep_until_any(requests.iter(), Some(soon)).unwrap();
    for watched in [10, 192] {
        let last = &requests[watched - 1];
        let (client, card) = &mut queues[(watched - 1) / 64];
        let slot = last.slot();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                card.take(slot, &mut Vec::new()).unwrap();
                card.reply(slot, &echo(), &[]).unwrap();
            });
            while client.try_reply(last, &mut Vec::new()).unwrap().is_none() {
                link::sleep_until_any(requests[..watched].iter(), None).unwrap();
            }
        });
    }
}

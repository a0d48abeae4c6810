//! Many threads over one queue, with a card that sleeps, spins and ticks: every request is answered
//! once, to the thread that made it.

use crate::common::{Home, card_parts};
use link::{
    CardParts, CardQueue, ClientQueue, Completion, Doorbell, InFlight, LinkError, QueueMemory, Request,
    StatusPage,
};
use rustix::event::{PollFd, PollFlags};
use rustix::net::SendFlags;
use stand_in::{ANSWERED, slots};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wire::control::PollMode;

/// Serves until told to end; replies are the payload reversed, in an order of the card's own.
fn serve(doorbell: &Doorbell, page: &StatusPage, mut card: CardQueue, mode: PollMode, ended: &AtomicBool) {
    let mut payload = Vec::new();
    let mut taken: Vec<(u32, Vec<u8>)> = Vec::new();
    while !ended.load(Ordering::Relaxed) {
        let timeout = Some(Duration::from_millis(5));
        doorbell.wait(page, mode, true, &[], timeout, || card.pending() != 0).unwrap();
        for slot in slots(card.pending()) {
            card.take(slot, &mut payload).unwrap();
            payload.reverse();
            taken.push((slot, payload.clone()));
        }
        while let Some((slot, reply)) = taken.pop() {
            card.reply(slot, &ANSWERED, &reply).unwrap();
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
        card.reply(0, &ANSWERED, &[]).unwrap();
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
    card.reply(request.slot(), &ANSWERED, b"late").unwrap();
    client.wait(&request, PollMode::Sleep, Some(Instant::now()), &mut out).unwrap();
    assert_eq!(out, b"late");
}

/// A queue of an event loop, and the loop's end of its socket.
fn queue_of_a_loop(home: &Home, slots: u32, queue: u64) -> (Completion, ClientQueue, CardQueue) {
    let memory = QueueMemory::create(slots, queue).unwrap();
    let (completion, card_end) = Completion::pair().unwrap();
    let client = ClientQueue::join(home.client_parts(&memory, slots, queue, std::process::id())).unwrap();
    let parts = CardParts { completion: Some(card_end), ..card_parts(&memory, slots, queue) };
    (completion, client, CardQueue::join(parts).unwrap())
}

fn is_readable(completion: &Completion) -> bool {
    let mut fds = [PollFd::new(completion, PollFlags::IN)];
    let now = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut fds, Some(&now)).unwrap() == 1
}

fn bit(request: &InFlight) -> u64 {
    1 << request.slot()
}

#[test]
fn an_event_loop_is_told_once_a_sleep() {
    let home = Home::new();
    let (completion, client, mut card) = queue_of_a_loop(&home, 8, 9);
    let mut answer = |request: &InFlight| {
        card.take(request.slot(), &mut Vec::new()).unwrap();
        card.reply(request.slot(), &ANSWERED, &[]).unwrap();
    };
    let requests = [0; 4].map(|_| client.submit(client.claim().unwrap(), 1, b"").unwrap());
    let all = requests.iter().map(bit).fold(0, |all, bit| all | bit);
    // An awake one is not told: it looks.
    answer(&requests[0]);
    assert!(!is_readable(&completion));
    assert_eq!(client.answered(all), bit(&requests[0]));
    client.arm(1);
    answer(&requests[1]);
    assert!(is_readable(&completion));
    completion.drain();
    // Of the same sleep it was told already.
    answer(&requests[2]);
    assert!(!is_readable(&completion));
    client.disarm();
    assert_eq!(client.answered(all), all & !bit(&requests[3]));
    for request in &requests[..3] {
        client.answer(request, &mut Vec::new()).unwrap();
    }
    assert_eq!(client.answered(all), 0);
    client.arm(2);
    answer(&requests[3]);
    assert!(is_readable(&completion) && client.answered(all) == bit(&requests[3]));
    client.answer(&requests[3], &mut Vec::new()).unwrap();
    // The end of the queue is told as well.
    completion.drain();
    client.arm(3);
    drop(card);
    assert!(is_readable(&completion) && client.is_dead());
}

#[test]
fn what_is_staged_is_handed_over_at_once_and_was_not_taken_before() {
    let home = Home::new();
    let (_completion, client, mut card) = queue_of_a_loop(&home, 4, 9);
    for round in 0..3_u8 {
        let text = [round; 40];
        let requests = [1, 2, 3].map(|verb| {
            let request = Request { verb, payload: &text, reply_bytes_max: 40, alone: false, secret: false };
            client.stage(client.claim().unwrap(), &request).unwrap()
        });
        assert_eq!((card.pending(), client.waiting()), (0, 3));
        assert!(requests.iter().all(|request| !client.was_taken(request)));
        assert!(client.hand_over() && !client.hand_over());
        assert_eq!((card.pending().count_ones(), client.waiting()), (3, 3));
        let mut payload = Vec::new();
        for request in &requests {
            assert!(!client.was_taken(request));
            card.take(request.slot(), &mut payload).unwrap();
            assert!(payload == text && client.was_taken(request));
            card.reply(request.slot(), &ANSWERED, &payload).unwrap();
            client.answer(request, &mut payload).unwrap();
            assert!(payload == text);
        }
    }
}

#[test]
fn an_event_loop_that_never_drains_its_socket_keeps_no_card_waiting() {
    let home = Home::new();
    let (completion, client, mut card) = queue_of_a_loop(&home, 4, 9);
    // More than any socket holds; each is answered, though nobody reads what the card says.
    for sleep in 1..5_000 {
        client.arm(sleep);
        let request = client.submit(client.claim().unwrap(), 1, b"").unwrap();
        card.take(request.slot(), &mut Vec::new()).unwrap();
        card.reply(request.slot(), &ANSWERED, &[]).unwrap();
        client.answer(&request, &mut Vec::new()).unwrap();
    }
    assert!(is_readable(&completion));
}

#[test]
fn a_card_that_floods_the_socket_costs_one_look_at_a_time() {
    let (completion, card_end) = Completion::pair().unwrap();
    let send = || rustix::net::send(&card_end, &[7; 4096], SendFlags::DONTWAIT | SendFlags::NOSIGNAL).is_ok();
    let room = std::iter::repeat_with(send).take_while(|sent| *sent).count();
    assert!(room > 0);
    // A look ends, whatever comes meanwhile.
    completion.drain();
    assert!(send() && is_readable(&completion));
    let (pipe, _) = rustix::pipe::pipe().unwrap();
    assert!(Completion::from_fd(pipe).is_err());
    assert!(Completion::from_fd(completion.into_fd()).is_ok());
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
                card.reply(slot, &ANSWERED, &[]).unwrap();
            });
            while client.try_reply(last, &mut Vec::new()).unwrap().is_none() {
                link::sleep_until_any(requests[..watched].iter(), None).unwrap();
            }
        });
    }
}

//! Prints what a request costs on its way to a card and back, without any work in between: two
//! processes over real queues, waiting in each way, on two processors and on one.
//!
//! `cargo run --release -p cryptand-link --example round_trip`

use link::{
    CardParts, CardQueue, ClientParts, ClientQueue, Counter, Doorbell, PidFd, QueueMemory, StatusPage,
};
use rustix::thread::CpuSet;
use stand_in::ANSWERED;
use std::collections::VecDeque;
use std::hint::black_box;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};
use wire::control::PollMode;

const MEBIBYTE: usize = 1 << 20;

fn main() {
    let processors = allowed_processors();
    println!("one request at a time, empty work; medians of a few thousand, in microseconds");
    println!("{:<34}{:>10}{:>10}{:>10}", "case", "p10", "median", "p99");
    let here = processors[0];
    let there = *processors.last().expect("there is a processor");
    if there != here {
        for (name, mode, payload, count) in [
            ("two processors, spin, empty", PollMode::Spin, 0, 200_000),
            ("two processors, spin, 64 bytes", PollMode::Spin, 64, 200_000),
            ("two processors, spin, 1 MiB", PollMode::Spin, MEBIBYTE, 500),
            ("two processors, adaptive, empty", PollMode::Adaptive, 0, 100_000),
            ("two processors, sleep, empty", PollMode::Sleep, 0, 20_000),
            ("two processors, sleep, 1 MiB", PollMode::Sleep, MEBIBYTE, 500),
        ] {
            case(name, mode, here, there, payload, count);
        }
    }
    case("one processor, adaptive, empty", PollMode::Adaptive, here, here, 0, 20_000);
    case("one processor, sleep, empty", PollMode::Sleep, here, here, 0, 20_000);
    case("one processor, sleep, 64 bytes", PollMode::Sleep, here, here, 64, 20_000);
    pipeline(PollMode::Adaptive, here, there, 8, 64);
    for queues in [100, 1_000] {
        sweep(queues);
    }
}

/// Starts a card on processor `there` and gives its queue, for use on processor `here`, to `measure`.
fn with_card(mode: PollMode, here: usize, there: usize, measure: impl FnOnce(&ClientQueue)) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("doorbell");
    let doorbell = Doorbell::bind(&path).expect("a doorbell");
    let status = StatusPage::create(1).expect("a status page");
    let memory = QueueMemory::create(64, 1).expect("a queue");
    let [request, reply] = memory.for_card().expect("descriptors");
    let parts = CardParts { request, reply, completion: None, slots: 64, queue: 1 };

    // SAFETY: this process has one thread; the child calls nothing that another thread could hold.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork: {}", std::io::Error::last_os_error());
    if child == 0 {
        pin(there);
        serve(&doorbell, &StatusPage::join(status.as_fd()).expect("the page"), parts, mode);
    }
    pin(here);
    let [request, reply] = memory.for_client().expect("descriptors");
    let pidfd = PidFd::open(child.unsigned_abs()).expect("the child");
    let client = ClientQueue::join(ClientParts {
        request,
        reply,
        doorbell: Doorbell::connect(&path).expect("the doorbell"),
        status: StatusPage::read_only(status.as_fd()).expect("the page"),
        pidfd: pidfd.try_clone().expect("a descriptor").into_fd(),
        slots: 64,
        queue: 1,
        generation: 1,
    })
    .expect("the queue");
    measure(&client);
    pidfd.kill().expect("may end the child");
    pidfd.wait_dead(None).expect("ends");
    pidfd.reap().expect("a child");
}

fn case(name: &str, mode: PollMode, here: usize, there: usize, payload_bytes: usize, count: usize) {
    with_card(mode, here, there, |client| {
        let payload = vec![0x5A; payload_bytes];
        let mut out = Vec::new();
        let mut round = || {
            let begin = Instant::now();
            let request = client.submit(client.claim().expect("a slot"), 1, &payload).expect("submitted");
            client.wait(&request, mode, None, &mut out).expect("a reply");
            begin.elapsed()
        };
        for _ in 0..count / 10 {
            black_box(round());
        }
        let mut times: Vec<Duration> = (0..count).map(|_| round()).collect();
        assert!(out == payload);
        times.sort_unstable();
        let at = |part: f64| times[(part * (times.len() - 1) as f64) as usize].as_secs_f64() * 1e6;
        println!("{name:<34}{:>10.2}{:>10.2}{:>10.2}", at(0.1), at(0.5), at(0.99));
    });
}

/// One thread that keeps several requests in flight.
fn pipeline(mode: PollMode, here: usize, there: usize, in_flight: usize, payload_bytes: usize) {
    const COUNT: usize = 400_000;
    with_card(mode, here, there, |client| {
        let payload = vec![0x5A; payload_bytes];
        let submit = || client.submit(client.claim().expect("a slot"), 1, &payload).expect("submitted");
        let mut requests: VecDeque<_> = (0..in_flight).map(|_| submit()).collect();
        let mut out = Vec::new();
        let begin = Instant::now();
        for _ in 0..COUNT {
            let oldest = requests.pop_front().expect("in flight");
            client.wait(&oldest, mode, None, &mut out).expect("a reply");
            requests.push_back(submit());
        }
        let rate = COUNT as f64 / begin.elapsed().as_secs_f64() / 1e6;
        println!("{in_flight} in flight, {payload_bytes} bytes: {rate:.2} million requests/s");
        for request in requests {
            client.wait(&request, mode, None, &mut out).expect("a reply");
        }
    });
}

fn serve(doorbell: &Doorbell, status: &StatusPage, parts: CardParts, mode: PollMode) -> ! {
    let mut queue = CardQueue::join(parts).expect("the queue");
    let mut payload = Vec::new();
    loop {
        let mut pending = queue.pending();
        if pending == 0 {
            let spin = queue.client_is_elsewhere();
            doorbell.wait(status, mode, spin, &[], None, || queue.pending() != 0).expect("waits");
            continue;
        }
        while pending != 0 {
            let slot = pending.trailing_zeros();
            pending &= pending - 1;
            queue.take(slot, &mut payload).expect("a good client");
            queue.reply(slot, &ANSWERED, &payload).expect("room");
            status.add(Counter::Requests, 1);
        }
    }
}

fn sweep(count: u64) {
    let (_memories, queues): (Vec<QueueMemory>, Vec<CardQueue>) = (0..count)
        .map(|queue| {
            let memory = QueueMemory::create(64, queue).expect("a queue");
            let [request, reply] = memory.for_card().expect("descriptors");
            let parts = CardParts { request, reply, completion: None, slots: 64, queue };
            (memory, CardQueue::join(parts).expect("the queue"))
        })
        .unzip();
    let mut times: Vec<Duration> = (0..5_000)
        .map(|_| {
            let begin = Instant::now();
            let pending = queues.iter().fold(0, |pending, queue| pending | queue.pending());
            assert_eq!(black_box(pending), 0);
            begin.elapsed()
        })
        .collect();
    times.sort_unstable();
    println!("sweep of {count} idle queues: median {:.2} us", times[times.len() / 2].as_secs_f64() * 1e6);
}

fn allowed_processors() -> Vec<usize> {
    let set = rustix::thread::sched_getaffinity(None).expect("affinity");
    (0..CpuSet::MAX_CPU).filter(|processor| set.is_set(*processor)).collect()
}

fn pin(processor: usize) {
    let mut set = CpuSet::new();
    set.set(processor);
    rustix::thread::sched_setaffinity(None, &set).expect("affinity");
}

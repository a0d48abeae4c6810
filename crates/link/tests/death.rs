//! A card that is a real process: it dies, stops and goes on while requests are in flight.
//!
//! The card is this test program again, run with its control socket as standard input.

use crate::common::{Home, card_parts};
use link::{CardParts, CardQueue, Channel, ClientQueue, Doorbell, LinkError, QueueMemory, StatusPage};
use rustix::process::{Pid, Signal, WaitOptions};
use stand_in::ANSWERED;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use wire::control::PollMode;

const SLOTS: u32 = 8;
const QUEUE: u64 = 3;
/// Verbs of this test: answer, or take and never answer.
const ECHO: u16 = 1;
const HOLD: u16 = 2;
const CARD: &str = "CRYPTAND_LINK_TEST_CARD";

/// The card process; as a test of its own it does nothing.
#[test]
fn card_process() {
    if std::env::var_os(CARD).is_none() {
        return;
    }
    let channel = Channel::from_fd(std::io::stdin().as_fd().try_clone_to_owned().unwrap()).unwrap();
    let ((slots, queue), descriptors) = channel.recv::<(u32, u64)>().unwrap();
    let [request, reply, doorbell, status] = <[OwnedFd; 4]>::try_from(descriptors).unwrap();
    let mut card = CardQueue::join(CardParts { request, reply, completion: None, slots, queue }).unwrap();
    let doorbell = Doorbell::from_fd(doorbell).unwrap();
    let page = StatusPage::join(status.as_fd()).unwrap();
    let mut payload = Vec::new();
    loop {
        let extra = [channel.as_fd()];
        let woken =
            doorbell.wait(&page, PollMode::Sleep, false, &extra, None, || card.pending() != 0).unwrap();
        if woken.extra != 0 {
            // The parent is gone: a test has failed.
            std::process::exit(0);
        }
        for slot in stand_in::slots(card.pending()) {
            let header = card.take(slot, &mut payload).unwrap();
            if header.verb == ECHO {
                card.reply(slot, &ANSWERED, &payload).unwrap();
            }
            channel.send(&header.verb, &[]).unwrap();
        }
    }
}

struct Card {
    child: Child,
    channel: Channel,
    client: ClientQueue,
    _home: Home,
}

impl Card {
    fn start() -> Self {
        let home = Home::new();
        let memory = QueueMemory::create(SLOTS, QUEUE).unwrap();
        let (channel, end) = Channel::pair().unwrap();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "death::card_process", "--nocapture", "--test-threads=1"])
            .env(CARD, "1")
            .stdin(Stdio::from(end.into_fd()))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let [request, reply] = memory.for_card().unwrap();
        let descriptors = [request.as_fd(), reply.as_fd(), home.doorbell.as_fd(), home.status.as_fd()];
        channel.send(&(SLOTS, QUEUE), &descriptors).unwrap();
        let client = ClientQueue::join(home.client_parts(&memory, SLOTS, QUEUE, child.id())).unwrap();
        Self { child, channel, client, _home: home }
    }

    /// Submits a request and waits until the card has taken it.
    fn submit(&self, verb: u16) -> link::InFlight {
        let request = self.client.submit(self.client.claim().unwrap(), verb, b"text").unwrap();
        assert_eq!(self.channel.recv::<u16>().unwrap().0, verb);
        request
    }

    /// Stops the card, and waits until it stands.
    fn stop(&self) {
        self.signal(Signal::STOP);
        let pid = Pid::from_raw(self.child.id() as i32);
        let (_, status) = rustix::process::waitpid(pid, WaitOptions::UNTRACED).unwrap().unwrap();
        assert!(status.stopped());
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id() as i32).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_waiter_is_told_that_its_card_died() {
    let every = PollMode::Every { interval_us: 1000 };
    for mode in [PollMode::Sleep, PollMode::Adaptive, PollMode::Spin, every] {
        let card = Card::start();
        let request = card.submit(HOLD);
        assert!(!card.client.is_dead());
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let request = request;
                card.client.wait(&request, mode, None, &mut Vec::new())
            });
            card.signal(Signal::KILL);
            assert_eq!(waiter.join().unwrap(), Err(LinkError::Dead));
        });
        assert!(card.client.is_dead());
        assert_eq!(card.client.claim().unwrap_err(), LinkError::Dead);
    }
}

#[test]
fn what_a_card_answered_before_it_died_is_collected() {
    let card = Card::start();
    let request = card.submit(ECHO);
    let held = card.submit(HOLD);
    card.signal(Signal::KILL);
    assert!(card.client.pidfd().unwrap().wait_dead(None).unwrap());
    let mut out = Vec::new();
    assert_eq!(card.client.wait(&held, PollMode::Sleep, None, &mut out), Err(LinkError::Dead));
    card.client.wait(&request, PollMode::Sleep, None, &mut out).unwrap();
    assert_eq!(out, b"text");
}

#[test]
fn a_stopped_card_is_late_and_not_dead() {
    let card = Card::start();
    drop(card.submit(ECHO));
    card.stop();
    let request = card.client.submit(card.client.claim().unwrap(), ECHO, b"more").unwrap();
    let mut out = Vec::new();
    let soon = Instant::now() + Duration::from_millis(50);
    assert_eq!(card.client.wait(&request, PollMode::Sleep, Some(soon), &mut out), Err(LinkError::TimedOut));
    assert!(!card.client.is_dead());
    card.signal(Signal::CONT);
    card.client.wait(&request, PollMode::Sleep, None, &mut out).unwrap();
    assert_eq!(out, b"more");

    let held = card.submit_after_echo();
    card.stop();
    card.client.pidfd().unwrap().kill().unwrap();
    assert_eq!(card.client.wait(&held, PollMode::Sleep, None, &mut out), Err(LinkError::Dead));
}

impl Card {
    /// As [`Card::submit`], where the message about an earlier request is still to be read.
    fn submit_after_echo(&self) -> link::InFlight {
        assert_eq!(self.channel.recv::<u16>().unwrap().0, ECHO);
        self.submit(HOLD)
    }
}

/// A card that has no more memory for mappings, and whose daemon has died with what it would have told the client.
#[test]
fn a_queue_that_its_card_cannot_map_has_ended_for_its_client() {
    let home = Home::new();
    let memory = QueueMemory::create(4, 7).unwrap();
    let client = ClientQueue::join(home.client_parts(&memory, 4, 7, std::process::id())).unwrap();
    assert!(!client.has_ended() && !client.is_dead());
    let unmappable = std::fs::File::open("/dev/null").unwrap().into();
    let parts = CardParts { request: unmappable, ..card_parts(&memory, 4, 7) };
    assert!(CardQueue::join(parts).is_err());
    assert!(client.has_ended() && client.is_dead());
}

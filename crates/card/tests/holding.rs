//! Answers that wait: a card holds them, takes what it has room for, and obeys meanwhile.

use crate::common::thread::ThreadCard;
use crate::common::{Client, PATIENCE, card_start};
use card::held::{Until, Waits};
use card::serve::End;
use link::{Counter, InFlight, ns_to_tsc};
use std::time::Instant;
use wire::Verb;
use wire::control::{CardNotice, CardOrder, CardState, Personality, PollMode};
use wire::frame::{Outcome, ReplyHeader};

/// An hour: what is held so long is shown by an order, or not at all.
const NEVER_NS: u64 = 3_600_000_000_000;
const SLOT_MAX: usize = wire::bounds::VERB_SLOTS;

/// Lanes of one service time; answers are seen at multiples of a poll interval.
struct Even {
    service: u64,
    poll: u64,
    /// Until when each lane is taken.
    lanes: Vec<u64>,
}

impl Even {
    fn new(lanes: usize, service_ns: u64) -> Self {
        Self { service: ns_to_tsc(service_ns), poll: 1, lanes: vec![0; lanes] }
    }
}

impl Waits for Even {
    fn has_own_lanes(&self) -> bool {
        true
    }

    fn room(&mut self, now_tsc: u64) -> usize {
        self.lanes.iter().filter(|until| **until <= now_tsc).count()
    }

    fn until(&mut self, now_tsc: u64, slot: usize) -> Until {
        assert!(slot < SLOT_MAX);
        let lane = self.lanes.iter_mut().min().expect("a lane");
        assert!(*lane <= now_tsc, "a request without a lane");
        *lane = now_tsc + self.service;
        Until::Time(lane.next_multiple_of(self.poll))
    }

    fn room_at(&mut self) -> u64 {
        *self.lanes.iter().min().expect("a lane")
    }
}

fn submit(client: &Client, requests: usize) -> Vec<InFlight> {
    (0..requests).map(|_| client.submit(Verb::Null as u16, &[])).collect()
}

fn wait(client: &Client, request: &InFlight) -> ReplyHeader {
    let deadline = Some(Instant::now() + PATIENCE);
    client.queue.wait(request, PollMode::Adaptive, deadline, &mut Vec::new()).expect("a reply")
}

fn is_answered(client: &Client, request: &InFlight) -> bool {
    client.queue.try_reply(request, &mut Vec::new()).expect("a queue in order").is_some()
}

/// Returns when the card holds or has answered this many requests.
fn await_batched(card: &ThreadCard, requests: u64) {
    let begin = Instant::now();
    while card.view().count(Counter::FillSum) < requests {
        assert!(begin.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
    card.pass();
}

#[test]
fn no_answer_comes_before_its_time_and_no_lane_serves_two() {
    const SERVICE_NS: u64 = 3_000_000;
    for poll in [PollMode::Adaptive, PollMode::Spin, PollMode::Sleep, PollMode::Every { interval_us: 500 }] {
        for lanes in [1, 3] {
            let mut start = card_start(Personality::Accelerator);
            start.poll = poll;
            let mut card = ThreadCard::started(start, Even::new(lanes, SERVICE_NS));
            let client = card.attach();
            let requests = submit(&client, 8);
            let times: Vec<_> = requests.iter().map(|request| wait(&client, request)).collect();
            let service = ns_to_tsc(SERVICE_NS);
            for reply in &times {
                assert!(reply.end_tsc - reply.start_tsc >= service, "{poll:?}");
                let during = |other: &&ReplyHeader| {
                    other.start_tsc <= reply.start_tsc && reply.start_tsc < other.start_tsc + service
                };
                assert!(times.iter().filter(during).count() <= lanes, "{poll:?}");
            }
            assert_eq!(card.stop(), End::Stopped);
        }
    }
}

#[test]
fn lanes_are_taken_while_answers_are_held_and_slots_stay_taken() {
    let mut card = ThreadCard::ready(Even::new(3, NEVER_NS));
    let client = card.attach();
    let first = submit(&client, 2);
    await_batched(&card, 2);
    // A lane is left: what comes now is taken, too, and what comes then waits.
    let second = submit(&client, 3);
    await_batched(&card, 3);
    assert_eq!(card.view().count(Counter::FillSum), 3);
    assert_eq!(card.view().count(Counter::Requests), 0);
    assert!(first.iter().chain(&second).all(|request| !is_answered(&client, request)));
}

#[test]
fn held_requests_count_as_queued() {
    let mut card = ThreadCard::ready(Even::new(4, NEVER_NS));
    let client = card.attach();
    submit(&client, 4);
    await_batched(&card, 4);
    assert_eq!(card.view().queue_length(), 4);
}

#[test]
fn a_card_that_holds_sleeps_and_hears_its_daemon() {
    let mut start = card_start(Personality::Accelerator);
    start.poll = PollMode::Spin;
    let mut card = ThreadCard::started(start, Even::new(2, NEVER_NS));
    let client = card.attach();
    submit(&client, 1);
    await_batched(&card, 1);
    for lanes_taken in [1, 2] {
        let polls = card.view().count(Counter::Polls);
        for _ in 0..20 {
            card.pass();
        }
        assert_eq!(card.view().count(Counter::Polls), polls, "it spun with {lanes_taken} lanes taken");
        submit(&client, 1);
        await_batched(&card, 2);
    }
}

#[test]
fn what_was_worked_out_is_shown_at_zeroize_and_at_the_end() {
    for order in [CardOrder::Zeroize, CardOrder::Stop] {
        let mut card = ThreadCard::ready(Even::new(2, NEVER_NS));
        let client = card.attach();
        let requests = submit(&client, 3);
        await_batched(&card, 2);
        if order == CardOrder::Stop {
            card.stop();
        } else {
            assert_eq!(card.order(order), CardNotice::State(CardState::Zeroized));
        }
        let answered: Vec<_> = requests.iter().map(|request| is_answered(&client, request)).collect();
        assert_eq!(answered, [true, true, false]);
    }
}

#[test]
fn a_quiesced_card_holds_what_it_took() {
    let mut card = ThreadCard::ready(Even::new(2, NEVER_NS));
    let client = card.attach();
    let held = submit(&client, 1);
    await_batched(&card, 1);
    assert_eq!(card.order(CardOrder::Quiesce), CardNotice::State(CardState::Quiescing));
    let refused = submit(&client, 1);
    assert_eq!(wait(&client, &refused[0]).outcome, Outcome::NotReady);
    assert!(!is_answered(&client, &held[0]));
    card.stop();
    assert_eq!(wait(&client, &held[0]).outcome, Outcome::Answered);
}

#[test]
fn an_ended_queue_takes_its_answers_with_it() {
    let mut card = ThreadCard::ready(Even::new(2, NEVER_NS));
    let (first, second) = (card.attach(), card.attach());
    let (gone, kept) = (submit(&first, 1), submit(&second, 1));
    await_batched(&card, 2);
    let queue = first.queue.queue();
    assert_eq!(card.order(CardOrder::Detach { queue }), CardNotice::Detached { queue });
    assert_eq!(card.stop(), End::Stopped);
    assert!(!is_answered(&first, &gone[0]));
    assert!(is_answered(&second, &kept[0]));
}

#[test]
fn answers_are_seen_at_ticks_while_lanes_go_on() {
    const SERVICE_NS: u64 = 500_000;
    let tick = ns_to_tsc(20_000_000);
    let mut timing = Even::new(1, SERVICE_NS);
    timing.poll = tick;
    let mut card = ThreadCard::ready(timing);
    let client = card.attach();
    let replies: Vec<_> = submit(&client, 4).iter().map(|request| wait(&client, request)).collect();
    for reply in &replies {
        let due = (reply.start_tsc + ns_to_tsc(SERVICE_NS)).next_multiple_of(tick);
        assert!(reply.end_tsc >= due);
    }
}

/// Answers whose requests come first wait for their records, those of every other one do not.
#[derive(Default)]
struct Recorded(u64);

impl Waits for Recorded {
    fn until(&mut self, _now_tsc: u64, _slot: usize) -> Until {
        self.0 += 1;
        if self.0.is_multiple_of(2) { Until::Now } else { Until::Recorded(self.0) }
    }
}

#[test]
fn what_waits_for_a_record_holds_nobody_up_and_is_not_shown_without_it() {
    let mut card = ThreadCard::ready(Recorded::default());
    let client = card.attach();
    let requests = submit(&client, 6);
    await_batched(&card, 6);
    let shown: Vec<bool> = requests.iter().map(|request| is_answered(&client, request)).collect();
    assert_eq!(shown, [false, true, false, true, false, true]);
    assert_eq!((card.view().count(Counter::Requests), card.view().queue_length()), (3, 3));
    // Answered as usual, beside those that wait.
    let later = submit(&client, 2);
    await_batched(&card, 8);
    assert!(is_answered(&client, &later[1]) && !is_answered(&client, &later[0]));
    assert_eq!(card.stop(), End::Stopped);
    // A card that ends shows what waits for a time, and nothing that has no record.
    assert!([0, 2, 4].into_iter().all(|place| !is_answered(&client, &requests[place])));
}

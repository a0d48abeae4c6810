//! What a real card samples of real requests, seen as an observer sees it.

use crate::common::thread::ThreadCard;
use crate::common::*;
use card::held::{Until, Waits};
use link::{Counter, SampleSubject};
use wire::control::{CardNotice, CardOrder, Personality};
use wire::frame::Outcome;
use wire::verb::Key;
use wire::{KeyReference, Verb};

const CLEAR: [u8; 16] = [0x31; 16];

fn verb_row(verb: Verb) -> SampleSubject {
    SampleSubject::Verb(verb.slot() as u32)
}

/// Ends a queue: what its requests did is recorded when this returns.
fn settle(card: &Card, client: &Client) {
    let queue = client.queue.queue();
    assert_eq!(card.order(CardOrder::Detach { queue }), CardNotice::Detached { queue });
}

#[test]
fn each_request_is_in_its_tenants_row_and_its_verbs() {
    let (_keeper, mut card) = coprocessor();
    let mut attach = |account| {
        let mut grant = card.grant(EVERYTHING);
        grant.account = account;
        card.attach_with(grant, 64)
    };
    let (first, second) = (attach(3), attach(700));
    let token = import_key(&first, &CLEAR);
    let ask = mac_request(&token, &[0x5A; 100]);
    for _ in 0..5 {
        assert_eq!(second.outcome(&ask), Outcome::Answered);
    }
    assert_eq!(first.outcome(&ask), Outcome::Answered);
    let unknown = Key::Reference(KeyReference { slot: 9, generation: 2 });
    assert_eq!(second.outcome(&mac_request(unknown, b"text")), Outcome::KeyReference);
    settle(&card, &first);
    settle(&card, &second);

    let (page, samples) = (card.view(), card.samples());
    assert_eq!(
        samples.rows(),
        [
            SampleSubject::Account(3),
            SampleSubject::Account(700),
            verb_row(Verb::ClearKeyImportMultiple),
            verb_row(Verb::MacGenerate)
        ]
    );
    let read = |row| samples.read(row).unwrap();
    let (of_first, of_second) = (read(SampleSubject::Account(3)), read(SampleSubject::Account(700)));
    assert_eq!((of_first.counts.requests, of_first.counts.refused), (2, 0));
    assert_eq!((of_second.counts.requests, of_second.counts.refused), (5, 1));
    assert_eq!(read(verb_row(Verb::MacGenerate)).counts.requests, 6);
    // Nobody else was there: every batch held one request.
    assert_eq!((of_second.counts.batches, of_second.counts.fill_sum), (5, 5));
    assert_eq!(of_second.counts.bytes_in, 5 * written(&ask).len() as u64);

    // Rows of tenants and rows of verbs each add up to the card, as its page has it.
    let mut tenants = of_first.clone();
    tenants.merge(&of_second);
    let mut verbs = read(verb_row(Verb::ClearKeyImportMultiple));
    verbs.merge(&read(verb_row(Verb::MacGenerate)));
    for sum in [&tenants, &verbs] {
        assert_eq!(sum.counts.requests, page.count(Counter::Requests));
        assert_eq!(sum.counts.bytes_in, page.count(Counter::BytesIn));
        assert_eq!(sum.counts.bytes_out, page.count(Counter::BytesOut));
        let busy_ns = link::tsc_to_ns(page.count(Counter::BusyTsc));
        assert!(sum.counts.busy_ns.abs_diff(busy_ns) <= busy_ns / 100, "{} of {busy_ns}", sum.counts.busy_ns);
        assert_eq!((sum.queue.count(), sum.service.count()), (7, 7));
        assert!(sum.queue.quantile_ns(0.5) <= sum.queue.longest_ns());
        assert!(sum.service.quantile_ns(0.5) > Some(64), "a MAC takes longer than that");
    }
    assert_eq!(tenants.queue, verbs.queue);
    assert_eq!(tenants.service, verbs.service);
    card.stop();
}

#[test]
fn requests_that_share_a_batch_tell_its_fill() {
    let mut card = Card::ready(card_start(Personality::Accelerator));
    let client = card.attach();
    // The card does not run while they are submitted.
    card.pause_asleep();
    let in_flight: Vec<_> = (0..16).map(|_| client.submit(Verb::Null as u16, &[])).collect();
    card.program.go_on();
    for request in &in_flight {
        let deadline = Some(std::time::Instant::now() + PATIENCE);
        let mode = wire::control::PollMode::Adaptive;
        client.queue.wait(request, mode, deadline, &mut Vec::new()).unwrap();
    }
    settle(&card, &client);
    let found = card.samples().read(SampleSubject::Account(0)).unwrap();
    assert_eq!((found.counts.requests, found.service.count()), (16, 16));
    assert!(found.counts.batches <= 16 && found.counts.fill_sum >= 16);
    let (page, counts) = (card.view(), found.counts);
    assert_eq!(
        (counts.batches, counts.fill_sum),
        (page.count(Counter::Batches), page.count(Counter::FillSum))
    );
}

#[test]
fn a_client_that_lies_about_its_wait_is_held_to_the_age_of_the_card() {
    use std::os::unix::fs::FileExt;
    let mut card = Card::ready(card_start(Personality::Accelerator));
    let client = card.attach();
    let [request, _] = client.memory.for_client().unwrap();
    let request = std::fs::File::from(request);
    card.program.pause();
    let submitted = client.submit(Verb::Null as u16, &[]);
    // Wherever the word stands in the memory: the time-stamp counter at which it was queued.
    let (mut bytes, now) = (vec![0; 1 << 16], link::tsc());
    let read = request.read_at(&mut bytes, 0).unwrap();
    let recent = now - link::ns_to_tsc(60_000_000_000);
    let words = bytes[..read].chunks_exact(8).enumerate();
    let stamps: Vec<u64> = words
        .filter(|(_, word)| (recent..=now).contains(&u64::from_le_bytes((*word).try_into().unwrap())))
        .map(|(at, _)| at as u64 * 8)
        .collect();
    assert_eq!(stamps.len(), 1, "one stamp in the memory");
    request.write_all_at(&1_u64.to_le_bytes(), stamps[0]).unwrap();
    card.program.go_on();
    let deadline = Some(std::time::Instant::now() + PATIENCE);
    let mode = wire::control::PollMode::Adaptive;
    client.queue.wait(&submitted, mode, deadline, &mut Vec::new()).unwrap();
    settle(&card, &client);
    let queue = card.samples().read(SampleSubject::Account(0)).unwrap().queue;
    assert!(queue.longest_ns() < Some(PATIENCE.as_nanos() as u64), "{:?}", queue.longest_ns());
}

/// Answers are held for a while; there are as many lanes as anybody asks for.
struct Held;

const HELD_NS: u64 = 3_000_000;

impl Waits for Held {
    fn has_own_lanes(&self) -> bool {
        true
    }

    fn room(&mut self, _now_tsc: u64) -> usize {
        usize::MAX
    }

    fn until(&mut self, now_tsc: u64, _slot: usize) -> Until {
        Until::Time(now_tsc + link::ns_to_tsc(HELD_NS))
    }
}

#[test]
fn a_timed_card_records_until_its_answers_are_due() {
    let mut card = ThreadCard::ready(Held);
    let client = card.attach();
    for _ in 0..3 {
        client.call_raw(Verb::Null as u16, &[]);
    }
    let found = card.samples().read(SampleSubject::Account(0)).unwrap();
    assert_eq!((found.counts.requests, found.service.count()), (3, 3));
    let held = HELD_NS - HELD_NS / 1000..=HELD_NS + HELD_NS / 15;
    for share in [0.5, 1.0] {
        let service_ns = found.service.quantile_ns(share).unwrap();
        assert!(held.contains(&service_ns), "{service_ns}");
    }
    // One at a time: each is charged all of its own time.
    assert!(found.counts.busy_ns.abs_diff(3 * HELD_NS) < HELD_NS / 100, "{}", found.counts.busy_ns);
}

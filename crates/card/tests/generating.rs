//! RSA keys are searched for between passes: whoever shares the card is served meanwhile, and hears of it by nothing
//! else.

use crate::common::*;
use link::InFlight;
use std::time::Instant;
use wire::Verb;
use wire::control::{CardNotice, CardOrder, CardState, PollMode};
use wire::frame::{Outcome, ReplyHeader};
use wire::grant::Grant;
use wire::tenant::Confinement;
use wire::verb::PkaTokenKind;

const HOSTILE: u32 = 7;
const NEIGHBOUR: u32 = 8;

/// A request for an RSA key of so many bits.
fn generation(client: &Client, bits: u16) -> Vec<u8> {
    // The lengths of the eight numbers, of which only the exponent is given.
    let structure = [&bits.to_be_bytes()[..], &[0, 0, 0, 3], &[0; 12], &[1, 0, 1]].concat();
    generation_of(&skeleton(client, PkaTokenKind::Crt, &structure))
}

fn submit(client: &Client, payload: &[u8]) -> InFlight {
    client.submit(Verb::PkaKeyGenerate as u16, payload)
}

fn wait(client: &Client, request: &InFlight) -> ReplyHeader {
    let deadline = Some(Instant::now() + PATIENCE);
    client.queue.wait(request, PollMode::Adaptive, deadline, &mut Vec::new()).expect("a reply")
}

fn is_answered(client: &Client, request: &InFlight) -> bool {
    client.queue.try_reply(request, &mut Vec::new()).expect("a queue").is_some()
}

fn two(card: &mut Card) -> [Client; 2] {
    [HOSTILE, NEIGHBOUR].map(|tenant| {
        let grant = Grant { tenant, account: tenant, ..card.grant(EVERYTHING) };
        card.attach_with(grant, 64)
    })
}

#[test]
fn neighbours_are_answered_many_times_while_one_key_is_searched_for() {
    let (_keeper, mut card) = coprocessor();
    let [hostile, neighbour] = two(&mut card);
    let payload = generation(&hostile, 4096);
    let (mut keys, mut most) = (0, 0);
    // A lucky search is over soon: the longest of some tells.
    while keys < 4 {
        let request = submit(&hostile, &payload);
        let mut answered = 0;
        while !is_answered(&hostile, &request) {
            assert_eq!(neighbour.outcome(&NULL), Outcome::Answered);
            // Orders are heard as well.
            if answered % 16 == 0 {
                assert!(matches!(card.order(CardOrder::Resume), CardNotice::State(_)));
            }
            answered += 1;
        }
        (keys, most) = (keys + 1, answered.max(most));
    }
    assert!(most >= 20, "{most}");
    card.stop();
}

#[test]
fn requests_of_several_tenants_are_searched_for_side_by_side_and_of_one_in_turn() {
    let (_keeper, mut card) = coprocessor();
    let clients = two(&mut card);
    let payload = generation(&clients[0], 1024);
    let sent: Vec<_> = clients.iter().flat_map(|client| (0..6).map(move |_| client)).collect();
    let sent: Vec<_> = sent.into_iter().map(|client| (client, submit(client, &payload))).collect();
    for (client, request) in &sent {
        let header = wait(client, request);
        assert_eq!((header.outcome, header.codes), (Outcome::Answered, wire::code::OK));
        assert_eq!(header.batch_fill, 1);
    }
    assert!(matches!(card.order(CardOrder::Resume), CardNotice::State(_)));
    let samples = card.samples();
    let requests =
        |account| samples.read(link::SampleSubject::Account(account)).map_or(0, |row| row.counts.requests);
    assert_eq!((requests(HOSTILE), requests(NEIGHBOUR)), (7, 6));
    card.stop();
}

/// A search of the first client's that has begun, in its slot.
fn begun(clients: &[Client; 2]) -> InFlight {
    let request = submit(&clients[0], &generation(&clients[0], 4096));
    for _ in 0..3 {
        assert_eq!(clients[1].outcome(&NULL), Outcome::Answered);
    }
    request
}

#[test]
fn what_a_tenant_may_not_do_any_more_when_its_key_is_found_is_refused() {
    let (_keeper, mut card) = coprocessor();
    let clients = two(&mut card);
    let request = begun(&clients);
    card.tell_role(2, only(&[]));
    let grant = |role, confinement| Grant {
        queue: clients[0].queue.queue(),
        tenant: HOSTILE,
        account: HOSTILE,
        confinement,
        ..card.grant(role)
    };
    let regrant = |grant| card.program.channel.send(&CardOrder::Regrant { grant }, &[]).expect("an order");
    regrant(grant(2, Confinement::None));
    assert_eq!(wait(&clients[0], &request).outcome, Outcome::Denied);
    regrant(grant(EVERYTHING, Confinement::None));
    // What was ordered before is done when this is answered.
    card.order(CardOrder::Resume);
    let request = begun(&clients);
    // Before it is found.
    regrant(grant(EVERYTHING, Confinement::Refused));
    assert_eq!(wait(&clients[0], &request).outcome, Outcome::Quarantined);
    assert!(matches!(card.order(CardOrder::Resume), CardNotice::State(_)));
    assert!(card.samples().roster().queues.is_empty());
    card.stop();
}

#[test]
fn a_card_that_is_quiesced_leaves_searches_to_others_and_takes_new_ones_later() {
    let (_keeper, mut card) = coprocessor();
    let clients = two(&mut card);
    let request = begun(&clients);
    assert_eq!(card.order(CardOrder::Quiesce), CardNotice::State(CardState::Quiescing));
    assert_eq!(wait(&clients[0], &request).outcome, Outcome::NotReady);
    assert_eq!(card.order(CardOrder::Resume), CardNotice::State(CardState::Ready));
    let payload = generation(&clients[0], 1024);
    assert_eq!(wait(&clients[0], &submit(&clients[0], &payload)).outcome, Outcome::Answered);
    card.stop();
}

#[test]
fn a_search_ends_with_its_queue_and_with_the_card() {
    let (_keeper, mut card) = coprocessor();
    let clients = two(&mut card);
    let (queue, neighbour) = (clients[0].queue.queue(), &clients[1]);
    let _left = begun(&clients);
    assert_eq!(card.order(CardOrder::Detach { queue }), CardNotice::Detached { queue });
    // With nothing to do it goes to sleep.
    card.pause_asleep();
    card.program.go_on();
    let view = card.view();
    assert_eq!(neighbour.outcome(&NULL), Outcome::Answered);
    assert!(matches!(card.order(CardOrder::Resume), CardNotice::State(_)));
    assert_eq!(view.queue_length(), 0);
    // Who asks a card that is told to stop is served by another one.
    let request = submit(neighbour, &generation(neighbour, 4096));
    while view.queue_length() == 0 {
        std::thread::yield_now();
    }
    card.program.channel.send(&CardOrder::Stop, &[]).expect("an order");
    assert_eq!(wait(neighbour, &request).outcome, Outcome::NotReady);
    assert!(card.program.wait().success());
}

//! A real card serves, refuses, and obeys its daemon.

use crate::common::*;
use link::{Channel, Counter};
use std::time::Instant;
use wire::bounds::CARD_ROLES_MAX;
use wire::control::{CardNotice, CardOrder, CardState, Personality, PollMode};
use wire::frame::Outcome;
use wire::point::{Point, PointSet};
use wire::verb::{Key, SignatureFormat, digital_signature_generate as dsg};
use wire::{KeyReference, Verb};

const CLEAR: [u8; 16] =
    [0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF, 0xFE, 0xDC, 0xBA, 0x98, 0x76, 0x54, 0x32, 0x10];

#[test]
fn a_secure_mac_is_that_of_its_clear_key() {
    let (_keeper, mut card) = coprocessor();
    let client = card.attach();
    let token = import_key(&client, &CLEAR);
    for text in [&b"8 bytes."[..], b"a text that is no whole number of blocks", &[0x55; 3000]] {
        let (header, payload) = client.call(&mac_request(&token, text));
        assert_eq!((header.outcome, header.codes), (Outcome::Answered, wire::code::OK));
        assert_eq!(mac_of(&payload), mac_by_engine(&CLEAR, text));
        assert!(header.start_tsc < header.end_tsc && header.batch_fill >= 1);
    }
    // A pass is booked after its replies, and before the next order is heard.
    let queue = client.queue.queue();
    assert_eq!(card.order(CardOrder::Detach { queue }), CardNotice::Detached { queue });
    let view = card.view();
    assert_eq!(view.state(), CardState::Ready);
    assert_eq!(view.count(Counter::Requests), 4);
    let slot = Verb::MacGenerate.slot();
    assert!(view.service(slot).requests == 3 && view.service(slot).average_ns > 0);
    card.stop();
}

#[test]
fn a_long_text_goes_through_a_bulk_block() {
    let (_keeper, mut card) = coprocessor();
    let client = card.attach();
    let key = opened_key(&mut card, &client, &CLEAR);
    let text = vec![0xA7; wire::bounds::TEXT_BYTES_MAX];
    let (header, payload) = client.call(&mac_request(Key::Reference(key), &text));
    assert_eq!(header.codes, wire::code::OK);
    assert_eq!(mac_of(&payload), mac_by_engine(&CLEAR, &text));
}

#[test]
fn requests_in_flight_are_all_answered_each_with_its_own_answer() {
    let (_keeper, mut card) = coprocessor();
    let client = card.attach();
    let key = opened_key(&mut card, &client, &CLEAR);
    for _ in 0..20 {
        let texts: Vec<Vec<u8>> = (0..64u8).map(|index| vec![index; 8 + index as usize]).collect();
        let in_flight: Vec<_> =
            texts.iter().map(|text| client.send(&mac_request(Key::Reference(key), text))).collect();
        for (text, request) in texts.iter().zip(&in_flight) {
            let mut reply = Vec::new();
            let deadline = Some(Instant::now() + PATIENCE);
            let header = client.queue.wait(request, PollMode::Adaptive, deadline, &mut reply).unwrap();
            assert_eq!(header.codes, wire::code::OK);
            assert_eq!(mac_of(&reply), mac_by_engine(&CLEAR, text));
        }
    }
    let view = card.view();
    assert!(
        view.count(Counter::Batches) >= 1 && view.count(Counter::FillSum) >= view.count(Counter::Batches)
    );
}

#[test]
fn a_client_with_an_event_loop_is_told_by_its_socket() {
    let mut card = Card::ready(card_start(Personality::Accelerator));
    let grant = card.grant(EVERYTHING);
    let (completion, card_end) = link::Completion::pair().unwrap();
    let client = card.attach_completing(grant, 8, Some(card_end));
    for sleep in 1..50 {
        let request = client.submit(Verb::Null as u16, &[]);
        client.queue.arm(sleep);
        while client.queue.answered(1 << request.slot()) == 0 {
            use rustix::event::{PollFd, PollFlags};
            let mut watched = [PollFd::new(&completion, PollFlags::IN)];
            rustix::event::poll(&mut watched, None).unwrap();
            // The ring of an earlier sleep may be among these.
            completion.drain();
        }
        let reply = client.queue.answer(&request, &mut Vec::new()).unwrap();
        assert_eq!(reply.outcome, Outcome::Answered);
    }
}

#[test]
fn a_queue_may_do_what_its_grant_says_and_no_more() {
    let (_keeper, mut card) = coprocessor();
    let all = card.attach();
    let token = import_key(&all, &CLEAR);
    let key = card.table.put(TENANT, &token).unwrap();
    let by_reference = mac_request(Key::Reference(key), b"text");
    let by_bytes = mac_request(&token, b"text");

    // A role that the card was not told of, and one that permits nothing.
    card.tell_role(7, PointSet::NOTHING);
    for role in [4, 7, CARD_ROLES_MAX as u16, u16::MAX] {
        let none = card.grant(role);
        let none = card.attach_with(none, 1);
        assert_eq!(none.outcome(&by_reference), Outcome::Denied);
        assert_eq!(none.outcome(&NULL), Outcome::Denied);
    }

    card.tell_role(8, only(&[Point::MacGenerate, Point::MacX99, Point::MacX919]));
    let mac = card.grant(8);
    let mac = card.attach_with(mac, 8);
    assert_eq!(mac.outcome(&by_reference), Outcome::Answered);
    assert_eq!(mac.outcome(&by_bytes), Outcome::Denied);
    assert_eq!(mac.outcome(&NULL), Outcome::Denied);

    let mut stranger = card.grant(EVERYTHING);
    stranger.tenant += 1;
    let stranger = card.attach_with(stranger, 8);
    assert_eq!(stranger.outcome(&by_reference), Outcome::KeyReference);
    assert_eq!(stranger.outcome(&by_bytes), Outcome::Answered);
    assert!(card.view().count(Counter::Refused) >= 11);
}

#[test]
fn a_key_reference_ends_with_its_generation() {
    let (_keeper, mut card) = coprocessor();
    let client = card.attach();
    let key = opened_key(&mut card, &client, &CLEAR);
    let call = |key| client.outcome(&mac_request(Key::Reference(key), b"text"));
    assert_eq!(call(key), Outcome::Answered);
    assert_eq!(call(KeyReference { slot: key.slot + 1, ..key }), Outcome::KeyReference);
    assert_eq!(call(KeyReference { slot: u32::MAX, ..key }), Outcome::KeyReference);
    assert_eq!(call(KeyReference { generation: key.generation + 2, ..key }), Outcome::KeyReference);
    card.table.revoke(key.slot);
    assert_eq!(call(key), Outcome::KeyReference);
}

#[test]
fn an_accelerator_serves_no_secure_key() {
    let mut card = Card::ready(card_start(Personality::Accelerator));
    let client = card.attach();
    assert_eq!(client.outcome(&NULL), Outcome::Answered);
    assert_eq!(client.outcome(&mac_request(&[1; 64], b"text")), Outcome::NotServed);
    assert_eq!(client.call_raw(Verb::DesKeyRecordRead as u16, &[]).0.outcome, Outcome::NotServed);
    card.stop();
}

#[test]
fn a_coprocessor_without_master_keys_says_so() {
    let mut card = Card::ready(card_start(Personality::Coprocessor));
    let client = card.attach();
    let mut token = [0; 64];
    token[0] = 1;
    let (header, _) = client.call(&mac_request(&token, b"text"));
    assert_eq!(header.outcome, Outcome::Answered);
    assert!(!header.codes.has_output());
    assert_eq!(client.outcome(&NULL), Outcome::Answered);
}

#[test]
fn malformed_payloads_are_answered_and_hurt_nobody() {
    let (_keeper, mut card) = coprocessor();
    let client = card.attach();
    for (verb, payload) in
        [(0, &b""[..]), (Verb::Null as u16, b"x"), (Verb::MacGenerate as u16, &[0xFF; 40]), (0xFFFF, b"")]
    {
        assert_eq!(client.call_raw(verb, payload).0.outcome, Outcome::Malformed, "verb {verb:#x}");
    }
    assert_eq!(client.outcome(&NULL), Outcome::Answered);
}

#[test]
fn a_client_that_breaks_the_rules_of_the_link_loses_its_queue_only() {
    let mut card = Card::ready(card_start(Personality::Accelerator));
    let (good, bad) = (card.attach(), card.attach());
    const MARK: u16 = 0x7B7B;
    // Time to spoil a frame that was handed over in good order.
    card.program.pause();
    let spoilt = bad.submit(MARK, &[]);
    let [request, _] = bad.memory.for_client().unwrap();
    let mut memory = vec![0; rustix::fs::fstat(&request).unwrap().st_size as usize];
    let read = rustix::io::pread(&request, &mut memory, 0).unwrap();
    let is_header = |line: &[u8]| line[..4] == [1, 0, MARK as u8, (MARK >> 8) as u8];
    let at = memory[..read].chunks_exact(64).position(is_header).expect("the frame") * 64;
    // A bulk block that does not exist.
    rustix::io::pwrite(&request, &77u32.to_le_bytes(), at as u64 + 16).unwrap();
    card.program.go_on();
    let notice = card.notice();
    assert!(
        matches!(&notice, CardNotice::Offence { queue, .. } if *queue == bad.queue.queue()),
        "{notice:?}"
    );
    assert!(bad.queue.try_reply(&spoilt, &mut Vec::new()).unwrap().is_none());
    assert_eq!(good.outcome(&NULL), Outcome::Answered);
    assert_eq!(card.view().count(Counter::Offences), 1);
}

#[test]
fn quiesced_cards_take_nothing_and_resume() {
    let (_keeper, mut card) = coprocessor();
    let client = card.attach();
    assert_eq!(card.order(CardOrder::Quiesce), CardNotice::State(CardState::Quiescing));
    assert_eq!(client.outcome(&NULL), Outcome::NotReady);
    assert_eq!(card.view().state(), CardState::Quiescing);
    assert_eq!(card.order(CardOrder::Resume), CardNotice::State(CardState::Ready));
    assert_eq!(client.outcome(&NULL), Outcome::Answered);
}

#[test]
fn zeroized_cards_never_serve_again() {
    let (_keeper, mut card) = coprocessor();
    let client = card.attach();
    let token = import_key(&client, &CLEAR);
    let call = mac_request(&token, b"text");
    assert_eq!(client.outcome(&call), Outcome::Answered);
    assert_eq!(card.order(CardOrder::Zeroize), CardNotice::State(CardState::Zeroized));
    assert_eq!(client.outcome(&call), Outcome::NotReady);
    assert_eq!(card.order(CardOrder::Resume), CardNotice::State(CardState::Zeroized));
    assert_eq!(client.outcome(&call), Outcome::NotReady);
    let grant = card.grant(EVERYTHING);
    assert!(matches!(card.offer(grant, 8).1, CardNotice::Rejected { .. }));
    card.stop();
}

#[test]
fn what_cannot_be_attached_is_rejected() {
    let mut card = Card::ready(card_start(Personality::Accelerator));
    let client = card.attach();
    let rejected = |notice| matches!(notice, CardNotice::Rejected { .. });
    let mut twice = card.grant(EVERYTHING);
    twice.queue = client.queue.queue();
    assert!(rejected(card.offer(twice, 64).1), "a queue that is attached already");
    let mut domain = card.grant(EVERYTHING);
    domain.domain = card.start.domains;
    assert!(rejected(card.offer(domain, 64).1), "a domain that the card does not have");
    let order = CardOrder::Attach { grant: card.grant(EVERYTHING), slots: 64 };
    assert!(rejected(card.order(order)), "no memory");
    let grant = card.grant(EVERYTHING);
    let memory = link::QueueMemory::create(8, grant.queue).unwrap();
    let [request, reply] = memory.for_card().unwrap();
    let order = CardOrder::Attach { grant, slots: 64 };
    use std::os::fd::AsFd;
    card.program.channel.send(&order, &[request.as_fd(), reply.as_fd()]).unwrap();
    assert!(rejected(card.notice()), "memory of another size");
    assert_eq!(client.outcome(&NULL), Outcome::Answered);
}

#[test]
fn a_detached_queue_is_not_looked_at_again() {
    let mut card = Card::ready(card_start(Personality::Accelerator));
    let (first, second) = (card.attach(), card.attach());
    let queue = first.queue.queue();
    assert_eq!(card.order(CardOrder::Detach { queue }), CardNotice::Detached { queue });
    assert_eq!(card.order(CardOrder::Detach { queue: 999 }), CardNotice::Detached { queue: 999 });
    let unanswered = first.submit(Verb::Null as u16, &[]);
    assert_eq!(second.outcome(&NULL), Outcome::Answered);
    assert!(first.queue.try_reply(&unanswered, &mut Vec::new()).unwrap().is_none());
}

#[test]
fn a_later_daemon_adopts_the_card() {
    let (_keeper, mut card) = coprocessor();
    let client = card.attach();
    let token = import_key(&client, &CLEAR);
    let call = mac_request(&token, b"text");

    // The first daemon goes: its end of the control channel is closed.
    let (stranger_end, _kept) = Channel::pair().unwrap();
    drop(std::mem::replace(&mut card.program.channel, stranger_end));
    assert_eq!(client.outcome(&call), Outcome::Answered);

    // A connection that says anything else is dropped; the next one adopts.
    let wrong = Channel::connect(&card.listener()).unwrap();
    wrong.send(&CardOrder::Quiesce, &[]).unwrap();
    assert!(is_closed(&wrong));
    assert_eq!(client.outcome(&call), Outcome::Answered);

    let daemon = Channel::connect(&card.listener()).unwrap();
    daemon.send(&CardOrder::Adopt, &[]).unwrap();
    let (notice, descriptors) = daemon.recv_timeout::<CardNotice>(PATIENCE).unwrap();
    let CardNotice::Adopted { start, state, level, queues, .. } = notice else { panic!("{notice:?}") };
    assert_eq!((start, state, level), (card.start.clone(), CardState::Ready, card.level.clone()));
    assert_eq!(queues.iter().map(|grant| grant.queue).collect::<Vec<_>>(), [client.queue.queue()]);
    use std::os::fd::AsFd;
    let view = link::StatusView::join(descriptors[0].as_fd()).unwrap();
    assert_eq!((view.generation(), view.state()), (card.start.generation, CardState::Ready));
    let samples = link::SamplesView::join(descriptors[1].as_fd()).unwrap();
    assert_eq!((samples.generation(), descriptors.len()), (card.start.generation, 2));

    card.program.channel = daemon;
    assert_eq!(client.outcome(&call), Outcome::Answered);
    let _second = card.attach();
    card.stop();
}

#[test]
fn nonsense_on_the_control_channel_ends_the_channel_only() {
    let mut card = Card::ready(card_start(Personality::Accelerator));
    let client = card.attach();
    rustix::net::send(&card.program.channel, &[0xEE; 100], rustix::net::SendFlags::empty()).unwrap();
    assert!(is_closed(&card.program.channel));
    assert_eq!(client.outcome(&NULL), Outcome::Answered);
    let daemon = Channel::connect(&card.listener()).unwrap();
    daemon.send(&CardOrder::Adopt, &[]).unwrap();
    card.program.channel = daemon;
    assert!(matches!(card.notice(), CardNotice::Adopted { .. }));
    // A second start message is no order for a card that runs.
    card.program.channel.send(&CardOrder::Start(card.start.clone()), &[]).unwrap();
    assert_eq!(card.order(CardOrder::Resume), CardNotice::State(CardState::Ready));
    card.stop();
}

#[test]
fn a_killed_card_is_known_dead() {
    let (_keeper, mut card) = coprocessor();
    let client = card.attach();
    let text = vec![1; 200_000];
    let key = opened_key(&mut card, &client, &CLEAR);
    let in_flight: Vec<_> = (0..8).map(|_| client.send(&mac_request(Key::Reference(key), &text))).collect();
    card.program.kill();
    let deadline = Some(Instant::now() + PATIENCE);
    let last = in_flight.last().unwrap();
    let ended = client.queue.wait(last, PollMode::Adaptive, deadline, &mut Vec::new());
    assert!(matches!(ended, Ok(_) | Err(link::LinkError::Dead)), "{ended:?}");
    assert!(client.queue.is_dead() || ended.is_ok());
}

#[test]
fn a_card_is_out_of_reach_of_tracers() {
    let card = Card::ready(card_start(Personality::Accelerator));
    assert_eq!(card.program.status_field("Seccomp:"), "2");
    assert_eq!(card.program.status_field("NoNewPrivs:"), "1");
    assert_eq!(card.program.status_field("CapEff:"), "0000000000000000");
    assert_eq!(card.program.status_field("Threads:"), "1");
    use std::os::unix::fs::MetadataExt;
    let memory = std::fs::metadata(format!("/proc/{}/mem", card.program.pid())).unwrap();
    assert_eq!(memory.uid(), 0, "not dumpable: root's, whoever runs it");
}

#[test]
fn a_card_stopped_and_continued_goes_on() {
    for poll in [PollMode::Spin, PollMode::Sleep, PollMode::Adaptive, PollMode::Every { interval_us: 5_000 }]
    {
        let mut start = card_start(Personality::Accelerator);
        start.poll = poll;
        let mut card = Card::ready(start);
        let client = card.attach();
        for _ in 0..3 {
            card.program.pause();
            let request = client.submit(Verb::Null as u16, &[]);
            assert!(client.queue.try_reply(&request, &mut Vec::new()).unwrap().is_none());
            card.program.go_on();
            let deadline = Some(Instant::now() + PATIENCE);
            let reply = client.queue.wait(&request, PollMode::Adaptive, deadline, &mut Vec::new()).unwrap();
            assert_eq!(reply.outcome, Outcome::Answered, "{poll:?}");
        }
    }
}

#[test]
fn every_poll_mode_serves() {
    for poll in [PollMode::Spin, PollMode::Sleep, PollMode::Every { interval_us: 2_000 }] {
        let mut start = card_start(Personality::Accelerator);
        start.poll = poll;
        let mut card = Card::ready(start);
        let client = card.attach();
        for _ in 0..20 {
            assert_eq!(client.outcome(&NULL), Outcome::Answered, "{poll:?}");
        }
        let queue = client.queue.queue();
        assert_eq!(card.order(CardOrder::Detach { queue }), CardNotice::Detached { queue }, "{poll:?}");
        card.stop();
    }
}

#[test]
fn tenants_of_a_shared_card_all_have_their_turn() {
    for separate_tenants in [false, true] {
        let mut start = card_start(Personality::Accelerator);
        start.separate_tenants = separate_tenants;
        let mut card = Card::ready(start);
        let clients: Vec<_> = (0..4)
            .map(|tenant| {
                let mut grant = card.grant(EVERYTHING);
                grant.tenant = tenant;
                grant.limits.in_flight_per_card_max = if tenant == 3 { 1 } else { 0 };
                card.attach_with(grant, 16)
            })
            .collect();
        for _ in 0..50 {
            let in_flight: Vec<_> = clients
                .iter()
                .flat_map(|client| (0..16).map(move |_| (client, client.submit(Verb::Null as u16, &[]))))
                .collect();
            for (client, request) in &in_flight {
                let deadline = Some(Instant::now() + PATIENCE);
                let reply =
                    client.queue.wait(request, PollMode::Adaptive, deadline, &mut Vec::new()).unwrap();
                assert_eq!(reply.outcome, Outcome::Answered);
            }
        }
    }
}

#[test]
fn tenants_share_batches_unless_they_are_kept_apart() {
    for separate_tenants in [false, true] {
        let mut start = card_start(Personality::Accelerator);
        start.separate_tenants = separate_tenants;
        let mut card = Card::ready(start);
        let clients: Vec<_> = (0..2)
            .map(|tenant| {
                let mut grant = card.grant(EVERYTHING);
                grant.tenant = tenant;
                card.attach_with(grant, 8)
            })
            .collect();
        card.pause_asleep();
        let in_flight: Vec<_> = clients
            .iter()
            .flat_map(|client| (0..3).map(move |_| (client, client.submit(Verb::Null as u16, &[]))))
            .collect();
        card.program.go_on();
        let fills: Vec<u32> = in_flight
            .iter()
            .map(|(client, request)| {
                let deadline = Some(Instant::now() + PATIENCE);
                let reply = client.queue.wait(request, PollMode::Adaptive, deadline, &mut Vec::new());
                reply.unwrap().batch_fill
            })
            .collect();
        let expected = if separate_tenants { 3 } else { 6 };
        assert_eq!(fills, [expected; 6], "kept apart: {separate_tenants}");
    }
}

#[test]
fn a_suspect_shares_no_batch() {
    let mut card = Card::ready(card_start(Personality::Accelerator));
    let clients = [card.attach(), card.attach()];
    // All are there when the card looks: four of each client, one of which is a suspect.
    card.pause_asleep();
    let requests: Vec<_> = (0..8)
        .map(|number| {
            let queue = &clients[number % 2].queue;
            let (slot, verb, is_suspect) = (queue.claim().unwrap(), Verb::Null as u16, number == 4);
            let request = if is_suspect {
                queue.submit_request(
                    slot,
                    &link::Request { verb, payload: &[], reply_bytes_max: 0, alone: true, secret: false },
                )
            } else {
                queue.submit(slot, verb, &[])
            };
            (queue, request.unwrap(), is_suspect)
        })
        .collect();
    card.program.go_on();
    let (mut suspect, mut others) = (0, 0);
    for (queue, request, is_suspect) in &requests {
        let deadline = Some(Instant::now() + PATIENCE);
        let reply = queue.wait(request, PollMode::Adaptive, deadline, &mut Vec::new()).unwrap();
        let fill = if *is_suspect { &mut suspect } else { &mut others };
        *fill = reply.batch_fill.max(*fill);
    }
    assert_eq!(suspect, 1);
    assert!(others > 1, "the others are kept apart, too");
    // What comes into the suspect's slot after it is an ordinary request.
    card.pause_asleep();
    let again: Vec<_> = (0..8).map(|_| clients[0].submit(Verb::Null as u16, &[])).collect();
    card.program.go_on();
    for request in &again {
        let deadline = Some(Instant::now() + PATIENCE);
        let reply = clients[0].queue.wait(request, PollMode::Adaptive, deadline, &mut Vec::new());
        assert_eq!(reply.unwrap().batch_fill, 8);
    }
}

#[test]
fn a_limited_level_is_the_level_that_is_named() {
    let mut card = Card::begun(card_start(Personality::Accelerator), &[("CRYPTAND_LEVEL", "portable")]);
    card.await_ready();
    assert_eq!(card.level, "portable");
    card.stop();
}

#[test]
fn a_daemon_that_reads_late_gets_every_notice_in_order() {
    // More than a socket has room for, as when many clients end at once.
    const ORDERS: u64 = 2000;
    let card = Card::ready(card_start(Personality::Accelerator));
    for queue in 0..ORDERS {
        card.program.channel.send(&CardOrder::Detach { queue }, &[]).unwrap();
    }
    for queue in 0..ORDERS {
        assert_eq!(card.notice(), CardNotice::Detached { queue });
    }
    card.stop();
}

#[test]
fn bad_starts_end_with_a_reason() {
    let mut version = card_start(Personality::Accelerator);
    version.version += 1;
    let mut domains = card_start(Personality::Accelerator);
    domains.domains = 0;
    let mut processors = card_start(Personality::Accelerator);
    processors.processors = Some(vec![100_000]);
    // One descriptor too few: a coprocessor's start without the keeper's end.
    for start in [version, domains, processors] {
        let mut card = Card::begun(start, &[]);
        assert!(matches!(card.notice(), CardNotice::Failed { .. }));
        assert!(!card.program.wait().success());
    }
    let mut program = Program::spawn(&[], &[]);
    program.channel.send(&CardOrder::Start(card_start(Personality::Coprocessor)), &[]).unwrap();
    let (notice, _) = program.channel.recv_timeout::<CardNotice>(PATIENCE).unwrap();
    assert!(matches!(notice, CardNotice::Failed { .. }));
    assert!(!program.wait().success());
    assert!(!Program::spawn(&["--nonsense"], &[]).wait().success());
    assert!(!Program::spawn(&[], &[("CRYPTAND_LEVEL", "nonsense")]).wait().success());
}

/// Numbers that pass for generated ones and are not sound: see the test of them in `cca`.
const UNSOUND_TOKEN: &[u8] = include_bytes!("../../cca/tests/known/unsound.token");
const UNSOUND_BLOCK: &[u8] = include_bytes!("../../cca/tests/known/unsound.block");

fn signing(block: &[u8]) -> dsg::Ask<'_> {
    dsg::Ask {
        format: Some(SignatureFormat::ZeroPad),
        pka_private_key_id: UNSOUND_TOKEN.into(),
        hash: block,
        signature_field: 256,
        ..dsg::Ask::new()
    }
}

#[test]
fn a_result_that_fails_its_check_is_withheld_and_stops_the_card() {
    let (_keeper, mut card) = coprocessor();
    let client = card.attach();
    card.pause_asleep();
    // Nothing is known of costs yet: they share the first pass.
    let in_flight =
        [client.send(&NULL), client.send(&signing(UNSOUND_BLOCK)), client.send(&signing(b"right"))];
    card.program.go_on();
    let deadline = Some(Instant::now() + PATIENCE);
    for (place, request) in in_flight.iter().enumerate() {
        let mut reply = Vec::new();
        let header = client.queue.wait(request, PollMode::Adaptive, deadline, &mut reply).unwrap();
        let expected = if place == 1 { wire::code::SELF_CHECK } else { wire::code::OK };
        assert_eq!((header.outcome, header.codes), (Outcome::Answered, expected), "{place}");
        if place != 0 {
            assert_eq!(got::<dsg::Got>(&reply).signature_field.is_empty(), place == 1, "{place}");
        }
    }
    assert!(matches!(card.notice(), CardNotice::Failed { why } if why.contains("withheld")));
    assert_eq!(card.program.wait().code(), Some(4));
    assert_eq!(card.view().state(), CardState::Failed);
}

#[test]
fn requests_that_are_refused_teach_clients_nothing_of_the_card() {
    let (_keeper, mut card) = coprocessor();
    let client = card.attach();
    let token = import_key(&client, &CLEAR);
    let good = mac_request(&token, b"text");
    let bad = mac_request(&[1; 64], b"text");
    let (header, _) = client.call(&good);
    assert!(header.codes.has_output());
    // A pass is booked after its replies, and before the next order is answered.
    let settled = |card: &Card| assert!(matches!(card.order(CardOrder::Resume), CardNotice::State(_)));
    settled(&card);
    let (view, mac) = (card.view(), Verb::MacGenerate.slot());
    let known = view.service(mac);
    assert_eq!(known.requests, 1);
    for _ in 0..50 {
        let (header, _) = client.call(&bad);
        assert_eq!((header.outcome, header.codes.has_output()), (Outcome::Answered, false));
    }
    settled(&card);
    assert_eq!(view.service(mac), known);
    // Beside those that are refused, one that is answered counts, and moves no average by which clients choose.
    card.pause_asleep();
    let in_flight = [&bad, &good, &bad, &bad].map(|ask| client.send(ask));
    card.program.go_on();
    let deadline = Some(Instant::now() + PATIENCE);
    for request in &in_flight {
        let header =
            client.queue.wait(request, PollMode::Adaptive, deadline, &mut Vec::new()).expect("a reply");
        assert_eq!(header.batch_fill, 4);
    }
    settled(&card);
    let then = view.service(mac);
    assert!(then.sum_ns > known.sum_ns);
    assert_eq!(link::ServiceTime { sum_ns: known.sum_ns, requests: 1, ..then }, known);
}

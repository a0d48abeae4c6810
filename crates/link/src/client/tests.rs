use super::*;
use crate::clock::{tsc, tsc_to_ns};
use crate::doorbell::Doorbell;
use crate::queue::QueueMemory;
use crate::status::StatusPage;
use std::os::fd::AsFd;
use std::time::Duration;
use wire::Codes;
use wire::bounds::{BULK_BYTES_MAX, HEADER_BYTES, INLINE_BYTES_MAX};
use wire::control::PollMode;
use wire::frame::{FrameError, Outcome, ReplyHeader};

/// A client, and a card that writes arbitrary bytes.
struct Hostile {
    client: ClientQueue,
    reply: Mapping,
    layout: Layout,
    status: StatusPage,
}

impl Hostile {
    fn new() -> Self {
        let memory = QueueMemory::create(4, 9).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let bell = folder.path().join("bell");
        let _doorbell = Doorbell::bind(&bell).unwrap();
        let status = StatusPage::create(3).unwrap();
        let [request, reply] = memory.for_client().unwrap();
        let client = ClientQueue::join(ClientParts {
            request,
            reply,
            doorbell: Doorbell::connect(&bell).unwrap(),
            status: StatusPage::read_only(status.as_fd()).unwrap(),
            pidfd: PidFd::open(std::process::id()).unwrap().into_fd(),
            slots: 4,
            queue: 9,
            generation: 3,
        })
        .unwrap();
        let layout = Layout::new(4, 9).unwrap();
        let [_, reply] = memory.for_card().unwrap();
        let reply = layout.map_reply(reply.as_fd(), Access::Write).unwrap();
        let status = StatusPage::join(status.as_fd()).unwrap();
        Self { client, reply, layout, status }
    }

    fn answer(&self, slot: u32, header: &ReplyHeader, word: u64) {
        let bytes = header.to_bytes();
        self.reply.copy_from_private(self.layout.header(slot), &bytes[..HEADER_BYTES - 8]);
        protocol::publish(self.reply.writable(self.layout.reply_word(slot)), word);
    }
}

fn reply_to(request: &InFlight, payload_bytes: usize, bulk: u32) -> ReplyHeader {
    ReplyHeader {
        outcome: Outcome::Answered,
        codes: Codes::new(0, 0),
        payload_bytes: payload_bytes as u32,
        sequence: request.sequence,
        bulk,
        batch_fill: 1,
        start_tsc: 0,
        end_tsc: 0,
    }
}

#[test]
fn a_reply_is_taken_only_where_it_may_lie() {
    let long = INLINE_BYTES_MAX + 1;
    let length = |bytes: usize| Err(FrameError::PayloadLength(bytes as u32).into());
    let block = |bulk| Err(FrameError::Bulk(bulk).into());
    // The room that the request made, and the reply that the card claims.
    for (room, bytes, bulk, expected) in [
        (0, INLINE_BYTES_MAX, BULK_NONE, Ok(())),
        (0, 1, 0, block(0)),
        (0, long, BULK_NONE, length(long)),
        (0, long, 0, length(long)),
        (long, 1, BULK_NONE, Ok(())),
        (long, long, 0, Ok(())),
        (long, BULK_BYTES_MAX, 0, Ok(())),
        (long, BULK_BYTES_MAX + 1, 0, length(BULK_BYTES_MAX + 1)),
        (long, long, 1, block(1)),
        (long, long, u32::MAX - 1, block(u32::MAX - 1)),
        (long, u32::MAX as usize, 0, length(u32::MAX as usize)),
    ] {
        let hostile = Hostile::new();
        let slot = hostile.client.claim().unwrap();
        let request = hostile.client.submit_with_room(slot, 1, b"", room).unwrap();
        hostile.answer(request.slot, &reply_to(&request, bytes, bulk), request.sequence);
        let mut payload = vec![1];
        let collected = hostile.client.try_reply(&request, &mut payload);
        let expected: Result<(), Violation> = expected;
        match expected {
            Ok(()) => assert_eq!(collected.unwrap().unwrap().payload_bytes as usize, payload.len()),
            Err(violation) => {
                assert_eq!(collected, Err(LinkError::Violation(violation)), "{bytes} in {bulk}");
                assert!(payload.is_empty());
                // The queue is of no more use to anyone.
                assert_eq!(hostile.client.claim().unwrap_err(), LinkError::Violation(violation));
            }
        }
    }
}

#[test]
fn a_reply_to_another_request_is_refused() {
    for (word, sequence) in [(0, 1), (1, 0), (7, 7), (u64::MAX, 0)] {
        let hostile = Hostile::new();
        let request = hostile.client.submit(hostile.client.claim().unwrap(), 1, b"").unwrap();
        let mut header = reply_to(&request, 0, BULK_NONE);
        header.sequence += sequence;
        hostile.answer(request.slot, &header, request.sequence.wrapping_add(word));
        let error = hostile.client.try_reply(&request, &mut Vec::new()).unwrap_err();
        assert!(matches!(error, LinkError::Violation(Violation::Sequence { .. })), "{error}");
        let waited = hostile.client.wait(&request, PollMode::Sleep, None, &mut Vec::new());
        assert!(matches!(waited, Err(LinkError::Violation(_))));
    }
}

#[test]
fn slots_and_requests_of_another_queue_are_refused() {
    let (one, other) = (Hostile::new(), Hostile::new());
    let slot = one.client.claim().unwrap();
    assert_eq!(other.client.submit(slot, 1, b"").unwrap_err(), LinkError::NotInFlight);
    assert_eq!(one.client.slots_used(), 0);
    let request = one.client.submit(one.client.claim().unwrap(), 1, b"").unwrap();
    assert_eq!(other.client.try_reply(&request, &mut Vec::new()), Err(LinkError::NotInFlight));
}

#[test]
fn a_client_spins_for_cards_that_are_awake_elsewhere_and_make_short_passes() {
    let hostile = Hostile::new();
    let request = hostile.client.submit(hostile.client.claim().unwrap(), 1, b"").unwrap();
    let bound = || hostile.client.inner.spin_bound(request.awake);
    // No card has said yet on which processor it runs.
    assert_eq!(bound(), None);
    // A processor that nobody runs on.
    hostile.status.set_processor(u32::MAX - 1);
    assert_eq!(bound(), Some(Duration::from_nanos(CLIENT_SPIN_NS)));
    hostile.status.set_pass(PASS_SPIN_MAX_NS);
    assert_eq!(bound(), Some(Duration::from_nanos(CLIENT_SPIN_NS + 2 * PASS_SPIN_MAX_NS)));
    hostile.status.set_pass(PASS_SPIN_MAX_NS + 1);
    assert_eq!(bound(), None);
}

#[test]
fn a_timer_ticks_within_its_interval_and_at_multiples_of_it() {
    for interval in [1, 50_000, 10_000_000].map(Duration::from_nanos) {
        let before = Duration::from_nanos(tsc_to_ns(tsc()));
        let until = until_tick(interval);
        let after = Duration::from_nanos(tsc_to_ns(tsc()));
        assert!(!until.is_zero() && until <= interval);
        // A tick lies between the two readings, moved by the time that was left.
        let tick = |at: Duration| (at + until).as_nanos() / interval.as_nanos();
        assert!(
            (tick(before)..=tick(after)).contains(&(before.as_nanos() / interval.as_nanos() + 1))
                || after - before > interval
        );
    }
}

#[test]
fn the_first_of_several_answers_ends_the_spin() {
    let hostile = Hostile::new();
    hostile.status.set_processor(u32::MAX - 1);
    let requests = [(); 3].map(|()| hostile.client.submit(hostile.client.claim().unwrap(), 1, b"").unwrap());
    assert!(requests.iter().all(|request| !request.is_over()));
    assert!(!any::spin_until_any(requests.iter()));
    let answered = &requests[1];
    hostile.answer(answered.slot, &reply_to(answered, 0, BULK_NONE), answered.sequence);
    assert!(answered.is_over() && !requests[0].is_over());
    assert!(any::spin_until_any(requests.iter()));
    hostile.client.try_reply(answered, &mut Vec::new()).unwrap().unwrap();
    assert!(!any::spin_until_any(requests.iter()));
    // A word of no request is judged when the reply is looked for.
    hostile.answer(requests[2].slot, &reply_to(&requests[2], 0, BULK_NONE), 77);
    assert!(any::spin_until_any(requests.iter()) && requests[2].is_over());
}

#[test]
fn a_card_of_another_generation_is_not_joined() {
    let memory = QueueMemory::create(4, 9).unwrap();
    let [request, reply] = memory.for_client().unwrap();
    let status = StatusPage::create(3).unwrap();
    let (doorbell, _) = std::os::unix::net::UnixDatagram::pair().unwrap();
    let joined = ClientQueue::join(ClientParts {
        request,
        reply,
        doorbell: doorbell.into(),
        status: StatusPage::read_only(status.as_fd()).unwrap(),
        pidfd: PidFd::open(std::process::id()).unwrap().into_fd(),
        slots: 4,
        queue: 9,
        generation: 2,
    });
    assert!(matches!(joined, Err(JoinError::Generation { found: 3 })));
}

#[test]
fn what_a_secret_request_brought_and_got_does_not_stay_in_shared_memory() {
    use crate::card::{CardParts, CardQueue};
    let memory = QueueMemory::create(4, 9).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let bell = folder.path().join("bell");
    let doorbell = Doorbell::bind(&bell).unwrap();
    let status = StatusPage::create(3).unwrap();
    let [request, reply] = memory.for_client().unwrap();
    let client = ClientQueue::join(ClientParts {
        request,
        reply,
        doorbell: Doorbell::connect(&bell).unwrap(),
        status: StatusPage::read_only(status.as_fd()).unwrap(),
        pidfd: PidFd::open(std::process::id()).unwrap().into_fd(),
        slots: 4,
        queue: 9,
        generation: 3,
    })
    .unwrap();
    let page = StatusPage::join(status.as_fd()).unwrap();
    let [request, reply] = memory.for_card().unwrap();
    let parts = CardParts { request, reply, completion: None, slots: 4, queue: 9 };
    let mut card = CardQueue::join(parts).unwrap();

    // All bytes of both memories, as a third party that maps them finds them.
    let layout = Layout::new(4, 9).unwrap();
    let [request, reply] = memory.for_client().unwrap();
    let maps = [
        layout.map_request(request.as_fd(), Access::Read).unwrap(),
        layout.map_reply(reply.as_fd(), Access::Read).unwrap(),
    ];
    let holds = |secret: u8| {
        let word = u64::from_le_bytes([secret; 8]);
        maps.each_ref().map(|map| (0..layout.bytes()).step_by(8).any(|at| map.load(at) == word))
    };
    let is_ringing = || doorbell.sleep(&page, &[], Some(Duration::ZERO), || false).unwrap().rung;

    for (asked, told, bytes) in [(0xA1, 0xB1, 300), (0xA2, 0xB2, INLINE_BYTES_MAX + 1000), (0xA3, 0xB3, 8)] {
        let (question, answer) = (vec![asked; bytes], vec![told; bytes]);
        let send = |secret| {
            let slot = client.claim().unwrap();
            let request =
                Request { verb: 1, payload: &question, reply_bytes_max: bytes, alone: false, secret };
            client.submit_request(slot, &request).unwrap()
        };
        let mut out = Vec::new();
        let in_flight = send(true);
        card.take(in_flight.slot(), &mut out).unwrap();
        card.put_secret_reply(in_flight.slot(), &reply_to(&in_flight, 0, BULK_NONE), &answer).unwrap();
        card.wake();
        // The secret is there until the client has collected it.
        card.wipe_released();
        assert_eq!((holds(asked), holds(told)), ([true, false], [false, true]));
        assert!(!card.has_released());
        page.asleep().store(1, Ordering::Relaxed);
        client.try_reply(&in_flight, &mut out).unwrap().unwrap();
        assert!(out == answer && is_ringing(), "a card that sleeps is woken to wipe");
        assert_eq!((holds(asked), holds(told)), ([false; 2], [false, true]));
        assert!(card.has_released());
        card.wipe_released();
        assert_eq!(holds(told), [false; 2]);

        // A secret that nobody collects goes with the next use of the queue, and so does one that
        // the card was not told of.
        let in_flight = send(true);
        card.take(in_flight.slot(), &mut out).unwrap();
        card.put_secret_reply(in_flight.slot(), &reply_to(&in_flight, 0, BULK_NONE), &answer).unwrap();
        card.wake();
        drop(in_flight);
        drop(client.claim().unwrap());
        assert_eq!(holds(asked), [false; 2]);
        card.wipe_released();
        assert_eq!(holds(told), [false; 2]);

        // A payload that is no secret stays, and costs nothing.
        let in_flight = send(false);
        card.take(in_flight.slot(), &mut out).unwrap();
        card.put_reply(in_flight.slot(), &reply_to(&in_flight, 0, BULK_NONE), &answer).unwrap();
        card.wake();
        client.try_reply(&in_flight, &mut out).unwrap().unwrap();
        assert!(!card.has_released());
        assert_eq!((holds(asked), holds(told)), ([true, false], [false, true]));
    }
}

#[test]
fn a_slot_that_is_said_to_be_answered_and_is_not_ends_the_queue() {
    let hostile = Hostile::new();
    let request = hostile.client.submit(hostile.client.claim().unwrap(), 1, b"").unwrap();
    let all = hostile.layout.mask();
    assert_eq!(hostile.client.answered(all), 0);
    protocol::tell_answered(hostile.reply.writable(hostile.layout.answered()), u64::MAX);
    let mine = 1 << request.slot();
    assert_eq!(hostile.client.answered(mine), mine, "nothing of slots that are not asked for");
    let error = hostile.client.answer(&request, &mut Vec::new()).unwrap_err();
    assert_eq!(error, LinkError::Violation(Violation::Unanswered { slot: request.slot }));
    assert_eq!(hostile.client.claim().unwrap_err(), error);
}

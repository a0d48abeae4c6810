//! The two ends of a queue, each against memory that the other filled with anything.

use link::{
    CardParts, CardQueue, ClientParts, ClientQueue, Completion, PidFd, QueueMemory, Request, StatusPage,
};
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixDatagram;
use wire::frame::{BULK_NONE, Outcome, ReplyHeader};
use wire::{Codes, Verb};

const SLOTS: u32 = 8;
const QUEUE: u64 = 5;

/// Writes runs of the input to places in a memory: two bytes of offset (in words of 8, over the
/// first pages), one of length, then the run.
fn scribble(memory: &File, mut data: &[u8]) {
    while let [low, high, length, rest @ ..] = data {
        let offset = u64::from(u16::from_le_bytes([*low, *high])) * 8;
        let (run, rest) = rest.split_at(rest.len().min(usize::from(*length)));
        memory.write_all_at(run, offset).expect("within the sealed memory");
        data = rest;
    }
}

/// A card takes and answers whatever a client wrote.
pub fn card_queue(data: &[u8]) {
    let memory = QueueMemory::create(SLOTS, QUEUE).expect("memory for a queue");
    let [request, reply] = memory.for_card().expect("descriptors");
    let [writable, _] = memory.for_client().expect("descriptors");
    let (_loop, cards) = Completion::pair().expect("a socket pair");
    let parts = CardParts { request, reply, slots: SLOTS, queue: QUEUE, completion: Some(cards) };
    let mut queue = CardQueue::join(parts).expect("fresh memory joins");
    scribble(&File::from(writable), data);
    let mut payload = Vec::new();
    let pending = queue.pending();
    assert!(pending < 1 << SLOTS, "only slots that exist are pending");
    for slot in (0..64).filter(|slot| pending >> slot & 1 == 1) {
        let Ok(header) = queue.take(slot, &mut payload) else { return };
        assert_eq!(payload.len(), header.payload_bytes as usize);
        let answer = ReplyHeader {
            outcome: Outcome::Answered,
            codes: Codes::new(0, 0),
            payload_bytes: 0,
            sequence: header.sequence,
            bulk: BULK_NONE,
            batch_fill: 1,
            start_tsc: 0,
            end_tsc: 0,
        };
        payload.truncate(queue.room(slot));
        let _ = match slot % 2 {
            0 => queue.reply(slot, &answer, &payload),
            _ => queue.put_secret_reply(slot, &answer, &payload).map(|()| queue.wake()),
        };
    }
    queue.wipe_released();
    assert!(!queue.has_released(), "what was released is wiped");
}

/// A client reads whatever a card wrote.
pub fn client_queue(data: &[u8]) {
    let memory = QueueMemory::create(SLOTS, QUEUE).expect("memory for a queue");
    let [request, reply] = memory.for_client().expect("descriptors");
    let [_, writable] = memory.for_card().expect("descriptors");
    let page = StatusPage::create(1).expect("a status page");
    let (doorbell, _other) = UnixDatagram::pair().expect("a socket pair");
    let parts = ClientParts {
        request,
        reply,
        doorbell: doorbell.into(),
        status: StatusPage::read_only(page.as_fd()).expect("a descriptor"),
        pidfd: PidFd::open(std::process::id()).expect("our own process").into_fd(),
        slots: SLOTS,
        queue: QUEUE,
        generation: 1,
    };
    let queue = ClientQueue::join(parts).expect("fresh memory joins");
    let mut flights = Vec::new();
    for _ in 0..SLOTS {
        let slot = queue.claim().expect("a fresh queue has free slots");
        let (verb, secret) = (Verb::Null as u16, slot_is_odd(flights.len()));
        let request = Request { verb, payload: &[], reply_bytes_max: 0, alone: false, secret };
        flights.push(queue.submit_request(slot, &request).expect("an empty request fits"));
    }
    scribble(&File::from(writable), data);
    let mut payload = Vec::new();
    // As an event loop first, then as one that looks at each.
    let answered = queue.answered(u64::MAX);
    assert!(answered < 1 << SLOTS, "only slots that exist are answered");
    for flight in flights.iter().filter(|flight| slot_is_odd(flight.slot() as usize)) {
        if answered >> flight.slot() & 1 == 1
            && let Ok(header) = queue.answer(flight, &mut payload)
        {
            assert_eq!(payload.len(), header.payload_bytes as usize);
        }
    }
    for flight in &flights {
        if let Ok(Some(header)) = queue.try_reply(flight, &mut payload) {
            assert_eq!(payload.len(), header.payload_bytes as usize);
        }
    }
}

fn slot_is_odd(slot: usize) -> bool {
    slot % 2 == 1
}

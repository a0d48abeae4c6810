//! Each end against garbage in the memory that the other end writes: whatever stands there, an end
//! refuses it or has a copy that keeps its bounds; it never panics and never reads elsewhere.

use crate::common::{Home, card_parts};
use link::{CardQueue, ClientQueue, InFlight, QueueMemory};
use proptest::prelude::*;
use seeded::Random;
use stand_in::{ANSWERED, slots};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use wire::bounds::{BULK_BYTES_MAX, INLINE_BYTES_MAX};

const SLOTS: u32 = 2;
/// Head page and slots of such a queue, generously: what lies behind are payloads.
const CONTROL_BYTES: u64 = 4096 + SLOTS as u64 * 4160;
const GARBAGE: [u64; 6] = [0, 1, u64::MAX, 1 << 63, 0x0001_0001_0001_0001, 0xFFFF_FFFF_0000_1001];

struct Queue {
    home: Home,
    memory: QueueMemory,
}

impl Queue {
    fn new() -> Self {
        Self { home: Home::new(), memory: QueueMemory::create(SLOTS, 1).unwrap() }
    }

    fn client(&self) -> ClientQueue {
        let parts = self.home.client_parts(&self.memory, SLOTS, 1, std::process::id());
        ClientQueue::join(parts).unwrap()
    }

    fn card(&self) -> CardQueue {
        CardQueue::join(card_parts(&self.memory, SLOTS, 1)).unwrap()
    }

    fn request_file(&self) -> File {
        let [request, _] = self.memory.for_client().unwrap();
        request.into()
    }

    fn reply_file(&self) -> File {
        let [_, reply] = self.memory.for_card().unwrap();
        reply.into()
    }
}

/// Takes and answers whatever is pending. True where the client broke a rule.
fn serve(card: &mut CardQueue, payload: &mut Vec<u8>) -> bool {
    let pending = card.pending();
    assert_eq!(pending >> SLOTS, 0);
    for slot in slots(pending) {
        let Ok(header) = card.take(slot, payload) else { return true };
        assert_eq!(payload.len(), header.payload_bytes as usize);
        assert!(payload.len() <= BULK_BYTES_MAX);
        payload.truncate(card.room(slot));
        card.reply(slot, &ANSWERED, payload).unwrap();
    }
    false
}

fn collect(client: &ClientQueue, request: &InFlight, payload: &mut Vec<u8>) {
    if let Ok(Some(header)) = client.try_reply(request, payload) {
        assert_eq!(header.payload_bytes as usize, payload.len());
        assert_eq!(header.sequence, request.sequence());
        assert!(payload.len() <= BULK_BYTES_MAX);
    }
}

#[test]
fn a_card_bears_garbage_in_every_word_of_a_request() {
    let queue = Queue::new();
    let client = queue.client();
    let _in_flight = [5, INLINE_BYTES_MAX + 1]
        .map(|length| client.submit(client.claim().unwrap(), 1, &vec![3; length]).unwrap());
    let file = queue.request_file();
    let mut payload = Vec::new();
    assert!(!serve(&mut queue.card(), &mut payload));
    let mut refused = 0;
    for at in (0..CONTROL_BYTES).step_by(8) {
        let mut kept = [0; 8];
        file.read_exact_at(&mut kept, at).unwrap();
        for garbage in GARBAGE {
            file.write_all_at(&garbage.to_le_bytes(), at).unwrap();
            // The head is checked at the join; the card of a queue already joined does not read it again.
            match CardQueue::join(card_parts(&queue.memory, SLOTS, 1)) {
                Ok(mut card) => refused += u32::from(serve(&mut card, &mut payload)),
                Err(_) => assert!(at < 64),
            }
        }
        file.write_all_at(&kept, at).unwrap();
    }
    assert!(refused > 0);
}

#[test]
fn a_client_bears_garbage_in_every_word_of_a_reply() {
    let queue = Queue::new();
    let file = queue.reply_file();
    let mut payload = Vec::new();
    let mut refused = 0;
    for at in (64..CONTROL_BYTES).step_by(8) {
        for garbage in GARBAGE {
            let client = queue.client();
            let mut card = queue.card();
            // A fresh client on used memory: the words of the last round are garbage to it as well.
            file.write_all_at(&vec![0; CONTROL_BYTES as usize - 64], 64).unwrap();
            let requests = [0, INLINE_BYTES_MAX + 1]
                .map(|room| client.submit_with_room(client.claim().unwrap(), 1, b"text", room).unwrap());
            serve(&mut card, &mut payload);
            file.write_all_at(&garbage.to_le_bytes(), at).unwrap();
            for request in &requests {
                collect(&client, request, &mut payload);
            }
            refused += u32::from(client.check().is_err());
            drop(requests);
            queue.request_file().write_all_at(&vec![0; 4096 - 64], 64).unwrap();
        }
    }
    assert!(refused > 0);
}

#[test]
fn a_card_bears_a_client_that_writes_while_it_reads() {
    let queue = Queue::new();
    let file = queue.request_file();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut numbers = Random(1);
            while !ended.load(Ordering::Relaxed) {
                let random = numbers.number();
                let at = 64 + random % (CONTROL_BYTES - 64) / 8 * 8;
                let value = if random & (1 << 40) == 0 { random } else { random >> 60 | 0x1_0001 };
                file.write_all_at(&value.to_le_bytes(), at).unwrap();
                // Now and then a frame that passes, so that payloads are copied as well.
                file.write_all_at(&[1, 0, 1, 0, 64, 0, 0, 0], 4096).unwrap();
                file.write_all_at(&[0xFF; 8], 4096 + 16).unwrap();
            }
        });
        let mut payload = Vec::new();
        let mut card = queue.card();
        let mut taken = 0;
        while taken < 2_000 {
            if card.pending() != 0 {
                taken += 1;
                if serve(&mut card, &mut payload) {
                    card = queue.card();
                }
            }
        }
        ended.store(true, Ordering::Relaxed);
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn neither_end_panics_on_any_words(
        words in proptest::collection::vec((8..CONTROL_BYTES / 8, any::<u64>(), any::<bool>()), 1..40),
        frames in proptest::collection::vec((0..SLOTS as u64, any::<[u8; 24]>(), 0..4_u8), 0..8),
    ) {
        let queue = Queue::new();
        let (client, mut card) = (queue.client(), queue.card());
        let (requests, replies) = (queue.request_file(), queue.reply_file());
        let request = client.submit(client.claim().unwrap(), 1, b"text").unwrap();
        let mut payload = Vec::new();
        for (slot, mut frame, kind) in frames {
            // Mostly well-formed, so that the later checks are reached too.
            frame[0..2].copy_from_slice(&1_u16.to_le_bytes());
            if kind != 0 {
                frame[6..8].fill(0);
                frame[17..20].fill(if kind == 1 { 0xFF } else { 0 });
            }
            let at = 4096 + slot * 4160;
            requests.write_all_at(&frame, at).unwrap();
            replies.write_all_at(&frame, at).unwrap();
            serve(&mut card, &mut payload);
        }
        for (word, value, of_client) in words {
            let file = if of_client { &requests } else { &replies };
            file.write_all_at(&value.to_le_bytes(), word * 8).unwrap();
            serve(&mut card, &mut payload);
            collect(&client, &request, &mut payload);
        }
    }
}

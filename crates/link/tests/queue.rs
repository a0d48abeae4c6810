//! A client and a card over one queue, in one process: what arrives, at every border, in any order.

use crate::common::Home;
use link::LinkError;
use stand_in::ANSWERED;
use wire::bounds::{BULK_BLOCKS, BULK_BYTES_MAX, INLINE_BYTES_MAX};
use wire::control::{PollMode, Register};
use wire::registers::RegisterSet;

#[test]
fn a_request_is_answered() {
    let home = Home::new();
    let (client, mut card) = home.queue(8, 1);
    let slot = client.claim().unwrap();
    let request = client.submit(slot, 7, b"hello").unwrap();
    let mut out = Vec::new();
    assert_eq!(client.try_reply(&request, &mut out).unwrap(), None);

    let mut payload = Vec::new();
    assert_eq!(card.pending(), 1);
    let header = card.take(0, &mut payload).unwrap();
    assert_eq!((header.verb, header.payload_bytes, &payload[..]), (7, 5, &b"hello"[..]));
    assert_eq!((card.pending(), card.busy()), (0, 1));
    card.reply(0, &ANSWERED, b"world!").unwrap();

    let reply = client.try_reply(&request, &mut out).unwrap().unwrap();
    assert_eq!((reply.payload_bytes, reply.sequence, &out[..]), (6, request.sequence(), &b"world!"[..]));
    assert_eq!(client.try_reply(&request, &mut out), Err(LinkError::NotInFlight));
    assert_eq!(client.slots_used(), 0);
}

#[test]
fn a_card_says_which_registers_it_holds_once_it_has_joined() {
    let home = Home::new();
    for number in [1, 60, 61, 62, u64::MAX] {
        let (client, card) = home.queue(8, number);
        assert_eq!(client.registers(), None);
        for held in
            [RegisterSet::NONE, RegisterSet::ALL, RegisterSet::of(&[Register::Aes]), RegisterSet::NONE]
        {
            card.set_registers(held);
            assert_eq!(client.registers(), Some(held));
        }
    }
}

#[test]
fn payloads_arrive_at_every_border() {
    let home = Home::new();
    let (client, mut card) = home.queue(4, 2);
    let (mut payload, mut out) = (Vec::new(), Vec::new());
    for round in 0..3_usize {
        for length in
            [0, 1, 8, 63, INLINE_BYTES_MAX - 1, INLINE_BYTES_MAX, INLINE_BYTES_MAX + 1, BULK_BYTES_MAX]
        {
            let text: Vec<u8> = (0..length).map(|at| (at * 31 + length + round) as u8).collect();
            let request = client.submit(client.claim().unwrap(), 1, &text).unwrap();
            card.take(card.pending().trailing_zeros(), &mut payload).unwrap();
            assert!(payload == text);
            payload.reverse();
            card.reply(request.slot(), &ANSWERED, &payload).unwrap();
            client.wait(&request, PollMode::Sleep, None, &mut out).unwrap();
            assert!(out == payload);
        }
    }
    let slot = client.claim().unwrap();
    let long = vec![0; BULK_BYTES_MAX + 1];
    assert_eq!(client.submit(slot, 1, &long).unwrap_err(), LinkError::TooLong { bytes: long.len() });
    assert_eq!(client.slots_used(), 0);
}

#[test]
fn a_long_reply_needs_the_room_that_the_request_left() {
    let home = Home::new();
    let (client, mut card) = home.queue(64, 3);
    let long = vec![7; INLINE_BYTES_MAX + 1];
    let mut payload = Vec::new();

    let without = client.submit(client.claim().unwrap(), 1, b"").unwrap();
    card.take(without.slot(), &mut payload).unwrap();
    let error = link::ReplyError::TooLong { bytes: long.len(), room: INLINE_BYTES_MAX };
    assert_eq!(card.reply(without.slot(), &ANSWERED, &long).unwrap_err(), error);
    card.reply(without.slot(), &ANSWERED, b"short").unwrap();
    assert_eq!(
        card.reply(without.slot(), &ANSWERED, b"").unwrap_err(),
        link::ReplyError::NotTaken { slot: without.slot() }
    );
    client.try_reply(&without, &mut payload).unwrap().unwrap();

    let lent: Vec<_> = (0..BULK_BLOCKS)
        .map(|_| client.submit_with_room(client.claim().unwrap(), 1, b"", long.len()).unwrap())
        .collect();
    let slot = client.claim().unwrap();
    assert_eq!(client.submit_with_room(slot, 1, b"", long.len()).unwrap_err(), LinkError::BulkFull);
    for request in &lent {
        card.take(request.slot(), &mut payload).unwrap();
        assert_eq!(card.room(request.slot()), BULK_BYTES_MAX);
        card.reply(request.slot(), &ANSWERED, &long).unwrap();
        client.try_reply(request, &mut payload).unwrap().unwrap();
        assert!(payload == long);
    }
}

#[test]
fn replies_come_in_any_order_and_a_full_queue_says_so() {
    let home = Home::new();
    let (client, mut card) = home.queue(64, 4);
    let requests: Vec<_> =
        (0..64_u8).map(|n| client.submit(client.claim().unwrap(), 1, &[n]).unwrap()).collect();
    assert_eq!(client.claim().unwrap_err(), LinkError::Full);
    assert_eq!(card.pending(), u64::MAX);
    let mut payload = Vec::new();
    for at in 0..64 {
        // 37 is odd: every slot comes once.
        let slot = (at * 37 + 5) % 64;
        card.take(slot, &mut payload).unwrap();
        assert_eq!(payload, [slot as u8]);
    }
    for slot in (0..64_u32).rev() {
        assert_eq!(client.try_reply(&requests[slot as usize], &mut payload).unwrap(), None);
        card.reply(slot, &ANSWERED, &[slot as u8 ^ 0xFF]).unwrap();
        client.try_reply(&requests[slot as usize], &mut payload).unwrap().unwrap();
        assert_eq!(payload, [slot as u8 ^ 0xFF]);
    }
    assert_eq!(client.slots_used(), 0);
}

#[test]
fn an_abandoned_request_keeps_its_slot_and_block_until_it_is_answered() {
    let home = Home::new();
    let (client, mut card) = home.queue(1, 5);
    let long = vec![1; INLINE_BYTES_MAX + 1];
    drop(client.submit(client.claim().unwrap(), 1, &long).unwrap());
    assert_eq!(client.claim().unwrap_err(), LinkError::Full);
    let mut payload = Vec::new();
    card.take(0, &mut payload).unwrap();
    assert_eq!(client.claim().unwrap_err(), LinkError::Full);
    card.reply(0, &ANSWERED, b"late").unwrap();
    let request = client.submit(client.claim().unwrap(), 1, &long).unwrap();
    assert_eq!(client.try_reply(&request, &mut payload).unwrap(), None);
    card.take(0, &mut payload).unwrap();
    card.reply(0, &ANSWERED, b"in time").unwrap();
    client.try_reply(&request, &mut payload).unwrap().unwrap();
    assert_eq!(payload, b"in time");
}

#[test]
fn a_client_that_goes_leaves_its_card_whole() {
    let home = Home::new();
    let (client, mut card) = home.queue(8, 6);
    let long = vec![9; INLINE_BYTES_MAX + 1];
    let taken = client.submit(client.claim().unwrap(), 1, &long).unwrap();
    let waiting = client.submit(client.claim().unwrap(), 1, b"not taken yet").unwrap();
    let mut payload = Vec::new();
    card.take(taken.slot(), &mut payload).unwrap();
    let left = (taken.slot(), waiting.slot());
    drop((client, taken, waiting));
    card.reply(left.0, &ANSWERED, &payload).unwrap();
    card.take(left.1, &mut payload).unwrap();
    assert_eq!(payload, b"not taken yet");
    card.reply(left.1, &ANSWERED, &payload).unwrap();
    assert_eq!((card.pending(), card.busy()), (0, 0));
}

#[test]
fn a_queue_that_a_living_card_ends_is_found_ended() {
    for mode in [PollMode::Sleep, PollMode::Adaptive, PollMode::Every { interval_us: 1000 }] {
        let home = Home::new();
        let (client, mut card) = home.queue(8, 1);
        let (mut payload, mut out) = (Vec::new(), Vec::new());
        let answered = client.submit(client.claim().unwrap(), 7, b"one").unwrap();
        let taken = client.submit(client.claim().unwrap(), 7, b"two").unwrap();
        card.take(0, &mut payload).unwrap();
        card.take(1, &mut payload).unwrap();
        card.reply(0, &ANSWERED, b"answer").unwrap();
        let left = client.submit(client.claim().unwrap(), 7, b"three").unwrap();
        assert!(!client.is_dead());
        drop(card);
        assert_eq!(client.wait(&left, mode, None, &mut out), Err(LinkError::Dead));
        assert!(client.is_dead() && client.was_taken(&taken) && !client.was_taken(&left));
        client.wait(&answered, mode, None, &mut out).unwrap();
        assert_eq!(out, b"answer");
        assert_eq!(client.claim().unwrap_err(), LinkError::Dead);
    }
}

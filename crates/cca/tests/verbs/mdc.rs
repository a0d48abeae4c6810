//! MDC_Generate, against the methods as their definition reads, over single blocks of OpenSSL's DES.

use verb_requests::peer::{des, xor};
use verb_requests::support::{Request, processor, processor_with, text};
use wire::code;
use wire::verb::Verb;
use wire::verb::mdc_generate::{CHAINING_VECTOR, MDC, TEXT_DATA, TEXT_LENGTH};

const METHODS: [&str; 4] = ["MDC-2", "MDC-4", "PADMDC-2", "PADMDC-4"];

fn request(keywords: &[&str], text: &[u8]) -> Request {
    Request::new(Verb::MdcGenerate)
        .rules(keywords)
        .counted(TEXT_LENGTH, TEXT_DATA, text)
        .bytes(CHAINING_VECTOR, [0; 18])
        .bytes(MDC, [0; 16])
}

/// A request for a further segment.
fn goes_on(keywords: &[&str], text: &[u8], vector: &[u8], mdc: &[u8]) -> Request {
    request(keywords, text).bytes(CHAINING_VECTOR, vector).bytes(MDC, mdc)
}

fn start() -> Vec<u8> {
    [[0x52; 8], [0x25; 8]].concat()
}

/// The code of a text, padded where the method pads, from a key.
fn peer(method: &str, key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    if method.starts_with("PAD") {
        let bytes = 16.max((text.len() / 8 + 1) * 8);
        let added = bytes - text.len();
        text.extend(vec![0xFF; added - 1]);
        text.push(added as u8);
    }
    let step = |keys: &[u8], one: &[u8], two: &[u8]| {
        let (mut left, mut right) = (keys[..8].to_vec(), keys[8..].to_vec());
        left[0] = left[0] & 0x9F | 0x40;
        right[0] = right[0] & 0x9F | 0x20;
        let (f, g) = (xor(&des(&left, true, one), one), xor(&des(&right, true, two), two));
        [&f[..4], &g[4..], &g[..4], &f[4..]].concat()
    };
    let mut keys = key.to_vec();
    for block in text.chunks(8) {
        let before = keys.clone();
        keys = step(&keys, block, block);
        if method.ends_with('4') {
            keys = step(&keys, &before[8..], &before[..8]);
        }
    }
    keys
}

#[test]
fn whole_texts_agree_with_the_definition() {
    let mut processor = processor();
    for method in METHODS {
        for length in (16..80).step_by(8).chain([1024]) {
            let message = text(length);
            let reply = request(&[method], &message).ok(&mut processor);
            assert_eq!(reply.bytes(MDC), peer(method, &start(), &message), "{method} {length}");
            assert!(reply.bytes(CHAINING_VECTOR).is_empty());
        }
    }
    for method in &METHODS[2..] {
        for length in 0..40 {
            let message = text(length);
            let reply = request(&["ONLY", method], &message).ok(&mut processor);
            assert_eq!(reply.bytes(MDC), peer(method, &start(), &message), "{method} {length}");
        }
    }
    let default = request(&[], b"Now is the time for all ").ok(&mut processor).bytes(MDC);
    assert_eq!(default, 0x42E50CD2_24BACEBA_760BDD2B_D409281A_u128.to_be_bytes());
}

#[test]
fn it_is_no_weak_algorithm_and_needs_no_master_key() {
    let mut processor = processor_with(false);
    let empty = verb_requests::support::EMPTY_DOMAIN;
    let reply = request(&["PADMDC-4"], b"text").domain(empty).ok(&mut processor);
    assert_eq!(reply.bytes(MDC), peer("PADMDC-4", &start(), b"text"));
}

#[test]
fn segments_of_any_length_give_what_the_whole_gives() {
    let mut processor = processor();
    for method in METHODS {
        for cuts in [[0, 0, 0], [1, 2, 3], [8, 8, 16], [3, 16, 21], [7, 8, 9], [24, 25, 40], [0, 8, 40]] {
            let message = text(40);
            let parts = [
                &message[..cuts[0]],
                &message[cuts[0]..cuts[1]],
                &message[cuts[1]..cuts[2]],
                &message[cuts[2]..],
            ];
            let (mut vector, mut mdc) = (vec![0xEE; 18], vec![0xEE; 16]);
            for (part, segment) in parts.iter().zip(["FIRST", "MIDDLE", "MIDDLE", "LAST"]) {
                let reply = goes_on(&[segment, method], part, &vector, &mdc).ok(&mut processor);
                mdc = reply.bytes(MDC);
                if segment == "LAST" {
                    assert!(reply.bytes(CHAINING_VECTOR).is_empty());
                } else {
                    vector = reply.bytes(CHAINING_VECTOR);
                    assert_eq!(vector.len(), 18);
                }
            }
            assert_eq!(mdc, peer(method, &start(), &message), "{method} {cuts:?}");
        }
    }
    for (length, method) in [(3, "PADMDC-2"), (8, "PADMDC-4"), (15, "PADMDC-2"), (0, "PADMDC-4")] {
        let message = text(length);
        let first = request(&["FIRST", method], &message).ok(&mut processor);
        let last = goes_on(&["LAST", method], &[], &first.bytes(CHAINING_VECTOR), &first.bytes(MDC))
            .ok(&mut processor);
        assert_eq!(last.bytes(MDC), peer(method, &start(), &message), "{method} {length}");
    }
}

#[test]
fn a_key_of_the_callers_begins_without_first() {
    let mut processor = processor();
    let key = text(16);
    for method in METHODS {
        let message = text(48);
        let expected = peer(method, &key, &message);
        let whole = goes_on(&["LAST", method], &message, &[0; 18], &key).ok(&mut processor);
        assert_eq!(whole.bytes(MDC), expected, "{method}");
        let first = goes_on(&["MIDDLE", method], &message[..13], &[0; 18], &key).ok(&mut processor);
        let (vector, mdc) = (first.bytes(CHAINING_VECTOR), first.bytes(MDC));
        let last = goes_on(&["LAST", method], &message[13..], &vector, &mdc).ok(&mut processor);
        assert_eq!(last.bytes(MDC), expected, "{method} in segments");
        assert_ne!(request(&[method], &message).ok(&mut processor).bytes(MDC), expected);
    }
}

#[test]
fn texts_and_vectors_that_are_none_are_refused() {
    let mut processor = processor();
    for method in &METHODS[..2] {
        for length in [0, 1, 8, 15, 17, 23] {
            request(&[method], &text(length)).refused(&mut processor, code::TEXT_LENGTH);
        }
        // Eight bytes before, and none or less than a block now.
        let first = request(&["FIRST", method], &text(8)).ok(&mut processor);
        let (vector, mdc) = (first.bytes(CHAINING_VECTOR), first.bytes(MDC));
        for length in [0, 1, 7, 9] {
            goes_on(&["LAST", method], &text(length), &vector, &mdc)
                .refused(&mut processor, code::TEXT_LENGTH);
        }
        goes_on(&["LAST", method], &text(8), &vector, &mdc).ok(&mut processor);
    }
    for (at, byte) in [(8, 8), (9, 3), (10, 1), (17, 1), (0, 1)] {
        for segment in ["MIDDLE", "LAST"] {
            let mut vector = [0; 18];
            vector[at] = byte;
            goes_on(&[segment], &text(16), &vector, &[0; 16]).refused(&mut processor, code::CHAINING_VECTOR);
        }
    }
    request(&["MDC-2", "MDC-4"], &text(16)).refused(&mut processor, code::KEYWORD_COMBINATION);
    request(&["MDC-1"], &text(16)).refused(&mut processor, code::KEYWORD);
    request(&["MDC-2", "ONLY", "FIRST"], &text(16)).refused(&mut processor, code::KEYWORD_COUNT);
}

//! One_Way_Hash.

use openssl::hash::{MessageDigest, hash};
use verb_requests::support::{Request, processor, processor_with, text};
use wire::code;
use wire::verb::Verb;
use wire::verb::one_way_hash::{
    CHAINING_VECTOR, CHAINING_VECTOR_LENGTH, HASH, HASH_LENGTH, TEXT, TEXT_LENGTH,
};

fn request(keywords: &[&str], text: &[u8], vector: &[u8]) -> Request {
    Request::new(Verb::OneWayHash)
        .rules(keywords)
        .counted(TEXT_LENGTH, TEXT, text)
        .counted(CHAINING_VECTOR_LENGTH, CHAINING_VECTOR, vector)
        .counted(HASH_LENGTH, HASH, [0; 64])
}

const ALGORITHMS: [&str; 11] = [
    "MD5", "RPMD-160", "SHA-1", "SHA-224", "SHA-256", "SHA-384", "SHA-512", "SHA3-224", "SHA3-256",
    "SHA3-384", "SHA3-512",
];

fn peer(name: &str) -> MessageDigest {
    match name {
        "RPMD-160" => MessageDigest::ripemd160(),
        _ => MessageDigest::from_name(&name.replace("SHA-", "SHA")).unwrap(),
    }
}

#[test]
fn digests_agree_with_openssl() {
    let mut processor = processor();
    for name in ALGORITHMS {
        for length in [0, 1, 55, 56, 63, 64, 65, 111, 112, 127, 128, 129, 143, 144, 1000] {
            let message = text(length);
            let digest = hash(peer(name), &message).unwrap();
            let reply = request(&[name, "ONLY"], &message, &[]).ok(&mut processor);
            assert_eq!(reply.bytes(HASH), digest.as_ref(), "{name} {length}");
        }
    }
}

/// Blocks and chaining vectors, in bytes.
fn lengths(name: &str) -> (usize, usize) {
    match name {
        "SHA3-224" => (144, 256),
        "SHA3-256" => (136, 256),
        "SHA3-384" => (104, 256),
        "SHA3-512" => (72, 256),
        "SHA-384" | "SHA-512" => (128, 128),
        _ => (64, 128),
    }
}

#[test]
fn segments_give_what_the_whole_gives() {
    let mut processor = processor();
    for name in ALGORITHMS {
        let (block, state) = lengths(name);
        let message = text(block * 5 + 17);
        let digest = hash(peer(name), &message).unwrap();
        // A longer field is as good.
        for room in [state, 300] {
            let mut vector = vec![0; room];
            for (keyword, part) in [
                ("FIRST", &message[..2 * block]),
                ("MIDDLE", &message[2 * block..3 * block]),
                ("MIDDLE", &[]),
                ("LAST", &message[3 * block..]),
            ] {
                let reply = request(&[keyword, name], part, &vector).ok(&mut processor);
                if keyword == "LAST" {
                    assert_eq!(reply.bytes(HASH), digest.as_ref(), "{name}");
                } else {
                    let left = reply.bytes(CHAINING_VECTOR);
                    assert_eq!(left.len(), state);
                    vector[..state].copy_from_slice(&left);
                    assert!(reply.bytes(HASH).is_empty());
                }
            }
        }
        let vector = vec![0; state];
        for wrong in [block - 1, block + 1] {
            request(&["FIRST", name], &message[..wrong], &vector).refused(&mut processor, code::TEXT_LENGTH);
            request(&["MIDDLE", name], &message[..wrong], &vector).refused(&mut processor, code::TEXT_LENGTH);
        }
        for keyword in ["FIRST", "MIDDLE", "LAST"] {
            request(&[keyword, name], &message[..block], &vector[1..])
                .refused(&mut processor, code::BUFFER_TOO_SMALL);
        }
        request(&["LAST", name], &message[..5], &vec![0xFF; state])
            .refused(&mut processor, code::INVALID_PARAMETER);
        // The end of a text in whole blocks is empty.
        let whole = &message[..block];
        let left = request(&["FIRST", name], whole, &vector).ok(&mut processor).bytes(CHAINING_VECTOR);
        let reply = request(&["LAST", name], &[], &left).ok(&mut processor);
        assert_eq!(reply.bytes(HASH), hash(peer(name), whole).unwrap().as_ref(), "{name}");
    }
}

#[test]
fn bad_calls_are_refused_by_name() {
    let mut processor = processor_with(false);
    request(&["MD5"], &[], &[]).refused(&mut processor, code::WEAK_ALGORITHM);
    request(&["MD5", "FIRST"], &[], &[0; 128]).refused(&mut processor, code::WEAK_ALGORITHM);
    request(&["ONLY"], &[], &[]).refused(&mut processor, code::KEYWORD_COMBINATION);
    request(&["MD2"], &[], &[]).refused(&mut processor, code::KEYWORD);
    request(&["SHA-1", "SHA-256"], &[], &[]).refused(&mut processor, code::KEYWORD_COMBINATION);
    request(&["SHA-256", "TWICE"], &[], &[]).refused(&mut processor, code::KEYWORD);
    request(&["SHA-256"], &[], &[]).integer(HASH_LENGTH, 31).refused(&mut processor, code::BUFFER_TOO_SMALL);
    request(&["SHA-256"], &[1], &[]).integer(TEXT_LENGTH, 2).refused(&mut processor, code::TEXT_LENGTH);
}

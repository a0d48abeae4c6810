//! One_Way_Hash.

use openssl::hash::{MessageDigest, hash};
use wire::code;
use wire::verb::Verb;
use wire::verb::one_way_hash::{
    CHAINING_VECTOR, CHAINING_VECTOR_LENGTH, HASH, HASH_LENGTH, TEXT, TEXT_LENGTH,
};

use crate::support::{Request, processor, processor_with, text};

fn request(keywords: &[&str], text: &[u8], vector: &[u8]) -> Request {
    Request::new(Verb::OneWayHash)
        .rules(keywords)
        .counted(TEXT_LENGTH, TEXT, text)
        .counted(CHAINING_VECTOR_LENGTH, CHAINING_VECTOR, vector)
        .counted(HASH_LENGTH, HASH, [0; 64])
}

const ALGORITHMS: [&str; 10] = [
    "MD5", "SHA-1", "SHA-224", "SHA-256", "SHA-384", "SHA-512", "SHA3-224", "SHA3-256", "SHA3-384",
    "SHA3-512",
];

fn peer(name: &str) -> MessageDigest {
    MessageDigest::from_name(&name.replace("SHA-", "SHA")).unwrap()
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

#[test]
fn segments_give_what_the_whole_gives() {
    let mut processor = processor();
    for name in &ALGORITHMS[..6] {
        let message = text(128 * 5 + 17);
        let digest = hash(peer(name), &message).unwrap();
        let mut vector = vec![0; 128];
        for (keyword, part) in [
            ("FIRST", &message[..256]),
            ("MIDDLE", &message[256..512]),
            ("MIDDLE", &[]),
            ("LAST", &message[512..]),
        ] {
            let reply = request(&[keyword, name], part, &vector).ok(&mut processor);
            if keyword == "LAST" {
                assert_eq!(reply.bytes(HASH), digest.as_ref(), "{name}");
            } else {
                vector = reply.bytes(CHAINING_VECTOR);
                assert_eq!(vector.len(), 128);
                assert!(reply.bytes(HASH).is_empty());
            }
        }
        request(&["FIRST", name], &message[..65], &vector).refused(&mut processor, code::TEXT_LENGTH);
        request(&["FIRST", name], &message[..128], &vector[..127])
            .refused(&mut processor, code::BUFFER_TOO_SMALL);
        request(&["LAST", name], &message[..5], &[0xFF; 128])
            .refused(&mut processor, code::INVALID_PARAMETER);
    }
    for name in &ALGORITHMS[6..] {
        request(&["FIRST", name], &[], &[0; 128]).refused(&mut processor, code::KEYWORD_COMBINATION);
    }
}

#[test]
fn bad_calls_are_refused_by_name() {
    let mut processor = processor_with(false);
    request(&["MD5"], &[], &[]).refused(&mut processor, code::WEAK_ALGORITHM);
    request(&["MD5", "FIRST"], &[], &[0; 128]).refused(&mut processor, code::WEAK_ALGORITHM);
    request(&["ONLY"], &[], &[]).refused(&mut processor, code::KEYWORD_COMBINATION);
    request(&["RPMD-160"], &[], &[]).refused(&mut processor, code::KEYWORD);
    request(&["SHA-1", "SHA-256"], &[], &[]).refused(&mut processor, code::KEYWORD_COMBINATION);
    request(&["SHA-256", "TWICE"], &[], &[]).refused(&mut processor, code::KEYWORD);
    request(&["SHA-256"], &[], &[]).integer(HASH_LENGTH, 31).refused(&mut processor, code::BUFFER_TOO_SMALL);
    request(&["SHA-256"], &[1], &[]).integer(TEXT_LENGTH, 2).refused(&mut processor, code::TEXT_LENGTH);
}

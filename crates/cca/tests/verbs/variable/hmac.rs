//! HMAC_Generate and HMAC_Verify.

use super::{generate2, generated2, parsed, skeleton2};
use cca::Processor;
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::sign::Signer;
use token::variable::HmacHash;
use token::variable::VariableUse;
use verb_requests::support::{DOMAIN, OLDER_DOMAIN, Request, processor, text};
use verb_requests::uses::ways::{hmac, verify_hmac};
use wire::code;
use wire::verb::key_generate2;
use wire::verb::{hmac_generate, hmac_verify};

const HASHES: [(&str, usize, usize); 5] =
    [("SHA-1", 20, 64), ("SHA-224", 28, 64), ("SHA-256", 32, 64), ("SHA-384", 48, 128), ("SHA-512", 64, 128)];

fn theirs(hash: &str, key: &[u8], text: &[u8]) -> Vec<u8> {
    let digest = match hash {
        "SHA-1" => MessageDigest::sha1(),
        "SHA-224" => MessageDigest::sha224(),
        "SHA-256" => MessageDigest::sha256(),
        "SHA-384" => MessageDigest::sha384(),
        _ => MessageDigest::sha512(),
    };
    let key = PKey::hmac(key).unwrap();
    Signer::new(digest, &key).unwrap().sign_oneshot_to_vec(text).unwrap()
}

/// A clear token: a key whose value is known.
pub fn clear(processor: &mut Processor, key: &[u8]) -> Vec<u8> {
    let skeleton = parsed(&skeleton2(processor, &["INTERNAL", "HMAC", "MAC", "GENERATE"]));
    skeleton.with_clear_key(key).unwrap().to_bytes().to_vec()
}

fn made(processor: &mut Processor, request: &Request) -> Vec<u8> {
    request.ok(processor).bytes(hmac_generate::MAC_TEXT)
}

/// A text in segments of one block each, the last one shorter; what comes out of the last.
fn in_segments(
    processor: &mut Processor,
    block: usize,
    text: &[u8],
    mut ask: impl FnMut(&str, &[u8], &[u8]) -> Request,
) -> verb_requests::support::Reply {
    let whole = text.len().saturating_sub(1) / block * block;
    let mut vector = vec![0; 128];
    for (at, segment) in text[..whole].chunks(block).enumerate() {
        let request = ask(if at == 0 { "FIRST" } else { "MIDDLE" }, segment, &vector);
        vector = request.ok(processor).bytes(hmac_generate::CHAINING_VECTOR);
        assert_eq!(vector.len(), 128);
    }
    ask("LAST", &text[whole..], &vector).told(processor)
}

#[test]
fn macs_are_those_of_another_library_whole_and_in_segments() {
    let mut processor = processor();
    for (hash, bytes, block) in HASHES {
        for key_bytes in [10, 20, 64, 65, 128, 129, 256] {
            let key = text(key_bytes);
            let token = clear(&mut processor, &key);
            for length in [0, 1, block - 1, block, block + 1, 5 * block + 3] {
                let message = text(length);
                let expected = theirs(hash, &key, &message);
                assert_eq!(made(&mut processor, &hmac(&token, &[hash, "ONLY"], &message)), expected);
                let verify = verify_hmac(&token, &[hash, "ONLY"], &message, &expected);
                verify.answers(&mut processor, code::OK);
                if length > block {
                    let reply = in_segments(&mut processor, block, &message, |segment, part, vector| {
                        let request = hmac(&token, &[hash, segment], part);
                        request.bytes(hmac_generate::CHAINING_VECTOR, vector)
                    });
                    assert_eq!(
                        (reply.codes, reply.bytes(hmac_generate::MAC_TEXT)),
                        (code::OK, expected.clone())
                    );
                    let reply = in_segments(&mut processor, block, &message, |segment, part, vector| {
                        let request = verify_hmac(&token, &[hash, segment], part, &expected);
                        request.bytes(hmac_verify::CHAINING_VECTOR, vector)
                    });
                    assert_eq!(reply.codes, code::OK);
                }
            }
        }
        assert_eq!(bytes, theirs(hash, b"key", b"").len());
    }
}

/// RFC 4231, test cases 1 and 2 (the latter's key is shorter than a token takes), of a key that was generated: both
/// verbs agree, and only they.
#[test]
fn a_published_value_and_a_generated_key() {
    let mut processor = processor();
    let token = clear(&mut processor, &[0x0B; 20]);
    let mac = made(&mut processor, &hmac(&token, &["SHA-256"], b"Hi There"));
    assert_eq!(
        mac,
        [
            0xB0, 0x34, 0x4C, 0x61, 0xD8, 0xDB, 0x38, 0x53, 0x5C, 0xA8, 0xAF, 0xCE, 0xAF, 0x0B, 0xF1, 0x2B,
            0x88, 0x1D, 0xC2, 0x00, 0xC9, 0x83, 0x3D, 0xA7, 0x26, 0xE9, 0x37, 0x6C, 0x2E, 0x32, 0xCF, 0xF7
        ]
    );
    for bits in [80, 88, 160, 256, 2048] {
        // Built with GENERATE alone, as openCryptoki builds it, and given to verify.
        let token = generated2(&mut processor, "HMAC", bits, &["MAC", "GENERATE"]);
        let mac = made(&mut processor, &hmac(&token, &["SHA-512"], b"text"));
        verify_hmac(&token, &["SHA-512"], b"text", &mac).ok(&mut processor);
        for wrong in 0..mac.len() {
            let mut changed = mac.clone();
            changed[wrong] ^= 1;
            let changed = verify_hmac(&token, &["SHA-512"], b"text", &changed);
            changed.answers(&mut processor, code::VERIFICATION_FAILED);
        }
        let other = verify_hmac(&token, &["SHA-512"], b"texT", &mac).run(&mut processor);
        assert_eq!(other.codes, code::VERIFICATION_FAILED);
    }
}

#[test]
fn a_key_does_what_its_usage_fields_say() {
    let mut processor = processor();
    for usage in [&["GENERATE"][..], &["VERIFY"], &["GENERATE", "VERIFY"], &["GENERATE", "UDX-ONLY"]] {
        for hashes in [&[][..], &["SHA-1"], &["SHA-256", "SHA-384"]] {
            let token = generated2(&mut processor, "HMAC", 160, &[&["MAC"], usage, hashes].concat());
            for (hash, bytes, _) in HASHES {
                let bit = match hash {
                    "SHA-1" => HmacHash::Sha1,
                    "SHA-224" => HmacHash::Sha224,
                    "SHA-256" => HmacHash::Sha256,
                    "SHA-384" => HmacHash::Sha384,
                    _ => HmacHash::Sha512,
                };
                let codes = |may| if may { code::OK } else { code::KEY_USAGE };
                let found = hmac(&token, &[hash], b"text").run(&mut processor).codes;
                assert_eq!(found, codes(parsed(&token).may(VariableUse::HmacGenerate(bit))));
                let found = verify_hmac(&token, &[hash], b"text", &vec![0; bytes]).run(&mut processor).codes;
                let may = parsed(&token).may(VariableUse::HmacVerify(bit));
                assert_eq!(found, if may { code::VERIFICATION_FAILED } else { code::KEY_USAGE });
            }
        }
    }
    let mac = generated2(&mut processor, "AES", 256, &["MAC", "GENERATE"]);
    hmac(&mac, &["SHA-256"], b"text").refused(&mut processor, code::KEY_USAGE);
    let cipher = generated2(&mut processor, "AES", 256, &["CIPHER"]);
    hmac(&cipher, &["SHA-256"], b"text").refused(&mut processor, code::KEY_USAGE);
    hmac(&[0; 64], &["SHA-256"], b"text").refused(&mut processor, code::TOKEN_INVALID);
}

/// A verify-only key makes no MAC by its chaining vector, and a short MAC that verifies leads to no longer one.
#[test]
fn who_may_only_verify_makes_no_mac() {
    let mut processor = processor();
    let verifying = generated2(&mut processor, "HMAC", 256, &["MAC", "VERIFY"]);
    let making = generated2(&mut processor, "HMAC", 256, &["MAC", "GENERATE"]);
    let block = text(64);
    let first = |token: &[u8], processor: &mut Processor| {
        verify_hmac(token, &["SHA-256", "FIRST"], &block, &[])
            .ok(processor)
            .bytes(hmac_verify::CHAINING_VECTOR)
    };
    let vector = first(&verifying, &mut processor);
    let last = |token: &[u8], method: &str, domain, vector: &[u8]| {
        let request = verify_hmac(token, &[method, "LAST"], b"end", &[0; 20]).domain(domain);
        request.bytes(hmac_verify::CHAINING_VECTOR, vector)
    };
    assert_eq!(
        last(&verifying, "SHA-256", DOMAIN, &vector).run(&mut processor).codes,
        code::VERIFICATION_FAILED
    );
    for index in 0..vector.len() {
        let mut changed = vector.clone();
        changed[index] ^= 1;
        last(&verifying, "SHA-256", DOMAIN, &changed).refused(&mut processor, code::CHAINING_VECTOR);
    }
    last(&verifying, "SHA-224", DOMAIN, &vector).refused(&mut processor, code::CHAINING_VECTOR);
    last(&making, "SHA-256", DOMAIN, &vector).refused(&mut processor, code::CHAINING_VECTOR);
    let other = generate2("HMAC", 256, "MAC", &[]).domain(OLDER_DOMAIN).ok(&mut processor);
    let other = other.bytes(key_generate2::GENERATED_KEY_IDENTIFIER_1);
    last(&other, "SHA-256", OLDER_DOMAIN, &vector).refused(&mut processor, code::CHAINING_VECTOR);
    // Of the same key, but of the verb that makes MACs.
    let of_verify = first(&making, &mut processor);
    let crossed =
        hmac(&making, &["SHA-256", "LAST"], b"end").bytes(hmac_generate::CHAINING_VECTOR, of_verify);
    crossed.refused(&mut processor, code::CHAINING_VECTOR);
    // Nothing of the state of the hash is in it.
    let token = clear(&mut processor, &[7; 20]);
    let shown = first(&token, &mut processor);
    let mut hasher = openssl::sha::Sha256::new();
    hasher.update(&[&[7 ^ 0x36; 20][..], &[0x36; 44], &block].concat());
    assert!(!shown.windows(8).any(|window| hasher.clone().finish().windows(8).any(|other| window == other)));

    for bytes in [0, 1, 4, 7] {
        let short = verify_hmac(&making, &["SHA-256"], b"text", &vec![0; bytes]);
        short.refused(&mut processor, code::INVALID_PARAMETER);
        let short = hmac(&making, &["SHA-256"], b"text").integer(hmac_generate::MAC_LENGTH, bytes as i64);
        short.refused(&mut processor, code::BUFFER_TOO_SMALL);
    }
    verify_hmac(&making, &["SHA-256"], b"text", &[0; 33]).refused(&mut processor, code::INVALID_PARAMETER);
}

#[test]
fn lengths_segments_and_old_master_keys() {
    let mut processor = processor();
    let token = generated2(&mut processor, "HMAC", 256, &["MAC", "GENERATE"]);
    let whole = made(&mut processor, &hmac(&token, &["SHA-512"], b"text"));
    for bytes in [8, 20, 63] {
        let request = hmac(&token, &["SHA-512"], b"text").integer(hmac_generate::MAC_LENGTH, bytes);
        assert_eq!(made(&mut processor, &request), whole[..bytes as usize]);
        verify_hmac(&token, &["SHA-512"], b"text", &whole[..bytes as usize]).ok(&mut processor);
    }
    let long = hmac(&token, &["SHA-1"], b"text").integer(hmac_generate::MAC_LENGTH, 2500).ok(&mut processor);
    assert_eq!(long.integer(hmac_generate::MAC_LENGTH), 20);
    for (method, length) in [("SHA-256", 63), ("SHA-256", 65), ("SHA-512", 64)] {
        for segment in ["FIRST", "MIDDLE"] {
            hmac(&token, &[method, segment], &text(length)).refused(&mut processor, code::TEXT_LENGTH);
        }
    }
    let first = hmac(&token, &["SHA-256", "FIRST"], &text(64));
    first
        .clone()
        .integer(hmac_generate::CHAINING_VECTOR_LENGTH, 127)
        .refused(&mut processor, code::BUFFER_TOO_SMALL);
    let last = hmac(&token, &["SHA-256", "LAST"], b"end");
    let short = last.counted(hmac_generate::CHAINING_VECTOR_LENGTH, hmac_generate::CHAINING_VECTOR, [0; 127]);
    short.refused(&mut processor, code::INVALID_PARAMETER);

    let old = generate2("HMAC", 256, "MAC", &[]).domain(OLDER_DOMAIN).ok(&mut processor);
    let old = old.bytes(key_generate2::GENERATED_KEY_IDENTIFIER_1);
    let expected = made(&mut processor, &hmac(&old, &["SHA-256"], b"text").domain(OLDER_DOMAIN));
    let reply = hmac(&old, &["SHA-256"], b"text").run(&mut processor);
    assert_eq!((reply.codes, reply.bytes(hmac_generate::MAC_TEXT)), (code::OLD_MASTER_KEY, expected.clone()));
    let renewed = reply.bytes(hmac_generate::KEY_IDENTIFIER);
    assert_eq!(made(&mut processor, &hmac(&renewed, &["SHA-256"], b"text")), expected);
}

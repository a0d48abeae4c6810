//! The secret memory of a card: all of it is had before the first request, it never grows, and "full" is an answer.

use crate::common::*;
use link::Counter;
use openssl::bn::{BigNum, BigNumContext};
use std::time::Instant;
use token::pka::{self, ecc};
use wire::bounds::TEXT_BYTES_MAX;
use wire::control::{CardNotice, CardOrder, CardStart, Personality, PollMode, SecretPages};
use wire::frame::Outcome;
use wire::verb::{
    DesMethod, Key, SignatureFormat, TypedAsk, digital_signature_generate as dsg,
    digital_signature_verify as dsv, encipher,
};

const MIB: u64 = 1 << 20;
const CLEAR: [u8; 16] =
    [0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF, 0xFE, 0xDC, 0xBA, 0x98, 0x76, 0x54, 0x32, 0x10];

/// A mapping of a process, as `smaps` shows it.
struct Mapping {
    name: String,
    bytes: u64,
    resident: u64,
    is_locked: bool,
    /// The program may write to it, and no file of a disk lies behind it.
    is_memory: bool,
}

fn mappings(program: &Program) -> Vec<Mapping> {
    let smaps = std::fs::read_to_string(format!("/proc/{}/smaps", program.pid())).expect("its mappings");
    let mut found: Vec<Mapping> = Vec::new();
    for line in smaps.lines() {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        if let Some((start, end)) = first.split_once('-')
            && let (Ok(start), Ok(end)) = (u64::from_str_radix(start, 16), u64::from_str_radix(end, 16))
        {
            let is_written = words.next().is_some_and(|rights| rights.contains('w'));
            let name = words.nth(3).unwrap_or_default().to_owned();
            let is_of_program =
                name.starts_with('/') && !name.starts_with("/secretmem") && !name.starts_with("/memfd:");
            let is_memory = is_written && !is_of_program;
            found.push(Mapping { name, bytes: end - start, resident: 0, is_locked: false, is_memory });
        } else if let Some(mapping) = found.last_mut() {
            match first {
                "Rss:" => mapping.resident = words.next().and_then(|kib| kib.parse().ok()).unwrap_or(0) << 10,
                "VmFlags:" => mapping.is_locked = words.any(|flag| flag == "lo"),
                _ => {}
            }
        }
    }
    found
}

/// Private memory of the program that is not locked and could be swapped: queues, which are shared with their clients,
/// are not counted.
fn unlocked(program: &Program) -> u64 {
    let all = mappings(program);
    let counted = all.iter().filter(|mapping| mapping.is_memory && !mapping.is_locked);
    counted.filter(|mapping| !mapping.name.starts_with("/memfd:")).map(|mapping| mapping.resident).sum()
}

/// Length of its locked memory, and what that is called.
fn locked(program: &Program) -> (u64, String) {
    let mut all = mappings(program);
    all.retain(|mapping| mapping.is_locked);
    (all.iter().map(|mapping| mapping.bytes).sum(), all.swap_remove(0).name)
}

/// The number of a request's verb, and its payload.
fn sent<A: TypedAsk>(ask: &A) -> (u16, Vec<u8>) {
    (A::VERB as u16, written(ask))
}

fn enciphering<'a>(key: Key<'a>, text: &'a [u8]) -> encipher::Ask<'a> {
    encipher::Ask {
        key_identifier: key,
        plaintext: text,
        initialization_vector: Some(&[0; 8]),
        method: Some(DesMethod::Cbc),
        chaining_vector: Some(&[0; 18]),
        ..encipher::Ask::new()
    }
}

fn verifying<'a>(token: &'a [u8], block: &'a [u8]) -> dsv::Ask<'a> {
    dsv::Ask {
        format: Some(SignatureFormat::ZeroPad),
        pka_public_key_id: token.into(),
        hash: &[7; 20],
        signature_field: block,
        ..dsv::Ask::new()
    }
}

/// A public key nobody has the private one of: its number tells it from all others.
fn public_token(number: u16) -> Vec<u8> {
    let mut modulus = [0xC5; 512];
    modulus[1..3].copy_from_slice(&number.to_be_bytes());
    token::pka::public_token(&modulus, &[1, 0, 1]).expect("a token")
}

/// A request for a signature by the private key of a clear token.
fn signing<'a>(format: SignatureFormat, token: &'a [u8], hash: &'a [u8], bytes: usize) -> dsg::Ask<'a> {
    dsg::Ask {
        format: Some(format),
        pka_private_key_id: token.into(),
        hash,
        signature_field: bytes,
        ..dsg::Ask::new()
    }
}

/// A clear token of a key of P-256, by its number.
fn curve_token(number: u16) -> Vec<u8> {
    let mut scalar = [0x1D; 32];
    scalar[..2].copy_from_slice(&number.to_be_bytes());
    let key = engine::EcPrivateKey::from_bytes(engine::Curve::P256, &scalar).expect("a key");
    let attributes = ecc::EccAttributes::default();
    let token = ecc::clear_token(ecc::EccCurve::P256, &scalar, &key.public_bytes(), &attributes);
    token.expect("a token").to_vec()
}

/// Clear tokens of one key of 4096 bits, each with a name of its own, so that each is prepared.
struct LongKey([Vec<u8>; 7]);

impl LongKey {
    fn new() -> LongKey {
        let primes: Vec<BigNum> = include_str!("../../engine/tests/rsa/primes.txt")
            .lines()
            .filter_map(|line| line.strip_prefix("2048 "))
            .map(|digits| BigNum::from_hex_str(digits).expect("a prime"))
            .collect();
        let (p, q) = (&primes[0], &primes[1]);
        let (e, one) = (BigNum::from_u32(65537).unwrap(), BigNum::from_u32(1).unwrap());
        let mut context = BigNumContext::new().unwrap();
        let mut inverse = |value: &BigNum, modulus: &BigNum| {
            let mut inverse = BigNum::new().unwrap();
            inverse.mod_inverse(value, modulus, &mut context).unwrap();
            inverse.to_vec()
        };
        let (dp, dq, u) = (inverse(&e, &(p - &one)), inverse(&e, &(q - &one)), inverse(q, p));
        LongKey([(p * q).to_vec(), e.to_vec(), p.to_vec(), q.to_vec(), dp, dq, u])
    }

    fn token(&self, number: u16) -> Vec<u8> {
        let [n, e, p, q, dp, dq, u] = &self.0;
        let key = pka::ClearKey::Crt { n, e, components: pka::CrtComponents { p, q, dp, dq, u } };
        let name = format!("N{number:063}").into_bytes().try_into().ok();
        let attributes = pka::Attributes { name, ..pka::Attributes::default() };
        let hashes = (openssl::sha::sha1 as fn(&[u8]) -> _, openssl::sha::sha256 as fn(&[u8]) -> _);
        pka::clear_token(pka::Form::CrtAes, &key, &attributes, &hashes).expect("a token").to_vec()
    }
}

#[test]
fn all_of_it_is_locked_before_the_first_request() {
    let (keeper, card) = coprocessor();
    let memory = card.isolation.memory.expect("what it has");
    // The tests below are of a machine that gives less.
    let gives_less = memory.pages == SecretPages::Unlocked || memory.bytes < memory.wanted_bytes;
    if needs::did_without(needs::Need::LockedMemory, gives_less) {
        return;
    }
    for program in [&card.program, &keeper.program] {
        let (bytes, name) = locked(program);
        assert_eq!((bytes, memory.bytes), (memory.wanted_bytes, memory.wanted_bytes));
        assert_eq!(name.starts_with("/secretmem"), memory.pages == SecretPages::Secret, "{name}");
        assert!(unlocked(program) < MIB, "{} bytes are not locked", unlocked(program));
    }
}

/// Memory for prepared keys beyond the region's own part is locked as the region is: a half of it, a quarter and so on
/// where the limit has no room for all.
#[test]
fn memory_for_more_prepared_keys_is_locked_too() {
    let plain = coprocessor().1.isolation.memory.expect("what it has");
    let gives_less = plain.pages == SecretPages::Unlocked || plain.bytes < plain.wanted_bytes;
    if needs::did_without(needs::Need::LockedMemory, gives_less) {
        return;
    }
    let further = 48 * MIB;
    // Who may not raise the limit of this process tries what is below it.
    let hard = rustix::process::getrlimit(rustix::process::Resource::Memlock).maximum;
    let may_be_set = |limit: &Option<u64>| limit.is_none_or(|limit| hard.is_none_or(|hard| limit <= hard));
    let cases = [
        (None, plain.bytes + further),
        (Some(plain.bytes + 16 * MIB), plain.bytes + 12 * MIB),
        (Some(plain.bytes + MIB / 2), plain.bytes),
        (Some(8 * MIB), 8 * MIB),
    ];
    for (limit, bytes) in cases.into_iter().filter(|(limit, _)| may_be_set(limit)) {
        let start = card_start(Personality::Coprocessor);
        let prepared_keys_bytes = start.prepared_keys_bytes + further;
        let (_keeper, mut card) = coprocessor_locking(CardStart { prepared_keys_bytes, ..start }, limit);
        let memory = card.isolation.memory.expect("what it has");
        assert_ne!(memory.pages, SecretPages::Unlocked);
        assert_eq!(memory.wanted_bytes, plain.wanted_bytes + further);
        assert_eq!(memory.bytes, bytes, "with a limit of {limit:?} bytes");
        assert_eq!(locked(&card.program).0, memory.bytes);
        let client = card.attach();
        let key = opened_key(&mut card, &client, &CLEAR);
        assert_eq!(client.outcome(&mac_request(Key::Reference(key), b"a text")), Outcome::Answered);
        card.stop();
    }
}

#[test]
fn what_cannot_be_locked_is_said() {
    let (_keeper, card) = coprocessor_locking(card_start(Personality::Coprocessor), Some(64 << 10));
    let memory = card.isolation.memory.expect("what it has");
    assert_eq!((memory.pages, memory.limit_bytes), (SecretPages::Unlocked, Some(64 << 10)));
    assert!(card.isolation.missing.iter().any(|measure| measure == "locked memory"));
}

/// Hostile requests of all lengths, with keys that are prepared once each, RSA of 4096 bits and ECDSA among them, many
/// at a time: whatever the limit, each has an answer, the card lives, and none of its memory is unlocked or beyond what
/// it began with.
#[test]
fn a_card_that_is_full_says_so_and_goes_on() {
    let long_key = LongKey::new();
    for limit in [4, 6, 8] {
        let (_keeper, mut card) =
            coprocessor_locking(card_start(Personality::Coprocessor), Some(limit * MIB));
        let memory = card.isolation.memory.expect("what it has");
        assert_ne!(memory.pages, SecretPages::Unlocked);
        assert_eq!(memory.bytes, limit * MIB);
        let client = card.attach();
        let key = opened_key(&mut card, &client, &CLEAR);
        let key = Key::Reference(key);
        let before = unlocked(&card.program);
        let long = vec![0x5A; TEXT_BYTES_MAX];
        let (mut answered, mut full, mut signed) = (0, 0, [0; 2]);
        for round in 0..12_u16 {
            let in_flight: Vec<_> = (0..48_u16)
                .filter_map(|at| {
                    let number = round * 48 + at;
                    let length = if number.is_multiple_of(23) {
                        TEXT_BYTES_MAX
                    } else {
                        [8, 100, 4096, 40_000, 300, 2000][usize::from(number % 6)]
                    };
                    let text = &long[..length];
                    let token = match number % 12 {
                        7 => curve_token(number),
                        11 => long_key.token(number),
                        _ => public_token(number),
                    };
                    let block = vec![0; 512];
                    let (verb, payload) = match number % 12 {
                        0 | 3 | 6 | 9 => sent(&mac_request(key, text)),
                        1 | 4 | 10 => sent(&enciphering(key, &text[..length / 8 * 8])),
                        7 => sent(&signing(SignatureFormat::Ecdsa, &token, &block[..32], 64)),
                        11 => sent(&signing(SignatureFormat::ZeroPad, &token, &block[..20], 512)),
                        _ => sent(&verifying(&token, &block)),
                    };
                    let slot = client.queue.claim().ok()?;
                    // No bulk block may be left: the others go.
                    let request = client.queue.submit_with_room(slot, verb, &payload, payload.len()).ok()?;
                    Some((number % 12, request))
                })
                .collect();
            for (kind, request) in &in_flight {
                let (mut reply, deadline) = (Vec::new(), Some(Instant::now() + PATIENCE));
                let header =
                    client.queue.wait(request, PollMode::Adaptive, deadline, &mut reply).expect("an answer");
                match header.outcome {
                    Outcome::Answered => {
                        answered += 1;
                        if let Some(signed) = [7, 11].iter().zip(&mut signed).find(|(of, _)| *of == kind) {
                            assert_eq!(header.codes, wire::code::OK);
                            *signed.1 += 1;
                        }
                    }
                    Outcome::Full => full += 1,
                    other => panic!("{other:?} with {limit} MiB"),
                }
            }
        }
        assert!(card.program.is_running() && answered > 300, "{answered} answered, {full} full, {limit} MiB");
        assert!(signed.iter().all(|signed| *signed > 10), "{signed:?} signed with {limit} MiB");
        assert_eq!(full > 0, limit <= 6, "{full} of {answered} full with {limit} MiB");
        assert!(limit > 6 || card.view().count(Counter::Refused) >= full);
        // It serves again, what is short at once.
        let (header, payload) = client.call(&mac_request(key, &[0x55; 3000]));
        assert_eq!(header.codes, wire::code::OK);
        assert_eq!(mac_of(&payload), mac_by_engine(&CLEAR, &[0x55; 3000]));
        assert_eq!(locked(&card.program).0, limit * MIB);
        assert!(
            unlocked(&card.program) < before + MIB / 4,
            "{limit} MiB: more than {before} bytes are not locked"
        );
        card.stop();
    }
}

#[test]
fn queues_that_do_not_fit_are_refused_and_the_others_served() {
    let (_keeper, mut card) = coprocessor_locking(card_start(Personality::Coprocessor), Some(4 * MIB));
    let client = card.attach();
    let key = opened_key(&mut card, &client, &CLEAR);
    let mut grant = card.grant(EVERYTHING);
    let refused = loop {
        grant.queue += 1;
        assert!(grant.queue < 4000, "it never is full");
        match card.offer(grant.clone(), 64).1 {
            CardNotice::Attached { .. } => {}
            CardNotice::Rejected { why, .. } => break why,
            other => panic!("{other:?}"),
        }
    };
    assert!(refused.contains("secret memory is full"), "{refused}");
    let mac = mac_request(Key::Reference(key), b"a text");
    assert_eq!(client.outcome(&mac), Outcome::Answered);
    // A place is free again.
    let queue = grant.queue - 1;
    for queue in queue - 20..=queue {
        assert_eq!(card.order(CardOrder::Detach { queue }), CardNotice::Detached { queue });
    }
    assert_eq!(card.offer(grant.clone(), 64).1, CardNotice::Attached { queue: grant.queue });
    assert_eq!(client.outcome(&mac), Outcome::Answered);
    card.stop();
}

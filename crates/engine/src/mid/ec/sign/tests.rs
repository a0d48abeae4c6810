//! Tests that a fault anywhere is caught, and that signatures follow from their nonces.

use super::*;
use crate::low::aws_lc::ec::Group;
use crate::low::curves::DIGIT_BITS;
use crate::low::curves::tests::{FAULT as LOW_FAULT, Fault as LowFault};
use crate::low::curves::{self, DIGIT_MASK};
use crate::*;
use std::cell::Cell;

/// One bit of one lane to be flipped, once.
#[derive(Clone, Copy, Debug)]
struct Fault {
    step: Step,
    row: usize,
    lane: usize,
    bit: usize,
}

thread_local! {
    static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
}

pub(super) fn step(step: Step, rows: &mut [Row]) {
    if let Some(fault) = FAULT.get().filter(|fault| fault.step == step) {
        rows[fault.row].0[fault.lane] ^= 1 << fault.bit;
        FAULT.set(None);
    }
}

const STEPS: [Step; 9] = [
    Step::Point,
    Step::Used,
    Step::Denominator,
    Step::Inverse,
    Step::NonceInverse,
    Step::First,
    Step::Digest,
    Step::Key,
    Step::Second,
];

fn keys() -> Vec<EcKey> {
    (0..LANES).map(|_| EcKey::generate(Group::P256).unwrap()).collect()
}

fn digests() -> Vec<[u8; 32]> {
    (0..LANES as u8).map(|lane| [0x91 ^ lane.wrapping_mul(29); 32]).collect()
}

fn run(cpu: Cpu, keys: &[EcKey], digests: &[[u8; 32]]) -> (u8, Vec<[u8; 64]>) {
    let eight = Eight::new(cpu, keys.len(), |at| (&keys[at], &digests[at]));
    let mut signatures = Signatures::new();
    let released = eight.sign(&mut signatures);
    let stored = |lane: usize| {
        let mut out = [0; 64];
        let _ = signatures.store(lane, &mut out);
        out
    };
    (released & u8::MAX >> (LANES - keys.len()), (0..keys.len()).map(stored).collect())
}

/// Checks that only lane `hit` is not released, and that all other signatures are valid.
fn check(cpu: Cpu, keys: &[EcKey], digests: &[[u8; 32]], hit: usize, fault: &dyn std::fmt::Debug) {
    assert!(caught(cpu, keys, digests, hit, fault), "{fault:?}");
}

/// Whether lane `hit` is not released. If it is, checks that its signature is valid, as all others must be.
fn caught(cpu: Cpu, keys: &[EcKey], digests: &[[u8; 32]], hit: usize, fault: &dyn std::fmt::Debug) -> bool {
    let (released, signatures) = run(cpu, keys, digests);
    assert_eq!(released | 1 << hit, u8::MAX, "{fault:?}");
    let is_caught = released & 1 << hit == 0;
    for lane in (0..LANES).filter(|lane| *lane != hit || !is_caught) {
        assert!(keys[lane].verify(&digests[lane], &signatures[lane]), "{fault:?}");
    }
    is_caught
}

/// A bit flipped anywhere, in any lane, stops the release of that lane, and of no other. With `CRYPTAND_TEST_ALL=1`
/// every bit is tested, otherwise some of each digit.
#[test]
fn a_flipped_bit_is_caught() {
    let cpu = Cpu::up_to_avx512();
    let all = std::env::var("CRYPTAND_TEST_ALL").is_ok_and(|value| value == "1");
    let (keys, digests) = (keys(), digests());
    let every = if cpu.avx512.is_some() { 7 } else { 211 };
    let mut count = 0;
    for step in STEPS {
        let rows = if step == Step::Point { 2 * DIGITS } else { DIGITS };
        for at in 0..rows * LANES * DIGIT_BITS {
            let (row, lane, bit) = (at / DIGIT_BITS / LANES, at / DIGIT_BITS % LANES, at % DIGIT_BITS);
            count += 1;
            if all || count % every == 0 {
                let fault = Fault { step, row, lane, bit };
                FAULT.set(Some(fault));
                check(cpu, &keys, &digests, lane, &fault);
                assert!(FAULT.take().is_none(), "{fault:?} did not come to pass");
            }
        }
    }
}

/// As above, inside the multiplication, after any of its windows, in any coordinate.
#[test]
fn a_flipped_bit_in_a_sum_is_caught() {
    let cpu = Cpu::up_to_avx512();
    let (keys, digests) = (keys(), digests());
    let every = if cpu.avx512.is_some() { 11 } else { 307 };
    let mut harmless = 0;
    for at in (0..37 * 15 * LANES).step_by(every) {
        let (window, row, lane) = (at / 15 / LANES, at / LANES % 15, at % LANES);
        let fault = LowFault { step: curves::Step::Sum(window), row, lane, bit: at * 31 % DIGIT_BITS };
        LOW_FAULT.set(Some(fault));
        harmless += usize::from(!caught(cpu, &keys, &digests, lane, &fault));
        assert!(LOW_FAULT.take().is_none(), "{fault:?} did not come to pass");
    }
    // As long as all windows were zero, the second coordinate of the sum has no meaning.
    assert!(harmless < 10, "{harmless} bits turned over that changed nothing");
}

/// Verification finds all that the check finds, and also wrong keys, digests, signatures and public points.
#[test]
fn verification_accepts_what_the_library_accepts() {
    let (keys, digests) = (keys(), digests());
    let publics: Vec<[u8; 65]> = keys.iter().map(|key| key.public().unwrap().try_into().unwrap()).collect();
    let publics: [&[u8; 65]; LANES] = std::array::from_fn(|lane| &publics[lane]);
    for cpu in cpus() {
        let eight = Eight::new(cpu, LANES, |at| (&keys[at], &digests[at]));
        let mut signatures = Signatures::new();
        assert_eq!(eight.sign(&mut signatures), u8::MAX);
        assert_eq!(eight.verify(&publics, &signatures), u8::MAX);
        for lane in 0..LANES {
            for (row, bit) in [(0, 0), (2, 31), (3, 7 * lane), (4, 40)] {
                for number in 0..2 {
                    let rows = |signatures: &mut Signatures| {
                        let of = if number == 0 { &mut signatures.r } else { &mut signatures.s };
                        of.0[row].0[lane] ^= 1 << bit;
                    };
                    rows(&mut signatures);
                    assert_eq!(eight.verify(&publics, &signatures), !(1 << lane), "{row} {bit} {number}");
                    rows(&mut signatures);
                }
                FAULT.set(Some(Fault { step: Step::VerifiedKey, row, lane, bit }));
                assert_eq!(eight.verify(&publics, &signatures), !(1 << lane));
                assert!(FAULT.take().is_none());
            }
            let mut others = publics;
            others[lane] = publics[(lane + 1) % LANES];
            assert_eq!(eight.verify(&others, &signatures), !(1 << lane));
            let digest = [0x5b; 32];
            let other = |at: usize| if at == lane { &digest } else { &digests[at] };
            let eight = Eight::new(cpu, LANES, |at| (&keys[at], other(at)));
            assert_eq!(eight.verify(&publics, &signatures), !(1 << lane));
            if cpu.avx512.is_none() {
                break;
            }
        }
    }
}

/// A nonce that changes before its first use gives another valid signature.
#[test]
fn another_nonce_gives_another_signature() {
    let cpu = Cpu::up_to_avx512();
    let (keys, digests) = (keys(), digests());
    for lane in 0..LANES {
        FAULT.set(Some(Fault { step: Step::Nonce, row: lane % 4, lane, bit: 5 * lane }));
        let (released, signatures) = run(cpu, &keys, &digests);
        assert!(FAULT.take().is_none());
        assert_eq!(released, u8::MAX);
        for ((key, digest), signature) in keys.iter().zip(&digests).zip(&signatures) {
            assert!(key.verify(digest, signature));
        }
    }
}

/// A request whose fault is caught is an error and holds zeros; the other requests have their signatures.
#[test]
fn what_is_caught_is_not_released() {
    let engine = Engine::new(Options::default()).unwrap();
    let keys: Vec<_> = (0..LANES).map(|_| EcPrivateKey::generate(Curve::P256).unwrap()).collect();
    let digests = digests();
    for lane in 0..LANES {
        FAULT.set(Some(Fault { step: Step::Second, row: 2, lane, bit: 9 }));
        let mut items: Vec<_> =
            keys.iter().zip(&digests).map(|(key, digest)| EcdsaSignItem::new(key, digest)).collect();
        engine.ecdsa_sign_batch(&mut items);
        let in_lanes = FAULT.take().is_none();
        assert_eq!(in_lanes, engine.level() == Level::Avx512);
        for (at, item) in items.iter().enumerate() {
            if in_lanes && at == lane {
                assert_eq!(item.result, Err(EcError::Internal(Curve::P256)));
                assert_eq!(item.signature, [0; 132]);
            } else {
                assert_eq!(item.result, Ok(()));
                assert!(keys[at].key.verify(&digests[at], item.signature()));
            }
        }
    }
}

fn hex<const N: usize>(text: &str) -> [u8; N] {
    assert_eq!(text.len(), 2 * N);
    std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap())
}

fn cpus() -> [Cpu; 2] {
    [Cpu::PORTABLE, Cpu::up_to_avx512()]
}

/// The nonces of RFC 6979, A.2.5, give its signatures.
#[test]
fn given_nonces_give_published_signatures() {
    const KEY: &str = "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721";
    let rows = [
        (
            HashAlgorithm::Sha256,
            "sample",
            "a6e3c57dd01abe90086538398355dd4c3b17aa873382b0f24d6129493d8aad60",
            "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
        ),
        (
            HashAlgorithm::Sha256,
            "test",
            "d16b6ae827f17175e040871a1c7ec3500192c4c92677336ec2537acaee0008e0",
            "f1abb023518351cd71d881567b1ea663ed3efcf6c5132b354f28d3b0b7d38367019f4113742a2b14bd25926b49c649155f267e60d3814b4c0cc84250e46f0083",
        ),
        (
            HashAlgorithm::Sha1,
            "sample",
            "882905f1227fd620fbf2abf21244f0ba83d0dc3a9103dbbee43a1fb858109db4",
            "61340c88c3aaebeb4f6d667f672ca9759a6ccaa9fa8811313039ee4a35471d326d7f147dac089441bb2e2fe8f7a3fa264b9c475098fdcf6e00d7c996e1b8b7eb",
        ),
        (
            HashAlgorithm::Sha512,
            "sample",
            "5fa81c63109badb88c1f367b47da606da28cad69aa22c4fe6ad7df73a7173aa5",
            "8496a60b5e9b47c825488827e0495b0e3fa109ec4568fd3f8d1097678eb97f002362ab1adbe2b8adf9cb9edab740ea6049c028114f2460f96554f61fae3302fe",
        ),
    ];
    let key = EcKey::from_private(Group::P256, &hex::<32>(KEY)).unwrap();
    let digests = rows.map(|(hash, text, ..)| hash::digest(hash, &[text.as_bytes()]));
    let digest = |at: usize| &digests[at][..rows[at].0.digest_bytes()];
    for cpu in cpus() {
        let eight = Eight::new(cpu, rows.len(), |at| (&key, digest(at)));
        let mut k = [Row::ZERO; DIGITS];
        for lane in 0..LANES {
            load_bytes(&mut k, lane, &hex::<32>(rows[lane % 4].2));
        }
        let mut signatures = Signatures::new();
        // Unused lanes sign the first digest with other nonces.
        assert_eq!(eight.sign_with(&mut k, &mut signatures), u8::MAX);
        for (lane, (.., signature)) in rows.iter().enumerate() {
            let mut out = [0; 64];
            assert!(signatures.store(lane, &mut out));
            assert_eq!(out, hex::<64>(signature));
        }
    }
}

/// Nonces of zero and of the order give no signature. 1 and the order less one do, each in its own lane.
#[test]
fn nonces_at_the_borders() {
    const N: &str = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";
    let (keys, digests) = (keys(), digests());
    let (mut one, order) = ([0; 32], hex::<32>(N));
    one[31] = 1;
    let mut below = order;
    below[31] -= 1;
    for cpu in cpus() {
        let eight = Eight::new(cpu, LANES, |at| (&keys[at], &digests[at]));
        let mut k = [Row::ZERO; DIGITS];
        for (lane, nonce) in [[0; 32], one, order, below, one, [0; 32], below, order].iter().enumerate() {
            load_bytes(&mut k, lane, nonce);
        }
        let mut signatures = Signatures::new();
        assert_eq!(eight.sign_with(&mut k, &mut signatures), 0b0101_1010);
        for lane in [1, 3, 4, 6] {
            let mut out = [0; 64];
            assert!(signatures.store(lane, &mut out));
            assert!(keys[lane].verify(&digests[lane], &out));
        }
    }
}

/// The plain twin signs like the kernels, for every number of requests and every length of a digest.
#[test]
fn signatures_fit_at_both_levels() {
    let (keys, bytes) = (keys(), [0xc3; 64]);
    for cpu in cpus() {
        for filled in 1..=LANES {
            let digest = |at: usize| &bytes[..[0, 1, 20, 28, 31, 32, 33, 64][(at + filled) % 8]];
            let eight = Eight::new(cpu, filled, |at| (&keys[at], digest(at)));
            let mut signatures = Signatures::new();
            assert_eq!(eight.sign(&mut signatures), u8::MAX);
            for (lane, key) in keys.iter().enumerate().take(filled) {
                let mut out = [0; 64];
                assert!(signatures.store(lane, &mut out));
                assert!(key.verify(digest(lane), &out), "{lane} of {filled}");
            }
        }
    }
}

/// Nonces differ between calls with the same key and digest, and are below the order.
#[test]
fn nonces_are_fresh() {
    let (keys, digests) = (keys(), digests());
    for cpu in cpus() {
        let mut seen = std::collections::HashSet::new();
        for _ in 0..20 {
            let eight = Eight::new(cpu, 1, |_| (&keys[0], &digests[0]));
            let mut k = [Row::ZERO; DIGITS];
            assert!(eight.nonces(&mut k));
            for lane in 0..LANES {
                assert!(k.iter().all(|row| row.0[lane] <= DIGIT_MASK));
                let mut nonce = [0; 32];
                assert!(store_bytes(&k, lane, &mut nonce));
                assert!(nonce < hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"));
                assert!(seen.insert(nonce));
            }
        }
    }
}

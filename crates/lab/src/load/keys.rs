//! Keys and data for measuring: reproducible, different for every job, and worth nothing.

use crate::load::operation::{Cipher, is_aes};
use num_bigint::BigUint;
use num_integer::Integer;
use seeded::Random;

const PRIMES: &str = include_str!("../../data/rsa-primes.txt");
const EXPONENT: u32 = 65537;

/// Bytes that look random and are the same in every run; `what` and `job` tell streams apart.
pub fn test_bytes(what: u64, job: usize, len: usize) -> Vec<u8> {
    Random(what.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (job as u64).wrapping_mul(0xD1B5_4A32_D192_ED03))
        .bytes(len)
}

/// A DES or TDES key with odd parity; its 8-byte parts differ.
pub fn des_key(job: usize, len: usize) -> Vec<u8> {
    let mut key = test_bytes(0xDE5, job, len);
    for byte in &mut key {
        *byte = odd(*byte);
    }
    key
}

/// A TDES key of two parts for payments, with odd parity; `number` tells those of a job apart.
pub fn payment_key(job: usize, number: u64) -> Vec<u8> {
    test_bytes(0x9A11 + number, job, 16).into_iter().map(odd).collect()
}

/// A key of a cipher, in its length.
pub fn cipher_key(cipher: Cipher, job: usize) -> Vec<u8> {
    if is_aes(cipher) { test_bytes(0xAE5, job, cipher.key_bytes()) } else { des_key(job, cipher.key_bytes()) }
}

const fn odd(byte: u8) -> u8 {
    if byte.count_ones() % 2 == 1 { byte } else { byte ^ 1 }
}

/// A test RSA key: its numbers, big-endian, modulus and exponent `d` in the modulus' length, the rest in half of it.
#[derive(Clone)]
#[allow(missing_docs)] // the names of RFC 8017
pub struct RsaTestKey {
    pub bits: u32,
    pub n: Vec<u8>,
    pub e: Vec<u8>,
    pub d: Vec<u8>,
    pub p: Vec<u8>,
    pub q: Vec<u8>,
    pub dp: Vec<u8>,
    pub dq: Vec<u8>,
    pub qinv: Vec<u8>,
}

/// The test key of a job, for sizes of [`crate::load::operation::RSA_BITS`]; none for others. Keys repeat after 105
/// jobs (1,035 of 2048 bits, 15 of 4096).
pub fn rsa_test_key(bits: u32, job: usize) -> Option<RsaTestKey> {
    let primes: Vec<BigUint> = PRIMES
        .lines()
        .filter(|line| !line.starts_with('#') && line.len() as u32 * 4 == bits / 2)
        .filter_map(|line| BigUint::parse_bytes(line.as_bytes(), 16))
        .collect();
    let pairs = primes.len() * primes.len().saturating_sub(1) / 2;
    let (first, second) = pair(job % pairs.max(1), primes.len())?;
    let (p, q) = (
        primes[first].clone().max(primes[second].clone()),
        primes[first].clone().min(primes[second].clone()),
    );
    let one = BigUint::from(1u32);
    let (p1, q1) = (&p - &one, &q - &one);
    let e = BigUint::from(EXPONENT);
    let inverse = |of: &BigUint, modulus: &BigUint| of.modinv(modulus);
    let d = inverse(&e, &p1.lcm(&q1))?;
    let (full, half) = (bits as usize / 8, bits as usize / 16);
    Some(RsaTestKey {
        bits,
        n: padded(&(&p * &q), full),
        e: e.to_bytes_be(),
        dp: padded(&(&d % &p1), half),
        dq: padded(&(&d % &q1), half),
        qinv: padded(&inverse(&q, &p)?, half),
        d: padded(&d, full),
        p: padded(&p, half),
        q: padded(&q, half),
    })
}

/// The pair of primes with this number, out of all pairs of `count` primes.
fn pair(mut number: usize, count: usize) -> Option<(usize, usize)> {
    for first in 0..count {
        let partners = count - first - 1;
        if number < partners {
            return Some((first, first + 1 + number));
        }
        number -= partners;
    }
    None
}

fn padded(number: &BigUint, len: usize) -> Vec<u8> {
    let bytes = number.to_bytes_be();
    let mut out = vec![0; len.saturating_sub(bytes.len())];
    out.extend_from_slice(&bytes);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_job_has_a_key_of_its_own() {
        let keys: HashSet<_> = (0..96).map(|job| rsa_test_key(512, job).unwrap().n).collect();
        assert_eq!(keys.len(), 96);
        let keys: HashSet<_> = (0..1000).map(|job| des_key(job, 8)).collect();
        assert_eq!(keys.len(), 1000);
        assert!(des_key(3, 24).iter().all(|byte| byte.count_ones() % 2 == 1));
    }

    #[test]
    fn a_test_key_is_a_key() {
        for (bits, job) in [(512, 0), (1024, 95), (2048, 104), (4096, 14)] {
            let key = rsa_test_key(bits, job).unwrap();
            let number = |bytes: &[u8]| BigUint::from_bytes_be(bytes);
            assert_eq!(number(&key.n).bits(), u64::from(bits));
            assert!(number(&key.p) > number(&key.q));
            let message = BigUint::from_bytes_be(&test_bytes(1, job, bits as usize / 8 - 1));
            let signed = message.modpow(&number(&key.d), &number(&key.n));
            assert_eq!(signed.modpow(&number(&key.e), &number(&key.n)), message);
            let m1 = message.modpow(&number(&key.dp), &number(&key.p));
            assert_eq!(&signed % &number(&key.p), m1);
            assert_eq!((number(&key.qinv) * number(&key.q)) % number(&key.p), BigUint::from(1u32));
        }
        assert!(rsa_test_key(768, 0).is_none());
    }
}

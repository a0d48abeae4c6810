//! ECDSA signatures with P-256 (FIPS 186-5, 6.4.1), up to eight at once.
//!
//! ```text
//! k = SHA-256(0 ..) || SHA-256(1 ..) of  d || z || 32 random bytes,  modulo n
//! R = k G                   k' = what the digits of k added up to
//! 1/Z and 1/k
//! r = x(R) mod n            s = (z + r d) / k mod n
//! ------------------------------------------------------------------------------
//! a lane is released only if R lies on the curve, r is x(R) mod n computed again, s k' = z + r d
//! with z and d read once more, and neither r nor s is zero
//! ```
//!
//! With verification, two more multiples of the generator:
//!
//! ```text
//! d G is the key's public point
//! x(((z + r d) / s) G) = r
//! ```
//!
//! - Together these two checks are the verification under the public point Q (FIPS 186-5, 6.4.2): u1 G + u2 Q is (u1 +
//!   u2 d) G if Q = d G. Both use the table of the generator, since a multiple of each lane's own Q would take 256
//!   doublings, more than all the rest. If x(R) is above the order, which happens once in 2^128, r does not pass.
//! - Nonces are hedged like the library's, which mixes a hash of key and digest into its generator. While the generator
//!   is sound they are random, whatever the hash. If the generator repeated itself (in a copied machine state), they
//!   would still differ between digests and keys, as those of RFC 6979 do. 512 bits modulo n are uniform enough to make
//!   no difference (FIPS 186-5, A.3.1 asks for 320).
//! - The check covers every number between the first and the second reading of the key. A fault in R leaves the curve,
//!   one in the digits of k changes k', and one in r, s, d or 1/k breaks the equation. A fault in k itself before its
//!   first use gives another valid signature. Earlier faults are not covered, such as a changed key in memory, whose
//!   signatures would not fit its public part. Verification covers that.
//! - Unused lanes repeat a request. All lanes take the same time, whatever they contain.

use crate::algorithm::HashAlgorithm;
use crate::low::aws_lc::ec::EcKey;
use crate::low::aws_lc::random;
use crate::low::cpu::Cpu;
use crate::low::curves::{
    DIGITS, LANES, Number, Row, Secret, Table, base_multiple, faults, first_half, inverses, is_other,
    is_other_x, load_bytes, reduce_wide, second_half, store_bytes,
};
use crate::low::wipe_bytes;
use crate::mid::hash::{self, HashItem};

/// Length of a number in bytes.
const BYTES: usize = 32;

/// Eight numbers as bytes, big-endian; wiped when dropped.
struct Lines<const N: usize>([[u8; N]; LANES]);

impl<const N: usize> Drop for Lines<N> {
    fn drop(&mut self) {
        wipe_bytes(self.0.as_flattened_mut());
    }
}

/// Keys and digests of eight requests, one per lane.
pub(super) struct Eight<'a> {
    cpu: Cpu,
    keys: [&'a EcKey; LANES],
    digests: [&'a [u8]; LANES],
}

/// r and s of the signatures of eight requests.
pub(super) struct Signatures {
    r: Secret<DIGITS>,
    s: Secret<DIGITS>,
}

impl Signatures {
    pub(super) fn new() -> Signatures {
        Signatures { r: Secret::zero(), s: Secret::zero() }
    }

    /// Writes r and s of a lane, big-endian; false if one does not fit.
    #[must_use]
    pub(super) fn store(&self, lane: usize, out: &mut [u8]) -> bool {
        let (r, s) = out.split_at_mut(out.len() / 2);
        store_bytes(&self.r.0, lane, r) && store_bytes(&self.s.0, lane, s)
    }
}

impl<'a> Eight<'a> {
    /// Prepares `filled` requests (one to eight); `request` returns the key, of P-256 with a private part, and the
    /// digest of each.
    pub(super) fn new(
        cpu: Cpu,
        filled: usize,
        request: impl Fn(usize) -> (&'a EcKey, &'a [u8]),
    ) -> Eight<'a> {
        let requests: [_; LANES] = std::array::from_fn(|lane| request(if lane < filled { lane } else { 0 }));
        Eight { cpu, keys: requests.map(|(key, _)| key), digests: requests.map(|(_, digest)| digest) }
    }

    /// Signs all requests. Returns, as bits, the lanes whose signature may be released; all other lanes must not be.
    pub(super) fn sign(&self, out: &mut Signatures) -> u8 {
        let mut k = Secret::<DIGITS>::zero();
        if !self.nonces(&mut k.0) {
            return 0;
        }
        self.sign_with(&mut k.0, out)
    }

    /// Makes a nonce for each lane; false if a key has no private part.
    #[must_use]
    fn nonces(&self, k: &mut Number) -> bool {
        const TEXT_BYTES: usize = 1 + 3 * BYTES;
        let mut fresh = Lines([[0; BYTES]; LANES]);
        random::fill(fresh.0.as_flattened_mut());
        let mut texts = [Lines([[0; TEXT_BYTES]; LANES]), Lines([[1; TEXT_BYTES]; LANES])];
        for lane in 0..LANES {
            let digest = number_of(self.digests[lane]);
            for text in &mut texts {
                let (d, rest) = text.0[lane][1..].split_at_mut(BYTES);
                let (z, random) = rest.split_at_mut(BYTES);
                if !self.keys[lane].private(d) {
                    return false;
                }
                z.copy_from_slice(&digest);
                random.copy_from_slice(&fresh.0[lane]);
            }
        }
        let text = |at: usize| &texts[at / LANES].0[at % LANES][..];
        let mut items: [HashItem<'_>; 2 * LANES] = std::array::from_fn(|at| HashItem::new(text(at)));
        hash::batch(self.cpu, HashAlgorithm::Sha256, &mut items);
        let mut wide = Secret::<{ 2 * DIGITS }>::zero();
        let mut number = Lines([[0; 2 * BYTES]; LANES]);
        for (lane, bytes) in number.0.iter_mut().enumerate() {
            let (high, low) = bytes.split_at_mut(BYTES);
            high.copy_from_slice(&items[lane].digest[..BYTES]);
            low.copy_from_slice(&items[LANES + lane].digest[..BYTES]);
            load_bytes(&mut wide.0, lane, bytes);
        }
        items.iter_mut().for_each(|item| wipe_bytes(&mut item.digest));
        reduce_wide(self.cpu.avx512, &wide.0, k);
        true
    }

    /// As [`Eight::sign`], with nonces that the caller gives.
    fn sign_with(&self, k: &mut Number, out: &mut Signatures) -> u8 {
        let token = self.cpu.avx512;
        let mut point = Secret::<{ 3 * DIGITS }>::zero();
        let point = &mut point.0;
        let mut numbers: [Secret<DIGITS>; 6] = std::array::from_fn(|_| Secret::zero());
        let [used, z, z_inverse, k_inverse, digest, d] = numbers.each_mut().map(|number| &mut number.0);
        step(Step::Nonce, k);
        base_multiple(token, Table::get(token), k, point, used);
        step(Step::Point, point);
        step(Step::Used, used);
        z.copy_from_slice(&point[2 * DIGITS..]);
        step(Step::Denominator, z);
        inverses(token, z, k, z_inverse, k_inverse);
        step(Step::Inverse, z_inverse);
        step(Step::NonceInverse, k_inverse);
        first_half(token, point, z_inverse, &mut out.r.0);
        step(Step::First, &mut out.r.0);
        if !self.load(digest, d) {
            return 0;
        }
        step(Step::Digest, digest);
        step(Step::Key, d);
        second_half(token, k_inverse, digest, &out.r.0, d, &mut out.s.0);
        step(Step::Second, &mut out.s.0);
        if !self.load(digest, d) {
            return 0;
        }
        let mut found = Row::ZERO;
        faults(token, point, z_inverse, used, [digest, d], [&out.r.0, &out.s.0], &mut found);
        sound(&found)
    }

    /// Verifies signatures of [`Eight::sign`] under public points: 4, then both coordinates. Returns the lanes, as
    /// bits, whose signature is valid.
    pub(super) fn verify(&self, publics: &[&[u8; 1 + 2 * BYTES]; LANES], signatures: &Signatures) -> u8 {
        let token = self.cpu.avx512;
        let mut points: [Secret<{ 3 * DIGITS }>; 2] = std::array::from_fn(|_| Secret::zero());
        let [public, nonce] = points.each_mut().map(|point| &mut point.0);
        let mut numbers: [Secret<DIGITS>; 8] = std::array::from_fn(|_| Secret::zero());
        let [x, y, digest, d, k, one, inverse, used] = numbers.each_mut().map(|number| &mut number.0);
        for (lane, public) in publics.iter().enumerate() {
            let [_, coordinates @ ..] = *public;
            load_bytes(x, lane, &coordinates[..BYTES]);
            load_bytes(y, lane, &coordinates[BYTES..]);
        }
        if !self.load(digest, d) {
            return 0;
        }
        let (table, mut found) = (Table::get(token), Row::ZERO);
        step(Step::VerifiedKey, d);
        base_multiple(token, table, d, public, used);
        is_other(token, public, [x, y], &mut found);
        inverses(token, one, &signatures.s.0, used, inverse);
        second_half(token, inverse, digest, &signatures.r.0, d, k);
        base_multiple(token, table, k, nonce, used);
        is_other_x(token, nonce, &signatures.r.0, &mut found);
        sound(&found)
    }

    /// Loads digests and keys as numbers; false if a key has no private part.
    #[must_use]
    fn load(&self, digests: &mut Number, keys: &mut Number) -> bool {
        let mut d = Lines([[0; BYTES]; LANES]);
        for lane in 0..LANES {
            if !self.keys[lane].private(&mut d.0[lane]) {
                return false;
            }
            load_bytes(keys, lane, &d.0[lane]);
            load_bytes(digests, lane, &number_of(self.digests[lane]));
        }
        true
    }
}

/// The lanes, as bits, without a fault.
fn sound(faults: &Row) -> u8 {
    faults.0.iter().rev().fold(0, |sound, fault| sound << 1 | u8::from(*fault == 0))
}

/// The leftmost 256 bits of a digest as a number (FIPS 186-5, 6.4.1, step 2).
fn number_of(digest: &[u8]) -> [u8; BYTES] {
    let mut number = [0; BYTES];
    let bytes = &digest[..digest.len().min(BYTES)];
    number[BYTES - bytes.len()..].copy_from_slice(bytes);
    number
}

/// A place in the computation that a test may disturb.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Nonce,
    Point,
    /// The scalar that the table's entries add up to.
    Used,
    Denominator,
    Inverse,
    NonceInverse,
    First,
    Digest,
    Key,
    Second,
    /// The key that verification reads.
    VerifiedKey,
}

/// Does nothing outside this crate's own tests.
#[cfg(not(test))]
#[inline(always)]
fn step(_: Step, _: &mut [Row]) {}

#[cfg(test)]
use tests::step;

#[cfg(test)]
mod tests;

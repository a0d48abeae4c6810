//! RSA (RFC 8017): the raw private and public operations, and key generation.
//!
//! A key is a library object whose Montgomery constants are computed once. Private operations are blinded, and their
//! result is verified with the public exponent before its release. Both need `e`, so every private key here has one,
//! also a key given by modulus and exponent.

use super::bignum::{
    Bignum, Scratch, bits, checked, clear_errors, minus_one, mod_inverse, product, to_bytes,
};
use crate::low::numbers::{Bytes, Exponents, is_inverse};
use aws_lc_sys as lc;
use std::mem;
use std::ptr;

/// The library itself generates keys only with public exponents of at most this many bits.
const LIBRARY_EXPONENT_BITS: usize = 32;
/// The library generates only moduli whose length is a multiple of this many bits.
const LIBRARY_STEP_BITS: usize = 128;
/// The primes must differ by more than two to the power of their length less this many bits (FIPS 186-5, A.1.3).
const PRIME_DISTANCE_BITS: usize = 100;

/// An operation of the library without padding, private or public.
type RawOperation = unsafe extern "C" fn(
    *mut lc::RSA,
    *mut usize,
    *mut u8,
    usize,
    *const u8,
    usize,
    std::ffi::c_int,
) -> std::ffi::c_int;

/// One RSA key, public or private; wiped when dropped.
pub(crate) struct RsaObject(*mut lc::RSA);

// SAFETY: owned by this value alone; what the library changes in it later (constants, blinding) it guards
// with a lock of the object.
unsafe impl Send for RsaObject {}
// SAFETY: as for Send.
unsafe impl Sync for RsaObject {}

/// The parts of a private key in Chinese-remainder form, big-endian.
pub(crate) struct CrtParts<'a> {
    pub(crate) n: &'a [u8],
    pub(crate) e: &'a [u8],
    pub(crate) p: &'a [u8],
    pub(crate) q: &'a [u8],
    pub(crate) dp: &'a [u8],
    pub(crate) dq: &'a [u8],
    pub(crate) qinv: &'a [u8],
}

/// A number of a key, for `RsaObject::part`.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    N,
    E,
    D,
    P,
    Q,
    Dp,
    Dq,
    Qinv,
}

impl RsaObject {
    fn empty() -> RsaObject {
        // SAFETY: takes no arguments; the result is checked.
        let key = unsafe { lc::RSA_new() };
        assert!(!key.is_null(), "no memory for an RSA key");
        // SAFETY: a live key of ours. Exponents up to the modulus are served: the caller bounds the modulus.
        unsafe { lc::RSA_set_flags(key, lc::RSA_FLAG_LARGE_PUBLIC_EXPONENT) };
        RsaObject(key)
    }

    /// None unless the modulus is odd and the exponent is odd, above one and below the modulus.
    pub(crate) fn public(n: &[u8], e: &[u8]) -> Option<RsaObject> {
        let key = RsaObject::empty();
        key.set_key(Bignum::from_bytes(n), Bignum::from_bytes(e), None).then_some(())?;
        key.checked()
    }

    /// A private key by modulus and exponent. `None` for the same reasons as a public key. A `d` that does not belong
    /// to `e` is detected at the first use.
    pub(crate) fn private_me(n: &[u8], e: &[u8], d: &[u8]) -> Option<RsaObject> {
        let key = RsaObject::empty();
        key.set_key(Bignum::from_bytes(n), Bignum::from_bytes(e), Some(Bignum::from_bytes(d)))
            .then_some(())?;
        key.checked()
    }

    /// A private key in Chinese-remainder form. `None` unless all parts are consistent.
    pub(crate) fn private_crt(parts: &CrtParts<'_>) -> Option<RsaObject> {
        let CrtParts { n, e, p, q, dp, dq, qinv } = *parts;
        let Some(exponent) = word(e) else { return RsaObject::private_crt_by_library(parts) };
        let exponents = Exponents::of(n, exponent, p, q).filter(|made| made.are(dp, dq))?;
        RsaObject::private([n, e, p, q], &exponents, qinv)
    }

    /// A private key in Chinese-remainder form from its primes, without the private exponents. `None` unless all parts
    /// are consistent.
    pub(crate) fn private_by_primes(
        n: &[u8],
        e: &[u8],
        p: &[u8],
        q: &[u8],
        qinv: &[u8],
    ) -> Option<RsaObject> {
        let Some(exponent) = word(e) else {
            let scratch = Scratch::new();
            let [exponent, first, second] = [e, p, q].map(Bignum::from_bytes);
            if !are_factors_of(n, &first, &second) {
                return None;
            }
            let inverse = |prime: &Bignum| mod_inverse(&exponent, &minus_one(prime)?, &scratch);
            let exponents = [inverse(&first)?, inverse(&second)?].map(|number| {
                let mut bytes = Bytes::zero(n.len());
                to_bytes(number.0, bytes.as_mut()).then_some(bytes)
            });
            let [Some(dp), Some(dq)] = &exponents else { return None };
            return RsaObject::private_crt_by_library(&CrtParts { n, e, p, q, dp, dq, qinv });
        };
        RsaObject::private([n, e, p, q], &Exponents::of(n, exponent, p, q)?, qinv)
    }

    /// A private key of n, e, p, q and what was made of them, which are consistent.
    fn private(numbers: [&[u8]; 4], exponents: &Exponents, qinv: &[u8]) -> Option<RsaObject> {
        let [.., p, q] = numbers;
        if !is_inverse(qinv, q, p) {
            return None;
        }
        let [n, e, p, q] = numbers.map(Bignum::from_bytes);
        let [d, dp, dq] = [&exponents.d, &exponents.dp, &exponents.dq].map(|bytes| Bignum::from_bytes(bytes));
        let key = RsaObject::empty();
        let set = key.set_key(n, e, Some(d))
            && key.set_factors(p, q)
            && key.set_crt(dp, dq, Some(Bignum::from_bytes(qinv)));
        set.then_some(key)
    }

    /// As [`RsaObject::private_crt`], for any exponent.
    fn private_crt_by_library(parts: &CrtParts<'_>) -> Option<RsaObject> {
        let CrtParts { n, e, p, q, dp, dq, qinv } = *parts;
        let scratch = Scratch::new();
        let [p, q] = [p, q].map(Bignum::from_bytes);
        if !are_factors_of(n, &p, &q) {
            return None;
        }
        let [n, e] = [n, e].map(Bignum::from_bytes);
        let d = mod_inverse(&e, &totient(&p, &q, &scratch)?, &scratch)?;
        let [dp, dq, qinv] = [dp, dq, qinv].map(Bignum::from_bytes);
        let key = RsaObject::empty();
        let set = key.set_key(n, e, Some(d)) && key.set_factors(p, q) && key.set_crt(dp, dq, Some(qinv));
        set.then_some(())?;
        key.checked()
    }

    /// Generates a key in Chinese-remainder form, and tests it with one operation. `None` only if the exponent is even
    /// or one, or the library fails internally. `modulus_bits` must be even and at least 512.
    pub(crate) fn generate(modulus_bits: usize, e: &[u8]) -> Option<RsaObject> {
        let e = Bignum::from_bytes(e);
        // SAFETY: a live number.
        if unsafe { lc::BN_is_odd(e.0) } == 0 || bits(e.0) < 2 {
            return None;
        }
        let is_the_librarys =
            modulus_bits.is_multiple_of(LIBRARY_STEP_BITS) && bits(e.0) <= LIBRARY_EXPONENT_BITS;
        let by_library = if is_the_librarys { generate_by_library(modulus_bits, &e) } else { None };
        // The library gives up after a number of candidates, sometimes when an exponent leaves few primes.
        let key = match by_library {
            Some(key) => key,
            None => generate_any_size(modulus_bits, e)?,
        };
        key.proven()
    }

    /// Returns the key if one operation and the library's check succeed.
    fn proven(self) -> Option<RsaObject> {
        self.tried()?.checked()
    }

    /// Returns the key if one private operation succeeds: the library compares its result under the public exponent
    /// with the input.
    fn tried(self) -> Option<RsaObject> {
        // The first operation also computes the constants (and q^-1 mod p, if it is missing).
        let mut trial = vec![0; self.modulus_bits() / 8];
        super::random::fill(&mut trial);
        trial[0] = 0;
        let mut result = vec![0; trial.len()];
        self.private_transform(&trial, &mut result).then_some(self)
    }

    /// Length of the modulus in bits.
    pub(crate) fn modulus_bits(&self) -> usize {
        bits(self.number(Part::N))
    }

    /// Length of a number of the key in bytes; `None` if the key lacks it.
    pub(crate) fn part_bytes(&self, part: Part) -> Option<usize> {
        let number = self.number(part);
        (!number.is_null()).then(|| bits(number).div_ceil(8))
    }

    /// Length of a number of the key in bits; zero if the key lacks it.
    pub(crate) fn part_bits(&self, part: Part) -> usize {
        bits(self.number(part))
    }

    /// Writes a number of the key big-endian over the whole slice; false if the key lacks it or it does not fit.
    #[must_use]
    pub(crate) fn part(&self, part: Part, out: &mut [u8]) -> bool {
        to_bytes(self.number(part), out)
    }

    /// `input^d mod n`, blinded and verified. False, with zeros in `out`, unless `input` and `out` are as long as the
    /// modulus, 1 < input < n - 1, and the result gives the input under `e`.
    #[must_use]
    pub(crate) fn private_transform(&self, input: &[u8], out: &mut [u8]) -> bool {
        let done = self.transform(lc::RSA_decrypt, input, out);
        if !done {
            crate::low::wipe_bytes(out);
        }
        done
    }

    /// `input^e mod n`. False, with no change, unless `input` and `out` are as long as the modulus and input < n.
    #[must_use]
    pub(crate) fn public_transform(&self, input: &[u8], out: &mut [u8]) -> bool {
        self.transform(lc::RSA_verify_raw, input, out)
    }

    /// Runs an operation without padding; false unless `input` and `out` are as long as the modulus and it succeeds.
    fn transform(&self, operation: RawOperation, input: &[u8], out: &mut [u8]) -> bool {
        let bytes = self.modulus_bits().div_ceil(8);
        if input.len() != bytes || out.len() != bytes {
            return false;
        }
        let mut written = 0;
        // SAFETY: input and output are distinct slices of the modulus' length, given with their lengths; the
        // library locks what it changes in the key.
        let done = unsafe {
            operation(
                self.0,
                &mut written,
                out.as_mut_ptr(),
                out.len(),
                input.as_ptr(),
                input.len(),
                lc::RSA_NO_PADDING,
            )
        };
        if done != 1 {
            clear_errors();
        }
        done == 1 && written == bytes
    }

    fn number(&self, part: Part) -> *const lc::BIGNUM {
        // SAFETY: a live key; the numbers belong to it and are only read, while it lives.
        unsafe {
            match part {
                Part::N => lc::RSA_get0_n(self.0),
                Part::E => lc::RSA_get0_e(self.0),
                Part::D => lc::RSA_get0_d(self.0),
                Part::P => lc::RSA_get0_p(self.0),
                Part::Q => lc::RSA_get0_q(self.0),
                Part::Dp => lc::RSA_get0_dmp1(self.0),
                Part::Dq => lc::RSA_get0_dmq1(self.0),
                Part::Qinv => lc::RSA_get0_iqmp(self.0),
            }
        }
    }

    fn set_key(&self, n: Bignum, e: Bignum, d: Option<Bignum>) -> bool {
        let d_pointer = d.as_ref().map_or(ptr::null_mut(), |d| d.0);
        // SAFETY: live numbers, which the key owns from here on if the call succeeds.
        let set = unsafe { lc::RSA_set0_key(self.0, n.0, e.0, d_pointer) } == 1;
        if set {
            mem::forget((n, e, d));
        }
        set
    }

    fn set_factors(&self, p: Bignum, q: Bignum) -> bool {
        // SAFETY: live numbers, which the key owns from here on if the call succeeds.
        let set = unsafe { lc::RSA_set0_factors(self.0, p.0, q.0) } == 1;
        if set {
            mem::forget((p, q));
        }
        set
    }

    fn set_crt(&self, dp: Bignum, dq: Bignum, qinv: Option<Bignum>) -> bool {
        let qinv = qinv.unwrap_or_else(Bignum::new);
        // SAFETY: live numbers, which the key owns from here on if the call succeeds.
        let set = unsafe { lc::RSA_set0_crt_params(self.0, dp.0, dq.0, qinv.0) } == 1;
        if set {
            mem::forget((dp, dq, qinv));
        }
        set
    }

    fn checked(self) -> Option<RsaObject> {
        // SAFETY: a live key.
        checked(unsafe { lc::RSA_check_key(self.0) } == 1, self)
    }
}

impl Drop for RsaObject {
    fn drop(&mut self) {
        // SAFETY: made by `RSA_new` and owned by this value alone; the library wipes what it frees.
        unsafe { lc::RSA_free(self.0) }
    }
}

/// A big-endian number of at most one word; `None` if it is longer.
fn word(bytes: &[u8]) -> Option<u64> {
    bytes.iter().try_fold(0_u64, |word, byte| (word >> 56 == 0).then_some(word << 8 | u64::from(*byte)))
}

/// Whether two numbers are as long as factors of a modulus may be: inversions of longer ones would take long.
fn are_factors_of(n: &[u8], p: &Bignum, q: &Bignum) -> bool {
    let (p, q) = (bits(p.0), bits(q.0));
    p >= 2 && q >= 2 && p + q <= 8 * n.len() + 1
}

fn totient(p: &Bignum, q: &Bignum, scratch: &Scratch) -> Option<Bignum> {
    product(&minus_one(p)?, &minus_one(q)?, scratch)
}

fn generate_by_library(modulus_bits: usize, e: &Bignum) -> Option<RsaObject> {
    let key = RsaObject::empty();
    let modulus_bits = std::ffi::c_int::try_from(modulus_bits).ok()?;
    // SAFETY: a live empty key and a live exponent; no callback.
    let made = unsafe { lc::RSA_generate_key_ex(key.0, modulus_bits, e.0, ptr::null_mut()) };
    checked(made == 1, key)
}

/// Generates keys of sizes and exponents that the library does not support. Two random primes are drawn as in FIPS
/// 186-5 A.1.3, with their top two bits set, so that the product has its full length. The library tests them.
fn generate_any_size(modulus_bits: usize, e: Bignum) -> Option<RsaObject> {
    let scratch = Scratch::new();
    let prime_bits = modulus_bits / 2;
    let mut e = e;
    loop {
        let p = prime(prime_bits, &e, &scratch)?;
        let q = prime(modulus_bits - prime_bits, &e, &scratch)?;
        match Numbers::of(modulus_bits, p, q, e, &scratch)? {
            Ok(numbers) => return numbers.key(&scratch),
            Err(unused) => e = unused,
        }
    }
}

/// A prime, and the inverse of the public exponent modulo the prime less one.
type WithInverse = (Bignum, Bignum);

/// Makes a key from two primes of one length, in steps of one library function each, and tests it with one operation.
/// Its contents are wiped when dropped.
pub(crate) struct KeyMaking {
    stage: Stage,
    scratch: Scratch,
}

/// The progress of making a key.
enum Stage {
    Primes { p: Bignum, q: Bignum, e: Bignum },
    First { p: WithInverse, q: Bignum, e: Bignum },
    Both { p: WithInverse, q: WithInverse, e: Bignum },
    Numbers(Numbers),
    Made(RsaObject),
    Tried(RsaObject),
    Over,
}

impl KeyMaking {
    /// Starts with two primes; the larger one becomes p.
    pub(crate) fn new(p: &[u8], q: &[u8], e: &[u8]) -> KeyMaking {
        let [p, q, e] = [p, q, e].map(Bignum::from_bytes);
        KeyMaking { stage: Stage::Primes { p, q, e }, scratch: Scratch::new() }
    }

    /// Continues by one step; `None` until the end. Then the key, or `None` in its place if a part is not prime or the
    /// pair is unusable (FIPS 186-5, A.1.3). A pair is unusable if the primes are too close, p - 1 or q - 1 shares a
    /// factor with the exponent, or the private exponent or modulus is too short.
    pub(crate) fn step(&mut self) -> Option<Option<RsaObject>> {
        match mem::replace(&mut self.stage, Stage::Over) {
            Stage::Tried(key) => Some(key.checked()),
            stage => match stage.next(&self.scratch) {
                Some(next) => {
                    self.stage = next;
                    None
                }
                None => Some(None),
            },
        }
    }
}

impl Stage {
    fn next(self, scratch: &Scratch) -> Option<Stage> {
        Some(match self {
            Stage::Primes { p, q, e } => {
                let dp = mod_inverse(&e, &minus_one(&p)?, scratch)?;
                Stage::First { p: (p, dp), q, e }
            }
            Stage::First { p, q, e } => {
                let dq = mod_inverse(&e, &minus_one(&q)?, scratch)?;
                Stage::Both { p, q: (q, dq), e }
            }
            Stage::Both { p, q, e } => {
                let modulus_bits = 2 * bits(p.0.0);
                Stage::Numbers(Numbers::of(modulus_bits, p, q, e, scratch)?.ok()?)
            }
            Stage::Numbers(numbers) => Stage::Made(numbers.key(scratch)?),
            Stage::Made(key) => Stage::Tried(key.tried()?),
            Stage::Tried(_) | Stage::Over => return None,
        })
    }
}

/// The numbers of a key, with p above q, but without q^-1 mod p.
struct Numbers {
    p: WithInverse,
    q: WithInverse,
    n: Bignum,
    e: Bignum,
    d: Bignum,
}

impl Numbers {
    /// The numbers of a key of two primes. If the pair is unusable (too close, or exponent or modulus too short),
    /// returns the public exponent as the error. `None` if the library fails internally.
    fn of(
        modulus_bits: usize,
        mut p: WithInverse,
        mut q: WithInverse,
        e: Bignum,
        scratch: &Scratch,
    ) -> Option<Result<Numbers, Bignum>> {
        let prime_bits = modulus_bits / 2;
        // SAFETY: live numbers.
        if unsafe { lc::BN_cmp(p.0.0, q.0.0) } < 0 {
            mem::swap(&mut p, &mut q);
        }
        let distance = Bignum::new();
        // SAFETY: live numbers; the result is distinct from both.
        let subtracted = unsafe { lc::BN_usub(distance.0, p.0.0, q.0.0) } == 1;
        if !subtracted || bits(distance.0) + PRIME_DISTANCE_BITS <= prime_bits {
            return Some(Err(e));
        }
        let n = product(&p.0, &q.0, scratch)?;
        let d = mod_inverse(&e, &totient(&p.0, &q.0, scratch)?, scratch)?;
        if bits(d.0) <= prime_bits || bits(n.0) != modulus_bits {
            return Some(Err(e));
        }
        Some(Ok(Numbers { p, q, n, e, d }))
    }

    /// Makes the key. `None` if the library fails internally.
    fn key(self, scratch: &Scratch) -> Option<RsaObject> {
        let Numbers { p: (p, dp), q: (q, dq), n, e, d } = self;
        let key = RsaObject::empty();
        let qinv = inverse_mod_prime(&q, &p, scratch)?;
        let set = key.set_key(n, e, Some(d)) && key.set_factors(p, q) && key.set_crt(dp, dq, Some(qinv));
        set.then_some(key)
    }
}

/// A random prime of the given length, and the inverse of `e` modulo the prime less one.
fn prime(prime_bits: usize, e: &Bignum, scratch: &Scratch) -> Option<WithInverse> {
    let length = std::ffi::c_int::try_from(prime_bits).ok()?;
    loop {
        let candidate = Bignum::new();
        let mut is_prime = 0;
        // SAFETY: live objects; no callback. The test is the library's constant-time one.
        let tested = unsafe {
            lc::BN_rand(candidate.0, length, lc::BN_RAND_TOP_TWO, lc::BN_RAND_BOTTOM_ODD) == 1
                && lc::BN_primality_test(
                    &mut is_prime,
                    candidate.0,
                    lc::BN_prime_checks_for_generation,
                    scratch.0,
                    1,
                    ptr::null_mut(),
                ) == 1
        };
        if !tested {
            clear_errors();
            return None;
        }
        if is_prime == 1
            && let Some(inverse) = mod_inverse(e, &minus_one(&candidate)?, scratch)
        {
            return Some((candidate, inverse));
        }
    }
}

/// `value^-1 mod prime` as `value^(prime - 2) mod prime`, in constant time; the library's inverse modulo an odd number
/// is not. `value` must be below the prime.
fn inverse_mod_prime(value: &Bignum, prime: &Bignum, scratch: &Scratch) -> Option<Bignum> {
    let exponent = minus_one(&minus_one(prime)?)?;
    let inverse = Bignum::new();
    // SAFETY: live objects; value < prime, as the function asks. The constants are made for this call, by
    // the function for secret moduli, and freed (and wiped) after it.
    let done = unsafe {
        let constants = lc::BN_MONT_CTX_new_consttime(prime.0, scratch.0);
        if constants.is_null() {
            clear_errors();
            return None;
        }
        let done =
            lc::BN_mod_exp_mont_consttime(inverse.0, value.0, exponent.0, prime.0, scratch.0, constants);
        lc::BN_MONT_CTX_free(constants);
        done
    };
    (done == 1).then_some(inverse)
}

//! RSA of up to eight requests at once: the private operation with its verification, and the public one.
//!
//! ```text
//! by primes (RFC 8017, 5.1.2, 2.b)               by modulus and exponent (2.a)
//!
//! bytes -> m                                     bytes -> m
//! m mod p         m mod q                        s = m^d mod n
//! m_p = ..^dp     m_q = ..^dq
//! h = m_p/q - m_q/q mod p
//! s = h*q + m_q
//! ------------------------------- both -------------------------------
//! v = s^e mod n; a lane is released as bytes only if s < n and v is its input, read once more
//! ```
//!
//! The two powers by primes, for five to eight requests and for up to four:
//!
//! ```text
//! lane        0   1   2   3   4   5   6   7          0   1   2   3 | 4   5   6   7
//! a pass      p0  p1  p2  p3  p4  p5  p6  p7         p0  p1  p2  p3| q0  q1  q2  q3
//! interleaved q0  q1  q2  q3  q4  q5  q6  q7
//! ```
//!
//! - Both powers of a request run side by side, so up to four requests take little more than half the time of eight.
//!   That is why two requests are faster than the library at every length, and a single one if the library has no
//!   vectors for its length.
//! - h is computed from two products by 1/q instead of one by the difference: m_q may be above p (p < q, or primes of
//!   different lengths), which is then no special case. It costs two multiplications of more than a thousand.
//! - Verification (one power by a public exponent) keeps a fault from revealing the key: a result that is correct
//!   modulo only one prime would factor the modulus. It covers every step between the first and the second reading of
//!   the input, and the key's constants. It is computed modulo n, although modulo p and q would take half the time, so
//!   that p and q are verified too.
//! - No blinding: the lanes' powers have no timing to hide, since they run the same instructions on the same addresses
//!   for every base and exponent. It would add an inversion and two multiplications for each request. The library's own
//!   code blinds.
//! - 0, 1 and n - 1 are no special cases here.
//! - All numbers are on the stack: 320 KiB in all for RSA-4096 and 190 KiB for RSA-2048, most of them the tables of
//!   powers (`low::rsa`).
//! - All code here except the kernels takes a twentieth of a pass of RSA-1024 by primes, and a hundredth of one of
//!   RSA-2048. Converting bytes to digits by calls of variable length took a quarter of a public operation: see
//!   `low::rsa`.

use super::lane_keys::{Constants, LaneKey, Number, Shape, prepare};
use crate::low::cpu::Avx512;
use crate::low::rsa::{
    DIGIT_BITS, DIGIT_MASK, DIGITS_MAX, LANES, Moduli, Row, Secret, equal_lanes, load_bytes, multiply, power,
    power_pair, power_public_vartime, reduce, store_bytes, subtract,
};
use std::array;

/// At most this many requests fit one pass with both primes side by side.
const HALF: usize = LANES / 2;

/// Keys of one shape with their constants, one per lane.
pub(super) struct Eight<'a> {
    token: Option<Avx512>,
    shape: Shape,
    /// The request of each lane. Unused lanes repeat the first.
    requests: [usize; LANES],
    /// Whether the two primes of a request are in lanes `HALF` apart.
    side_by_side: bool,
    keys: [&'a LaneKey; LANES],
    constants: [&'a Constants; LANES],
}

impl<'a> Eight<'a> {
    /// Prepares `filled` requests (one to eight); `key` returns the key of each. Computes missing constants. `None` if
    /// the keys differ in shape.
    pub(super) fn new(
        token: Option<Avx512>,
        filled: usize,
        key: impl Fn(usize) -> &'a LaneKey,
    ) -> Option<Eight<'a>> {
        let period = if filled <= HALF { HALF } else { LANES };
        let requests = array::from_fn(|lane| if lane % period < filled { lane % period } else { 0 });
        let keys = requests.map(key);
        let shape = keys[0].shape?;
        if keys.iter().any(|key| key.shape != Some(shape)) {
            return None;
        }
        if keys.iter().any(|key| key.constants.get().is_none()) {
            prepare(token, shape, &keys);
        }
        let mut constants = [keys[0].constants.get()?; LANES];
        for (constants, key) in constants.iter_mut().zip(&keys) {
            *constants = key.constants.get()?;
        }
        let side_by_side = filled <= HALF && matches!(shape, Shape::Crt { .. });
        Some(Eight { token, shape, requests, side_by_side, keys, constants })
    }

    /// The request of each lane.
    pub(super) fn requests(&self) -> [usize; LANES] {
        self.requests
    }

    /// `input^d mod n` in the first lane of each request, verified. Returns, as bits, the lanes whose result may be
    /// released. Results of other lanes, and of unused lanes, must not be released.
    ///
    /// Each input is as long as its modulus and below it.
    pub(super) fn private(&self, inputs: &[&[u8]; LANES], out: &mut EightResults) -> u8 {
        let out = out.rows(self.shape.digits());
        let prime_digits = self.digits(Number::P);
        // Scratch in three sizes: zeroing and wiping scratch for the longest key would slow down the others.
        match out.len().max(2 * prime_digits) {
            0..=20 => self.private_in::<20>(inputs, prime_digits, out),
            21..=40 => self.private_in::<40>(inputs, prime_digits, out),
            _ => self.private_in::<DIGITS_MAX>(inputs, prime_digits, out),
        }
    }

    /// As [`Eight::private`], with scratch of `ROOM` rows for a number.
    fn private_in<const ROOM: usize>(
        &self,
        inputs: &[&[u8]; LANES],
        prime_digits: usize,
        out: &mut [Row],
    ) -> u8 {
        let mut n = Moduli::room(out.len());
        self.load_moduli(Number::N, Number::NRadix, &mut n);
        let mut input = Secret::<ROOM>::zero();
        let input = &mut input.0[..out.len()];
        load_all(inputs, input);
        step(Step::Input, input);
        match self.shape {
            Shape::Crt { .. } => self.power_by_primes::<ROOM>(&n, prime_digits, input, out),
            _ => {
                let mut d = Secret::<ROOM>::zero();
                let d = self.load(Number::D, &mut d);
                power(self.token, &n, input, d, self.exponent_bits(), out);
            }
        }
        step(Step::Result, out);
        let mut back = Secret::<ROOM>::zero();
        let back = &mut back.0[..out.len()];
        self.power_by_e(&n, out, back);
        load_all(inputs, input);
        equal_lanes(back, input) & below(out, n.n())
    }

    /// `input^e mod n` in each lane. Each input is as long as its modulus and below it.
    pub(super) fn public(&self, inputs: &[&[u8]; LANES], out: &mut EightResults) {
        let out = out.rows(self.shape.digits());
        let mut n = Moduli::room(out.len());
        self.load_moduli(Number::N, Number::NRadix, &mut n);
        let mut input = [Row::ZERO; DIGITS_MAX];
        let input = &mut input[..out.len()];
        load_all(inputs, input);
        self.power_by_e(&n, input, out);
    }

    fn power_by_primes<const ROOM: usize>(
        &self,
        n: &Moduli,
        prime_digits: usize,
        input: &[Row],
        out: &mut [Row],
    ) {
        let mut wide = Secret::<ROOM>::zero();
        wide.0[..input.len()].copy_from_slice(input);
        let mut rows = array::from_fn::<_, 5, _>(|_| Secret::<ROOM>::zero());
        let [power_p, power_q, qinv, from_p, from_q] =
            rows.each_mut().map(|rows| &mut rows.0[..prime_digits]);
        let mut q = Secret::<ROOM>::zero();
        self.load_into(Number::Qinv, qinv);
        let powers = [&mut *power_p, &mut *power_q];
        let (wide, q_digits) = (&wide.0[..2 * prime_digits], &mut q.0[..prime_digits]);
        let mut p = Moduli::room(prime_digits);
        if self.side_by_side {
            qinv.iter_mut().for_each(|row| row.0[HALF..].fill(0));
            self.powers_side_by_side::<ROOM>(wide, &mut p, q_digits, powers);
        } else {
            self.powers_interleaved::<ROOM>(wide, &mut p, q_digits, powers);
        }

        multiply(self.token, &p, power_p, qinv, from_p);
        multiply(self.token, &p, power_q, qinv, from_q);
        let mut h = Secret::<ROOM>::zero();
        subtract(&p, from_p, from_q, &mut h.0[..prime_digits]);
        step(Step::Coefficient, &mut h.0[..prime_digits]);
        multiply(self.token, n, &h.0[..out.len()], &q.0[..out.len()], out);
        step(Step::Product, out);
        add(out, power_q);
    }

    /// m_p and m_q of eight requests; also fills in p, and q as digits.
    fn powers_interleaved<const ROOM: usize>(
        &self,
        wide: &[Row],
        p: &mut Moduli,
        q_digits: &mut [Row],
        powers: [&mut [Row]; 2],
    ) {
        let mut q = Moduli::room(q_digits.len());
        self.load_moduli(Number::P, Number::PRadix, p);
        self.load_moduli(Number::Q, Number::QRadix, &mut q);
        let mut rows = array::from_fn::<_, 4, _>(|_| Secret::<ROOM>::zero());
        let [dp, dq, base_p, base_q] = rows.each_mut().map(|rows| &mut rows.0[..q_digits.len()]);
        self.load_into(Number::Dp, dp);
        self.load_into(Number::Dq, dq);
        reduce(self.token, p, wide, base_p);
        reduce(self.token, &q, wide, base_q);
        step(Step::ReducedP, base_p);
        step(Step::ReducedQ, base_q);
        let [power_p, power_q] = powers;
        let bits = self.exponent_bits();
        power_pair(self.token, [p, &q], [base_p, base_q], [dp, dq], bits, [&mut *power_p, &mut *power_q]);
        step(Step::PowerP, power_p);
        step(Step::PowerQ, power_q);
        q_digits.copy_from_slice(q.n());
    }

    /// As [`Eight::powers_interleaved`], for up to four requests, in their first lanes.
    fn powers_side_by_side<const ROOM: usize>(
        &self,
        wide: &[Row],
        primes: &mut Moduli,
        q_digits: &mut [Row],
        powers: [&mut [Row]; 2],
    ) {
        primes.fill(|n_rows, rr_rows| {
            self.load_halves(Number::P, Number::Q, n_rows);
            self.load_halves(Number::PRadix, Number::QRadix, rr_rows);
        });
        let mut rows = array::from_fn::<_, 2, _>(|_| Secret::<ROOM>::zero());
        let [exponent, base] = rows.each_mut().map(|rows| &mut rows.0[..q_digits.len()]);
        self.load_halves(Number::Dp, Number::Dq, exponent);
        reduce(self.token, primes, wide, base);
        step(Step::ReducedP, base);
        let [power_p, power_q] = powers;
        power(self.token, primes, base, exponent, self.exponent_bits(), power_p);
        step(Step::PowerP, power_p);
        swap_halves(power_p, power_q);
        swap_halves(primes.n(), q_digits);
    }

    /// base^e mod n. The time depends on the lengths of the exponents, which are public.
    fn power_by_e(&self, n: &Moduli, base: &[Row], out: &mut [Row]) {
        let mut exponents = [0; LANES];
        for (exponent, key) in exponents.iter_mut().zip(&self.keys) {
            match key.short_e {
                Some(e) => *exponent = e,
                None => return self.power_by_long_e(n, base, out),
            }
        }
        power_public_vartime(self.token, n, base, &exponents, out);
    }

    #[cold]
    fn power_by_long_e(&self, n: &Moduli, base: &[Row], out: &mut [Row]) {
        let mut exponents = [Row::ZERO; DIGITS_MAX];
        let exponents = &mut exponents[..base.len()];
        load_all(&self.keys.map(|key| &*key.e), exponents);
        let bits = self.keys.iter().map(|key| 8 * key.e.len()).fold(0, usize::max);
        // Whole bytes may exceed the digits; the exponents, each below its modulus, do not.
        power(self.token, n, base, exponents, bits.min(DIGIT_BITS * base.len()), out);
    }

    /// The length in bits of the longest private exponent.
    fn exponent_bits(&self) -> usize {
        self.keys.iter().map(|key| key.exponent_bits).fold(0, usize::max)
    }

    fn load_moduli(&self, n: Number, rr: Number, moduli: &mut Moduli) {
        moduli.fill(|n_rows, rr_rows| {
            self.load_into(n, n_rows);
            self.load_into(rr, rr_rows);
        });
    }

    fn digits(&self, number: Number) -> usize {
        self.shape.place(number).map_or(0, |(_, digits)| digits)
    }

    fn load<'r, const ROOM: usize>(&self, number: Number, rows: &'r mut Secret<ROOM>) -> &'r [Row] {
        let rows = &mut rows.0[..self.digits(number)];
        self.load_into(number, rows);
        rows
    }

    fn load_into(&self, number: Number, rows: &mut [Row]) {
        for (lane, constants) in self.constants.iter().enumerate() {
            constants.give(number, rows, lane);
        }
        step(Step::Constant(number as usize), rows);
    }

    fn load_halves(&self, first: Number, second: Number, rows: &mut [Row]) {
        for (lane, constants) in self.constants.iter().enumerate() {
            constants.give(if lane < HALF { first } else { second }, rows, lane);
        }
        step(Step::Constant(first as usize), rows);
    }
}

/// Results of eight lanes; wiped when dropped.
pub(super) struct EightResults {
    rows: Secret<DIGITS_MAX>,
    digits: usize,
}

impl EightResults {
    pub(super) fn new() -> EightResults {
        EightResults { rows: Secret::zero(), digits: 0 }
    }

    fn rows(&mut self, digits: usize) -> &mut [Row] {
        self.digits = digits;
        &mut self.rows.0[..digits]
    }

    /// Writes the result of a lane as big-endian bytes; false if it does not fit.
    #[must_use]
    pub(super) fn store(&self, lane: usize, bytes: &mut [u8]) -> bool {
        store_bytes(&self.rows.0[..self.digits], lane, bytes)
    }
}

fn load_all(numbers: &[&[u8]; LANES], rows: &mut [Row]) {
    for (lane, number) in numbers.iter().enumerate() {
        load_bytes(rows, lane, number);
    }
}

/// Exchanges each lane with the one `HALF` lanes away.
fn swap_halves(from: &[Row], to: &mut [Row]) {
    for (from, to) in from.iter().zip(to) {
        *to = *from;
        to.0.rotate_left(HALF);
    }
}

/// `sum += number`; the sum must fit. Carries are added without a branch.
fn add(sum: &mut [Row], number: &[Row]) {
    let mut carry = [0u64; LANES];
    let zeros = std::iter::repeat(&Row::ZERO);
    for (sum, number) in sum.iter_mut().zip(number.iter().chain(zeros)) {
        for ((sum, number), carry) in sum.0.iter_mut().zip(&number.0).zip(&mut carry) {
            let digit = sum.wrapping_add(*number).wrapping_add(*carry);
            *sum = digit & DIGIT_MASK;
            *carry = digit >> DIGIT_BITS;
        }
    }
}

/// The lanes, as bits, in which `a` is below `b`, without a branch.
fn below(a: &[Row], b: &[Row]) -> u8 {
    let mut borrow = [0u64; LANES];
    for (a, b) in a.iter().zip(b) {
        for ((a, b), borrow) in a.0.iter().zip(&b.0).zip(&mut borrow) {
            *borrow = a.wrapping_sub(*b).wrapping_sub(*borrow) >> 63;
        }
    }
    borrow.iter().rev().fold(0, |bits, borrow| bits << 1 | *borrow as u8)
}

/// A place in the computation that a test may disturb.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// A number of the keys, by its index in [`Number`].
    Constant(usize),
    Input,
    ReducedP,
    ReducedQ,
    PowerP,
    PowerQ,
    /// h of the Chinese-remainder recombination.
    Coefficient,
    /// h*q
    Product,
    Result,
}

/// Does nothing outside this crate's own tests.
#[cfg(not(test))]
#[inline(always)]
fn step(_: Step, _: &mut [Row]) {}

#[cfg(test)]
use tests::step;

#[cfg(test)]
mod tests;

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
//! v = s^e mod n; a lane leaves as bytes only if s < n and v is its input, read once more
//! ```
//!
//! The two powers by primes, of five to eight requests and of up to four:
//!
//! ```text
//! lane        0   1   2   3   4   5   6   7          0   1   2   3 | 4   5   6   7
//! a pass      p0  p1  p2  p3  p4  p5  p6  p7         p0  p1  p2  p3| q0  q1  q2  q3
//! interleaved q0  q1  q2  q3  q4  q5  q6  q7
//! ```
//!
//! - Both powers of a request side by side: up to four requests take little more than half the time of
//!   eight. It is why two requests beat the library at every length, and one where the library has no
//!   vectors of its own.
//! - h is made of two products by 1/q instead of one by the difference: m_q may be above p (p < q, or
//!   primes of unlike lengths), and so needs no case of its own. It costs two multiplications of more than
//!   a thousand.
//! - Verification (one power by a public exponent) is what keeps a fault from giving the key away: a result
//!   right modulo one prime alone would factor the modulus. It covers every step between the first and the
//!   second reading of the input, and the key's constants. It is done modulo n, not modulo p and q, which
//!   would take half of it, so that p and q are verified with the rest.
//! - No blinding: it hides from a timing what the lanes' powers never show, since they run the same
//!   instructions on the same addresses whatever base and exponent. It would add an inversion and two
//!   multiplications for each request. The library's own path blinds.
//! - 0, 1 and n - 1 need no case of their own here.
//! - Everything here but the kernels takes a twentieth of a pass of RSA-1024 by primes, and a hundredth of
//!   one of RSA-2048. Converting bytes to digits over calls of variable length was a quarter of a public
//!   operation: see `low::rsa`.

use std::array;

use super::rsa_lane_keys::{Constants, LaneKey, Number, Shape, prepare};
use crate::low::cpu::Avx512;
use crate::low::rsa::{
    DIGIT_BITS, DIGIT_MASK, DIGITS_MAX, LANES, Moduli, Row, Secret, equal_lanes, load_bytes, multiply, power,
    power_pair, power_public_vartime, reduce, store_bytes, subtract,
};

/// Requests of one pass that fit side by side with both their primes.
const HALF: usize = LANES / 2;

/// Keys of one shape with their constants, one a lane.
pub(super) struct Eight<'a> {
    token: Option<Avx512>,
    shape: Shape,
    /// Which request each lane is for. Lanes left over repeat one.
    requests: [usize; LANES],
    /// Both primes of a request stand in lanes `HALF` apart.
    side_by_side: bool,
    keys: [&'a LaneKey; LANES],
    constants: [&'a Constants; LANES],
}

impl<'a> Eight<'a> {
    /// For so many requests (one to eight), given the key of each. Makes the constants that are missing.
    /// None if the keys are not of one shape.
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

    /// Which request each lane is for.
    pub(super) fn requests(&self) -> [usize; LANES] {
        self.requests
    }

    /// `input^d mod n` in the first lane of each request, verified. Returns the lanes, as bits, whose result
    /// may be released; what the others hold, and what lanes left over hold, must not be.
    ///
    /// Each input is as long as its modulus and below it.
    pub(super) fn private(&self, inputs: &[&[u8]; LANES], out: &mut EightResults) -> u8 {
        let out = out.rows(self.shape.digits());
        let prime_digits = self.digits(Number::P);
        // Rooms of three sizes: to zero and to wipe one for the longest key would show in the time of others.
        match out.len().max(2 * prime_digits) {
            0..=20 => self.private_in::<20>(inputs, prime_digits, out),
            21..=40 => self.private_in::<40>(inputs, prime_digits, out),
            _ => self.private_in::<DIGITS_MAX>(inputs, prime_digits, out),
        }
    }

    /// With scratch of so many rows for a number.
    fn private_in<const ROOM: usize>(
        &self,
        inputs: &[&[u8]; LANES],
        prime_digits: usize,
        out: &mut [Row],
    ) -> u8 {
        let n = self.moduli(Number::N, Number::NRadix);
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
        let n = self.moduli(Number::N, Number::NRadix);
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
        let p = if self.side_by_side {
            qinv.iter_mut().for_each(|row| row.0[HALF..].fill(0));
            self.powers_side_by_side::<ROOM>(&wide.0[..2 * prime_digits], &mut q.0[..prime_digits], powers)
        } else {
            self.powers_interleaved::<ROOM>(&wide.0[..2 * prime_digits], &mut q.0[..prime_digits], powers)
        };

        multiply(self.token, &p, power_p, qinv, from_p);
        multiply(self.token, &p, power_q, qinv, from_q);
        let mut h = Secret::<ROOM>::zero();
        subtract(&p, from_p, from_q, &mut h.0[..prime_digits]);
        step(Step::Coefficient, &mut h.0[..prime_digits]);
        multiply(self.token, n, &h.0[..out.len()], &q.0[..out.len()], out);
        step(Step::Product, out);
        add(out, power_q);
    }

    /// m_p and m_q of eight requests; also gives p, and q as digits.
    fn powers_interleaved<const ROOM: usize>(
        &self,
        wide: &[Row],
        q_digits: &mut [Row],
        powers: [&mut [Row]; 2],
    ) -> Moduli {
        let p = self.moduli(Number::P, Number::PRadix);
        let q = self.moduli(Number::Q, Number::QRadix);
        let mut rows = array::from_fn::<_, 4, _>(|_| Secret::<ROOM>::zero());
        let [dp, dq, base_p, base_q] = rows.each_mut().map(|rows| &mut rows.0[..q_digits.len()]);
        self.load_into(Number::Dp, dp);
        self.load_into(Number::Dq, dq);
        reduce(self.token, &p, wide, base_p);
        reduce(self.token, &q, wide, base_q);
        step(Step::ReducedP, base_p);
        step(Step::ReducedQ, base_q);
        let [power_p, power_q] = powers;
        let bits = self.exponent_bits();
        power_pair(self.token, [&p, &q], [base_p, base_q], [dp, dq], bits, [&mut *power_p, &mut *power_q]);
        step(Step::PowerP, power_p);
        step(Step::PowerQ, power_q);
        q_digits.copy_from_slice(q.n());
        p
    }

    /// As [`Eight::powers_interleaved`], of up to four requests and in their first lanes.
    fn powers_side_by_side<const ROOM: usize>(
        &self,
        wide: &[Row],
        q_digits: &mut [Row],
        powers: [&mut [Row]; 2],
    ) -> Moduli {
        let primes = Moduli::fill(q_digits.len(), |n_rows, rr_rows| {
            self.load_halves(Number::P, Number::Q, n_rows);
            self.load_halves(Number::PRadix, Number::QRadix, rr_rows);
        });
        let mut rows = array::from_fn::<_, 2, _>(|_| Secret::<ROOM>::zero());
        let [exponent, base] = rows.each_mut().map(|rows| &mut rows.0[..q_digits.len()]);
        self.load_halves(Number::Dp, Number::Dq, exponent);
        reduce(self.token, &primes, wide, base);
        step(Step::ReducedP, base);
        let [power_p, power_q] = powers;
        power(self.token, &primes, base, exponent, self.exponent_bits(), power_p);
        step(Step::PowerP, power_p);
        swap_halves(power_p, power_q);
        swap_halves(primes.n(), q_digits);
        primes
    }

    /// base^e mod n. The exponents are public: how long they are shows in the time.
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
        // Whole bytes may reach beyond the digits, the exponents, each below its modulus, do not.
        power(self.token, n, base, exponents, bits.min(DIGIT_BITS * base.len()), out);
    }

    /// The longest private exponent's.
    fn exponent_bits(&self) -> usize {
        self.keys.iter().map(|key| key.exponent_bits).fold(0, usize::max)
    }

    fn moduli(&self, n: Number, rr: Number) -> Moduli {
        Moduli::fill(self.digits(n), |n_rows, rr_rows| {
            self.load_into(n, n_rows);
            self.load_into(rr, rr_rows);
        })
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

    /// Writes one lane's as big-endian bytes; false if it does not fit.
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

/// Each lane trades places with the one `HALF` beside it.
fn swap_halves(from: &[Row], to: &mut [Row]) {
    for (from, to) in from.iter().zip(to) {
        *to = *from;
        to.0.rotate_left(HALF);
    }
}

/// `sum += number`, which must fit; carries run on without a branch.
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

/// Where a test may disturb the computation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// A number of the keys, in lanes.
    Constant(usize),
    Input,
    ReducedP,
    ReducedQ,
    PowerP,
    PowerQ,
    /// h of the recombination.
    Coefficient,
    /// h*q
    Product,
    Result,
}

/// Nothing, except in this crate's own tests.
#[cfg(not(test))]
#[inline(always)]
fn step(_: Step, _: &mut [Row]) {}

#[cfg(test)]
use tests::step;

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::low::cpu::Cpu;
    use crate::*;

    /// One bit of one lane to be turned over, once.
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
            rows[fault.row % rows.len()].0[fault.lane] ^= 1 << fault.bit;
            FAULT.set(None);
        }
    }

    const STEPS_OF_BOTH: [Step; 4] = [
        Step::Constant(Number::N as usize),
        Step::Constant(Number::NRadix as usize),
        Step::Input,
        Step::Result,
    ];
    const STEPS_BY_PRIMES: [Step; 13] = [
        Step::Constant(Number::P as usize),
        Step::Constant(Number::PRadix as usize),
        Step::Constant(Number::Q as usize),
        Step::Constant(Number::QRadix as usize),
        Step::Constant(Number::Dp as usize),
        Step::Constant(Number::Dq as usize),
        Step::Constant(Number::Qinv as usize),
        Step::ReducedP,
        Step::ReducedQ,
        Step::PowerP,
        Step::PowerQ,
        Step::Coefficient,
        Step::Product,
    ];

    fn keys(bits: usize, form: RsaForm) -> Vec<RsaPrivateKey> {
        let key = |_| {
            let key = RsaPrivateKey::generate(bits, &[1, 0, 1]).unwrap();
            match form {
                RsaForm::Crt => key,
                RsaForm::ModulusExponent => RsaPrivateKey::from_me(&key.n(), &key.e(), &key.d()).unwrap(),
            }
        };
        (0..LANES).map(key).collect()
    }

    fn inputs(bytes: usize) -> Vec<Vec<u8>> {
        (0..LANES as u8).map(|lane| [vec![0], vec![0x70 + lane; bytes - 1]].concat()).collect()
    }

    fn run(token: Option<Avx512>, keys: &[RsaPrivateKey], inputs: &[Vec<u8>]) -> (u8, Vec<Vec<u8>>) {
        let eight = Eight::new(token, keys.len(), |request| &keys[request].key).unwrap();
        let mut results = EightResults::new();
        let verified =
            eight.private(&eight.requests().map(|request| inputs[request].as_slice()), &mut results);
        let stored = |lane: usize| {
            let mut out = vec![0; inputs[lane].len()];
            let _ = results.store(lane, &mut out);
            out
        };
        let requests = u8::MAX >> (LANES - keys.len());
        (verified & requests, (0..keys.len()).map(stored).collect())
    }

    /// A bit turned over anywhere, in any lane, keeps that lane's result from being released, and no other.
    /// With `CRYPTAND_TEST_ALL=1` every bit, otherwise one of each digit.
    #[test]
    fn a_flipped_bit_is_caught() {
        let token = Cpu::up_to_avx512().avx512;
        let all = std::env::var("CRYPTAND_TEST_ALL").is_ok_and(|value| value == "1");
        for (bits, form, requests) in [
            (512, RsaForm::Crt, LANES),
            (776, RsaForm::Crt, LANES),
            (1024, RsaForm::Crt, LANES),
            (512, RsaForm::Crt, HALF),
            (1024, RsaForm::Crt, HALF),
            (512, RsaForm::ModulusExponent, LANES),
        ] {
            let (mut keys, inputs) = (keys(bits, form), inputs(bits / 8));
            keys.truncate(requests);
            let good = run(token, &keys, &inputs);
            assert_eq!(good.0, u8::MAX >> (LANES - requests));
            let mut count = 0;
            for (step, rows) in steps(bits, form, requests) {
                // Both primes side by side are a request's two halves, in two lanes.
                let lanes = if requests == HALF && is_of_both_primes(step) { LANES } else { requests };
                for at in 0..rows * lanes * DIGIT_BITS {
                    let (row, lane, bit) =
                        (at / DIGIT_BITS / lanes, at / DIGIT_BITS % lanes, at % DIGIT_BITS);
                    let chosen =
                        (row * 5 + count) % lanes == lane && (row * 23 + count * 7) % DIGIT_BITS == bit;
                    if (all && token.is_some()) || (chosen && (token.is_some() || count.is_multiple_of(8))) {
                        check_fault(token, &keys, &inputs, &good, Fault { step, row, lane, bit });
                    }
                    count += usize::from(chosen);
                }
            }
        }
    }

    fn check_fault(
        token: Option<Avx512>,
        keys: &[RsaPrivateKey],
        inputs: &[Vec<u8>],
        good: &(u8, Vec<Vec<u8>>),
        fault: Fault,
    ) {
        FAULT.set(Some(fault));
        let (verified, results) = run(token, keys, inputs);
        assert!(FAULT.take().is_none(), "{fault:?} did not come to pass");
        let (bits, form, hit) = (keys[0].bits(), keys[0].form(), fault.lane % keys.len());
        assert_eq!(verified, good.0 & !(1 << hit), "{bits} bits, {form:?}: {fault:?}");
        for other in (0..keys.len()).filter(|other| *other != hit) {
            assert_eq!(results[other], good.1[other], "{bits} bits, {form:?}: {fault:?}");
        }
    }

    /// The steps of an operation, each with the digits that its numbers fill.
    fn steps(bits: usize, form: RsaForm, requests: usize) -> Vec<(Step, usize)> {
        let private: &[Step] = match form {
            RsaForm::Crt => &STEPS_BY_PRIMES,
            RsaForm::ModulusExponent => &[Step::Constant(Number::D as usize)],
        };
        let digits = |step: Step| match step {
            Step::Input | Step::Result | Step::Product => bits / DIGIT_BITS,
            Step::Constant(number) if number <= Number::D as usize => bits / DIGIT_BITS,
            _ => bits / 2 / DIGIT_BITS,
        };
        let steps = STEPS_OF_BOTH.iter().chain(private).copied();
        steps
            .filter(|step| requests > HALF || !is_of_second_prime(*step))
            .map(|step| (step, digits(step)))
            .collect()
    }

    fn is_of_both_primes(step: Step) -> bool {
        let first = [Number::P, Number::PRadix, Number::Dp];
        matches!(step, Step::Input | Step::ReducedP | Step::PowerP)
            || first.iter().any(|number| step == Step::Constant(*number as usize))
    }

    fn is_of_second_prime(step: Step) -> bool {
        let second = [Number::Q, Number::QRadix, Number::Dq];
        matches!(step, Step::ReducedQ | Step::PowerQ)
            || second.iter().any(|number| step == Step::Constant(*number as usize))
    }

    /// The item of the lane is an error and holds zeros; the others have their results.
    #[test]
    fn what_is_caught_is_not_released() {
        let engine = Engine::new(Options { weak_algorithms: true, ..Options::default() }).unwrap();
        let (keys, inputs) = (keys(512, RsaForm::Crt), inputs(64));
        let mut outputs = vec![vec![0xee; 64]; LANES];
        for lane in 0..LANES {
            FAULT.set(Some(Fault { step: Step::PowerQ, row: lane, lane, bit: 9 }));
            let mut items: Vec<_> = keys
                .iter()
                .zip(&inputs)
                .zip(&mut outputs)
                .map(|((key, input), output)| RsaPrivateItem::new(key, input, output))
                .collect();
            engine.rsa_private_batch(&mut items);
            let in_lanes = FAULT.take().is_none();
            assert_eq!(in_lanes, engine.level() == Level::Avx512);
            for (at, item) in items.iter().enumerate() {
                if in_lanes && at == lane {
                    assert_eq!(item.result, Err(RsaError::Verification));
                    assert_eq!(&*item.output, [0; 64]);
                } else {
                    assert_eq!(item.result, Ok(()));
                    assert_ne!(&*item.output, [0; 64]);
                }
            }
        }
    }

    /// The plain twins and the kernels, and the constants made by either, give the same results.
    #[test]
    fn levels_agree() {
        for token in [None, Cpu::up_to_avx512().avx512] {
            for (bits, form) in [(512, RsaForm::Crt), (520, RsaForm::ModulusExponent), (776, RsaForm::Crt)] {
                let (keys, inputs) = (keys(bits, form), inputs(bits / 8));
                let (verified, results) = run(token, &keys, &inputs);
                assert_eq!(verified, u8::MAX, "{bits} bits, {form:?}");
                assert_eq!(run(None, &keys, &inputs), (verified, results.clone()));
                for fill in 1..LANES {
                    let (verified, part) = run(token, &keys[..fill], &inputs);
                    assert_eq!(verified, u8::MAX >> (LANES - fill), "{fill} of {bits} bits, {form:?}");
                    assert_eq!(part, results[..fill]);
                }
                for (lane, key) in keys.iter().enumerate() {
                    let mut alone = vec![0; bits / 8];
                    assert!(key.key.object.private_transform(&inputs[lane], &mut alone));
                    assert_eq!(results[lane], alone);
                }
                let publics: Vec<_> = keys.iter().map(|key| key.public_key().unwrap()).collect();
                let eight = Eight::new(token, publics.len(), |request| &publics[request].0).unwrap();
                let mut back = EightResults::new();
                eight.public(&eight.requests().map(|request| results[request].as_slice()), &mut back);
                for (lane, input) in inputs.iter().enumerate() {
                    let mut out = vec![0; bits / 8];
                    assert!(back.store(lane, &mut out));
                    assert_eq!(out, *input);
                }
            }
        }
    }

    #[test]
    fn numbers_are_added_and_compared_in_each_lane() {
        let top = DIGIT_MASK;
        let mut sum = [Row([top, 0, top, 5, 0, 1, top, top]), Row([top - 1, 0, 7, 0, 1, 0, 0, 0]), Row::ZERO];
        let number = [Row([1, 0, top, 6, top, 1, 0, 1])];
        let before = sum;
        add(&mut sum, &number);
        assert_eq!(sum[0].0, [0, 0, top - 1, 11, top, 2, top, 0]);
        assert_eq!(sum[1].0, [top, 0, 8, 0, 1, 0, 0, 1]);
        assert_eq!(sum[2], Row::ZERO);
        assert_eq!(below(&before, &sum), 0b1011_1101);
        assert_eq!(below(&sum, &before), 0);
        assert_eq!(below(&sum, &sum), 0);
    }

    #[test]
    fn keys_of_different_shape_make_no_eight() {
        let (first, second) = (keys(512, RsaForm::Crt), keys(512, RsaForm::ModulusExponent));
        let mixed = |request: usize| if request == 7 { &second[0].key } else { &first[request].key };
        assert!(Eight::new(None, 8, mixed).is_none());
        assert!(Eight::new(None, 7, mixed).is_some());
    }
}

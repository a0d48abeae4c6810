//! The plain twin of the kernels: lane by lane and digit by digit, to be read and for tests to compare.
//!
//! Every product is a schoolbook product followed by a Montgomery reduction (Menezes, van Oorschot, Vanstone: Handbook
//! of Applied Cryptography, 14.32) and a full subtraction, so a number is always below its modulus. Powers are
//! square-and-multiply with a masked choice. Loops and masks do not depend on secrets here either.

use super::{DIGIT_BITS, DIGIT_MASK, DIGITS_MAX, LANES, Moduli, Row};

/// The digits of one lane, wiped when dropped.
struct Number([u64; 2 * DIGITS_MAX + 1]);

impl Drop for Number {
    fn drop(&mut self) {
        // SAFETY: plain numbers; all bytes zero is one.
        unsafe { crate::low::wipe(&mut self.0) }
    }
}

impl Number {
    fn zero() -> Number {
        Number([0; 2 * DIGITS_MAX + 1])
    }

    fn of(rows: &[Row], lane: usize) -> Number {
        let mut number = Number::zero();
        for (digit, row) in number.0.iter_mut().zip(rows) {
            *digit = row.0[lane];
        }
        number
    }

    fn put(&self, rows: &mut [Row], lane: usize) {
        for (digit, row) in self.0.iter().zip(rows) {
            row.0[lane] = *digit;
        }
    }

    /// The bit number `bit` of the number.
    fn bit(&self, bit: usize) -> u64 {
        self.0[bit / DIGIT_BITS] >> (bit % DIGIT_BITS) & 1
    }

    /// `self` if the bit is 0, `other` if it is 1.
    fn choose(&self, other: &Number, bit: u64) -> Number {
        let mut chosen = Number::zero();
        for (i, digit) in chosen.0.iter_mut().enumerate() {
            *digit = self.0[i] ^ (self.0[i] ^ other.0[i]) & bit.wrapping_neg();
        }
        chosen
    }
}

/// One lane's modulus with its constants.
struct Modulus {
    digits: usize,
    n: Number,
    rr: Number,
    k0: u64,
}

impl Modulus {
    fn of(m: &Moduli, lane: usize) -> Modulus {
        Modulus {
            digits: m.digits,
            n: Number::of(m.n(), lane),
            rr: Number::of(m.rr(), lane),
            k0: m.k0.0[lane],
        }
    }

    /// a - n if that is not negative, else a; a is below 2n.
    fn subtract_once(&self, a: &Number) -> Number {
        let (difference, borrow) = difference(a, &self.n, self.digits + 1);
        difference.choose(a, borrow)
    }

    /// wide / R mod n, of a number below n * R.
    fn montgomery_reduce(&self, wide: &Number) -> Number {
        let k = self.digits;
        let mut t = Number(wide.0);
        for i in 0..k {
            let quotient = t.0[i].wrapping_mul(self.k0) & DIGIT_MASK;
            let mut carry = 0;
            for j in 0..=2 * k - i {
                let n = if j < k { self.n.0[j] } else { 0 };
                let sum = u128::from(quotient) * u128::from(n) + u128::from(t.0[i + j]) + carry;
                t.0[i + j] = sum as u64 & DIGIT_MASK;
                carry = sum >> DIGIT_BITS;
            }
        }
        let mut high = Number::zero();
        high.0[..=k].copy_from_slice(&t.0[k..=2 * k]);
        self.subtract_once(&high)
    }

    /// a * b / R mod n, where a * b is below n * R.
    fn montgomery(&self, a: &Number, b: &Number) -> Number {
        self.montgomery_reduce(&product(a, b, self.digits))
    }

    /// base^exponent mod n.
    fn power(&self, base: &Number, exponent: &Number, bits: usize) -> Number {
        let base = self.montgomery(base, &self.rr);
        let mut one = Number::zero();
        one.0[0] = 1;
        let mut result = self.montgomery(&one, &self.rr);
        for bit in (0..bits).rev() {
            result = self.montgomery(&result, &result);
            let multiplied = self.montgomery(&result, &base);
            result = result.choose(&multiplied, exponent.bit(bit));
        }
        self.montgomery(&result, &one)
    }

    /// wide mod n, of a number below n * R.
    fn reduce(&self, wide: &Number) -> Number {
        self.montgomery(&self.montgomery_reduce(wide), &self.rr)
    }
}

/// a * b of `digits` digits each, schoolbook.
fn product(a: &Number, b: &Number, digits: usize) -> Number {
    let mut product = Number::zero();
    for i in 0..digits {
        let mut carry = 0;
        for j in 0..digits {
            let sum = u128::from(a.0[i]) * u128::from(b.0[j]) + u128::from(product.0[i + j]) + carry;
            product.0[i + j] = sum as u64 & DIGIT_MASK;
            carry = sum >> DIGIT_BITS;
        }
        product.0[i + digits] = carry as u64;
    }
    product
}

/// a - b modulo 2^(52 * digits), and whether it borrowed.
fn difference(a: &Number, b: &Number, digits: usize) -> (Number, u64) {
    let mut result = Number::zero();
    let mut borrow = 0;
    for i in 0..digits {
        let digit = a.0[i].wrapping_sub(b.0[i]).wrapping_sub(borrow);
        result.0[i] = digit & DIGIT_MASK;
        borrow = digit >> 63;
    }
    (result, borrow)
}

/// a + b, not reduced.
fn sum(a: &Number, b: &Number, digits: usize) -> Number {
    let mut result = Number::zero();
    let mut carry = 0;
    for i in 0..digits {
        let digit = a.0[i] + b.0[i] + carry;
        result.0[i] = digit & DIGIT_MASK;
        carry = digit >> DIGIT_BITS;
    }
    result
}

/// See [`super::power`].
pub(super) fn power(m: &Moduli, base: &[Row], exponent: &[Row], exponent_bits: usize, out: &mut [Row]) {
    for lane in 0..LANES {
        let (base, exponent) = (Number::of(base, lane), Number::of(exponent, lane));
        Modulus::of(m, lane).power(&base, &exponent, exponent_bits).put(out, lane);
    }
}

/// See [`super::power_pair`].
pub(super) fn power_pair(
    m: [&Moduli; 2],
    base: [&[Row]; 2],
    exponent: [&[Row]; 2],
    exponent_bits: usize,
    out: [&mut [Row]; 2],
) {
    for (at, out) in out.into_iter().enumerate() {
        power(m[at], base[at], exponent[at], exponent_bits, out);
    }
}

/// See [`super::power_public_vartime`].
pub(super) fn power_public_vartime(m: &Moduli, base: &[Row], exponents: &[u64; LANES], out: &mut [Row]) {
    let low = Row(exponents.map(|exponent| exponent & DIGIT_MASK));
    let high = Row(exponents.map(|exponent| exponent >> DIGIT_BITS));
    power(m, base, &[low, high], 64, out)
}

/// See [`super::multiply`].
pub(super) fn multiply(m: &Moduli, a: &[Row], b: &[Row], out: &mut [Row]) {
    for lane in 0..LANES {
        let product = product(&Number::of(a, lane), &Number::of(b, lane), m.digits);
        Modulus::of(m, lane).reduce(&product).put(out, lane);
    }
}

/// See [`super::reduce`].
pub(super) fn reduce(m: &Moduli, wide: &[Row], out: &mut [Row]) {
    for lane in 0..LANES {
        Modulus::of(m, lane).reduce(&Number::of(wide, lane)).put(out, lane);
    }
}

/// See [`super::subtract`]. Works row by row, since the kernels' callers use it too.
pub(super) fn subtract(m: &Moduli, a: &[Row], b: &[Row], out: &mut [Row]) {
    let mut borrow = [0u64; LANES];
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        for (((out, a), b), borrow) in out.0.iter_mut().zip(&a.0).zip(&b.0).zip(&mut borrow) {
            let digit = a.wrapping_sub(*b).wrapping_sub(*borrow);
            *out = digit & DIGIT_MASK;
            *borrow = digit >> 63;
        }
    }
    let where_borrowed = borrow.map(u64::wrapping_neg);
    let mut carry = [0u64; LANES];
    for (out, n) in out.iter_mut().zip(m.n()) {
        for (((out, n), mask), carry) in out.0.iter_mut().zip(&n.0).zip(&where_borrowed).zip(&mut carry) {
            let digit = out.wrapping_add(n & mask).wrapping_add(*carry);
            *out = digit & DIGIT_MASK;
            *carry = digit >> DIGIT_BITS;
        }
    }
}

/// R^2 mod n with R = 2^(52 * digits): 1 doubled 104 * digits times.
pub(super) fn radix_square(m: &Moduli, out: &mut [Row]) {
    for lane in 0..LANES {
        let modulus = Modulus::of(m, lane);
        let mut number = Number::zero();
        number.0[0] = 1;
        for _ in 0..2 * DIGIT_BITS * m.digits {
            number = modulus.subtract_once(&sum(&number, &number, m.digits + 1));
        }
        number.put(out, lane);
    }
}

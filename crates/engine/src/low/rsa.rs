//! Modular exponentiation of eight numbers at once, for RSA and for prime search.
//!
//! A number of eight lanes is a slice of [`Row`]s of 52-bit digits, least significant first: row `i` holds
//! digit `i` of eight unrelated numbers. Digits are counted in blocks of [`BLOCK`], the unit of the kernels'
//! loops; [`digits_for`] gives the count for a modulus.
//!
//! ```text
//!            lane 0    lane 1   ...   lane 7
//! row 0      digit 0   digit 0        digit 0      bits  0 ..  51 of each number
//! row 1      digit 1   digit 1        digit 1      bits 52 .. 103
//! ...
//! ```
//!
//! Every lane has a modulus of its own. All lanes are always computed: a caller with fewer than eight
//! numbers fills the others with copies.
//!
//! Each function takes the token of its kernel, and runs the plain twin without one. Every input is a proper number
//! (digits below 2^52) of the stated length; results are fully reduced. Only the number of digits, the lengths in bits
//! and values named public affect branches or addresses.

#[cfg(not(target_arch = "x86_64"))]
use crate::low::absent::rsa::ifma_power;
use crate::low::cpu::Avx512;

mod bytes;
#[cfg(target_arch = "x86_64")]
mod ifma;
#[cfg(target_arch = "x86_64")]
mod ifma_chain;
#[cfg(target_arch = "x86_64")]
mod ifma_form;
#[cfg(target_arch = "x86_64")]
mod ifma_power;
mod plain;

pub(crate) use bytes::{equal_lanes, load_bytes, store_bytes};

/// The number of lanes, one 64-bit element of a 512-bit vector each.
pub(crate) const LANES: usize = 8;
/// Bits of a digit, the width of the AVX-512 IFMA multiplier.
pub(crate) const DIGIT_BITS: usize = 52;
/// The mask of a digit.
pub(crate) const DIGIT_MASK: u64 = (1 << DIGIT_BITS) - 1;
/// Digit counts are multiples of this number. It fits RSA's usual lengths well: 256 + 2 bits into 5 digits, 512 + 2
/// into 10, 1024 + 2 into 20, 2048 + 2 into 40, 4096 + 2 into 80 (79 would do).
pub(crate) const BLOCK: usize = 5;
/// At most this many digits in a modulus: 4160 bits.
pub(crate) const DIGITS_MAX: usize = 80;

/// One digit of eight numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, align(64))]
pub(crate) struct Row(pub(crate) [u64; LANES]);

impl Row {
    pub(crate) const ZERO: Row = Row([0; LANES]);
}

/// The number of digits for moduli of this many bits: 52 * digits >= bits + 2, which keeps results of almost-Montgomery
/// multiplication below twice the modulus. `None` if that exceeds [`DIGITS_MAX`].
pub(crate) fn digits_for(bits: usize) -> Option<usize> {
    let digits = (bits + 2).div_ceil(DIGIT_BITS * BLOCK) * BLOCK;
    (digits <= DIGITS_MAX).then_some(digits)
}

/// Rows that hold secrets; wiped when dropped. Moved only while zero, since a move may leave a copy behind.
pub(crate) struct Secret<const N: usize>(pub(crate) [Row; N]);

impl<const N: usize> Secret<N> {
    pub(crate) fn zero() -> Secret<N> {
        Secret([Row::ZERO; N])
    }
}

impl<const N: usize> Drop for Secret<N> {
    fn drop(&mut self) {
        // SAFETY: rows are plain numbers; all bytes zero is one.
        unsafe { crate::low::wipe(&mut self.0) }
    }
}

/// Eight odd moduli above 1 of one digit count with their Montgomery constants; wiped when dropped.
pub(crate) struct Moduli {
    digits: usize,
    n: Secret<DIGITS_MAX>,
    /// R^2 mod n with R = 2^(52 * digits).
    rr: Secret<DIGITS_MAX>,
    /// -1 / n mod 2^52.
    k0: Row,
}

impl Moduli {
    /// Room for moduli of this many digits, which [`digits_for`] returns for the longest of them. They are written in
    /// place: a value that holds secrets is never moved, since that would leave a copy behind.
    pub(crate) fn room(digits: usize) -> Moduli {
        assert!(digits <= DIGITS_MAX && digits.is_multiple_of(BLOCK) && digits > 0);
        Moduli { digits, n: Secret::zero(), rr: Secret::zero(), k0: Row::ZERO }
    }

    /// Sets moduli of the room's digits, and computes the constants from them.
    pub(crate) fn set(&mut self, token: Option<Avx512>, n: &[Row]) {
        self.fill(|n_rows, _| n_rows.copy_from_slice(n));
        let mut rr = Secret::<DIGITS_MAX>::zero();
        let rr = &mut rr.0[..self.digits];
        match token {
            Some(token) => ifma_power::radix_square(token, self, rr),
            None => plain::radix_square(self, rr),
        }
        self.rr.0[..self.digits].copy_from_slice(rr);
    }

    /// Sets moduli and their earlier [`Moduli::rr`], lane by lane; `fill` writes both.
    #[inline]
    pub(crate) fn fill(&mut self, fill: impl FnOnce(&mut [Row], &mut [Row])) {
        fill(&mut self.n.0[..self.digits], &mut self.rr.0[..self.digits]);
        self.k0 = Row(self.n.0[0].0.map(negated_inverse));
    }

    /// The number of digits of all numbers under these moduli.
    pub(crate) fn digits(&self) -> usize {
        self.digits
    }

    /// The moduli, lane by lane.
    pub(crate) fn n(&self) -> &[Row] {
        &self.n.0[..self.digits]
    }

    /// 2^(104 * digits) mod n. Worth storing with a key, since it takes as long to compute as several multiplications.
    pub(crate) fn rr(&self) -> &[Row] {
        &self.rr.0[..self.digits]
    }
}

impl Drop for Moduli {
    fn drop(&mut self) {
        // SAFETY: a row is plain numbers; all bytes zero is one.
        unsafe { crate::low::wipe(&mut self.k0) }
    }
}

/// -1 / n mod 2^52 of an odd n, by Newton's iteration: n itself is correct to 3 bits, and each step doubles their
/// number.
fn negated_inverse(n: u64) -> u64 {
    let mut inverse = n;
    for _ in 0..5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(n.wrapping_mul(inverse)));
    }
    inverse.wrapping_neg() & DIGIT_MASK
}

/// Calls the token's kernel, or its plain twin without a token.
macro_rules! choose {
    ($token:ident, $name:ident($($argument:expr),*)) => {
        match $token {
            Some(token) => ifma_power::$name(token, $($argument),*),
            None => plain::$name($($argument),*),
        }
    };
}

/// base^exponent mod n in each lane. `base` is any number of `digits` rows, even above n. Constant-time in base and
/// exponent. `exponent_bits` is public, and higher bits of the exponent are ignored.
pub(crate) fn power(
    token: Option<Avx512>,
    m: &Moduli,
    base: &[Row],
    exponent: &[Row],
    exponent_bits: usize,
    out: &mut [Row],
) {
    choose!(token, power(m, base, exponent, exponent_bits, out))
}

/// Two independent [`power`]s of one digit count, each of which uses the other's idle time: less than twice the time of
/// one.
pub(crate) fn power_pair(
    token: Option<Avx512>,
    m: [&Moduli; 2],
    base: [&[Row]; 2],
    exponent: [&[Row]; 2],
    exponent_bits: usize,
    out: [&mut [Row]; 2],
) {
    assert_eq!(m[0].digits, m[1].digits);
    choose!(token, power_pair(m, base, exponent, exponent_bits, out))
}

/// base^exponent mod n with public exponents, one per lane; the time depends on them. Fast if they are equal and have
/// few set bits (3, 17, 65537).
pub(crate) fn power_public_vartime(
    token: Option<Avx512>,
    m: &Moduli,
    base: &[Row],
    exponents: &[u64; LANES],
    out: &mut [Row],
) {
    choose!(token, power_public_vartime(m, base, exponents, out))
}

/// a * b mod n in each lane; `a` is any number of `digits` rows, `b` is below n.
pub(crate) fn multiply(token: Option<Avx512>, m: &Moduli, a: &[Row], b: &[Row], out: &mut [Row]) {
    choose!(token, multiply(m, a, b, out))
}

/// wide mod n in each lane: `wide` has twice the rows and is below n * 2^(52 * digits).
pub(crate) fn reduce(token: Option<Avx512>, m: &Moduli, wide: &[Row], out: &mut [Row]) {
    assert_eq!(wide.len(), 2 * m.digits);
    choose!(token, reduce(m, wide, out))
}

/// a - b mod n in each lane, both below n.
pub(crate) fn subtract(m: &Moduli, a: &[Row], b: &[Row], out: &mut [Row]) {
    plain::subtract(m, a, b, out)
}

#[cfg(test)]
mod tests;

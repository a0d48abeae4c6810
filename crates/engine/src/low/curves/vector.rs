//! The operations that the kernels need of a vector: eight lanes of 64 bits, and products of 52-bit digits.
//!
//! All formulas are written once over this trait and inlined whole into the entry points (`ifma.rs`), since a function
//! that is not inlined there cannot use vectors. So everything is `inline(always)`. `each_digit!` unrolls loops over
//! digits, since a closure or an iterator of the standard library might remain a call.

use super::{DIGITS, Row};

/// A number of eight lanes in registers.
pub(super) type Digits<V> = [V; DIGITS];

/// Eight lanes of 64 bits. Sums and differences are modulo 2^64.
pub(super) trait Vector: Copy {
    /// A choice of lanes.
    type Mask: Copy;

    fn load(row: &Row) -> Self;
    fn store(self, row: &mut Row);
    /// The same number in every lane.
    fn all(number: u64) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    /// Shifts right by `BITS`, filled with zeros.
    fn shr<const BITS: u32>(self) -> Self;
    /// Shifts right by `BITS`, filled with the sign.
    fn sar<const BITS: u32>(self) -> Self;
    fn shl<const BITS: u32>(self) -> Self;
    /// As [`Vector::shr`], by a public number of bits; zero from 64 on.
    fn shr_by(self, bits: usize) -> Self;
    /// As [`Vector::shl`], by a public number of bits; zero from 64 on.
    fn shl_by(self, bits: usize) -> Self;
    /// This plus the low 52 bits of the product of a and b, of each of which the low 52 bits count.
    fn add_low(self, a: Self, b: Self) -> Self;
    /// This plus the high 52 bits of the same product.
    fn add_high(self, a: Self, b: Self) -> Self;
    /// The lanes in which any of these bits is set.
    fn has(self, bits: Self) -> Self::Mask;
    /// `with` in the chosen lanes, `without` in the others.
    fn choose(lanes: Self::Mask, with: Self, without: Self) -> Self;
    /// In each lane, the entry with this index among the 64 entries in the rows; higher bits of the index are ignored.
    /// Every row is loaded.
    fn look_up(entries: &[Row; 8], index: Self) -> Self;
}

/// Repeats the body for each of the five digits, with the digit's number as a constant.
macro_rules! each_digit {
    ($digit:ident, $body:expr) => {
        each_digit!(@ $digit, $body, 0, 1, 2, 3, 4)
    };
    (@ $digit:ident, $body:expr, $($number:literal),*) => {
        {
            $({
                let $digit: usize = $number;
                $body
            })*
        }
    };
}

pub(super) use each_digit;

/// Loads a number from the first rows.
#[inline(always)]
pub(super) fn load<V: Vector>(rows: &[Row]) -> Digits<V> {
    let rows = &rows[..DIGITS];
    let mut digits = [V::all(0); DIGITS];
    each_digit!(i, digits[i] = V::load(&rows[i]));
    digits
}

/// Stores a number to the first rows.
#[inline(always)]
pub(super) fn store<V: Vector>(digits: &Digits<V>, rows: &mut [Row]) {
    let rows = &mut rows[..DIGITS];
    each_digit!(i, digits[i].store(&mut rows[i]));
}

//! What the kernels ask of a vector: eight lanes of 64 bits, and products of 52-bit digits.
//!
//! Everything above is written once over this trait and inlined whole into the doors (`ifma.rs`), since a function
//! that is not inlined there has no vectors. So all is `inline(always)`, and loops over digits are unrolled by
//! `each_digit!`, where a closure or an iterator of the standard library might stay a call.

use super::{DIGITS, Row};

/// A number of eight lanes in registers.
pub(super) type Digits<V> = [V; DIGITS];

/// Eight lanes. Sums and differences are modulo 2^64.
pub(super) trait Vector: Copy {
    /// Some of the lanes.
    type Mask: Copy;

    fn load(row: &Row) -> Self;
    fn store(self, row: &mut Row);
    /// One number in every lane.
    fn all(number: u64) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    /// Towards bit 0, without the sign.
    fn shr<const BITS: u32>(self) -> Self;
    /// Towards bit 0, with the sign.
    fn sar<const BITS: u32>(self) -> Self;
    fn shl<const BITS: u32>(self) -> Self;
    /// As [`Vector::shr`] by a public number of bits; none are left from 64 on.
    fn shr_by(self, bits: usize) -> Self;
    /// As [`Vector::shl`] by a public number of bits; none are left from 64 on.
    fn shl_by(self, bits: usize) -> Self;
    /// This plus the low 52 bits of the product of the low 52 bits of both.
    fn add_low(self, a: Self, b: Self) -> Self;
    /// This plus the upper 52 bits of that product.
    fn add_high(self, a: Self, b: Self) -> Self;
    /// The lanes that have any of these bits.
    fn has(self, bits: Self) -> Self::Mask;
    /// In the lanes `with`, in the others `without`.
    fn choose(lanes: Self::Mask, with: Self, without: Self) -> Self;
    /// In each lane the entry that its index names, of those side by side in the rows; bits of the index above them
    /// are not looked at. Every row is loaded.
    fn look_up(entries: &[Row; 8], index: Self) -> Self;
}

/// The body for each digit of five, with its number as a constant.
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

/// The number in the first rows.
#[inline(always)]
pub(super) fn load<V: Vector>(rows: &[Row]) -> Digits<V> {
    let rows = &rows[..DIGITS];
    let mut digits = [V::all(0); DIGITS];
    each_digit!(i, digits[i] = V::load(&rows[i]));
    digits
}

/// Writes the number to the first rows.
#[inline(always)]
pub(super) fn store<V: Vector>(digits: &Digits<V>, rows: &mut [Row]) {
    let rows = &mut rows[..DIGITS];
    each_digit!(i, digits[i].store(&mut rows[i]));
}

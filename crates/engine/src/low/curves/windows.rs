//! Scalars in signed windows of seven bits (Booth's digits, -64 to 64), and tables of multiples for them.
//!
//! For window `w` a table holds 1 to 64 times 2^(7w) of its point, digit by digit. One digit of all 64 entries is eight
//! rows, which are all loaded; the lanes choose in registers.

use super::vector::{Vector, each_digit};
use super::{DIGIT_BITS, DIGITS, LANES, Number, Row};

/// Bits of a scalar per window.
pub(super) const WINDOW: usize = 7;
/// Entries of a window.
pub(super) const ENTRIES: usize = 1 << (WINDOW - 1);

/// One digit of all entries' numbers.
pub(super) type Entries = [Row; ENTRIES / LANES];

/// The entry that a window adds: its sign and its size.
pub(super) struct Choice<V: Vector> {
    pub(super) is_negative: V::Mask,
    /// 0 to 64; 0 adds nothing.
    pub(super) size: V,
}

impl<V: Vector> Choice<V> {
    /// The choice for eight bits of a scalar: the window's seven, and the one below.
    #[inline(always)]
    pub(super) fn new(bits: V) -> Choice<V> {
        // Rounds half of the eight bits up; if the highest is set, the digit is 128 less.
        let is_negative = bits.has(V::all(2 * ENTRIES as u64));
        let rounded = bits.add(V::all(1)).shr::<1>();
        let size = V::choose(is_negative, V::all(2 * ENTRIES as u64).sub(rounded), rounded);
        Choice { is_negative, size }
    }

    /// The index of the entry of this size; meaningless for size zero.
    #[inline(always)]
    pub(super) fn index(&self) -> V {
        self.size.sub(V::all(1))
    }
}

/// Looks up one number of the entries that the lanes choose.
#[inline(always)]
pub(super) fn look_up<V: Vector>(entries: &[Entries; DIGITS], index: V) -> [V; DIGITS] {
    let mut number = [V::all(0); DIGITS];
    each_digit!(i, number[i] = V::look_up(&entries[i], index));
    number
}

/// Eight bits of a number from bit `first` on.
#[inline(always)]
pub(super) fn bits<V: Vector>(number: &Number, first: usize) -> V {
    let (at, shift) = (first / DIGIT_BITS, first % DIGIT_BITS);
    let low = V::load(&number[at]).shr_by(shift);
    let bits = match number.get(at + 1) {
        Some(row) => low.or(V::load(row).shl_by(DIGIT_BITS - shift)),
        None => low,
    };
    bits.and(V::all(4 * ENTRIES as u64 - 1))
}

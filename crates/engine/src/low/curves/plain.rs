//! The plain twin of the vectors: each instruction lane by lane, as the manuals describe it, to be read and for tests
//! to compare.
//!
//! No function is inlined: in formulas whose loops are unrolled, they would take minutes to compile.

use super::vector::Vector;
use super::{DIGIT_BITS, DIGIT_MASK, LANES, Row};

/// Eight lanes without vectors.
#[derive(Clone, Copy)]
pub(super) struct Words([u64; LANES]);

impl Words {
    #[inline(always)]
    fn each(self, change: impl Fn(u64) -> u64) -> Words {
        Words(self.0.map(change))
    }

    #[inline(always)]
    fn both(self, other: Words, combine: impl Fn(u64, u64) -> u64) -> Words {
        Words(std::array::from_fn(|lane| combine(self.0[lane], other.0[lane])))
    }
}

/// The product of the low 52 bits of both.
fn product(a: u64, b: u64) -> u128 {
    u128::from(a & DIGIT_MASK) * u128::from(b & DIGIT_MASK)
}

impl Vector for Words {
    /// In each lane all bits or none.
    type Mask = Words;

    #[inline(never)]
    fn load(row: &Row) -> Words {
        Words(row.0)
    }

    #[inline(never)]
    fn store(self, row: &mut Row) {
        row.0 = self.0;
    }

    #[inline(never)]
    fn all(number: u64) -> Words {
        Words([number; LANES])
    }

    #[inline(never)]
    fn add(self, other: Words) -> Words {
        self.both(other, u64::wrapping_add)
    }

    #[inline(never)]
    fn sub(self, other: Words) -> Words {
        self.both(other, u64::wrapping_sub)
    }

    #[inline(never)]
    fn and(self, other: Words) -> Words {
        self.both(other, |a, b| a & b)
    }

    #[inline(never)]
    fn or(self, other: Words) -> Words {
        self.both(other, |a, b| a | b)
    }

    #[inline(never)]
    fn xor(self, other: Words) -> Words {
        self.both(other, |a, b| a ^ b)
    }

    #[inline(never)]
    fn shr<const BITS: u32>(self) -> Words {
        self.each(|word| word >> BITS)
    }

    #[inline(never)]
    fn sar<const BITS: u32>(self) -> Words {
        self.each(|word| (word.cast_signed() >> BITS).cast_unsigned())
    }

    #[inline(never)]
    fn shl<const BITS: u32>(self) -> Words {
        self.each(|word| word << BITS)
    }

    #[inline(never)]
    fn shr_by(self, bits: usize) -> Words {
        self.each(|word| if bits < 64 { word >> bits } else { 0 })
    }

    #[inline(never)]
    fn shl_by(self, bits: usize) -> Words {
        self.each(|word| if bits < 64 { word << bits } else { 0 })
    }

    #[inline(never)]
    fn add_low(self, a: Words, b: Words) -> Words {
        self.add(a.both(b, |a, b| product(a, b) as u64 & DIGIT_MASK))
    }

    #[inline(never)]
    fn add_high(self, a: Words, b: Words) -> Words {
        self.add(a.both(b, |a, b| (product(a, b) >> DIGIT_BITS) as u64))
    }

    #[inline(never)]
    fn has(self, bits: Words) -> Words {
        // Unless a number is zero, it or its negative has the highest bit set.
        self.and(bits).each(|word| ((word | word.wrapping_neg()) >> 63).wrapping_neg())
    }

    #[inline(never)]
    fn choose(lanes: Words, with: Words, without: Words) -> Words {
        without.xor(without.xor(with).and(lanes))
    }

    #[inline(never)]
    fn look_up(entries: &[Row; 8], index: Words) -> Words {
        let mut found = Words::all(0);
        for (at, entry) in entries.iter().flat_map(|row| row.0).enumerate() {
            let other = index.xor(Words::all(at as u64)).has(Words::all(63));
            found = Words::choose(other, found, Words::all(entry));
        }
        found
    }
}

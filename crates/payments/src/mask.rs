//! Verdicts that no branch is taken on before the end.

/// Whether something holds: all bits are set, or none.
#[derive(Clone, Copy)]
#[must_use]
pub struct Mask(u8);

impl Mask {
    /// It holds.
    pub const YES: Self = Self(0xFF);
    /// It does not.
    pub const NO: Self = Self(0);

    /// Whether `a` is less than `b`, which are both less than 128.
    #[inline(always)]
    pub(crate) fn below(a: u8, b: u8) -> Self {
        // The compiler must not know that it is one of two values: it would make branches of what follows.
        Self(std::hint::black_box(((a.wrapping_sub(b) as i8) >> 7) as u8))
    }

    /// Whether `low <= a <= high`, all less than 128.
    #[inline(always)]
    pub(crate) fn within(a: u8, low: u8, high: u8) -> Self {
        Self(!Self::below(a, low).0 & !Self::below(high, a).0)
    }

    /// Whether both, less than 128, are the same.
    #[inline(always)]
    pub(crate) fn same(a: u8, b: u8) -> Self {
        Self::below(a ^ b, 1)
    }

    /// Whether all bits of a number are zero.
    #[inline(always)]
    pub(crate) fn zero(number: u64) -> Self {
        // Either the number or its negative has the highest bit, unless it is zero.
        let some = (number | number.wrapping_neg()) >> 63;
        Self(std::hint::black_box((some as u8).wrapping_sub(1)))
    }

    /// Whether it does not hold.
    #[inline(always)]
    pub(crate) const fn not(self) -> Self {
        Self(!self.0)
    }

    /// Whether both hold.
    #[inline(always)]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether one of them holds.
    #[inline(always)]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// `yes` where it holds, `no` where it does not.
    #[inline(always)]
    pub(crate) const fn choose(self, yes: u8, no: u8) -> u8 {
        (yes & self.0) | (no & !self.0)
    }

    /// `byte` where it holds, 0 where it does not.
    #[inline(always)]
    pub(crate) const fn keep(self, byte: u8) -> u8 {
        byte & self.0
    }

    /// The verdict: the one place that may be branched on.
    pub fn holds(self) -> bool {
        std::hint::black_box(self.0) != 0
    }
}

/// The verdict is for the caller who asks [`Mask::holds`].
impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mask")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_say_what_comparisons_say() {
        for a in 0..128 {
            for b in 0..128 {
                assert_eq!(Mask::below(a, b).holds(), a < b);
                assert_eq!(Mask::same(a, b).holds(), a == b);
                assert_eq!(
                    Mask::within(a, b, b.saturating_add(9).min(127)).holds(),
                    (b..=b + 9).contains(&a)
                );
            }
        }
        for number in [0, 1, 2, 128, 256, 1 << 63, u64::MAX] {
            assert_eq!(Mask::zero(number).holds(), number == 0);
        }
        assert_eq!((Mask::YES.choose(3, 4), Mask::NO.choose(3, 4)), (3, 4));
        assert_eq!((Mask::YES.keep(3), Mask::NO.keep(3)), (3, 0));
        assert!(Mask::NO.not().and(Mask::YES).holds() && !Mask::YES.not().or(Mask::NO).holds());
    }
}

//! Verdicts in constant time: no branch is taken on them before the end.

/// A condition as a byte: all bits are set if it holds, else none.
#[derive(Clone, Copy)]
#[must_use]
pub struct Mask(u8);

impl Mask {
    /// The condition holds.
    pub const YES: Self = Self(0xFF);
    /// The condition does not hold.
    pub const NO: Self = Self(0);

    /// Whether `a < b`, both less than 128.
    #[inline(always)]
    pub(crate) fn below(a: u8, b: u8) -> Self {
        // Hides from the compiler that there are only two values: it would turn later selections into branches.
        Self(std::hint::black_box(((a.wrapping_sub(b) as i8) >> 7) as u8))
    }

    /// Whether `low <= a <= high`, all less than 128.
    #[inline(always)]
    pub(crate) fn within(a: u8, low: u8, high: u8) -> Self {
        Self(!Self::below(a, low).0 & !Self::below(high, a).0)
    }

    /// Whether two values, both less than 128, are equal.
    #[inline(always)]
    pub(crate) fn same(a: u8, b: u8) -> Self {
        Self::below(a ^ b, 1)
    }

    /// Whether all bits of a number are zero.
    #[inline(always)]
    pub(crate) fn zero(number: u64) -> Self {
        // Unless the number is zero, either it or its negative has the highest bit set.
        let some = (number | number.wrapping_neg()) >> 63;
        Self(std::hint::black_box((some as u8).wrapping_sub(1)))
    }

    /// The opposite condition.
    #[inline(always)]
    pub(crate) const fn not(self) -> Self {
        Self(!self.0)
    }

    /// Whether both conditions hold.
    #[inline(always)]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether at least one condition holds.
    #[inline(always)]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// `yes` if the condition holds, else `no`.
    #[inline(always)]
    pub(crate) const fn choose(self, yes: u8, no: u8) -> u8 {
        (yes & self.0) | (no & !self.0)
    }

    /// `byte` if the condition holds, else 0.
    #[inline(always)]
    pub(crate) const fn keep(self, byte: u8) -> u8 {
        byte & self.0
    }

    /// The verdict as a `bool`, the only form that code may branch on.
    pub fn holds(self) -> bool {
        std::hint::black_box(self.0) != 0
    }
}

/// Hides the verdict: only the caller of [`Mask::holds`] may learn it.
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

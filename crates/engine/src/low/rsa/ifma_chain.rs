//! The data of the strips of `ifma.rs`: one number under its moduli, and the selection of its next factor.

use super::{BLOCK, Moduli, Row};
use std::arch::x86_64::*;

/// Bits of the exponent per multiplication. Four take 5 % more multiplications and are equally fast at 10 digits, 1 %
/// slower at 20 and 2 % at 40; six would double the table.
pub(super) const WINDOW: usize = 5;
/// The number of powers in the table.
pub(super) const ENTRIES: usize = 1 << WINDOW;
/// Powers read in one part of a selection: half a row.
const PART: usize = ENTRIES / 2;

/// Five digits of eight numbers: the unit of every loop.
pub(super) type Block = [Row; BLOCK];
/// A block in registers.
pub(super) type Digits = [__m512i; BLOCK];

/// One number in each lane, its moduli, and the Montgomery multiplication in progress.
pub(super) struct Chain<'a> {
    pub(super) n: &'a [Block],
    pub(super) rr: &'a [Block],
    pub(super) k0: __m512i,
    /// The number, in the lower half. The upper half is used to reduce numbers of twice the length.
    pub(super) x: &'a mut [Block],
    /// The factor of the next multiplication.
    pub(super) factor: &'a mut [Block],
    /// Digits of the Montgomery quotient.
    pub(super) quotient: &'a mut [Block],
    /// The carry from one strip to the next; zero between multiplications.
    pub(super) carry: __m512i,
    /// Selects the next factor while squares are computed.
    selection: Selection<'a>,
}

/// A selection of powers, by halves of a row, from a table that is ordered by digit and then by power.
struct Selection<'a> {
    table: &'a [[Row; ENTRIES]],
    /// For each bit, the lanes whose index has it.
    masks: [__mmask8; WINDOW],
    /// The number of parts done.
    next: usize,
}

impl<'a> Chain<'a> {
    /// `scratch` must have at least four times the rows of the moduli.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn new(m: &'a Moduli, scratch: &'a mut [Row]) -> Chain<'a> {
        let digits = m.digits();
        let (x, rest) = scratch.split_at_mut(2 * digits);
        let (factor, rest) = rest.split_at_mut(digits);
        Chain {
            n: m.n().as_chunks().0,
            rr: m.rr().as_chunks().0,
            k0: load(&m.k0),
            x: x.as_chunks_mut().0,
            factor: factor.as_chunks_mut().0,
            quotient: rest[..digits].as_chunks_mut().0,
            carry: _mm512_setzero_si512(),
            selection: Selection { table: &[], masks: [0; WINDOW], next: 0 },
        }
    }

    /// Starts to set the factor to the power in the table that each lane's index names. Squarings do it part by part,
    /// [`Chain::end_selection`] does the rest.
    #[target_feature(enable = "avx512f")]
    pub(super) fn begin_selection(&mut self, table: &'a [[Row; ENTRIES]], index: __m512i) {
        let table = &table[..BLOCK * self.n.len()];
        let mask = |bit| _mm512_test_epi64_mask(index, _mm512_set1_epi64(1i64 << bit));
        self.selection = Selection { table, masks: std::array::from_fn(mask), next: 0 };
    }

    /// Completes the selection.
    #[target_feature(enable = "avx512f")]
    pub(super) fn end_selection(&mut self) {
        while self.selection.next < 2 * self.selection.table.len() {
            self.select_part();
        }
    }

    /// Selects from half the powers for one row; does nothing if all rows are done. Every entry is read: pairs are
    /// blended by the lowest bit of the index, the remaining pairs by the next bit, and so on.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn select_part(&mut self) {
        let Selection { table, masks, next } = &mut self.selection;
        let (row, part) = (*next / 2, *next % 2);
        let Some(powers) = table.get(row) else { return };
        let powers = &powers.as_chunks::<PART>().0[part];
        let blend = |bit: usize, a: __m512i, b: __m512i| _mm512_mask_blend_epi64(masks[bit], a, b);
        let two = |at: usize| blend(0, load(&powers[at]), load(&powers[at + 1]));
        let four = |at: usize| blend(1, two(at), two(at + 2));
        let eight = |at: usize| blend(2, four(at), four(at + 4));
        let half = blend(3, eight(0), eight(8));
        let row = &mut self.factor.as_flattened_mut()[row];
        let chosen = if part == 0 { half } else { blend(4, load(row), half) };
        store(row, chosen);
        *next += 1;
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn digits(block: &Block) -> Digits {
    [load(&block[0]), load(&block[1]), load(&block[2]), load(&block[3]), load(&block[4])]
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load(row: &Row) -> __m512i {
    // SAFETY: a row is 64 bytes, aligned to 64.
    unsafe { _mm512_load_si512(std::ptr::from_ref(row).cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn store(row: &mut Row, value: __m512i) {
    // SAFETY: a row is 64 bytes, aligned to 64, and borrowed exclusively.
    unsafe { _mm512_store_si512(std::ptr::from_mut(row).cast(), value) }
}

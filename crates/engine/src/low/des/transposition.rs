//! Converts blocks to slices and back for words that can shift: 64 rows of 64-bit columns. Each column is a bit matrix
//! that six steps of exchanges transpose.
//!
//! ```text
//! row z, column q:  block BLOCKS * z + q         slice i, column q, bit z:  bit i of that block
//!
//! step s (32, 16, 8, 4, 2, 1), rows k and k + s:
//!     k        . . A A      . . c c
//!     k + s    c c . .  ->  A A . .              in each group of 2s bits, lowest first
//! ```
//!
//! A step is 32 exchanges of six operations: 1,152 in all, compared with 29,000 in a pass of TDES. Byte shuffles for
//! the three wide steps would save a third of that, 1 % of a pass; they were left out.

use super::Block;
use super::bit_sliced_round::PLACES;
use super::bit_sliced_words::{Binary, Halves, Merge, Rows, Word, Words};

/// A word that can shift, and can be loaded from and stored to memory.
pub(super) trait Shift: Binary {
    /// Shifts each column towards its highest bit.
    fn up<const BITS: i32>(self) -> Self;
    /// Shifts each column towards its lowest bit.
    fn down<const BITS: i32>(self) -> Self;
    /// Loads the word from the first [`Word::BLOCKS`] blocks.
    fn read(&mut self, blocks: &[Block]);
    /// Stores the word to the first [`Word::BLOCKS`] blocks.
    fn write(self, blocks: &mut [Block]);
}

/// The body of [`Word::load`].
#[inline(always)]
pub(super) fn load<W: Word + Shift>(
    any: W,
    text: Rows<'_>,
    before: Option<Rows<'_>>,
    mut state: Halves<'_, W>,
) {
    let mut rows = Words::new(any.like(0));
    for (index, row) in rows.0.iter_mut().enumerate() {
        row.read(&text.blocks[index * text.stride..]);
        if let Some(before) = before {
            let mut added = *row;
            added.read(&before.blocks[index * before.stride..]);
            *row = row.xor(added);
        }
    }
    transpose(&mut rows.0);
    for (slice, place) in rows.0.iter().zip(PLACES) {
        *state.at(place) = *slice;
    }
}

/// The body of [`Word::store`].
#[inline(always)]
pub(super) fn store<W: Word + Shift>(
    mut state: Halves<'_, W>,
    blocks: &mut [Block],
    stride: usize,
    merge: Merge,
) {
    let mut rows = Words::new(state.left[0]);
    for (slice, place) in rows.0.iter_mut().zip(PLACES) {
        *slice = *state.at(place);
    }
    transpose(&mut rows.0);
    for (index, row) in rows.0.iter().enumerate().rev() {
        let at = index * stride;
        let mut old = row.like(0);
        match merge {
            Merge::Put => {}
            Merge::Add => old.read(&blocks[at..]),
            Merge::AddBefore(_) if at > 0 => old.read(&blocks[at - 1..]),
            Merge::AddBefore(before) => {
                let mut first = [before; BLOCKS_MAX];
                first[1..W::BLOCKS].copy_from_slice(&blocks[..W::BLOCKS - 1]);
                old.read(&first);
            }
        }
        row.xor(old).write(&mut blocks[at..]);
    }
}

/// The number of blocks in the widest word.
const BLOCKS_MAX: usize = 4;

#[inline(always)]
fn transpose<W: Shift>(rows: &mut [W; 64]) {
    exchange::<W, 32>(rows, 0x0000_0000_ffff_ffff);
    exchange::<W, 16>(rows, 0x0000_ffff_0000_ffff);
    exchange::<W, 8>(rows, 0x00ff_00ff_00ff_00ff);
    exchange::<W, 4>(rows, 0x0f0f_0f0f_0f0f_0f0f);
    exchange::<W, 2>(rows, 0x3333_3333_3333_3333);
    exchange::<W, 1>(rows, 0x5555_5555_5555_5555);
}

#[inline(always)]
fn exchange<W: Shift, const STEP: i32>(rows: &mut [W; 64], low: u64) {
    let mask = rows[0].like(low);
    for pair in 0..32 {
        let step = STEP as usize;
        let low = pair / step * 2 * step + pair % step;
        let (a, b) = (rows[low], rows[low + step]);
        let difference = a.down::<STEP>().xor(b).and(mask);
        rows[low] = a.xor(difference.up::<STEP>());
        rows[low + step] = b.xor(difference);
    }
}

//! The rounds of the row form (FIPS 46-3, Enciphering), eight lanes a vector.
//!
//! ```text
//! half = one vector for eight lanes, see rows_layout.rs
//!
//! a round of a vector: indices, the half as matrix, which S-box at which row as data      3 vgf2p8affine
//!                      the two folded S-boxes at all rows, six others at their own        8 vpermb
//!                      the other half ^ step, ^ folded ones & where they are carried      1 vpxor, 2 vpternlog
//!                      ^ the rows of the six                                              3 vpternlog
//! ```
//!
//! 1. A table of 64 bytes is one operand, always read whole, and `vpermb` looks up by the low six bits of each byte, so
//!    it is constant-time. The six S-boxes with rows share one vector of indices. Each is looked up under the mask of
//!    its row, and is zero elsewhere.
//! 2. E and P cost nothing: tables and bit order include them. The product with the half as the matrix turns rows into
//!    indices and puts each where it is looked up, in one instruction.
//! 3. Round keys are added to the half when it is written, as in the byte-sliced form, by the same steps
//!    (`byte_sliced_rounds.rs`).
//! 4. The folded S-boxes are looked up first: their sums are two dependent instructions, whereas only one stands
//!    between the last lookup and the next round.
//!
//! Limits. Sapphire Rapids starts one lookup and two of the other instructions a cycle, all lookups and half of the
//! sums in one port: 8 to 9 cycles a vector if there are several. A single vector waits for itself, 18 cycles: 3 for
//! the product, one more from that unit to the other, lookups 7 cycles apart, 5 for the last one under its mask, 1 for
//! its sum and 1 back to the products. Measured, at the clock of the run: 18.5 to 19 with one vector, 12 a vector with
//! two, 9.5 with three, 9.2 with four. Zen 5 starts two lookups a cycle, of 5 cycles each, and sums take 2. That makes
//! 16, counted, not measured: the product 3, the folded S-boxes 5 and four sums in a row 8.
//!
//! Dropped, times of Sapphire Rapids: five `vpermi2b` of two tables each, one instruction on Zen 5 and three on Intel
//! (one vector 22.7 cycles); seven lookups of tables that two S-boxes share, separated by an AND with each sum (19.4:
//! the sums take the lookups' port as often as they save a lookup); ANDs after the lookups, into which the compiler
//! turns masks that it knows (two vectors 32 cycles); lookups merged into the results of others, which saves sums (20.4
//! with one vector; three are 2 % faster, two 4 % slower).

use super::byte_sliced_layout::Matrix;
use super::byte_sliced_rounds::STEPS;
use super::byte_sliced_vector::{load, xor3};
use super::rows_layout::{
    FOLDED, FOLDED_INDICES, FOLDED_MASKS, ROW_BYTES, ROW_COUNT, ROW_INDICES, ROWS, TABLES,
};
use std::arch::asm;
use std::arch::x86_64::*;

/// Halves of eight lanes a vector.
pub(crate) type Half<const VECTORS: usize> = [__m512i; VECTORS];

/// One single-DES operation without IP and its inverse. The halves are L0 and R0 on entry, and the left and right half
/// of the standard's pre-output on return. `step` returns a step of the schedule by the numbers of step and vector.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(crate) fn des<const ENCIPHER: bool, const VECTORS: usize>(
    step: impl Fn(usize, usize) -> __m512i,
    left: &mut Half<VECTORS>,
    right: &mut Half<VECTORS>,
) {
    let at = |index: usize, vector| step(if ENCIPHER { index } else { STEPS - 1 - index }, vector);
    let masks = Masks(ROW_BYTES.map(|mask| kept(mask)));
    let (mut a, mut b) = (*right, *left);
    for (vector, a) in a.iter_mut().enumerate() {
        *a = _mm512_xor_si512(*a, at(0, vector));
    }
    for pair in 0..8 {
        round(&masks, &mut b, &a, |vector| at(2 * pair + 1, vector));
        round(&masks, &mut a, &b, |vector| at(2 * pair + 2, vector));
    }
    for (vector, b) in b.iter_mut().enumerate() {
        *b = _mm512_xor_si512(*b, at(STEPS - 1, vector));
    }
    (*left, *right) = (a, b);
}

/// The byte of each row, in mask registers.
struct Masks([__mmask64; ROW_COUNT]);

/// `half ^= f(inputs) ^ step`, vector by vector.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn round<const VECTORS: usize>(
    masks: &Masks,
    half: &mut Half<VECTORS>,
    inputs: &Half<VECTORS>,
    step: impl Fn(usize) -> __m512i,
) {
    for vector in 0..VECTORS {
        half[vector] = sum(masks, half[vector], inputs[vector], step(vector));
    }
}

/// `half ^ f(inputs) ^ step`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn sum(masks: &Masks, half: __m512i, inputs: __m512i, step: __m512i) -> __m512i {
    let add_folded = |index: usize, sum| {
        let inputs = picked(everywhere(FOLDED_INDICES[index]), inputs);
        let found = _mm512_permutexvar_epi8(inputs, load(&TABLES[FOLDED[index]].0));
        _mm512_ternarylogic_epi64::<AND_XOR>(found, everywhere(FOLDED_MASKS[index]), sum)
    };
    let folded = add_folded(1, add_folded(0, _mm512_xor_si512(half, step)));
    let indices = picked(everywhere(ROW_INDICES), inputs);
    let row = |row: usize| _mm512_maskz_permutexvar_epi8(masks.0[row], indices, load(&TABLES[ROWS[row]].0));
    let three = xor3(row(0), row(1), row(2));
    let sum = xor3(folded, three, row(3));
    xor3(sum, row(4), row(5))
}

/// The bitwise function `(a AND b) XOR c`.
const AND_XOR: i32 = 0x6a;

/// Multiplies bits by the matrix: bit `j` of byte `b` of the result is a sum of bits of byte `7 - j` of the matrix,
/// those that are set in byte `b` of `data`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(crate) fn picked(data: __m512i, matrix: __m512i) -> __m512i {
    _mm512_gf2p8affine_epi64_epi8::<0>(data, matrix)
}

/// Repeats a quad word in all lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(crate) fn everywhere(word: Matrix) -> __m512i {
    _mm512_set1_epi64(word.cast_signed())
}

/// Returns the mask unchanged, but hides its value from the compiler, which would replace a known mask by an AND after
/// the lookup.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn kept(mut mask: __mmask64) -> __mmask64 {
    // SAFETY: no instruction.
    unsafe { asm!("/* {0} */", inout(kreg) mask, options(pure, nomem, nostack, preserves_flags)) };
    mask
}

//! The rounds of the row form of AVX2 (FIPS 46-3, Enciphering).
//!
//! ```text
//! half = a row of eight indices, see rows_avx2_layout.rs, in all quad words of a vector
//!
//! a round of a lane, in two vectors of four S-boxes:
//!   each index to the eight bytes of its quad word            2 vpshufb
//!   sums that leave place 7 free for one part of the table    4 vpaddb, 2 vpaddusb
//!   four lookups each, and their sum                          8 vpshufb, 6 vpxor
//!   what is an input of the target of a byte                  2 vpand
//!   both vectors, both halves, both quad words                1 vpxor, 1 vpermq, 1 vpxor, 1 vpshufd, 1 vpxor
//!   the other half ^ step                                     2 vpxor
//! ```
//!
//! 1. A table of 16 bytes is one operand, always read whole, so it is constant-time. Tables and controls are constants
//!    in memory, read at the same addresses in every round.
//! 2. E and P cost nothing: tables and bit order include them. Each quad word of the sum is a part of f(R) with E
//!    applied. All quad words are summed, so the next round begins with the broadcast of indices.
//! 3. Round keys are added to the half when it is written, by the same steps as in the byte-sliced form
//!    (`byte_sliced_rounds.rs`). Other half and step are added while the last shuffle runs.
//!
//! Limits of Sapphire Rapids: 31 operations, three a cycle, are 10.3 cycles. The longest path through a round is 13:
//! four to the first sum of two lookups, three for the second sum, the AND and the vectors' sum, 3 for the exchange of
//! halves, and three more. Both limits apply, since no lookup can start before the round before has ended. One lane is
//! measured at 19 to 20; two lanes, one of which runs while the other waits, at 13 to 14 a lane.
//!
//! Dropped: a lane in half of the bytes of a vector with four vectors of lookups, one table for each S-box, so that two
//! lanes share a vector (54 operations, 18 cycles at best for one lane as for two); the halves of two lanes in one
//! vector, which saves five operations of 62 after the lookups (29 cycles for both instead of 27 to 28: it is on the
//! longest path); the quad words of a half added when its indices are broadcast, by two shuffles (one operation less on
//! the longest path, three more in all: half a cycle more); three and four lanes together (35 to 37 and 46 to 50
//! cycles, a tenth less a lane, and nothing less if another hardware thread uses its share of the ports).

use super::byte_sliced_rounds::STEPS;
use super::rows_avx2_layout::{INDICES, MASKS, Row, SUMS, TABLES};
use std::arch::x86_64::*;

/// A half of a block of each lane, repeated in all four quad words of a vector.
pub(crate) type Half<const LANES: usize> = [__m256i; LANES];

/// The key schedule of a lane: the values that each step adds to a half.
pub(crate) type Steps = [u64; STEPS];

/// One single-DES operation without IP and its inverse. The halves are L0 and R0 on entry, and the left and right half
/// of the standard's pre-output on return.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn des<const LANES: usize>(
    steps: [&Steps; LANES],
    encipher: bool,
    left: &mut Half<LANES>,
    right: &mut Half<LANES>,
) {
    let at = |index: usize, lane: usize| {
        let index = if encipher { index } else { STEPS - 1 - index };
        _mm256_set1_epi64x(steps[lane][index].cast_signed())
    };
    let (mut a, mut b) = (*right, *left);
    for (lane, a) in a.iter_mut().enumerate() {
        *a = _mm256_xor_si256(*a, at(0, lane));
    }
    for pair in 0..8 {
        for lane in 0..LANES {
            b[lane] = sum(b[lane], a[lane], at(2 * pair + 1, lane));
        }
        for lane in 0..LANES {
            a[lane] = sum(a[lane], b[lane], at(2 * pair + 2, lane));
        }
    }
    for (lane, b) in b.iter_mut().enumerate() {
        *b = _mm256_xor_si256(*b, at(STEPS - 1, lane));
    }
    (*left, *right) = (a, b);
}

/// `half ^ f(inputs) ^ step`.
#[inline]
#[target_feature(enable = "avx2")]
fn sum(half: __m256i, inputs: __m256i, step: __m256i) -> __m256i {
    let all = _mm256_xor_si256(outputs(0, inputs), outputs(1, inputs));
    let halves = _mm256_xor_si256(all, _mm256_permute2x128_si256::<SWAP_HALVES>(all, all));
    let quads = _mm256_shuffle_epi32::<SWAP_QUADS>(halves);
    _mm256_xor_si256(_mm256_xor_si256(halves, _mm256_xor_si256(half, step)), quads)
}

/// The outputs of four S-boxes, each in its quad word.
#[inline]
#[target_feature(enable = "avx2")]
fn outputs(vector: usize, inputs: __m256i) -> __m256i {
    let indices = _mm256_shuffle_epi8(inputs, load(&INDICES[vector]));
    let [first, second, third] = &SUMS[vector];
    let part = |part: usize, indices| _mm256_shuffle_epi8(load(&TABLES[vector][part]), indices);
    let one = _mm256_xor_si256(part(0, indices), part(1, _mm256_add_epi8(indices, load(first))));
    let other = _mm256_xor_si256(
        part(2, _mm256_add_epi8(indices, load(second))),
        part(3, _mm256_adds_epu8(indices, load(third))),
    );
    _mm256_and_si256(_mm256_xor_si256(one, other), load(&MASKS[vector]))
}

/// Exchanges the two halves of a vector, 16 bytes each.
pub(crate) const SWAP_HALVES: i32 = 1;
/// Exchanges the quad words of each half.
pub(crate) const SWAP_QUADS: i32 = 0b01_00_11_10;

#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn load(row: &Row) -> __m256i {
    // SAFETY: a reference to 32 readable bytes; the instruction asks for no alignment.
    unsafe { _mm256_loadu_si256(row.0.as_ptr().cast()) }
}

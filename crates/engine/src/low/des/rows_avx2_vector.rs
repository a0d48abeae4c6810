//! Converts a block to its halves as rows of AVX2, and back.
//!
//! ```text
//! a block in all quad words
//!   six inputs of 16 targets, two at a time    14   vpshufb, vpand, vpcmpeqb, vpand; vpor
//!   both halves, to all quad words              4   L | R
//! halves
//!   64 bits, half of them at a time             9
//!   four quad words                             4
//! a block
//! ```
//!
//! Chained blocks wait for none of this: text is converted to rows before it is added, ciphertext from rows afterwards.

use super::Block;
use super::rows_avx2_layout::{BLOCK_OF_HALVES, HALVES_OF_BLOCK, Pick};
use super::rows_avx2_rounds::{SWAP_HALVES, SWAP_QUADS, load};
use std::arch::x86_64::*;

/// The left and the right half of a block after IP, in all quad words.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn halves_of_block(block: Block) -> [__m256i; 2] {
    let bytes = _mm256_set1_epi64x(i64::from_le_bytes(block));
    let [first, second, third] = HALVES_OF_BLOCK.each_ref().map(|pick| picked(bytes, pick));
    let inputs = _mm256_or_si256(_mm256_or_si256(first, second), third);
    let halves = _mm256_or_si256(inputs, _mm256_permute2x128_si256::<SWAP_HALVES>(inputs, inputs));
    [_mm256_unpacklo_epi64(halves, halves), _mm256_unpackhi_epi64(halves, halves)]
}

/// The block made from the left and the right half of a pre-output.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn block_of_halves(left: __m256i, right: __m256i) -> Block {
    let halves = _mm256_unpacklo_epi64(left, right);
    let [first, second] = BLOCK_OF_HALVES.each_ref().map(|pick| picked(halves, pick));
    let bits = _mm256_or_si256(first, second);
    let two = _mm_or_si128(_mm256_castsi256_si128(bits), _mm256_extracti128_si256::<1>(bits));
    let one = _mm_or_si128(two, _mm_shuffle_epi32::<SWAP_QUADS>(two));
    _mm_cvtsi128_si64(one).to_le_bytes()
}

/// Moves bits of the bytes of either half to their new places.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn picked(bytes: __m256i, pick: &Pick) -> __m256i {
    let bit = load(&pick.bit);
    let bits = _mm256_and_si256(_mm256_shuffle_epi8(bytes, load(&pick.from)), bit);
    _mm256_and_si256(_mm256_cmpeq_epi8(bits, bit), load(&pick.to))
}

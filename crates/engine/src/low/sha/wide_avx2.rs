//! Four lanes of words of 64 bits: word `i` of a vector belongs to stream `i`.

use super::avx2::{Words, choose, fixed, get, majority, put, xor3};
use super::constants::SHA512_K;
use super::rounds::{load_by_quarters, rotated, sha2_lanes, sha512_lanes};
use super::{LaneState, Texts};
use crate::low::cpu::Avx2;
use std::arch::x86_64::*;

const WORD_BITS: i32 = 64;

load_by_quarters!("avx2", 128);
sha512_lanes!("avx2", Avx2);

#[inline]
#[target_feature(enable = "avx2")]
fn add(x: Words, y: Words) -> Words {
    _mm256_add_epi64(x, y)
}

#[inline]
#[target_feature(enable = "avx2")]
fn sub(x: Words, y: Words) -> Words {
    _mm256_sub_epi64(x, y)
}

/// Rotates right by RIGHT bits; LEFT must be [`WORD_BITS`] less RIGHT.
#[inline]
#[target_feature(enable = "avx2")]
fn rotate_right<const RIGHT: i32, const LEFT: i32>(x: Words) -> Words {
    _mm256_or_si256(_mm256_srli_epi64::<RIGHT>(x), _mm256_slli_epi64::<LEFT>(x))
}

#[inline]
#[target_feature(enable = "avx2")]
fn shift_right<const BITS: i32>(x: Words) -> Words {
    _mm256_srli_epi64::<BITS>(x)
}

#[inline]
#[target_feature(enable = "avx2")]
fn splat(word: u64) -> Words {
    _mm256_set1_epi64x(word.cast_signed())
}

/// Words `4 * QUARTER` to `4 * QUARTER + 3` of every stream: a 4x4 transposition.
///
/// # Safety
/// As [`load`].
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn quarter_columns<const SHA: usize, const QUARTER: usize>(
    texts: &Texts<'_, 128>,
    block: usize,
) -> [Words; 4] {
    let swap =
        _mm256_broadcastsi128_si256(_mm_set_epi8(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
    let row = |lane: usize| {
        // SAFETY: by contract every text has this block.
        let text: &[u8; 128] = unsafe { texts[lane].get_unchecked(block) };
        let (quarters, _) = text.as_chunks::<32>();
        // SAFETY: a quarter of a block is exactly one vector long.
        _mm256_shuffle_epi8(unsafe { _mm256_loadu_si256(quarters[QUARTER].as_ptr().cast()) }, swap)
    };
    let (r0, r1, r2, r3) = (row(0), row(1), row(2), row(3));
    let (even01, odd01) = (_mm256_unpacklo_epi64(r0, r1), _mm256_unpackhi_epi64(r0, r1));
    let (even23, odd23) = (_mm256_unpacklo_epi64(r2, r3), _mm256_unpackhi_epi64(r2, r3));
    [
        _mm256_permute2x128_si256::<0x20>(even01, even23),
        _mm256_permute2x128_si256::<0x20>(odd01, odd23),
        _mm256_permute2x128_si256::<0x31>(even01, even23),
        _mm256_permute2x128_si256::<0x31>(odd01, odd23),
    ]
}

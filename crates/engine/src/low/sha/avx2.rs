//! Eight lanes: word `i` of a vector belongs to stream `i`.

use super::constants::{SHA1_K, SHA256_K};
use super::rounds::{load_by_quarters, rotated, sha1_lanes, sha1_rounds, sha2_lanes, sha256_lanes};
use super::{LaneState, Texts, Word};
use crate::low::cpu::Avx2;
use std::arch::asm;
use std::arch::x86_64::*;

pub(super) type Words = __m256i;

const WORD_BITS: i32 = 32;

load_by_quarters!("avx2", 64);
sha1_lanes!("avx2", Avx2);
sha256_lanes!("avx2", Avx2);

// Operations that do not depend on the word length, also used by `wide_avx2`.

/// Returns the words unchanged, as a sum that the compiler must not rearrange.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn fixed(mut x: Words) -> Words {
    // SAFETY: no instruction at all.
    unsafe { asm!("/* {0} */", inout(ymm_reg) x, options(pure, nomem, nostack, preserves_flags)) };
    x
}

#[inline]
#[target_feature(enable = "avx2")]
fn xor(x: Words, y: Words) -> Words {
    _mm256_xor_si256(x, y)
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn xor3(x: Words, y: Words, z: Words) -> Words {
    xor(xor(x, y), z)
}

/// y where x has ones, z where it has zeros.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn choose(x: Words, y: Words, z: Words) -> Words {
    xor(z, _mm256_and_si256(x, xor(y, z)))
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn majority(x: Words, y: Words, z: Words) -> Words {
    xor(_mm256_and_si256(x, y), _mm256_and_si256(z, xor(x, y)))
}

/// Loads the front of a row, one vector.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn get<W: Word>(row: &[W; 16]) -> Words {
    const { assert!(size_of::<Words>() <= size_of::<[W; 16]>()) };
    // SAFETY: a row is no shorter than a vector.
    unsafe { _mm256_loadu_si256(row.as_ptr().cast()) }
}

/// Stores to the words that [`get`] reads.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn put<W: Word>(row: &mut [W; 16], words: Words) {
    const { assert!(size_of::<Words>() <= size_of::<[W; 16]>()) };
    // SAFETY: a row is no shorter than a vector, and words may have any bits.
    unsafe { _mm256_storeu_si256(row.as_mut_ptr().cast(), words) }
}

// Operations on 32-bit words.

#[inline]
#[target_feature(enable = "avx2")]
fn add(x: Words, y: Words) -> Words {
    _mm256_add_epi32(x, y)
}

#[inline]
#[target_feature(enable = "avx2")]
fn sub(x: Words, y: Words) -> Words {
    _mm256_sub_epi32(x, y)
}

/// Rotates right by RIGHT bits; LEFT must be [`WORD_BITS`] less RIGHT.
#[inline]
#[target_feature(enable = "avx2")]
fn rotate_right<const RIGHT: i32, const LEFT: i32>(x: Words) -> Words {
    _mm256_or_si256(_mm256_srli_epi32::<RIGHT>(x), _mm256_slli_epi32::<LEFT>(x))
}

#[inline]
#[target_feature(enable = "avx2")]
fn shift_right<const BITS: i32>(x: Words) -> Words {
    _mm256_srli_epi32::<BITS>(x)
}

#[inline]
#[target_feature(enable = "avx2")]
fn splat(word: u32) -> Words {
    _mm256_set1_epi32(word.cast_signed())
}

/// Words `4 * QUARTER` to `4 * QUARTER + 3` of every stream: rows of halves `[ stream i | stream i + 4 ]`, then a 4x4
/// transposition in each half.
///
/// # Safety
/// As [`load`].
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn quarter_columns<const SHA: usize, const QUARTER: usize>(
    texts: &Texts<'_>,
    block: usize,
) -> [Words; 4] {
    let swap =
        _mm256_broadcastsi128_si256(_mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3));
    let piece = |lane: usize| {
        // SAFETY: by contract every text has this block.
        let text: &[u8; 64] = unsafe { texts[lane].get_unchecked(block) };
        let (pieces, _) = text.as_chunks::<16>();
        // SAFETY: a piece is exactly one vector long.
        unsafe { _mm_loadu_si128(pieces[QUARTER].as_ptr().cast()) }
    };
    let gather = |first: usize| _mm256_shuffle_epi8(_mm256_set_m128i(piece(first + 4), piece(first)), swap);
    let (r0, r1, r2, r3) = (gather(0), gather(1), gather(2), gather(3));
    let (low01, high01) = (_mm256_unpacklo_epi32(r0, r1), _mm256_unpackhi_epi32(r0, r1));
    let (low23, high23) = (_mm256_unpacklo_epi32(r2, r3), _mm256_unpackhi_epi32(r2, r3));
    [
        _mm256_unpacklo_epi64(low01, low23),
        _mm256_unpackhi_epi64(low01, low23),
        _mm256_unpacklo_epi64(high01, high23),
        _mm256_unpackhi_epi64(high01, high23),
    ]
}

//! Sixteen lanes: word `i` of a vector belongs to stream `i`.
//!
//! # Loading
//!
//! A pass begins with sixteen blocks, one row of sixteen words each, and needs sixteen columns:
//!
//! ```text
//!              words 0-3   4-7    8-11   12-15
//! stream  0    [ q0,0  |  q0,1 |  q0,2 |  q0,3 ]      column 0: [ word 0 of stream 0 | of 1 | ... | of 15 ]
//!   ...                                               column 1: [ word 1 of stream 0 | of 1 | ... | of 15 ]
//! stream 15    [ q15,0 | q15,1 | q15,2 | q15,3 ]
//! ```
//!
//! 1. Vectors of four quarters `[ q0,c | q4,c | q8,c | q12,c ]` are combined by loads that repeat a quarter and keep
//!    one copy under a mask: the load ports replace two of four shuffle stages.
//! 2. Inside each quarter a 4x4 transposition remains, two stages, and the byte swap, one shuffle a vector.
//! 3. Quarter-columns are independent, so the processor starts rounds 0-3 while it still loads the rest.

use super::constants::{SHA1_K, SHA256_K};
use super::rounds::{load_by_quarters, rotated, sha1_lanes, sha1_rounds, sha2_lanes, sha256_lanes};
use super::{LaneState, Texts, Word};
use crate::low::cpu::Avx512;
use std::arch::asm;
use std::arch::x86_64::*;

pub(super) type Words = __m512i;

const WORD_BITS: i32 = 32;

load_by_quarters!("avx512f,avx512bw,avx512dq,avx512vl", 64);
sha1_lanes!("avx512f,avx512bw,avx512dq,avx512vl", Avx512);
sha256_lanes!("avx512f,avx512bw,avx512dq,avx512vl", Avx512);

// Operations that do not depend on the word length, also used by `wide_avx512`.

/// Returns the words unchanged, as a sum that the compiler must not rearrange.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn fixed(mut x: Words) -> Words {
    // SAFETY: no instruction at all.
    unsafe { asm!("/* {0} */", inout(zmm_reg) x, options(pure, nomem, nostack, preserves_flags)) };
    x
}

#[inline]
#[target_feature(enable = "avx512f")]
fn xor(x: Words, y: Words) -> Words {
    _mm512_xor_si512(x, y)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn xor3(x: Words, y: Words, z: Words) -> Words {
    _mm512_ternarylogic_epi32::<0x96>(x, y, z)
}

/// y where x has ones, z where it has zeros.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn choose(x: Words, y: Words, z: Words) -> Words {
    _mm512_ternarylogic_epi32::<0xca>(x, y, z)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn majority(x: Words, y: Words, z: Words) -> Words {
    _mm512_ternarylogic_epi32::<0xe8>(x, y, z)
}

/// Loads the front of a row, one vector.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn get<W: Word>(row: &[W; 16]) -> Words {
    const { assert!(size_of::<Words>() <= size_of::<[W; 16]>()) };
    // SAFETY: a row is no shorter than a vector.
    unsafe { _mm512_loadu_si512(row.as_ptr().cast()) }
}

/// Stores to the words that [`get`] reads.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn put<W: Word>(row: &mut [W; 16], words: Words) {
    const { assert!(size_of::<Words>() <= size_of::<[W; 16]>()) };
    // SAFETY: a row is no shorter than a vector, and words may have any bits.
    unsafe { _mm512_storeu_si512(row.as_mut_ptr().cast(), words) }
}

// Operations on 32-bit words.

#[inline]
#[target_feature(enable = "avx512f")]
fn add(x: Words, y: Words) -> Words {
    _mm512_add_epi32(x, y)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn sub(x: Words, y: Words) -> Words {
    _mm512_sub_epi32(x, y)
}

/// Rotates right by RIGHT bits. LEFT must be [`WORD_BITS`] less RIGHT; instruction sets without rotation need it.
#[inline]
#[target_feature(enable = "avx512f")]
fn rotate_right<const RIGHT: i32, const LEFT: i32>(x: Words) -> Words {
    _mm512_ror_epi32::<RIGHT>(x)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn shift_right<const BITS: u32>(x: Words) -> Words {
    _mm512_srli_epi32::<BITS>(x)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn splat(word: u32) -> Words {
    _mm512_set1_epi32(word.cast_signed())
}

/// Words `4 * QUARTER` to `4 * QUARTER + 3` of every stream.
///
/// # Safety
/// As [`load`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn quarter_columns<const SHA: usize, const QUARTER: usize>(
    texts: &Texts<'_>,
    block: usize,
) -> [Words; 4] {
    let swap = _mm512_broadcast_i32x4(_mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3));
    let piece = |lane: usize| {
        // SAFETY: by contract every text has this block.
        let text: &[u8; 64] = unsafe { texts[lane].get_unchecked(block) };
        let (pieces, _) = text.as_chunks::<16>();
        // SAFETY: a piece is exactly one vector long.
        unsafe { _mm_loadu_si128(pieces[QUARTER].as_ptr().cast()) }
    };
    // Streams `first`, `first + 4`, `first + 8` and `first + 12`.
    let gather = |first: usize| {
        let rows = _mm512_broadcast_i32x4(piece(first));
        let rows = _mm512_mask_broadcast_i32x4(rows, 0x00f0, piece(first + 4));
        let rows = _mm512_mask_broadcast_i32x4(rows, 0x0f00, piece(first + 8));
        let rows = _mm512_mask_broadcast_i32x4(rows, 0xf000, piece(first + 12));
        _mm512_shuffle_epi8(rows, swap)
    };
    let (r0, r1, r2, r3) = (gather(0), gather(1), gather(2), gather(3));
    let (low01, high01) = (_mm512_unpacklo_epi32(r0, r1), _mm512_unpackhi_epi32(r0, r1));
    let (low23, high23) = (_mm512_unpacklo_epi32(r2, r3), _mm512_unpackhi_epi32(r2, r3));
    [
        _mm512_unpacklo_epi64(low01, low23),
        _mm512_unpackhi_epi64(low01, low23),
        _mm512_unpacklo_epi64(high01, high23),
        _mm512_unpackhi_epi64(high01, high23),
    ]
}

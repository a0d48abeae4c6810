//! Eight lanes of words of 64 bits: word `i` of a vector belongs to stream `i`.
//!
//! A pass begins with eight blocks of sixteen words. Each half of them is transposed as 8x8 words: neighbours are
//! interleaved, then pairs of words are moved in two stages.

use super::avx512::{Words, choose, fixed, get, majority, put, xor3};
use super::constants::SHA512_K;
use super::rounds::{rotated, sha2_lanes, sha512_lanes};
use super::{LaneState, Texts};
use crate::low::cpu::Avx512;
use std::arch::x86_64::*;

const WORD_BITS: i32 = 64;

sha512_lanes!("avx512f,avx512bw,avx512dq,avx512vl", Avx512);

#[inline]
#[target_feature(enable = "avx512f")]
fn add(x: Words, y: Words) -> Words {
    _mm512_add_epi64(x, y)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn sub(x: Words, y: Words) -> Words {
    _mm512_sub_epi64(x, y)
}

/// Rotates right by RIGHT bits. LEFT must be [`WORD_BITS`] less RIGHT; instruction sets without rotation need it.
#[inline]
#[target_feature(enable = "avx512f")]
fn rotate_right<const RIGHT: i32, const LEFT: i32>(x: Words) -> Words {
    _mm512_ror_epi64::<RIGHT>(x)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn shift_right<const BITS: u32>(x: Words) -> Words {
    _mm512_srli_epi64::<BITS>(x)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn splat(word: u64) -> Words {
    _mm512_set1_epi64(word.cast_signed())
}

/// Block `block` of every stream as sixteen vectors of big-endian words.
///
/// # Safety
/// Every text has a block of this number.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn load<const SHA: usize>(texts: &Texts<'_, 128>, block: usize) -> [Words; 16] {
    // SAFETY: by contract.
    let [low, high] = unsafe { [half::<0>(texts, block), half::<1>(texts, block)] };
    let ([w0, w1, w2, w3, w4, w5, w6, w7], [w8, w9, w10, w11, w12, w13, w14, w15]) = (low, high);
    [w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15]
}

/// Words `8 * HALF` to `8 * HALF + 7` of every stream.
///
/// # Safety
/// As [`load`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn half<const HALF: usize>(texts: &Texts<'_, 128>, block: usize) -> [Words; 8] {
    let swap = _mm512_broadcast_i32x4(_mm_set_epi8(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
    let row = |lane: usize| {
        // SAFETY: by contract every text has this block.
        let text: &[u8; 128] = unsafe { texts[lane].get_unchecked(block) };
        let (halves, _) = text.as_chunks::<64>();
        // SAFETY: half a block is exactly one vector long.
        _mm512_shuffle_epi8(unsafe { _mm512_loadu_si512(halves[HALF].as_ptr().cast()) }, swap)
    };
    // The even words of two streams, and the odd ones.
    let pair = |first: usize| {
        let (one, other) = (row(first), row(first + 1));
        [_mm512_unpacklo_epi64(one, other), _mm512_unpackhi_epi64(one, other)]
    };
    let ([e0, o0], [e2, o2], [e4, o4], [e6, o6]) = (pair(0), pair(2), pair(4), pair(6));
    let [w0, w2, w4, w6] = pairs_in_place(e0, e2, e4, e6);
    let [w1, w3, w5, w7] = pairs_in_place(o0, o2, o4, o6);
    [w0, w1, w2, w3, w4, w5, w6, w7]
}

/// Transposes 4x4 pairs of words.
#[inline]
#[target_feature(enable = "avx512f")]
fn pairs_in_place(a: Words, b: Words, c: Words, d: Words) -> [Words; 4] {
    let (low_ab, high_ab) = (_mm512_shuffle_i64x2::<0x44>(a, b), _mm512_shuffle_i64x2::<0xee>(a, b));
    let (low_cd, high_cd) = (_mm512_shuffle_i64x2::<0x44>(c, d), _mm512_shuffle_i64x2::<0xee>(c, d));
    [
        _mm512_shuffle_i64x2::<0x88>(low_ab, low_cd),
        _mm512_shuffle_i64x2::<0xdd>(low_ab, low_cd),
        _mm512_shuffle_i64x2::<0x88>(high_ab, high_cd),
        _mm512_shuffle_i64x2::<0xdd>(high_ab, high_cd),
    ]
}

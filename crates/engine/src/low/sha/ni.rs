//! A few lanes with the SHA instructions: each stream has registers of its own, and while one waits for its last result
//! the others proceed.
//!
//! `SHA256RNDS2` and `SHA1RNDS4` give a result after four and six cycles, and one can begin every second cycle. Two
//! lanes run at 1.8 (SHA-1) and 1.4 (SHA-256) times the speed of one, three at 2.2 and 1.7, four at 2.4 and 1.7.
//! Sixteen registers hold the sums and message schedules of two lanes; the rest is in memory.

use super::constants::SHA256_K;
use super::{LaneState, Texts};
use crate::low::cpu::Sha;
use std::arch::x86_64::*;

type Vector = __m128i;

/// Four rounds of SHA-1 (FIPS 180-4, 6.1.2): group `$g` with the function of index `$f`. `$abcd` holds the words a to
/// d, `$e` the word that becomes e, and `$w` the last four groups of the message schedule.
macro_rules! sha1_four_rounds {
    ($abcd:expr, $e:expr, $w:expr, $g:literal, $f:literal) => {
        if $g >= 4 {
            let far = _mm_xor_si128(_mm_sha1msg1_epu32($w[$g & 3], $w[($g + 1) & 3]), $w[($g + 2) & 3]);
            $w[$g & 3] = _mm_sha1msg2_epu32(far, $w[($g + 3) & 3]);
        }
        let added = if $g == 0 { _mm_add_epi32($e, $w[0]) } else { _mm_sha1nexte_epu32($e, $w[$g & 3]) };
        $e = $abcd;
        $abcd = _mm_sha1rnds4_epu32::<$f>($abcd, added);
    };
}

/// The twenty groups of rounds of SHA-1: `$group!(i, f)` for group `i` with the function of index `f`.
macro_rules! sha1_groups {
    ($group:ident) => {
        sha1_groups!($group, 0: 0 1 2 3 4);
        sha1_groups!($group, 1: 5 6 7 8 9);
        sha1_groups!($group, 2: 10 11 12 13 14);
        sha1_groups!($group, 3: 15 16 17 18 19);
    };
    ($group:ident, $f:literal: $($g:literal)*) => {
        $($group!($g, $f);)*
    };
}

pub(in crate::low) use {sha1_four_rounds, sha1_groups};

/// SHA-1: compresses `blocks` blocks of each lane's own text.
#[target_feature(enable = "sha,ssse3,sse4.1,avx")]
pub(super) fn sha1<const LANES: usize>(
    _token: Sha,
    state: &mut LaneState<u32>,
    texts: &Texts<'_>,
    blocks: usize,
) {
    let mut sums: [[Vector; 2]; LANES] = std::array::from_fn(|lane| {
        let [a, b, c, d, e, ..] = state.lane(lane).map(u32::cast_signed);
        [_mm_set_epi32(a, b, c, d), _mm_set_epi32(e, 0, 0, 0)]
    });
    // Puts the first word in the highest place.
    let reverse = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for block in 0..blocks {
        let mut w: [[Vector; 4]; LANES] = std::array::from_fn(|lane| load(texts, lane, block, reverse));
        let mut s = sums;
        macro_rules! group {
            ($g:literal, $f:literal) => {
                for lane in 0..LANES {
                    sha1_four_rounds!(s[lane][0], s[lane][1], w[lane], $g, $f);
                }
            };
        }
        sha1_groups!(group);
        for (sum, [abcd, e]) in sums.iter_mut().zip(s) {
            *sum = [_mm_add_epi32(sum[0], abcd), _mm_sha1nexte_epu32(e, sum[1])];
        }
    }
    for (lane, [abcd, e]) in sums.into_iter().enumerate() {
        let [a, b, c, d] = words(abcd);
        state.set_lane(lane, &[a, b, c, d, words(e)[0], 0, 0, 0]);
    }
}

/// SHA-256: compresses `blocks` blocks of each lane's own text.
#[target_feature(enable = "sha,ssse3,sse4.1,avx")]
pub(super) fn sha256<const LANES: usize>(
    _token: Sha,
    state: &mut LaneState<u32>,
    texts: &Texts<'_>,
    blocks: usize,
) {
    // The order of words that the instructions need.
    let mut sums: [[Vector; 2]; LANES] = std::array::from_fn(|lane| {
        let [a, b, c, d, e, f, g, h] = state.lane(lane).map(u32::cast_signed);
        [_mm_set_epi32(a, b, e, f), _mm_set_epi32(c, d, g, h)]
    });
    let swap = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    for block in 0..blocks {
        let mut w: [[Vector; 4]; LANES] = std::array::from_fn(|lane| load(texts, lane, block, swap));
        let mut s = sums;
        macro_rules! groups {
            ($($g:literal)*) => {
                $(
                    let [k0, k1, k2, k3] = constants::<{ 4 * $g }>();
                    let k = _mm_set_epi32(k3, k2, k1, k0);
                    for lane in 0..LANES {
                        let w = &mut w[lane];
                        if $g >= 4 {
                            let far = _mm_sha256msg1_epu32(w[$g & 3], w[($g + 1) & 3]);
                            let middle = _mm_alignr_epi8::<4>(w[($g + 3) & 3], w[($g + 2) & 3]);
                            w[$g & 3] = _mm_sha256msg2_epu32(_mm_add_epi32(far, middle), w[($g + 3) & 3]);
                        }
                        let added = _mm_add_epi32(w[$g & 3], k);
                        let [abef, cdgh] = s[lane];
                        let next = _mm_sha256rnds2_epu32(cdgh, abef, added);
                        let high = _mm_shuffle_epi32::<0x0e>(added);
                        s[lane] = [_mm_sha256rnds2_epu32(abef, next, high), next];
                    }
                )*
            };
        }
        groups!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        for (sum, [abef, cdgh]) in sums.iter_mut().zip(s) {
            *sum = [_mm_add_epi32(sum[0], abef), _mm_add_epi32(sum[1], cdgh)];
        }
    }
    for (lane, [abef, cdgh]) in sums.into_iter().enumerate() {
        let ([a, b, e, f], [c, d, g, h]) = (words(abef), words(cdgh));
        state.set_lane(lane, &[a, b, c, d, e, f, g, h]);
    }
}

/// Four round constants of SHA-256, from number FIRST on.
const fn constants<const FIRST: usize>() -> [i32; 4] {
    let k = &SHA256_K;
    [
        k[FIRST].cast_signed(),
        k[FIRST + 1].cast_signed(),
        k[FIRST + 2].cast_signed(),
        k[FIRST + 3].cast_signed(),
    ]
}

/// Loads one block of one stream; `order` permutes the bytes of each piece.
#[inline]
#[target_feature(enable = "ssse3")]
fn load(texts: &Texts<'_>, lane: usize, block: usize, order: Vector) -> [Vector; 4] {
    let (pieces, _) = texts[lane][block].as_chunks::<16>();
    std::array::from_fn(|at| {
        // SAFETY: a piece is exactly one vector long.
        let piece = unsafe { _mm_loadu_si128(pieces[at].as_ptr().cast()) };
        _mm_shuffle_epi8(piece, order)
    })
}

/// The words of a vector, from the highest place on.
#[inline]
#[target_feature(enable = "sse4.1")]
fn words(vector: Vector) -> [u32; 4] {
    [
        _mm_extract_epi32::<3>(vector),
        _mm_extract_epi32::<2>(vector),
        _mm_extract_epi32::<1>(vector),
        _mm_extract_epi32::<0>(vector),
    ]
    .map(i32::cast_unsigned)
}

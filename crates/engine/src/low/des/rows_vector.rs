//! Converts blocks to halves as rows and back, eight lanes a vector.
//!
//! ```text
//! eight blocks                                         7 6 5 4 3 2 1 0   bytes of a quad word
//!   bits of each transposed: IP                2       R4 .. R1 R4 .. R1 a half twice    vgf2p8affine
//!   windows: E                                 2       t0 t1 t2 .... t7  eight bits each vpmultishift
//!   bits picked by row and target             20       r0 r1 r2 .. r5 0 0                vgf2p8affine, vpternlog
//! halves
//!   indices of even and of odd targets         6       of the planes of both halves      vgf2p8affine, vpxor
//!   four bits of each, by tables              12       planes                            vpermb, vpternlog
//!   bits transposed: the inverse of IP         1                                         vgf2p8affine
//! eight blocks
//! ```

use super::byte_sliced_vector::{load, xor3};
use super::rows_layout::{
    BITS_OF_TARGETS, PICKS, PLANE_BYTES, PLANES, TARGETS_OF_PLANES, TO_BLOCKS, WINDOWS,
};
use super::rows_rounds::{everywhere, picked};
use std::arch::x86_64::*;

/// The left and the right half of eight blocks after IP.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(crate) fn halves_of_blocks(blocks: __m512i) -> [__m512i; 2] {
    [half(blocks, 0), half(blocks, 1)]
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn half(blocks: __m512i, half: usize) -> __m512i {
    let doubled = picked(everywhere(PLANES[half]), blocks);
    let windows = _mm512_multishift_epi64_epi8(everywhere(WINDOWS), doubled);
    let mut rows = _mm512_setzero_si512();
    for (inputs, bits) in PICKS {
        rows =
            _mm512_ternarylogic_epi64::<AND_OR>(picked(everywhere(inputs), windows), everywhere(bits), rows);
    }
    rows
}

/// The blocks made from the left and the right half of eight pre-outputs.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(crate) fn blocks_of_halves(left: __m512i, right: __m512i) -> __m512i {
    let targets = |odd: usize| {
        let [of_left, of_right] = [TARGETS_OF_PLANES[0][odd], TARGETS_OF_PLANES[1][odd]];
        _mm512_xor_si512(picked(everywhere(of_left), left), picked(everywhere(of_right), right))
    };
    let [even, odd] = [targets(0), targets(1)];
    let bits = |q: usize, odd_target: usize, targets| {
        let table = load(&BITS_OF_TARGETS[2 * q + odd_target].0);
        _mm512_maskz_permutexvar_epi8(PLANE_BYTES[q], targets, table)
    };
    let mut planes = _mm512_setzero_si512();
    for q in 0..4 {
        planes = xor3(planes, bits(q, 0, even), bits(q, 1, odd));
    }
    picked(everywhere(TO_BLOCKS), planes)
}

/// The bitwise function `(a AND b) OR c`.
const AND_OR: i32 = 0xea;

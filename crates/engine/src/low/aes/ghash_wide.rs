//! Products in the field of GHASH on 512-bit vectors, four blocks a vector, in the form of `low::polyval`.

use super::Block;
use super::gcm::{ENTRIES, PASS_BLOCKS, POWERS};
use super::vaes::four_times;
use super::vector::{store, store_block};
use crate::low::cpu::Avx512;
use std::arch::x86_64::*;

/// The number of vectors that hold one power for each block of a pass.
const WIDE: usize = PASS_BLOCKS / 4;

/// Computes the powers of a hash key, which is in the form of POLYVAL.
pub(crate) fn powers(_token: Avx512, key: &Block, powers: &mut [Block; ENTRIES]) {
    // SAFETY: the token proves every feature that the kernel is compiled for.
    unsafe { fill(key, powers) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq")]
fn fill(key: &Block, powers: &mut [Block; ENTRIES]) {
    // Four powers a vector, the highest first. Each next vector is an earlier one times the highest power so far.
    let one = four_times(key);
    let two = dot(one, one);
    let low_four = _mm512_mask_blend_epi64(0b0011_0011, one, two);
    let high_four = dot(low_four, two);
    let mut vectors = [_mm512_mask_blend_epi64(0b0000_1111, low_four, high_four); WIDE];
    let mut made = 1;
    while made < WIDE {
        let by = _mm512_shuffle_i32x4::<0>(vectors[made - 1], vectors[made - 1]);
        for n in 0..made {
            vectors[made + n] = dot(vectors[n], by);
        }
        made *= 2;
    }
    let highest = _mm512_shuffle_i32x4::<0>(vectors[WIDE - 1], vectors[WIDE - 1]);
    let fifth = _mm512_shuffle_i32x4::<0b11_11_11_11>(vectors[1], vectors[1]);
    let (above, beyond) = (dot(vectors[0], highest), dot(fifth, highest));
    *powers = [[0; 16]; ENTRIES];
    let (first, rest) = powers.split_at_mut(POWERS - PASS_BLOCKS - 4);
    store_block(&mut first[0], _mm512_castsi512_si128(beyond));
    let (rest, _) = rest.as_flattened_mut().as_chunks_mut::<64>();
    store(&mut rest[0], above);
    for n in 0..WIDE {
        store(&mut rest[WIDE - n], vectors[n]);
    }
}

/// Sums of 256-bit products in four places: low halves, high halves, and the middle terms across both.
pub(super) struct Sums {
    low: __m512i,
    middle: __m512i,
    high: __m512i,
}

impl Sums {
    /// Sums of no products.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn none() -> Sums {
        let zero = _mm512_setzero_si512();
        Sums { low: zero, middle: zero, high: zero }
    }

    /// The sum of one product.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,pclmulqdq")]
    pub(super) fn of_block(a: __m128i, b: __m128i) -> Sums {
        let middle = _mm_xor_si128(_mm_clmulepi64_si128::<0x01>(a, b), _mm_clmulepi64_si128::<0x10>(a, b));
        Sums {
            low: _mm512_zextsi128_si512(_mm_clmulepi64_si128::<0x00>(a, b)),
            middle: _mm512_zextsi128_si512(middle),
            high: _mm512_zextsi128_si512(_mm_clmulepi64_si128::<0x11>(a, b)),
        }
    }

    /// Adds four products.
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    pub(super) fn add(&mut self, a: __m512i, b: __m512i) {
        self.low = _mm512_xor_si512(self.low, _mm512_clmulepi64_epi128::<0x00>(a, b));
        self.high = _mm512_xor_si512(self.high, _mm512_clmulepi64_epi128::<0x11>(a, b));
        let (one, two) = (_mm512_clmulepi64_epi128::<0x01>(a, b), _mm512_clmulepi64_epi128::<0x10>(a, b));
        self.middle = xor3(self.middle, one, two);
    }

    /// The reduced total, as one element of the field.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmulqdq")]
    pub(super) fn reduced(self) -> __m128i {
        let low = _mm512_xor_si512(self.low, _mm512_bslli_epi128::<8>(self.middle));
        let high = _mm512_xor_si512(self.high, _mm512_bsrli_epi128::<8>(self.middle));
        // The four places of both halves are added up together.
        let pairs = _mm512_xor_si512(
            _mm512_shuffle_i64x2::<0b01_00_01_00>(low, high),
            _mm512_shuffle_i64x2::<0b11_10_11_10>(low, high),
        );
        let both = _mm512_xor_si512(pairs, _mm512_shuffle_i64x2::<0b10_11_00_01>(pairs, pairs));
        let (low, high) = (_mm512_castsi512_si128(both), _mm512_extracti32x4_epi32::<2>(both));
        let polynomial = _mm_cvtsi64_si128(POLYNOMIAL);
        let once = fold_block(low, polynomial);
        _mm_xor_si128(high, fold_block(once, polynomial))
    }
}

/// Reduction: a low word's multiple that is added 64 bits higher, beside the word itself 128 bits higher. See
/// `low::polyval`.
const POLYNOMIAL: i64 = 0xC200_0000_0000_0000_u64.cast_signed();

#[inline]
#[target_feature(enable = "sse2,pclmulqdq")]
fn fold_block(value: __m128i, polynomial: __m128i) -> __m128i {
    let product = _mm_clmulepi64_si128::<0x00>(value, polynomial);
    _mm_xor_si128(_mm_shuffle_epi32::<0x4E>(value), product)
}

/// Four reduced products.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
fn dot(a: __m512i, b: __m512i) -> __m512i {
    let middle =
        _mm512_xor_si512(_mm512_clmulepi64_epi128::<0x01>(a, b), _mm512_clmulepi64_epi128::<0x10>(a, b));
    let low = _mm512_xor_si512(_mm512_clmulepi64_epi128::<0x00>(a, b), _mm512_bslli_epi128::<8>(middle));
    let high = _mm512_xor_si512(_mm512_clmulepi64_epi128::<0x11>(a, b), _mm512_bsrli_epi128::<8>(middle));
    let polynomial = _mm512_set1_epi64(POLYNOMIAL);
    let fold = |value: __m512i| {
        let product = _mm512_clmulepi64_epi128::<0x00>(value, polynomial);
        _mm512_xor_si512(_mm512_shuffle_epi32::<0x4E>(value), product)
    };
    _mm512_xor_si512(high, fold(fold(low)))
}

/// Reverses the bytes of each block.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn swapped(blocks: __m512i) -> __m512i {
    _mm512_shuffle_epi8(blocks, swap())
}

#[inline]
#[target_feature(enable = "avx512f")]
fn swap() -> __m512i {
    _mm512_broadcast_i32x4(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0x96>(a, b, c)
}

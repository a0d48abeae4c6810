//! POLYVAL by carry-less multiplication on 128-bit vectors.

use super::Block;
use crate::low::cpu::Aes;
use std::arch::x86_64::*;

/// See [`super::absorb`].
#[inline]
pub(super) fn absorb(_token: Aes, key: &Block, sum: &mut Block, blocks: &[Block]) {
    // SAFETY: the token proves every feature that the kernel is compiled for.
    unsafe { run(key, sum, blocks) }
}

#[target_feature(enable = "sse2,pclmulqdq")]
fn run(key: &Block, sum: &mut Block, blocks: &[Block]) {
    let key = load(key);
    let mut value = load(sum);
    for block in blocks {
        value = dot(_mm_xor_si128(value, load(block)), key);
    }
    // SAFETY: writes the 16 bytes of the array; any alignment will do.
    unsafe { _mm_storeu_si128(sum.as_mut_ptr().cast(), value) }
}

#[inline]
#[target_feature(enable = "sse2")]
fn load(block: &Block) -> __m128i {
    // SAFETY: reads the 16 bytes of the array; any alignment will do.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "sse2,pclmulqdq")]
fn dot(a: __m128i, b: __m128i) -> __m128i {
    let low = _mm_clmulepi64_si128::<0x00>(a, b);
    let high = _mm_clmulepi64_si128::<0x11>(a, b);
    let middle = _mm_xor_si128(_mm_clmulepi64_si128::<0x01>(a, b), _mm_clmulepi64_si128::<0x10>(a, b));
    let low = _mm_xor_si128(low, _mm_slli_si128::<8>(middle));
    let high = _mm_xor_si128(high, _mm_srli_si128::<8>(middle));
    // A low word equals itself 128 bits higher plus its product by x^63 + x^62 + x^57 64 bits higher.
    let polynomial = _mm_cvtsi64_si128(0xC200_0000_0000_0000_u64.cast_signed());
    let once = fold(low, polynomial);
    _mm_xor_si128(high, fold(once, polynomial))
}

/// Removes the low word: adds its value higher up, and swaps the words.
#[inline]
#[target_feature(enable = "sse2,pclmulqdq")]
fn fold(value: __m128i, polynomial: __m128i) -> __m128i {
    let product = _mm_clmulepi64_si128::<0x00>(value, polynomial);
    _mm_xor_si128(_mm_shuffle_epi32::<0x4E>(value), product)
}

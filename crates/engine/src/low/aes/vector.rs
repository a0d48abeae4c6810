//! Loads and stores between byte arrays and vectors.

use super::Block;
use std::arch::x86_64::*;

/// Loads 64 bytes as one vector.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: reads the 64 bytes of the array; any alignment will do.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

/// Stores one vector as 64 bytes.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn store(bytes: &mut [u8; 64], value: __m512i) {
    // SAFETY: writes the 64 bytes of the array; any alignment will do.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), value) }
}

/// Loads 32 bytes as the lower half of a vector, with zeros above.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load_half(bytes: &[u8; 32]) -> __m512i {
    // SAFETY: reads the 32 bytes of the array; any alignment will do.
    _mm512_zextsi256_si512(unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) })
}

/// Stores the lower half of a vector as 32 bytes.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn store_half(bytes: &mut [u8; 32], value: __m512i) {
    // SAFETY: writes the 32 bytes of the array; any alignment will do.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), _mm512_castsi512_si256(value)) }
}

/// Loads a block as a vector.
#[inline]
#[target_feature(enable = "sse2")]
pub(super) fn load_block(block: &Block) -> __m128i {
    // SAFETY: reads the 16 bytes of the array; any alignment will do.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

/// Stores a vector as a block.
#[inline]
#[target_feature(enable = "sse2")]
pub(super) fn store_block(block: &mut Block, value: __m128i) {
    // SAFETY: writes the 16 bytes of the array; any alignment will do.
    unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), value) }
}

/// Loads at most 64 bytes as one vector, followed by zeros.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn load_some(bytes: &[u8]) -> __m512i {
    let mask = mask(bytes.len());
    // SAFETY: reads no byte that the mask leaves out, and it has no more ones than the slice has bytes.
    unsafe { _mm512_maskz_loadu_epi8(mask, bytes.as_ptr().cast()) }
}

/// Stores the first bytes of a vector, at most 64.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn store_some(bytes: &mut [u8], value: __m512i) {
    let mask = mask(bytes.len());
    // SAFETY: writes no byte that the mask leaves out, and it has no more ones than the slice has bytes.
    unsafe { _mm512_mask_storeu_epi8(bytes.as_mut_ptr().cast(), mask, value) }
}

/// A mask with a one for each byte, at most 64.
#[inline]
pub(super) fn mask(bytes: usize) -> u64 {
    if bytes >= 64 { u64::MAX } else { (1 << bytes) - 1 }
}

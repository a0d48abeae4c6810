//! What the byte-sliced form does to whole vectors, whatever they mean: loads, stores and transpositions.

use std::arch::x86_64::*;

use super::Piece;
use super::byte_sliced_layout::{Bytes, Matrix};
use crate::low::wipe;

/// Plain vectors or bytes on the stack that hold text or keys; zero when dropped.
pub(crate) struct Scratch<T: Plain>(pub(crate) T);

impl<T: Plain> Drop for Scratch<T> {
    fn drop(&mut self) {
        wipe_plain(&mut self.0);
    }
}

/// Overwrites with zeros in a way that the compiler may not leave out.
pub(crate) fn wipe_plain<T: Plain>(value: &mut T) {
    // SAFETY: `Plain` says that zeros are a value and that nothing is owned.
    unsafe { wipe(value) }
}

/// Types without ownership for which zeros are a value.
pub(crate) trait Plain: Copy {}
impl Plain for __m512i {}
impl Plain for Piece {}
impl Plain for u8 {}
impl<T: Plain, const COUNT: usize> Plain for [T; COUNT] {}

/// Loads 64 bytes from anywhere.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(crate) fn load(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: a reference to 64 readable bytes; the instruction asks for no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

/// Stores 64 bytes to anywhere.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(crate) fn store(bytes: &mut [u8; 64], vector: __m512i) {
    // SAFETY: a reference to 64 writable bytes; the instruction asks for no alignment.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), vector) }
}

/// Each byte through the matrix.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(crate) fn linear(vector: __m512i, matrix: Matrix) -> __m512i {
    _mm512_gf2p8affine_epi64_epi8::<0>(vector, _mm512_set1_epi64(matrix.cast_signed()))
}

/// XOR of three.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(crate) fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0x96>(a, b, c)
}

/// The eight quad words of eight vectors as the rows of a matrix, transposed.
///
/// Three layers of eight: unpacking runs on any vector port (four a cycle), the permutes of two sources on
/// two of them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(crate) fn transpose_quads(v: [__m512i; 8]) -> [__m512i; 8] {
    let even = _mm512_set_epi64(13, 12, 5, 4, 9, 8, 1, 0);
    let odd = _mm512_set_epi64(15, 14, 7, 6, 11, 10, 3, 2);
    let mut a = v;
    for i in 0..4 {
        a[i] = _mm512_unpacklo_epi64(v[2 * i], v[2 * i + 1]);
        a[i + 4] = _mm512_unpackhi_epi64(v[2 * i], v[2 * i + 1]);
    }
    // a[i] holds columns 0 2 4 6 of rows 2i and 2i + 1, a[i + 4] columns 1 3 5 7.
    let mut b = a;
    for i in [0, 4] {
        for k in [0, 2] {
            b[i + k] = _mm512_permutex2var_epi64(a[i + k], even, a[i + k + 1]);
            b[i + k + 1] = _mm512_permutex2var_epi64(a[i + k], odd, a[i + k + 1]);
        }
    }
    // b[i + k] holds columns 0 and 4 of rows 2k to 2k + 3, b[i + k + 1] columns 2 and 6; one more with i = 4.
    let mut c = b;
    for i in [0, 1] {
        for k in [0, 1] {
            let (low, high) = (b[4 * i + k], b[4 * i + k + 2]);
            c[i + 2 * k] = _mm512_shuffle_i64x2::<0x44>(low, high);
            c[i + 2 * k + 4] = _mm512_shuffle_i64x2::<0xee>(low, high);
        }
    }
    c
}

/// Eight blocks (or keys), one per quad word, each as eight planes: byte `l` of quad word `j` is plane `j` of
/// block `l`; bit `i` of plane `j` is bit `j` of byte `7 - i`.
///
/// The transposition of bits is a GF(2) product with the roles of matrix and data exchanged.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(crate) fn planes_of_blocks(blocks: __m512i) -> __m512i {
    let bits = _mm512_set1_epi64(UNIT_BYTES);
    _mm512_permutexvar_epi8(transposed(), _mm512_gf2p8affine_epi64_epi8::<0>(bits, blocks))
}

/// The inverse, from planes with their bits in reverse: bit `i` of plane `j` is bit `j` of byte `i`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(crate) fn blocks_of_planes(planes: __m512i) -> __m512i {
    let bits = _mm512_set1_epi64(UNIT_BYTES);
    _mm512_gf2p8affine_epi64_epi8::<0>(bits, _mm512_permutexvar_epi8(load(&REVERSED.0), planes))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn transposed() -> __m512i {
    load(&TRANSPOSED.0)
}

/// Byte `j` has only bit `j`.
const UNIT_BYTES: i64 = 0x8040_2010_0804_0201_u64.cast_signed();

/// Byte `8 j + l` comes from `8 l + j`.
static TRANSPOSED: Bytes = transposition(0);

/// Byte `8 l + r` comes from `8 (7 - r) + l`.
static REVERSED: Bytes = transposition(7);

/// An index of bytes: `8 j + l` comes from `8 l + j`, with the row that is read counted from `flip`.
const fn transposition(flip: usize) -> Bytes {
    let mut index = [0; 64];
    let mut at = 0;
    while at < 64 {
        let (row, column) = (at / 8, at % 8);
        index[at] = (8 * (column ^ flip) + row) as u8;
        at += 1;
    }
    Bytes(index)
}

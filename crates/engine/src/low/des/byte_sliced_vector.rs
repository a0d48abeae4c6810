//! Operations of the byte-sliced form on whole vectors of any content: loads, stores and transpositions.

use super::Piece;
use super::byte_sliced_layout::{Bytes, Matrix};
use crate::low::wipe;
use std::arch::x86_64::*;

/// Plain vectors or bytes on the stack that hold text or keys; wiped when dropped.
pub(crate) struct Scratch<T: Plain>(pub(crate) T);

impl<T: Plain> Drop for Scratch<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: `Plain` promises that zeros are a value and that nothing is owned.
        unsafe { wipe(&mut self.0) }
    }
}

/// Types that may be overwritten with zeros.
///
/// # Safety
/// Zeros must be a valid value, and the type must own nothing.
pub(crate) unsafe trait Plain: Copy {}
// SAFETY: integers.
unsafe impl Plain for __m512i {}
// SAFETY: bytes.
unsafe impl Plain for Piece {}
// SAFETY: an integer.
unsafe impl Plain for u8 {}
// SAFETY: nothing but values for which it holds.
unsafe impl<T: Plain, const COUNT: usize> Plain for [T; COUNT] {}

/// Loads 64 bytes at any alignment.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(crate) fn load(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: a reference to 64 readable bytes; the instruction asks for no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

/// Stores 64 bytes at any alignment.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(crate) fn store(bytes: &mut [u8; 64], vector: __m512i) {
    // SAFETY: a reference to 64 writable bytes; the instruction asks for no alignment.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), vector) }
}

/// Multiplies each byte by the matrix.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(crate) fn linear(vector: __m512i, matrix: Matrix) -> __m512i {
    _mm512_gf2p8affine_epi64_epi8::<0>(vector, _mm512_set1_epi64(matrix.cast_signed()))
}

/// The XOR of three vectors.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(crate) fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0x96>(a, b, c)
}

/// Transposes the quad words of eight vectors, as rows of an 8x8 matrix: 8 unpackings, of which four start in a cycle,
/// and 16 shuffles, of which two do.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn transpose_quads(rows: [__m512i; 8]) -> [__m512i; 8] {
    // Even columns of rows (0, 1), (2, 3), (4, 5), (6, 7) as pairs of quad words; then the odd columns.
    let even = [
        _mm512_unpacklo_epi64(rows[0], rows[1]),
        _mm512_unpacklo_epi64(rows[2], rows[3]),
        _mm512_unpacklo_epi64(rows[4], rows[5]),
        _mm512_unpacklo_epi64(rows[6], rows[7]),
    ];
    let odd = [
        _mm512_unpackhi_epi64(rows[0], rows[1]),
        _mm512_unpackhi_epi64(rows[2], rows[3]),
        _mm512_unpackhi_epi64(rows[4], rows[5]),
        _mm512_unpackhi_epi64(rows[6], rows[7]),
    ];
    let [c0, c2, c4, c6] = transpose_pairs(even);
    let [c1, c3, c5, c7] = transpose_pairs(odd);
    [c0, c1, c2, c3, c4, c5, c6, c7]
}

/// As [`transpose_quads`], from memory. Halves of rows are combined as they are loaded, which any vector unit can do,
/// so 8 of the 24 shuffles are saved.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn transpose_quads_of(rows: [&[u8; 64]; 8]) -> [__m512i; 8] {
    let half = |row: usize, half: usize| {
        let (halves, _) = rows[row].as_chunks::<32>();
        // SAFETY: a reference to 32 readable bytes; the instruction asks for no alignment.
        unsafe { _mm256_loadu_si256(halves[half].as_ptr().cast()) }
    };
    // Half of one row, then the same half of the row two further.
    let pair = |row: usize, at: usize| {
        _mm512_inserti64x4::<1>(_mm512_castsi256_si512(half(row, at)), half(row + 2, at))
    };
    let columns = |at: usize| {
        let rows = [pair(0, at), pair(1, at), pair(4, at), pair(5, at)];
        let even = [_mm512_unpacklo_epi64(rows[0], rows[1]), _mm512_unpacklo_epi64(rows[2], rows[3])];
        let odd = [_mm512_unpackhi_epi64(rows[0], rows[1]), _mm512_unpackhi_epi64(rows[2], rows[3])];
        [
            _mm512_shuffle_i64x2::<EVEN>(even[0], even[1]),
            _mm512_shuffle_i64x2::<EVEN>(odd[0], odd[1]),
            _mm512_shuffle_i64x2::<ODD>(even[0], even[1]),
            _mm512_shuffle_i64x2::<ODD>(odd[0], odd[1]),
        ]
    };
    let ([c0, c1, c2, c3], [c4, c5, c6, c7]) = (columns(0), columns(1));
    [c0, c1, c2, c3, c4, c5, c6, c7]
}

/// Selects the pairs of quad words with even numbers from two vectors.
const EVEN: i32 = 0x88;
/// Selects the pairs of quad words with odd numbers from two vectors.
const ODD: i32 = 0xdd;

/// Transposes the pairs of quad words of four vectors, as rows of a 4x4 matrix.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose_pairs(rows: [__m512i; 4]) -> [__m512i; 4] {
    let low_even = _mm512_shuffle_i64x2::<EVEN>(rows[0], rows[1]);
    let low_odd = _mm512_shuffle_i64x2::<ODD>(rows[0], rows[1]);
    let high_even = _mm512_shuffle_i64x2::<EVEN>(rows[2], rows[3]);
    let high_odd = _mm512_shuffle_i64x2::<ODD>(rows[2], rows[3]);
    [
        _mm512_shuffle_i64x2::<EVEN>(low_even, high_even),
        _mm512_shuffle_i64x2::<EVEN>(low_odd, high_odd),
        _mm512_shuffle_i64x2::<ODD>(low_even, high_even),
        _mm512_shuffle_i64x2::<ODD>(low_odd, high_odd),
    ]
}

/// Splits eight blocks (or keys), one per quad word, into eight planes each: byte `l` of quad word `j` is plane `j` of
/// block `l`. Bit `i` of plane `j` is bit `j` of byte `7 - i`.
///
/// The bits are transposed by a GF(2) product in which matrix and data change roles.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(crate) fn planes_of_blocks(blocks: __m512i) -> __m512i {
    let bits = _mm512_set1_epi64(UNIT_BYTES);
    _mm512_permutexvar_epi8(transposed(), _mm512_gf2p8affine_epi64_epi8::<0>(bits, blocks))
}

/// The inverse of [`planes_of_blocks`], but from planes with reversed bits: bit `i` of plane `j` is bit `j` of byte
/// `i`.
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

/// In byte `j` only bit `j` is set.
const UNIT_BYTES: i64 = 0x8040_2010_0804_0201_u64.cast_signed();

/// Byte `8 j + l` comes from `8 l + j`.
static TRANSPOSED: Bytes = transposition(0);

/// Byte `8 l + r` comes from `8 (7 - r) + l`.
static REVERSED: Bytes = transposition(7);

/// An index for bytes: byte `8 j + l` comes from `8 l + j`. `flip` reverses the row that is read.
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

//! What the byte-sliced form does to whole vectors, whatever they mean: loads, stores and transpositions.

use super::Piece;
use super::byte_sliced_layout::{Bytes, Matrix};
use crate::low::wipe;
use std::arch::x86_64::*;

/// Plain vectors or bytes on the stack that hold text or keys; zero when dropped.
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
/// Zeros are a value, and nothing is owned.
pub(crate) unsafe trait Plain: Copy {}
// SAFETY: integers.
unsafe impl Plain for __m512i {}
// SAFETY: bytes.
unsafe impl Plain for Piece {}
// SAFETY: an integer.
unsafe impl Plain for u8 {}
// SAFETY: nothing but values for which it holds.
unsafe impl<T: Plain, const COUNT: usize> Plain for [T; COUNT] {}

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

/// The eight quad words of eight vectors as the rows of a matrix, transposed: 8 unpackings, of which four start in a
/// cycle, and 16 shuffles, of which two do.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn transpose_quads(rows: [__m512i; 8]) -> [__m512i; 8] {
    // Even columns of rows (0, 1), (2, 3), (4, 5), (6, 7), a pair of quad words of each column; then odd ones.
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

/// The same from memory: halves of rows are put together as they are loaded, for which any of the vector units serves,
/// so that 8 of the 24 shuffles are spared.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn transpose_quads_of(rows: [&[u8; 64]; 8]) -> [__m512i; 8] {
    let half = |row: usize, half: usize| {
        let (halves, _) = rows[row].as_chunks::<32>();
        // SAFETY: a reference to 32 readable bytes; the instruction asks for no alignment.
        unsafe { _mm256_loadu_si256(halves[half].as_ptr().cast()) }
    };
    // A half of one row, and behind it that of the second next.
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

/// Of two vectors the pairs of quad words with even numbers.
const EVEN: i32 = 0x88;
/// And with odd ones.
const ODD: i32 = 0xdd;

/// The four pairs of quad words of four vectors as the rows of a matrix, transposed.
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

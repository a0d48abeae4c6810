//! Bit-sliced DES in AVX2 words of 256 bits: 256 lanes.
//!
//! Gates have two inputs here, so a round is 48 sums with the key and the operations of [`super::circuits_binary`].
//! That is nearly 600, more than twice those of an AVX-512 round, on half the lanes. At 3.3 a cycle (see
//! [`super::bit_sliced_avx512`]) the limit of a round is 180 cycles; 180 are measured. With 16 registers, 40 of the
//! operands move to and from the stack.

use super::super::cpu::Avx2;
use super::bit_sliced::BitSliced;
use super::bit_sliced_round::{self, SCHEDULE, WINDOW};
use super::bit_sliced_words::{self, Binary, Halves, Lanes, Merge, PassBlocks, Rows, Word};
use super::transposition::{self, Shift};
use super::{Block, Piece, circuits_binary};
use crate::low::wipe_bytes;
use std::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_andnot_si256, _mm256_loadu_si256, _mm256_or_si256, _mm256_set1_epi64x,
    _mm256_setr_epi64x, _mm256_setzero_si256, _mm256_slli_epi64, _mm256_srli_epi64, _mm256_storeu_si256,
    _mm256_xor_si256,
};
use std::mem::MaybeUninit;

/// DES of 256 blocks a pass.
pub(crate) type BitSliced256 = BitSliced<Word256>;

/// 256 lanes. Made only from the token or another word, so that a word proves AVX2.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Word256(__m256i);

impl Lanes for Word256 {
    #[inline(always)]
    fn xor(self, other: Word256) -> Word256 {
        // SAFETY: a word proves AVX2.
        Word256(unsafe { _mm256_xor_si256(self.0, other.0) })
    }

    #[inline(always)]
    fn and(self, other: Word256) -> Word256 {
        // SAFETY: a word proves AVX2.
        Word256(unsafe { _mm256_and_si256(self.0, other.0) })
    }

    #[inline(always)]
    fn like(self, bits: u64) -> Word256 {
        // SAFETY: a word proves AVX2.
        Word256(unsafe { _mm256_set1_epi64x(bits.cast_signed()) })
    }
}

impl Binary for Word256 {
    #[inline(always)]
    fn or(self, other: Word256) -> Word256 {
        // SAFETY: a word proves AVX2.
        Word256(unsafe { _mm256_or_si256(self.0, other.0) })
    }

    #[inline(always)]
    fn and_not(self, other: Word256) -> Word256 {
        // SAFETY: a word proves AVX2.
        Word256(unsafe { _mm256_andnot_si256(other.0, self.0) })
    }

    #[inline(always)]
    fn not(self) -> Word256 {
        // SAFETY: a word proves AVX2.
        self.xor(Word256(unsafe { _mm256_set1_epi64x(-1) }))
    }
}

impl Shift for Word256 {
    #[inline(always)]
    fn up<const BITS: i32>(self) -> Word256 {
        // SAFETY: a word proves AVX2.
        Word256(unsafe { _mm256_slli_epi64::<BITS>(self.0) })
    }

    #[inline(always)]
    fn down<const BITS: i32>(self) -> Word256 {
        // SAFETY: a word proves AVX2.
        Word256(unsafe { _mm256_srli_epi64::<BITS>(self.0) })
    }

    #[inline(always)]
    fn read(&mut self, blocks: &[Block]) {
        if let Some(blocks) = blocks.first_chunk::<4>() {
            // SAFETY: a word proves AVX2; four blocks are 32 bytes.
            self.0 = unsafe { _mm256_loadu_si256(blocks.as_ptr().cast()) };
        }
    }

    #[inline(always)]
    fn write(self, blocks: &mut [Block]) {
        if let Some(blocks) = blocks.first_chunk_mut::<4>() {
            // SAFETY: a word proves AVX2; four blocks are 32 bytes.
            unsafe { _mm256_storeu_si256(blocks.as_mut_ptr().cast(), self.0) }
        }
    }
}

// SAFETY: one vector of integers; schedules are written by the two functions of `bit_sliced_round`, which write
// each bit of C and D to both its places, and those are all.
unsafe impl Word for Word256 {
    type Token = Avx2;
    type Pass = PassBlocks<256>;
    type Pieces = [Piece; 256];
    const BLOCKS: usize = 4;

    #[inline(always)]
    fn s_box<const BOX: usize>(inputs: [Word256; 6], left: [Word256; 4]) -> [Word256; 4] {
        circuits_binary::s_box::<Word256, BOX>(inputs, left)
    }

    fn no_pass() -> PassBlocks<256> {
        PassBlocks::ZERO
    }

    fn no_pieces() -> [Piece; 256] {
        [Piece([[0; 8]; 8]); 256]
    }

    fn load(_token: Avx2, rows: Rows<'_>, before: Option<Rows<'_>>, state: Halves<'_, Word256>) {
        // SAFETY: the token proves AVX2.
        unsafe { load(rows, before, state) }
    }

    fn add(_token: Avx2, state: Halves<'_, Word256>, other: Halves<'_, Word256>) {
        // SAFETY: the token proves AVX2.
        unsafe { add(state, other) }
    }

    fn store(_token: Avx2, state: Halves<'_, Word256>, blocks: &mut [Block], stride: usize, merge: Merge) {
        // SAFETY: the token proves AVX2.
        unsafe { store(state, blocks, stride, merge) }
    }

    fn count(_token: Avx2, first: u64, state: Halves<'_, Word256>) {
        // SAFETY: the token proves AVX2.
        unsafe { count(first, state) }
    }

    fn schedule(_token: Avx2, state: Halves<'_, Word256>, words: &mut [MaybeUninit<Word256>; SCHEDULE]) {
        // SAFETY: the token proves AVX2.
        unsafe { schedule(state, words) }
    }

    fn schedule_of_one(_token: Avx2, key: u64, words: &mut [MaybeUninit<Word256>; SCHEDULE]) {
        // SAFETY: the token proves AVX2.
        unsafe { schedule_of_one(key, words) }
    }

    fn round(_token: Avx2, left: &mut [Word256; 32], right: &[Word256; 32], key: &[Word256; WINDOW]) {
        // SAFETY: the token proves AVX2.
        unsafe { round(left, right, key) }
    }

    fn turn(_token: Avx2, pieces: &mut [Piece]) {
        let mut old = [[[0; 8]; 8]; 4];
        for group in pieces.as_chunks_mut::<4>().0 {
            old.iter_mut().zip(&*group).for_each(|(old, piece)| *old = piece.0);
            for (at, block) in group.iter_mut().flat_map(|piece| &mut piece.0).enumerate() {
                *block = old[at % 4][at / 4];
            }
        }
        wipe_bytes(old.as_flattened_mut().as_flattened_mut());
    }

    fn turn_back(_token: Avx2, pieces: &mut [Piece]) {
        let mut old = [[[0; 8]; 8]; 4];
        for group in pieces.as_chunks_mut::<4>().0 {
            old.iter_mut().zip(&*group).for_each(|(old, piece)| *old = piece.0);
            for (at, block) in old.as_flattened().iter().enumerate() {
                group[at % 4].0[at / 4] = *block;
            }
        }
        wipe_bytes(old.as_flattened_mut().as_flattened_mut());
    }
}

#[target_feature(enable = "avx2")]
fn load(rows: Rows<'_>, before: Option<Rows<'_>>, state: Halves<'_, Word256>) {
    transposition::load(Word256(_mm256_setzero_si256()), rows, before, state);
}

#[target_feature(enable = "avx2")]
fn add(state: Halves<'_, Word256>, other: Halves<'_, Word256>) {
    bit_sliced_words::add(state, other);
}

#[target_feature(enable = "avx2")]
fn store(state: Halves<'_, Word256>, blocks: &mut [Block], stride: usize, merge: Merge) {
    transposition::store(state, blocks, stride, merge);
}

#[target_feature(enable = "avx2")]
fn count(first: u64, state: Halves<'_, Word256>) {
    let index = INDEX.map(|[a, b, c, d]| Word256(_mm256_setr_epi64x(a, b, c, d)));
    bit_sliced_round::count(&index, first, state);
}

#[target_feature(enable = "avx2")]
fn schedule(state: Halves<'_, Word256>, words: &mut [MaybeUninit<Word256>; SCHEDULE]) {
    bit_sliced_round::schedule(state, words);
}

#[target_feature(enable = "avx2")]
fn schedule_of_one(key: u64, words: &mut [MaybeUninit<Word256>; SCHEDULE]) {
    bit_sliced_round::schedule_of_one(Word256(_mm256_setzero_si256()), key, words);
}

/// Not inlined: in one body with the loop over rounds, the compiler would move the state into registers, of which there
/// are too few, and from there to an unaligned stack.
#[inline(never)]
#[target_feature(enable = "avx2")]
fn round(left: &mut [Word256; 32], right: &[Word256; 32], key: &[Word256; WINDOW]) {
    bit_sliced_round::round(left, right, key);
}

/// The number of each lane, lowest bit first: block `4 z + q` is bit `z` of column `q`.
const INDEX: [[i64; 4]; 8] = [
    [0, -1, 0, -1],
    [0, 0, -1, -1],
    [0xaaaa_aaaa_aaaa_aaaa_u64.cast_signed(); 4],
    [0xcccc_cccc_cccc_cccc_u64.cast_signed(); 4],
    [0xf0f0_f0f0_f0f0_f0f0_u64.cast_signed(); 4],
    [0xff00_ff00_ff00_ff00_u64.cast_signed(); 4],
    [0xffff_0000_ffff_0000_u64.cast_signed(); 4],
    [0xffff_ffff_0000_0000_u64.cast_signed(); 4],
];

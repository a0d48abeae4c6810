//! Bit-sliced DES in AVX-512 words: 512 lanes, gates of three inputs.
//!
//! ```text
//! 512 blocks = 8 groups g of 8 rows k of 8 blocks n of 8 bytes b of 8 bits w (weight 2^w)
//!
//! register   bytes of it, last index fastest
//! (g, k)     n b        as in memory
//! (g, k)     b n        a byte permute
//! (g, k)     b w        8 x 8 bits by a GF(2) affine map with the bytes as the matrix: bit 7 - n of byte w
//! (g, b)     k w        8 x 8 quad-words: 24 shuffles for 8 registers
//! (g, b)     w k        a byte permute
//! (b, w)     g k        8 x 8 quad-words: the slices, whose bit is 64 g + 8 k + 7 - n
//! ```
//!
//! The second of the transpositions in each direction, and those of CBC streams, combine halves of registers while they
//! are loaded. Any vector unit can do that, and it saves a third of the shuffles. On Intel's cores, which start one
//! shuffle a cycle, that is 2 % (TDES) to 4 % (DES) of CBC of 512 streams.
//!
//! The way back is the same in reverse. The affine map reverses the order of the eight bits; the second byte permute of
//! the way back reverses them first.
//!
//! Port limit, measured on AMD Zen 5: four `vpternlogq` start in a cycle only if their operands were just computed or
//! are always the same. A round is limited by the number of other vector registers that can be read in a cycle, six to
//! eight. With operands computed a few cycles before, 2.0 `vpternlogq` run in a cycle, or 3.3 to 4.0 `vpxorq`, mixtures
//! in between. Operands in memory are exempt from this limit, and copies of registers are free. So a gate of three
//! inputs pays off whenever it replaces two gates of two. Two loads, two shuffles or affine maps (four of the unpacking
//! kind) start in a cycle.
//!
//! | | limit, cycles | measured |
//! |---|---|---|
//! | a round: 48 sums with the key, 206 operations of [`super::circuits_ternary`]: 640 register reads, 112 loads | 97 | 96 (two passes in turns), 104 (one alone) |
//! | to slices and back: 768 shuffles and maps, 256 unpackings, 128 halves combined | 390 | 590, wiping included, when the halves were 128 shuffles more |
//! | triple DES of 512 blocks | 5,100 | 5,200 (two passes in turns), 5,800 (one alone) |
//!
//! Tried and dropped: two-source permutes for the quad-words (`vpermt2q`, 1.6 a cycle); gates of two S-boxes listed in
//! turns (no gain), of four (too few registers).

use super::super::cpu::Avx512;
use super::bit_sliced::BitSliced;
use super::bit_sliced_round::{self, SCHEDULE, WINDOW};
use super::bit_sliced_words::{self, Halves, Lanes, Merge, PassBlocks, Rows, Ternary, Turned, Word};
use super::byte_sliced_vector::{transpose_quads, transpose_quads_of};
use super::lines::Lines;
use super::{Block, Piece, circuits_ternary};
use std::arch::x86_64::{
    __m512i, _mm512_and_si512, _mm512_gf2p8affine_epi64_epi8, _mm512_loadu_si512, _mm512_permutexvar_epi8,
    _mm512_set1_epi64, _mm512_setr_epi64, _mm512_setzero_si512, _mm512_storeu_si512,
    _mm512_ternarylogic_epi64, _mm512_xor_si512,
};
use std::array;
use std::mem::MaybeUninit;
use std::ptr;

/// DES of 512 blocks a pass.
pub(crate) type BitSliced512 = BitSliced<Word512>;

/// 512 lanes. Made only from the token or another word, so that a word proves AVX-512.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Word512(__m512i);

impl Word512 {
    /// The bytes of the word as they lie in memory.
    #[inline(always)]
    fn bytes(&self) -> &[u8; 64] {
        // SAFETY: a word is a vector of 64 bytes without padding; the reference lives as long.
        unsafe { &*ptr::from_ref(&self.0).cast() }
    }
}

impl Lanes for Word512 {
    #[inline(always)]
    fn xor(self, other: Word512) -> Word512 {
        // SAFETY: a word proves AVX-512.
        Word512(unsafe { _mm512_xor_si512(self.0, other.0) })
    }

    #[inline(always)]
    fn and(self, other: Word512) -> Word512 {
        // SAFETY: a word proves AVX-512.
        Word512(unsafe { _mm512_and_si512(self.0, other.0) })
    }

    #[inline(always)]
    fn like(self, bits: u64) -> Word512 {
        // SAFETY: a word proves AVX-512.
        Word512(unsafe { _mm512_set1_epi64(bits.cast_signed()) })
    }
}

impl Ternary for Word512 {
    #[inline(always)]
    fn lut3<const FUNCTION: i32>(a: Word512, b: Word512, c: Word512) -> Word512 {
        // SAFETY: a word proves AVX-512.
        Word512(unsafe { _mm512_ternarylogic_epi64::<FUNCTION>(a.0, b.0, c.0) })
    }
}

// SAFETY: one vector of integers; schedules are written by the two functions of `bit_sliced_round`, which write
// each bit of C and D to both its places, and those are all.
unsafe impl Word for Word512 {
    type Token = Avx512;
    type Pass = PassBlocks<512>;
    type Pieces = [Piece; 512];
    const BLOCKS: usize = 8;

    #[inline(always)]
    fn s_box<const BOX: usize>(inputs: [Word512; 6], left: [Word512; 4]) -> [Word512; 4] {
        circuits_ternary::s_box::<Word512, BOX>(inputs, left)
    }

    fn no_pass() -> PassBlocks<512> {
        PassBlocks::ZERO
    }

    fn no_pieces() -> [Piece; 512] {
        [Piece([[0; 8]; 8]); 512]
    }

    fn load(_token: Avx512, rows: Rows<'_>, before: Option<Rows<'_>>, state: Halves<'_, Word512>) {
        // SAFETY: the token proves AVX-512.
        unsafe { load(rows, before, state) }
    }

    fn add(_token: Avx512, state: Halves<'_, Word512>, other: Halves<'_, Word512>) {
        // SAFETY: the token proves AVX-512.
        unsafe { add(state, other) }
    }

    fn store(_token: Avx512, state: Halves<'_, Word512>, blocks: &mut [Block], stride: usize, merge: Merge) {
        // SAFETY: the token proves AVX-512.
        unsafe { store(state, blocks, stride, merge) }
    }

    fn count(_token: Avx512, first: u64, state: Halves<'_, Word512>) {
        // SAFETY: the token proves AVX-512.
        unsafe { count(first, state) }
    }

    fn schedule(_token: Avx512, state: Halves<'_, Word512>, words: &mut [MaybeUninit<Word512>; SCHEDULE]) {
        // SAFETY: the token proves AVX-512.
        unsafe { schedule(state, words) }
    }

    fn schedule_of_one(_token: Avx512, key: u64, words: &mut [MaybeUninit<Word512>; SCHEDULE]) {
        // SAFETY: the token proves AVX-512.
        unsafe { schedule_of_one(key, words) }
    }

    fn round(_token: Avx512, left: &mut [Word512; 32], right: &[Word512; 32], key: &[Word512; WINDOW]) {
        // SAFETY: the token proves AVX-512.
        unsafe { round(left, right, key) }
    }

    fn turn(_token: Avx512, pieces: &mut [Piece]) {
        // SAFETY: the token proves AVX-512.
        unsafe { turn(pieces) }
    }

    /// The reverse of `turn`, which is `turn` itself: the transposition is eight by eight.
    fn turn_back(_token: Avx512, pieces: &mut [Piece]) {
        // SAFETY: the token proves AVX-512.
        unsafe { turn(pieces) }
    }

    /// The rows of a block are side by side: a pass reads and writes two runs of 4 KiB.
    const TURNED: Turned = Turned { row: ROW, block: 64 * ROW };

    fn turn_in<L: Lines + ?Sized>(_token: Avx512, lines: &L, piece: usize, pieces: &mut [Piece]) {
        let pieces = pieces.try_into().expect("a piece a lane");
        // SAFETY: the token proves AVX-512.
        unsafe { turn_in(lines, piece, pieces) }
    }

    fn turn_out<L: Lines + ?Sized>(_token: Avx512, pieces: &mut [Piece], lines: &mut L, piece: usize) {
        let pieces = (&*pieces).try_into().expect("a piece a lane");
        // SAFETY: the token proves AVX-512.
        unsafe { turn_out(pieces, lines, piece) }
    }
}

/// Blocks of a word in memory.
const ROW: usize = 8;

/// Not inlined: in one body with the loop over rounds, the compiler would move the state into registers, of which there
/// are too few, and from there to an unaligned stack.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,gfni")]
fn round(left: &mut [Word512; 32], right: &[Word512; 32], key: &[Word512; WINDOW]) {
    bit_sliced_round::round(left, right, key);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,gfni")]
fn count(first: u64, state: Halves<'_, Word512>) {
    let index = INDEX.map(|[a, b, c, d, e, f, g, h]| Word512(_mm512_setr_epi64(a, b, c, d, e, f, g, h)));
    bit_sliced_round::count(&index, first, state);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,gfni")]
fn schedule(state: Halves<'_, Word512>, words: &mut [MaybeUninit<Word512>; SCHEDULE]) {
    bit_sliced_round::schedule(state, words);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,gfni")]
fn schedule_of_one(key: u64, words: &mut [MaybeUninit<Word512>; SCHEDULE]) {
    bit_sliced_round::schedule_of_one(Word512(_mm512_setzero_si512()), key, words);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,gfni")]
fn add(state: Halves<'_, Word512>, other: Halves<'_, Word512>) {
    bit_sliced_words::add(state, other);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,gfni")]
fn load(rows: Rows<'_>, before: Option<Rows<'_>>, mut state: Halves<'_, Word512>) {
    let turn_bytes = read_bytes(&TURN_BYTES);
    let identity = read_bytes(&IDENTITY);
    for group in 0..8 {
        let mut words = [turn_bytes; 8];
        for (row, word) in words.iter_mut().enumerate() {
            let row = 8 * group + row;
            let mut text = read(&rows.blocks[row * rows.stride..]);
            if let Some(before) = before {
                text = _mm512_xor_si512(text, read(&before.blocks[row * before.stride..]));
            }
            let bytes = _mm512_permutexvar_epi8(turn_bytes, text);
            *word = _mm512_gf2p8affine_epi64_epi8::<0>(identity, bytes);
        }
        // Stores each word where its slices will be made.
        for (byte, word) in transpose_quads(words).into_iter().enumerate() {
            *state.of_bit(byte, group) = Word512(_mm512_permutexvar_epi8(turn_bytes, word));
        }
    }
    for byte in 0..8 {
        let words = state.of_byte(byte).map(|word| word.bytes());
        for (weight, slice) in transpose_quads_of(words).into_iter().enumerate() {
            *state.of_bit(byte, weight) = Word512(slice);
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,gfni")]
fn store(mut state: Halves<'_, Word512>, blocks: &mut [Block], stride: usize, merge: Merge) {
    let turn_bytes = read_bytes(&TURN_BYTES);
    let turn_and_reverse = read_bytes(&TURN_AND_REVERSE);
    let reversal = read_bytes(&REVERSAL);
    for byte in 0..8 {
        let slices = state.of_byte(byte).map(|slice| slice.bytes());
        for (group, word) in transpose_quads_of(slices).into_iter().enumerate() {
            *state.of_bit(byte, group) = Word512(_mm512_permutexvar_epi8(turn_and_reverse, word));
        }
    }
    for group in (0..8).rev() {
        let mut words = [turn_bytes; 8];
        for (byte, word) in words.iter_mut().enumerate() {
            *word = state.of_bit(byte, group).0;
        }
        for (row, word) in transpose_quads(words).into_iter().enumerate().rev() {
            let bytes = _mm512_gf2p8affine_epi64_epi8::<0>(reversal, word);
            let word = _mm512_permutexvar_epi8(turn_bytes, bytes);
            put(blocks, (8 * group + row) * stride, word, merge);
        }
    }
}

/// Writes a row of blocks, or adds the row to the blocks that are there.
#[inline]
#[target_feature(enable = "avx512f")]
fn put(blocks: &mut [Block], at: usize, word: __m512i, merge: Merge) {
    let word = match merge {
        Merge::Put => word,
        Merge::Add => _mm512_xor_si512(word, read(&blocks[at..])),
        Merge::AddBefore(_) if at > 0 => _mm512_xor_si512(word, read(&blocks[at - 1..])),
        Merge::AddBefore(before) => {
            let mut first = [before; ROW];
            first[1..].copy_from_slice(&blocks[..ROW - 1]);
            _mm512_xor_si512(word, read(&first))
        }
    };
    write(&mut blocks[at..], word);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,gfni")]
fn turn(pieces: &mut [Piece]) {
    for group in pieces.as_chunks_mut::<ROW>().0 {
        let mut words = [_mm512_setzero_si512(); ROW];
        for (word, piece) in words.iter_mut().zip(&*group) {
            *word = read(&piece.0);
        }
        for (piece, word) in group.iter_mut().zip(transpose_quads(words)) {
            write(&mut piece.0, word);
        }
    }
}

/// Transposes a piece of each lane, eight lanes at a time, so that a row is one block of each of the eight.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,gfni")]
fn turn_in<L: Lines + ?Sized>(lines: &L, piece: usize, pieces: &mut [Piece; 512]) {
    for row in 0..64 {
        let text = array::from_fn(|lane| lines.line(ROW * row + lane, piece));
        for (block, word) in transpose_quads_of(text).into_iter().enumerate() {
            write(&mut pieces[64 * block + row].0, word);
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi,gfni")]
fn turn_out<L: Lines + ?Sized>(pieces: &[Piece; 512], lines: &mut L, piece: usize) {
    for row in 0..64 {
        let blocks = array::from_fn(|block| bytes_of(&pieces[64 * block + row].0));
        for (lane, word) in transpose_quads_of(blocks).into_iter().enumerate() {
            if let Some(line) = lines.line_mut(ROW * row + lane, piece) {
                write(line.as_chunks_mut().0, word);
            }
        }
    }
}

/// Loads the first row of these blocks.
#[inline]
#[target_feature(enable = "avx512f")]
fn read(blocks: &[Block]) -> __m512i {
    let row = &blocks[..ROW];
    // SAFETY: a row is 64 bytes.
    unsafe { _mm512_loadu_si512(row.as_ptr().cast()) }
}

/// A row of blocks as bytes.
#[inline]
fn bytes_of(blocks: &[Block; ROW]) -> &[u8; 64] {
    blocks.as_flattened().try_into().expect("eight blocks")
}

#[inline]
#[target_feature(enable = "avx512f")]
fn read_bytes(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: 64 bytes.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

/// Stores a word over the first row of these blocks.
#[inline]
#[target_feature(enable = "avx512f")]
fn write(blocks: &mut [Block], word: __m512i) {
    let row = &mut blocks[..ROW];
    // SAFETY: a row is 64 bytes.
    unsafe { _mm512_storeu_si512(row.as_mut_ptr().cast(), word) }
}

/// The number of each lane, lowest bit first: block `64 g + 8 k + n` is bit `8 k + 7 - n` of quad-word `g`.
const INDEX: [[i64; 8]; 9] = [
    [0x5555_5555_5555_5555; 8],
    [0x3333_3333_3333_3333; 8],
    [0x0f0f_0f0f_0f0f_0f0f; 8],
    [0xff00_ff00_ff00_ff00_u64.cast_signed(); 8],
    [0xffff_0000_ffff_0000_u64.cast_signed(); 8],
    [0xffff_ffff_0000_0000_u64.cast_signed(); 8],
    [0, -1, 0, -1, 0, -1, 0, -1],
    [0, 0, -1, -1, 0, 0, -1, -1],
    [0, 0, 0, 0, -1, -1, -1, -1],
];

/// Byte `j` of quad-word `i` comes from byte `i` of quad-word `j`.
const TURN_BYTES: [u8; 64] = turned_bytes(0);

/// As [`TURN_BYTES`], and reverses the bytes of each quad-word.
const TURN_AND_REVERSE: [u8; 64] = turned_bytes(7);

const fn turned_bytes(reversal: usize) -> [u8; 64] {
    let mut table = [0; 64];
    let mut at = 0u8;
    while at < 64 {
        table[at as usize ^ reversal] = at % 8 * 8 + at / 8;
        at += 1;
    }
    table
}

/// The unit matrix: byte `i` picks bit `i` of each byte of the other operand of the affine map.
const IDENTITY: [u8; 64] = unit(0);

/// As [`IDENTITY`], from the last byte to the first.
const REVERSAL: [u8; 64] = unit(7);

const fn unit(reversal: usize) -> [u8; 64] {
    let mut table = [0; 64];
    let mut at = 0;
    while at < 64 {
        table[at] = 1 << ((at % 8) ^ reversal);
        at += 1;
    }
    table
}

//! Bit-sliced DES in words of 64 bits: 64 lanes, on any processor.

use super::bit_sliced::BitSliced;
use super::bit_sliced_round::{self, SCHEDULE, WINDOW};
use super::bit_sliced_words::{self, Binary, Halves, Lanes, Merge, PassBlocks, Rows, Word};
use super::transposition::{self, Shift};
use super::{Block, Piece, circuits_binary};
use std::mem::MaybeUninit;

/// DES of 64 blocks a pass.
pub(crate) type BitSliced64 = BitSliced<u64>;

impl Lanes for u64 {
    #[inline(always)]
    fn xor(self, other: u64) -> u64 {
        self ^ other
    }

    #[inline(always)]
    fn and(self, other: u64) -> u64 {
        self & other
    }

    #[inline(always)]
    fn like(self, bits: u64) -> u64 {
        bits
    }
}

impl Binary for u64 {
    #[inline(always)]
    fn or(self, other: u64) -> u64 {
        self | other
    }

    #[inline(always)]
    fn and_not(self, other: u64) -> u64 {
        self & !other
    }

    #[inline(always)]
    fn not(self) -> u64 {
        !self
    }
}

impl Shift for u64 {
    #[inline(always)]
    fn up<const BITS: i32>(self) -> u64 {
        self << BITS
    }

    #[inline(always)]
    fn down<const BITS: i32>(self) -> u64 {
        self >> BITS
    }

    #[inline(always)]
    fn read(&mut self, blocks: &[Block]) {
        if let Some(block) = blocks.first() {
            *self = u64::from_le_bytes(*block);
        }
    }

    #[inline(always)]
    fn write(self, blocks: &mut [Block]) {
        if let Some(block) = blocks.first_mut() {
            *block = self.to_le_bytes();
        }
    }
}

// SAFETY: an integer; schedules are written by the two functions of `bit_sliced_round`, which write
// each bit of C and D to both its places, and those are all.
unsafe impl Word for u64 {
    type Token = ();
    type Pass = PassBlocks<64>;
    type Pieces = [Piece; 64];
    const BLOCKS: usize = 1;

    #[inline(always)]
    fn s_box<const BOX: usize>(inputs: [u64; 6], left: [u64; 4]) -> [u64; 4] {
        circuits_binary::s_box::<u64, BOX>(inputs, left)
    }

    fn no_pass() -> PassBlocks<64> {
        PassBlocks::ZERO
    }

    fn no_pieces() -> [Piece; 64] {
        [Piece([[0; 8]; 8]); 64]
    }

    fn load((): (), rows: Rows<'_>, before: Option<Rows<'_>>, state: Halves<'_, u64>) {
        transposition::load(0, rows, before, state);
    }

    fn add((): (), state: Halves<'_, u64>, other: Halves<'_, u64>) {
        bit_sliced_words::add(state, other);
    }

    fn store((): (), state: Halves<'_, u64>, blocks: &mut [Block], stride: usize, merge: Merge) {
        transposition::store(state, blocks, stride, merge);
    }

    fn count((): (), first: u64, state: Halves<'_, u64>) {
        bit_sliced_round::count(&INDEX, first, state);
    }

    fn schedule((): (), state: Halves<'_, u64>, words: &mut [MaybeUninit<u64>; SCHEDULE]) {
        bit_sliced_round::schedule(state, words);
    }

    fn schedule_of_one((): (), key: u64, words: &mut [MaybeUninit<u64>; SCHEDULE]) {
        bit_sliced_round::schedule_of_one(0, key, words);
    }

    fn round((): (), left: &mut [u64; 32], right: &[u64; 32], key: &[u64; WINDOW]) {
        round(left, right, key);
    }

    /// Nothing to do: a row is one block, so the rows of a piece are its blocks.
    fn turn((): (), _pieces: &mut [Piece]) {}

    fn turn_back((): (), _pieces: &mut [Piece]) {}
}

#[inline(never)]
fn round(left: &mut [u64; 32], right: &[u64; 32], key: &[u64; WINDOW]) {
    bit_sliced_round::round(left, right, key);
}

/// The number of each lane, lowest bit first.
const INDEX: [u64; 6] = [
    0xaaaa_aaaa_aaaa_aaaa,
    0xcccc_cccc_cccc_cccc,
    0xf0f0_f0f0_f0f0_f0f0,
    0xff00_ff00_ff00_ff00,
    0xffff_0000_ffff_0000,
    0xffff_ffff_0000_0000,
];

//! DES in the row form of AVX2: half a block is a row of eight indices, repeated four times in a vector. Each lane has
//! two vectors of its own.
//!
//! ```text
//! lanes           1        2        3        4     ..
//! taken together  1        2        2 + 1    2 + 2 ..
//! a round         waits    fills    ..
//! ```
//!
//! 1. A bit-sliced pass takes the same time for one lane as for 64. Here the time depends on the number of lanes: two
//!    run in turn, which fills the ports, and a single last lane runs alone.
//! 2. Each lane, or pair of lanes, goes through all of its blocks before the next begins, so that the state stays in
//!    registers.
//! 3. A block waits only for its rounds and one XOR. The conversion of text to rows, and of rows to ciphertext, runs
//!    beside the rounds of other blocks.
//! 4. Between stages, and between the blocks of a CBC chain, IP and its inverse cancel, and so do both conversions.
//!
//! The layout is explained in `rows_avx2_layout.rs`, the rounds and their limits in `rows_avx2_rounds.rs`, blocks in
//! `rows_avx2_vector.rs`, and keys in `rows_avx2_keys.rs`.

use super::byte_sliced_vector::Scratch;
use super::lines::Lines;
use super::macs::{Macs, Texts};
use super::rows_avx2_keys::RowKeys;
use super::rows_avx2_rounds::{Half, des};
use super::rows_avx2_vector::{block_of_halves, halves_of_block};
use super::{BLOCK_BYTES, Block, Form, PIECE_BLOCKS, Piece, Stage};
use crate::low::cpu::Avx2;
use std::arch::x86_64::*;
use std::array;

/// The row form of AVX2.
pub(crate) struct RowsAvx2;

/// Lanes of a pass: for more, the bit-sliced form is cheaper.
const LANES: usize = 16;

/// The number of lanes that run together.
const GROUP: usize = 2;

/// Schedules for all lanes.
type Keys = RowKeys<LANES>;

/// The left and the right half of a block of some lanes.
type State<const COUNT: usize> = [Half<COUNT>; 2];

impl Form for RowsAvx2 {
    const LANES: usize = LANES;
    type Token = Avx2;
    type Keys = Keys;

    #[inline]
    fn empty_keys(_: Avx2) -> Keys {
        RowKeys::empty()
    }

    fn set_keys(_: Avx2, keys: &mut Keys, index: usize, own: &[Block]) {
        // SAFETY: the token proves the instructions.
        unsafe { keys.set_own(index, own) }
    }

    fn set_key(_: Avx2, keys: &mut Keys, index: usize, key: &Block) {
        // SAFETY: the token proves the instructions.
        unsafe { keys.set_one(index, key) }
    }

    fn blocks(_: Avx2, keys: &Keys, program: &[Stage], blocks: &mut [Block]) {
        assert!(blocks.len() <= LANES);
        // SAFETY: the token proves the instructions.
        unsafe { some_blocks(keys, program, blocks) }
    }

    fn macs<T: Texts>(_: Avx2, keys: &Keys, macs: &Macs<'_, T>, chains: &mut [Block]) {
        assert!(chains.len() <= LANES);
        // SAFETY: the token proves the instructions.
        unsafe { self::macs(keys, macs, chains) }
    }

    fn cbc_encipher(
        _: Avx2,
        keys: &Keys,
        program: &[Stage],
        chains: &mut [Block],
        pieces: &mut [Piece],
        count: usize,
    ) {
        assert!(pieces.len() <= LANES && pieces.len() == chains.len());
        assert!((1..=PIECE_BLOCKS).contains(&count));
        // SAFETY: the token proves the instructions.
        unsafe { cbc_encipher(keys, program, chains, pieces, count) }
    }

    fn cbc_lines<L: Lines + ?Sized>(
        _: Avx2,
        keys: &Keys,
        program: &[Stage],
        chains: &mut [Block],
        lines: &mut L,
        pieces: usize,
    ) {
        let lanes = lines.lanes();
        assert!((1..=LANES).contains(&lanes) && chains.len() == lanes);
        // SAFETY: the token proves the instructions.
        unsafe { cbc_lines(keys, program, chains, lines, pieces) }
    }

    fn ecb(_: Avx2, keys: &Keys, program: &[Stage], data: &mut [u8]) {
        // SAFETY: the token proves the instructions.
        unsafe { ecb(keys, program, data) }
    }

    fn cbc_decipher(_: Avx2, keys: &Keys, program: &[Stage], chain: &mut Block, data: &mut [u8]) {
        // SAFETY: the token proves the instructions.
        unsafe { cbc_decipher(keys, program, chain, data) }
    }

    fn ctr(_: Avx2, keys: &Keys, program: &[Stage], counter: &mut u64, data: &mut [u8]) {
        // SAFETY: the token proves the instructions.
        unsafe { ctr(keys, program, counter, data) }
    }
}

/// Runs the rounds of all stages, for the lanes from `first` on. IP and its inverse cancel between stages: the halves
/// of the pre-output are the next stage's L0 and R0.
#[inline]
#[target_feature(enable = "avx2")]
fn run<const COUNT: usize>(keys: &Keys, program: &[Stage], first: usize, state: &mut State<COUNT>) {
    let [mut left, mut right] = *state;
    for stage in program {
        let steps = array::from_fn(|lane| keys.steps(stage.key, first + lane));
        des::<COUNT>(steps, stage.encipher, &mut left, &mut right);
    }
    *state = [left, right];
}

/// The state made from blocks.
#[inline]
#[target_feature(enable = "avx2")]
fn state_of<const COUNT: usize>(blocks: [Block; COUNT]) -> State<COUNT> {
    let mut state = [[_mm256_setzero_si256(); COUNT]; 2];
    add(&mut state, |lane| blocks[lane]);
    state
}

/// Adds a block to each lane.
#[inline]
#[target_feature(enable = "avx2")]
fn add<const COUNT: usize>(state: &mut State<COUNT>, block: impl Fn(usize) -> Block) {
    let [lefts, rights] = state;
    for (lane, (left, right)) in lefts.iter_mut().zip(rights).enumerate() {
        let halves = halves_of_block(block(lane));
        *left = _mm256_xor_si256(*left, halves[0]);
        *right = _mm256_xor_si256(*right, halves[1]);
    }
}

/// The block of a lane.
#[inline]
#[target_feature(enable = "avx2")]
fn block_of<const COUNT: usize>(state: &State<COUNT>, lane: usize) -> Block {
    block_of_halves(state[0][lane], state[1][lane])
}

/// Runs the program on blocks, in the lanes from `first` on.
#[inline]
#[target_feature(enable = "avx2")]
fn group<const COUNT: usize>(keys: &Keys, program: &[Stage], first: usize, blocks: &mut [Block; COUNT]) {
    let mut state = state_of(*blocks);
    run(keys, program, first, &mut state);
    for (lane, block) in blocks.iter_mut().enumerate() {
        *block = block_of(&state, lane);
    }
}

#[target_feature(enable = "avx2")]
fn some_blocks(keys: &Keys, program: &[Stage], blocks: &mut [Block]) {
    let (groups, rest) = blocks.as_chunks_mut::<GROUP>();
    let mut first = 0;
    for blocks in groups {
        group(keys, program, first, blocks);
        first += GROUP;
    }
    if let [block] = rest {
        group(keys, program, first, array::from_mut(block));
    }
}

/// MACs, one group of lanes after the other.
#[target_feature(enable = "avx2")]
fn macs<T: Texts>(keys: &Keys, macs: &Macs<'_, T>, chains: &mut [Block]) {
    let (groups, rest) = chains.as_chunks_mut::<GROUP>();
    let mut first = 0;
    for chains in groups {
        macs_of_group(keys, macs, first, chains);
        first += GROUP;
    }
    if let [chain] = rest {
        macs_of_group(keys, macs, first, array::from_mut(chain));
    }
}

/// MACs of one group. A line of each lane, whole or not, is first copied; that runs beside the rounds of eight blocks.
#[inline(never)]
#[target_feature(enable = "avx2")]
fn macs_of_group<const COUNT: usize, T: Texts>(
    keys: &Keys,
    macs: &Macs<'_, T>,
    first: usize,
    chains: &mut [Block; COUNT],
) {
    let mut state = state_of(*chains);
    let mut pieces = Scratch([EMPTY_PIECE; COUNT]);
    for line in 0..macs.lines() {
        for (lane, piece) in pieces.0.iter_mut().enumerate() {
            macs.copy(first + lane, line, piece);
        }
        for index in 0..macs.count(line) {
            add(&mut state, |lane| pieces.0[lane].0[index]);
            run(keys, macs.program, first, &mut state);
        }
    }
    run(keys, macs.last, first, &mut state);
    for (lane, chain) in chains.iter_mut().enumerate() {
        *chain = block_of(&state, lane);
    }
}

/// A piece of zeros.
const EMPTY_PIECE: Piece = Piece([[0; BLOCK_BYTES]; PIECE_BLOCKS]);

#[target_feature(enable = "avx2")]
fn cbc_encipher(keys: &Keys, program: &[Stage], chains: &mut [Block], pieces: &mut [Piece], count: usize) {
    let ((groups, rest), (piece_groups, piece_rest)) =
        (chains.as_chunks_mut::<GROUP>(), pieces.as_chunks_mut::<GROUP>());
    let mut first = 0;
    for (chains, pieces) in groups.iter_mut().zip(piece_groups) {
        cbc_of_group(keys, program, first, chains, pieces, count);
        first += GROUP;
    }
    if let ([chain], [piece]) = (rest, piece_rest) {
        cbc_of_group(keys, program, first, array::from_mut(chain), array::from_mut(piece), count);
    }
}

/// CBC of the lanes from `first` on, one block of each at a time. The state between blocks is the chaining value: IP
/// and its inverse cancel, so the pre-output of one block is added to the next.
#[inline(never)]
#[target_feature(enable = "avx2")]
fn cbc_of_group<const COUNT: usize>(
    keys: &Keys,
    program: &[Stage],
    first: usize,
    chains: &mut [Block; COUNT],
    pieces: &mut [Piece; COUNT],
    count: usize,
) {
    let mut state = state_of(*chains);
    for index in 0..count {
        add(&mut state, |lane| pieces[lane].0[index]);
        run(keys, program, first, &mut state);
        for (lane, piece) in pieces.iter_mut().enumerate() {
            piece.0[index] = block_of(&state, lane);
        }
    }
    for (chain, piece) in chains.iter_mut().zip(pieces) {
        *chain = piece.0[count - 1];
    }
}

#[target_feature(enable = "avx2")]
fn cbc_lines<L: Lines + ?Sized>(
    keys: &Keys,
    program: &[Stage],
    chains: &mut [Block],
    lines: &mut L,
    pieces: usize,
) {
    let (groups, rest) = chains.as_chunks_mut::<GROUP>();
    let mut first = 0;
    for chains in groups {
        lines_of_group(keys, program, first, chains, lines, pieces);
        first += GROUP;
    }
    if let [chain] = rest {
        lines_of_group(keys, program, first, array::from_mut(chain), lines, pieces);
    }
}

/// As [`cbc_of_group`], for streams in place.
#[inline(never)]
#[target_feature(enable = "avx2")]
fn lines_of_group<const COUNT: usize, L: Lines + ?Sized>(
    keys: &Keys,
    program: &[Stage],
    first: usize,
    chains: &mut [Block; COUNT],
    lines: &mut L,
    pieces: usize,
) {
    let mut state = state_of(*chains);
    for piece in 0..pieces {
        for index in 0..PIECE_BLOCKS {
            add(&mut state, |lane| lines.line(first + lane, piece).as_chunks().0[index]);
            run(keys, program, first, &mut state);
            for lane in 0..COUNT {
                if L::WRITTEN
                    && let Some(line) = lines.line_mut(first + lane, piece)
                {
                    line.as_chunks_mut().0[index] = block_of(&state, lane);
                }
            }
        }
    }
    for (lane, chain) in chains.iter_mut().enumerate() {
        *chain = block_of(&state, lane);
    }
}

/// ECB over whole blocks.
#[target_feature(enable = "avx2")]
fn ecb(keys: &Keys, program: &[Stage], data: &mut [u8]) {
    let (groups, rest) = data.as_chunks_mut::<BLOCK_BYTES>().0.as_chunks_mut::<GROUP>();
    for blocks in groups {
        group(keys, program, 0, blocks);
    }
    if let [block] = rest {
        group(keys, program, 0, array::from_mut(block));
    }
}

#[target_feature(enable = "avx2")]
fn cbc_decipher(keys: &Keys, program: &[Stage], chain: &mut Block, data: &mut [u8]) {
    let (groups, rest) = data.as_chunks_mut::<BLOCK_BYTES>().0.as_chunks_mut::<GROUP>();
    for blocks in groups {
        decipher_group(keys, program, chain, blocks);
    }
    if let [block] = rest {
        decipher_group(keys, program, chain, array::from_mut(block));
    }
}

/// Deciphers blocks of one CBC chain.
#[inline]
#[target_feature(enable = "avx2")]
fn decipher_group<const COUNT: usize>(
    keys: &Keys,
    program: &[Stage],
    chain: &mut Block,
    blocks: &mut [Block; COUNT],
) {
    let mut state = state_of(*blocks);
    run(keys, program, 0, &mut state);
    for (lane, block) in blocks.iter_mut().enumerate() {
        let before = std::mem::replace(chain, *block);
        *block = xor(block_of(&state, lane), before);
    }
}

#[target_feature(enable = "avx2")]
fn ctr(keys: &Keys, program: &[Stage], counter: &mut u64, data: &mut [u8]) {
    let (blocks, rest) = data.as_chunks_mut::<BLOCK_BYTES>();
    let (groups, last) = blocks.as_chunks_mut::<GROUP>();
    for blocks in groups {
        add_keystream(keys, program, counter, blocks);
    }
    if let [block] = last {
        add_keystream(keys, program, counter, array::from_mut(block));
    }
    if !rest.is_empty() {
        let mut block = Scratch([[0; BLOCK_BYTES]]);
        block.0[0][..rest.len()].copy_from_slice(rest);
        add_keystream(keys, program, counter, &mut block.0);
        rest.copy_from_slice(&block.0[0][..rest.len()]);
    }
}

/// Enciphers or deciphers blocks of one text in CTR.
#[inline]
#[target_feature(enable = "avx2")]
fn add_keystream<const COUNT: usize>(
    keys: &Keys,
    program: &[Stage],
    counter: &mut u64,
    blocks: &mut [Block; COUNT],
) {
    let first = *counter;
    *counter = first.wrapping_add(COUNT as u64);
    let mut state: State<COUNT> =
        state_of(array::from_fn(|lane| first.wrapping_add(lane as u64).to_be_bytes()));
    run(keys, program, 0, &mut state);
    for (lane, block) in blocks.iter_mut().enumerate() {
        *block = xor(block_of(&state, lane), *block);
    }
}

#[inline]
fn xor(one: Block, other: Block) -> Block {
    (u64::from_ne_bytes(one) ^ u64::from_ne_bytes(other)).to_ne_bytes()
}

#[cfg(test)]
mod tests {
    use super::super::tests::form_tests;
    form_tests!(super::RowsAvx2);
}

//! DES byte-sliced over 64 lanes: each S-box is a permutation of bytes in registers.
//!
//! ```text
//! 64 blocks, 8 a vector         | b0 b1 b2 b3 b4 b5 b6 b7 |  ...   8 vectors
//!   bits of each transposed, bytes sorted by plane                 8 vgf2p8affine, 8 vpermb
//!                               | p0: 8 lanes | p1 ...    |  ...   8 vectors
//!   8x8 quad words transposed                                      8 vpunpck, 16 vshufi64x2
//!   plane j: bit j of each byte | lane 0 ...      lane 63 |        8 vectors, IP is done
//!   expanded: each target out of two planes                        32 vgf2p8affine, 16 vpxor
//!   halves of 8 vectors, rounds of all stages                      see byte_sliced_rounds.rs
//!   collected: each plane out of two targets of a half             16 vgf2p8affine, 8 vpxor
//!   and back the same way                                          24; 8 vpermb, 8 vgf2p8affine
//! ```
//!
//! 1. IP gathers equal bits of the eight bytes: it transposes an 8x8 bit matrix. The GF(2) product does that if the
//!    block is the matrix and the unit vectors are the data.
//! 2. IP and its inverse cancel between stages. They also cancel between the blocks of a CBC chain, which stays in
//!    expanded form: XOR is the same there.
//! 3. CBC moves whole cache lines of eight blocks. The lines of eight streams are transposed by quad words, and one
//!    line of each stream is enciphered before the next is read.
//! 4. Lines that all streams have are read and written in place. The state is the chaining value, from the first block
//!    of a call to its last; a MAC skips the way back between its blocks.
//! 5. In copied pieces, the chaining value is added to the first block after the transposition by quad words, when
//!    those of eight streams are one vector, and is read out the same way. Eight bytes read from a vector just stored
//!    would wait for the store, which cost 24 ns a step.
//!
//! Limit: both transpositions of a pass take 34 ns, about 180 instructions, most of which run at two a cycle. With the
//! rounds of triple DES a pass takes 0.28 us, of single DES 0.12. A CBC step adds 1.3 ns for each eight streams to move
//! the lines.
//!
//! Few lanes cost a whole pass. A table of 64 bytes needs a whole vector, and the dependence from round to round limits
//! a pass, not the width. The row form (`rows_avx512.rs`) serves few lanes.
//!
//! Dropped: permutes of two sources (`vpermt2q`) in the transposition by quad words, which keep two indices in
//! registers (one per cent of the time of a MAC over eight blocks).

mod macs;

use super::byte_sliced_keys::ByteSlicedKeys;
use super::byte_sliced_layout::{BOXES, COLLECT, COLLECT_HALF, EXPAND};
use super::byte_sliced_rounds::{Half, des};
use super::byte_sliced_vector::{
    Scratch, blocks_of_planes, linear, load, planes_of_blocks, store, transpose_quads,
};
use super::lines::Lines;
use super::macs::{Macs, Texts};
use super::{BLOCK_BYTES, Block, Form, PIECE_BLOCKS, Piece, Stage, wipe_pieces};
use crate::low::cpu::Avx512;
use std::arch::x86_64::*;
use std::array;

/// The byte-sliced form, of 64 lanes.
pub(crate) struct ByteSliced;

const LANES: usize = 64;

/// Lanes of a vector of blocks.
const GROUP: usize = 8;

/// Bytes of a pass.
const PASS_BYTES: usize = LANES * BLOCK_BYTES;

/// Vectors of blocks of one pass.
type Groups = [__m512i; LANES / GROUP];

impl Form for ByteSliced {
    const LANES: usize = LANES;
    type Token = Avx512;
    type Keys = ByteSlicedKeys;

    #[inline]
    fn empty_keys(_: Avx512) -> ByteSlicedKeys {
        ByteSlicedKeys::empty()
    }

    fn set_keys(_: Avx512, keys: &mut ByteSlicedKeys, index: usize, own: &[Block]) {
        if let Ok(all) = own.as_chunks().0.try_into() {
            // SAFETY: the token proves the instructions.
            return unsafe { keys.set(index, all) };
        }
        let mut all = Scratch([[[0; BLOCK_BYTES]; GROUP]; LANES / GROUP]);
        all.0.as_flattened_mut()[..own.len()].copy_from_slice(own);
        // SAFETY: the token proves the instructions.
        unsafe { keys.set(index, &all.0) }
    }

    fn set_key(_: Avx512, keys: &mut ByteSlicedKeys, index: usize, key: &Block) {
        // SAFETY: the token proves the instructions.
        unsafe { keys.set_one(index, key) }
    }

    fn blocks(_: Avx512, keys: &ByteSlicedKeys, program: &[Stage], blocks: &mut [Block]) {
        assert!(blocks.len() <= LANES);
        // SAFETY: the token proves the instructions.
        unsafe { ecb(keys, program, blocks.as_flattened_mut()) }
    }

    fn macs<T: Texts>(_: Avx512, keys: &ByteSlicedKeys, macs: &Macs<'_, T>, chains: &mut [Block]) {
        // SAFETY: the token proves the instructions.
        unsafe { self::macs::macs(keys, macs, chains) }
    }

    fn cbc_encipher(
        _: Avx512,
        keys: &ByteSlicedKeys,
        program: &[Stage],
        chains: &mut [Block],
        pieces: &mut [Piece],
        count: usize,
    ) {
        // SAFETY: the token proves the instructions.
        unsafe { cbc_encipher(keys, program, chains, pieces, count) }
    }

    fn cbc_lines<L: Lines + ?Sized>(
        _: Avx512,
        keys: &ByteSlicedKeys,
        program: &[Stage],
        chains: &mut [Block],
        lines: &mut L,
        pieces: usize,
    ) {
        // SAFETY: the token proves the instructions.
        unsafe { cbc_lines(keys, program, chains, lines, pieces) }
    }

    fn ecb(_: Avx512, keys: &ByteSlicedKeys, program: &[Stage], data: &mut [u8]) {
        // SAFETY: the token proves the instructions.
        unsafe { ecb(keys, program, data) }
    }

    fn cbc_decipher(_: Avx512, keys: &ByteSlicedKeys, program: &[Stage], chain: &mut Block, data: &mut [u8]) {
        // SAFETY: the token proves the instructions.
        unsafe { cbc_decipher(keys, program, chain, data) }
    }

    fn ctr(_: Avx512, keys: &ByteSlicedKeys, program: &[Stage], counter: &mut u64, data: &mut [u8]) {
        // SAFETY: the token proves the instructions.
        unsafe { ctr(keys, program, counter, data) }
    }
}

/// Runs a pass: eight vectors of blocks through the program.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn pass(keys: &ByteSlicedKeys, program: &[Stage], state: &mut State, blocks: &mut Groups) {
    let mut groups = *blocks;
    for group in &mut groups {
        *group = planes_of_blocks(*group);
    }
    state.0 = expand(transpose_quads(groups));
    run(keys, program, state);
    *blocks = transpose_quads(collect(state));
    for group in blocks {
        *group = blocks_of_planes(*group);
    }
}

/// The left and the right half of 64 blocks.
type State = Scratch<[Half; 2]>;

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn empty_state() -> State {
    Scratch([[_mm512_setzero_si512(); BOXES]; 2])
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn empty_groups() -> Scratch<Groups> {
    Scratch([_mm512_setzero_si512(); LANES / GROUP])
}

/// Runs the rounds of all stages. IP and its inverse cancel between stages: the halves of the pre-output are the next
/// stage's L0 and R0.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn run(keys: &ByteSlicedKeys, program: &[Stage], state: &mut State) {
    let [left, right] = &mut state.0;
    for stage in program {
        let schedule = keys.schedule(stage.key);
        if stage.encipher {
            des::<true>(schedule, left, right);
        } else {
            des::<false>(schedule, left, right);
        }
    }
}

/// Makes the halves from the planes of 64 blocks: IP and E.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn expand(planes: [__m512i; 8]) -> [Half; 2] {
    let mut halves = [[planes[0]; BOXES]; 2];
    for h in 0..2 {
        for t in 0..BOXES {
            let pair = EXPAND[h][t];
            halves[h][t] = _mm512_xor_si512(
                linear(planes[pair.planes[0]], pair.matrices[0]),
                linear(planes[pair.planes[1]], pair.matrices[1]),
            );
        }
    }
    halves
}

/// XORs expanded blocks into the state.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn add(state: &mut State, blocks: [Half; 2]) {
    for (vector, blocks) in state.0.as_flattened_mut().iter_mut().zip(blocks.as_flattened()) {
        *vector = _mm512_xor_si512(*vector, *blocks);
    }
}

/// Makes the planes of 64 blocks from the halves: the inverse of E and of IP.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn collect(state: &State) -> [__m512i; 8] {
    let mut planes = [state.0[0][0]; 8];
    for j in 0..8 {
        let half = &state.0[COLLECT_HALF[j]];
        let pair = COLLECT[j];
        planes[j] = _mm512_xor_si512(
            linear(half[pair.planes[0]], pair.matrices[0]),
            linear(half[pair.planes[1]], pair.matrices[1]),
        );
    }
    planes
}

/// ECB over whole blocks.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn ecb(keys: &ByteSlicedKeys, program: &[Stage], data: &mut [u8]) {
    let (mut state, mut blocks) = (empty_state(), empty_groups());
    each_pass(data, |part| {
        load_groups(part, &mut blocks.0);
        pass(keys, program, &mut state, &mut blocks.0);
        store_groups(part, &blocks.0);
    });
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn cbc_decipher(keys: &ByteSlicedKeys, program: &[Stage], chain: &mut Block, data: &mut [u8]) {
    let (mut state, mut blocks) = (empty_state(), empty_groups());
    let mut before = _mm512_set1_epi64(i64::from_ne_bytes(*chain));
    if let Some(last) = data.last_chunk() {
        *chain = *last;
    }
    each_pass(data, |part| {
        load_groups(part, &mut blocks.0);
        pass(keys, program, &mut state, &mut blocks.0);
        for (bytes, block) in part.as_chunks_mut().0.iter_mut().zip(&blocks.0) {
            // The ciphertext before each block: the last block of the group before, and all but the last of this one.
            let own = load(bytes);
            store(bytes, _mm512_xor_si512(*block, _mm512_alignr_epi64::<7>(own, before)));
            before = own;
        }
    });
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn ctr(keys: &ByteSlicedKeys, program: &[Stage], counter: &mut u64, data: &mut [u8]) {
    let (mut state, mut blocks) = (empty_state(), empty_groups());
    let swap = load(&SWAPPED);
    let mut next =
        _mm512_add_epi64(_mm512_set1_epi64(counter.cast_signed()), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
    *counter = counter.wrapping_add(data.len().div_ceil(BLOCK_BYTES) as u64);
    each_pass(data, |part| {
        for block in &mut blocks.0 {
            *block = _mm512_permutexvar_epi8(swap, next);
            next = _mm512_add_epi64(next, _mm512_set1_epi64(GROUP as i64));
        }
        pass(keys, program, &mut state, &mut blocks.0);
        for (bytes, block) in part.as_chunks_mut().0.iter_mut().zip(&blocks.0) {
            store(bytes, _mm512_xor_si512(*block, load(bytes)));
        }
    });
}

/// Passes the text to `work` in parts of one pass; the last part is padded with zeros.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn each_pass(data: &mut [u8], mut work: impl FnMut(&mut [u8; PASS_BYTES])) {
    let (parts, rest) = data.as_chunks_mut::<PASS_BYTES>();
    for part in parts {
        work(part);
    }
    if !rest.is_empty() {
        let mut part = Scratch([0; PASS_BYTES]);
        part.0[..rest.len()].copy_from_slice(rest);
        work(&mut part.0);
        rest.copy_from_slice(&part.0[..rest.len()]);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn load_groups(part: &[u8; PASS_BYTES], groups: &mut Groups) {
    for (group, bytes) in groups.iter_mut().zip(part.as_chunks().0) {
        *group = load(bytes);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn store_groups(part: &mut [u8; PASS_BYTES], groups: &Groups) {
    for (group, bytes) in groups.iter().zip(part.as_chunks_mut().0) {
        store(bytes, *group);
    }
}

/// Pieces of 64 streams, eight streams a group. While sliced, piece `b` of a group holds the planes of block `b` of its
/// streams.
type Staged = [[Piece; GROUP]; LANES / GROUP];

/// A chaining value for each stream.
type Chains = [[Block; GROUP]; LANES / GROUP];

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn cbc_encipher(
    keys: &ByteSlicedKeys,
    program: &[Stage],
    chains: &mut [Block],
    pieces: &mut [Piece],
    count: usize,
) {
    assert!(pieces.len() <= LANES && pieces.len() == chains.len() && (1..=PIECE_BLOCKS).contains(&count));
    let groups = pieces.len().div_ceil(GROUP);
    if let (Ok(chains), Ok(pieces)) =
        (chains.as_chunks_mut().0.try_into(), pieces.as_chunks_mut().0.try_into())
    {
        return cbc_groups(keys, program, chains, pieces, groups, count);
    }
    let mut all_chains: Scratch<Chains> = Scratch([[[0; BLOCK_BYTES]; GROUP]; LANES / GROUP]);
    let mut all: Staged = [[EMPTY_PIECE; GROUP]; LANES / GROUP];
    all_chains.0.as_flattened_mut()[..chains.len()].copy_from_slice(chains);
    all.as_flattened_mut()[..pieces.len()].copy_from_slice(pieces);
    cbc_groups(keys, program, &mut all_chains.0, &mut all, groups, count);
    chains.copy_from_slice(&all_chains.0.as_flattened()[..chains.len()]);
    pieces.copy_from_slice(&all.as_flattened()[..pieces.len()]);
    // Only groups with streams hold text.
    wipe_pieces(all[..groups].as_flattened_mut());
}

/// A piece of zeros.
const EMPTY_PIECE: Piece = Piece([[0; BLOCK_BYTES]; PIECE_BLOCKS]);

/// CBC over the first blocks of pieces; only the first `groups` groups hold streams.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn cbc_groups(
    keys: &ByteSlicedKeys,
    program: &[Stage],
    chains: &mut Chains,
    pieces: &mut Staged,
    groups: usize,
    count: usize,
) {
    for (pieces, chains) in pieces.iter_mut().zip(&*chains).take(groups) {
        slice(pieces, chains, count);
    }
    cbc_steps(keys, program, pieces, count);
    for (pieces, chains) in pieces.iter_mut().zip(chains).take(groups) {
        unslice(pieces, chains, count);
    }
}

/// CBC of streams in place, eight blocks of each at a time. The state is the chaining value throughout: the chaining
/// values enter it before the first block and leave it after the last. The parts are separate functions. In one body
/// the compiler keeps lengths and vectors in the same places on the stack, so the machine code could not show on which
/// of the two it branches.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn cbc_lines<L: Lines + ?Sized>(
    keys: &ByteSlicedKeys,
    program: &[Stage],
    chains: &mut [Block],
    lines: &mut L,
    pieces: usize,
) {
    assert!((1..=LANES).contains(&lines.lanes()) && chains.len() == lines.lanes());
    let mut all_chains: Scratch<Chains> = Scratch([[[0; BLOCK_BYTES]; GROUP]; LANES / GROUP]);
    all_chains.0.as_flattened_mut()[..chains.len()].copy_from_slice(chains);
    let mut state = empty_state();
    begin(&all_chains.0, &mut state);
    let mut sliced: Staged = [[EMPTY_PIECE; GROUP]; LANES / GROUP];
    for piece in 0..pieces {
        slice_lines(lines, piece, &mut sliced);
        line_steps::<L>(keys, program, &mut sliced, &mut state);
        if L::WRITTEN {
            unslice_lines(&sliced, lines, piece);
        }
    }
    end(&state, &mut all_chains.0);
    chains.copy_from_slice(&all_chains.0.as_flattened()[..chains.len()]);
    wipe_pieces(sliced.as_flattened_mut());
}

/// Sets the state to the chaining values.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn begin(chains: &Chains, state: &mut State) {
    let chains = chains.each_ref().map(|chains| planes_of_blocks(load_blocks(chains)));
    state.0 = expand(transpose_quads(chains));
}

/// The reverse of [`begin`].
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn end(state: &State, chains: &mut Chains) {
    for (chains, group) in chains.iter_mut().zip(transpose_quads(collect(state))) {
        store_blocks(chains, blocks_of_planes(group));
    }
}

/// Slices a piece of each lane, read in place.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn slice_lines<L: Lines + ?Sized>(lines: &L, piece: usize, sliced: &mut Staged) {
    for (group, sliced) in sliced.iter_mut().enumerate() {
        let text = array::from_fn(|lane| load(lines.line(GROUP * group + lane, piece)));
        for (sliced, blocks) in sliced.iter_mut().zip(transpose_quads(text)) {
            store_blocks(&mut sliced.0, planes_of_blocks(blocks));
        }
    }
}

/// The reverse of [`slice_lines`].
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn unslice_lines<L: Lines + ?Sized>(sliced: &Staged, lines: &mut L, piece: usize) {
    for (group, sliced) in sliced.iter().enumerate() {
        let text = sliced.each_ref().map(|blocks| blocks_of_planes(load_blocks(&blocks.0)));
        for (lane, text) in transpose_quads(text).into_iter().enumerate() {
            if let Some(line) = lines.line_mut(GROUP * group + lane, piece) {
                store(line, text);
            }
        }
    }
}

/// CBC over the blocks of a piece, one after the other.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn line_steps<L: Lines + ?Sized>(
    keys: &ByteSlicedKeys,
    program: &[Stage],
    sliced: &mut Staged,
    state: &mut State,
) {
    for index in 0..PIECE_BLOCKS {
        let groups = sliced.each_ref().map(|pieces| load_blocks(&pieces[index].0));
        add(state, expand(transpose_quads(groups)));
        run(keys, program, state);
        if L::WRITTEN {
            for (pieces, group) in sliced.iter_mut().zip(transpose_quads(collect(state))) {
                store_blocks(&mut pieces[index].0, group);
            }
        }
    }
}

/// CBC over the sliced text, one pass for each block. The state between passes is the chaining value: IP and its
/// inverse cancel, so the pre-output of one block is added to the next.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn cbc_steps(keys: &ByteSlicedKeys, program: &[Stage], sliced: &mut Staged, count: usize) {
    let mut state = empty_state();
    for index in 0..count {
        let groups = sliced.each_ref().map(|pieces| load_blocks(&pieces[index].0));
        add(&mut state, expand(transpose_quads(groups)));
        run(keys, program, &mut state);
        for (pieces, group) in sliced.iter_mut().zip(transpose_quads(collect(&state))) {
            store_blocks(&mut pieces[index].0, group);
        }
    }
}

/// Slices the first `count` blocks of eight streams, and adds the chaining values to the very first.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn slice(pieces: &mut [Piece; GROUP], chains: &[Block; GROUP], count: usize) {
    let mut rows = transpose_quads(pieces.each_ref().map(|piece| load_blocks(&piece.0)));
    rows[0] = _mm512_xor_si512(rows[0], load_blocks(chains));
    for (index, (piece, row)) in pieces.iter_mut().zip(rows).enumerate() {
        store_blocks(&mut piece.0, if index < count { planes_of_blocks(row) } else { row });
    }
}

/// The reverse of [`slice`]; also returns the new chaining values in `chains`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn unslice(pieces: &mut [Piece; GROUP], chains: &mut [Block; GROUP], count: usize) {
    store_blocks(chains, blocks_of_planes(load_blocks(&pieces[count - 1].0)));
    let mut rows = pieces.each_ref().map(|piece| load_blocks(&piece.0));
    for (index, row) in rows.iter_mut().enumerate() {
        if index < count {
            *row = blocks_of_planes(*row);
        }
    }
    for (piece, row) in pieces.iter_mut().zip(transpose_quads(rows)) {
        store_blocks(&mut piece.0, row);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn load_blocks(blocks: &[Block; GROUP]) -> __m512i {
    load(blocks.as_flattened().try_into().expect("eight blocks"))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn store_blocks(blocks: &mut [Block; GROUP], vector: __m512i) {
    store(blocks.as_flattened_mut().try_into().expect("eight blocks"), vector);
}

/// The index that reverses the bytes of each quad word.
static SWAPPED: [u8; 64] = {
    let mut index = [0; 64];
    let mut at = 0;
    while at < 64 {
        index[at] = (at ^ 7) as u8;
        at += 1;
    }
    index
};

#[cfg(test)]
mod tests {
    use super::super::tests::form_tests;
    use super::ByteSliced;

    form_tests!(ByteSliced);
}

//! DES in row form: half a block is a quad word, eight lanes a vector, one to three vectors a pass.
//!
//! ```text
//! lanes of a pass      8            16             24
//! vectors              1            2              3
//! a round              waits        waits a bit    fills the ports
//! ```
//!
//! 1. A byte-sliced pass of 64 lanes takes the same time for one lane. Here a pass for eight takes half of that, and a
//!    pass for 16 less than two of those, since the second vector runs while the first waits.
//! 2. For one stream of CBC, eight blocks are expanded together and each is shifted into lane 0 in its turn. The
//!    results are shifted into two vectors that are collected together. Between two blocks there are only XOR and the
//!    rounds.
//! 3. Several streams are moved by cache lines of eight blocks, in place, as in the byte-sliced form.
//! 4. Between stages, and between the blocks of a CBC chain, IP and its inverse cancel, and so do both conversions.
//!
//! The layout is explained in `rows_layout.rs`, the rounds and their limits in `rows_rounds.rs`, and keys in
//! `rows_keys.rs`.

mod macs;
mod mdc;

use super::byte_sliced_vector::{Scratch, load, store, transpose_quads};
use super::lines::Lines;
use super::mac_lines::{load_lanes, store_lanes};
use super::macs::{Macs, Texts};
use super::mdc::Pair;
use super::rows_keys::{RowKeys, ScheduleRef};
use super::rows_rounds::{Half, des};
use super::rows_vector::{blocks_of_halves, halves_of_blocks};
use super::{BLOCK_BYTES, Block, Form, PIECE_BLOCKS, Piece, Stage, wipe_pieces};
use crate::low::cpu::Avx512;
use std::arch::x86_64::*;
use std::{array, slice};

/// The row form with this many vectors of eight lanes.
pub(crate) struct Rows<const VECTORS: usize>;

/// The row form with one vector: each round waits for the one before.
pub(crate) type Rows8 = Rows<1>;
/// The row form with two vectors: one runs while the other waits.
pub(crate) type Rows16 = Rows<2>;
/// The row form with three vectors, which fill the ports.
pub(crate) type Rows24 = Rows<3>;

/// Lanes of a vector.
const GROUP: usize = 8;

/// Bytes of a vector.
const GROUP_BYTES: usize = GROUP * BLOCK_BYTES;

/// The left and the right half of the blocks of a pass.
type State<const VECTORS: usize> = Scratch<[Half<VECTORS>; 2]>;

impl<const VECTORS: usize> Form for Rows<VECTORS> {
    const LANES: usize = GROUP * VECTORS;
    type Token = Avx512;
    type Keys = RowKeys<VECTORS>;

    #[inline]
    fn empty_keys(_: Avx512) -> RowKeys<VECTORS> {
        RowKeys::empty()
    }

    fn set_keys(_: Avx512, keys: &mut RowKeys<VECTORS>, index: usize, own: &[Block]) {
        if let [key] = own {
            // SAFETY: the token proves the instructions.
            return unsafe { keys.set_one(index, key) };
        }
        // SAFETY: the token proves the instructions.
        unsafe { keys.set_own(index, own) }
    }

    fn set_key(_: Avx512, keys: &mut RowKeys<VECTORS>, index: usize, key: &Block) {
        // SAFETY: the token proves the instructions.
        unsafe { keys.set_one(index, key) }
    }

    fn blocks(_: Avx512, keys: &RowKeys<VECTORS>, program: &[Stage], blocks: &mut [Block]) {
        assert!(blocks.len() <= GROUP * VECTORS);
        // SAFETY: the token proves the instructions.
        unsafe { some_blocks(keys, program, blocks) }
    }

    fn macs<T: Texts>(_: Avx512, keys: &RowKeys<VECTORS>, macs: &Macs<'_, T>, chains: &mut [Block]) {
        // SAFETY: the token proves the instructions.
        unsafe { self::macs::macs(keys, macs, chains) }
    }

    fn mdc(_: Avx512, four: bool, states: &mut [Pair], texts: &[&[Block]]) {
        // SAFETY: the token proves the instructions.
        unsafe { self::mdc::mdc(four, states, texts) }
    }

    fn cbc_encipher(
        _: Avx512,
        keys: &RowKeys<VECTORS>,
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
        keys: &RowKeys<VECTORS>,
        program: &[Stage],
        chains: &mut [Block],
        lines: &mut L,
        pieces: usize,
    ) {
        // SAFETY: the token proves the instructions.
        unsafe { cbc_lines(keys, program, chains, lines, pieces) }
    }

    fn ecb(_: Avx512, keys: &RowKeys<VECTORS>, program: &[Stage], data: &mut [u8]) {
        // SAFETY: the token proves the instructions.
        unsafe { ecb(keys, program, data) }
    }

    fn cbc_decipher(
        _: Avx512,
        keys: &RowKeys<VECTORS>,
        program: &[Stage],
        chain: &mut Block,
        data: &mut [u8],
    ) {
        // SAFETY: the token proves the instructions.
        unsafe { cbc_decipher(keys, program, chain, data) }
    }

    fn ctr(_: Avx512, keys: &RowKeys<VECTORS>, program: &[Stage], counter: &mut u64, data: &mut [u8]) {
        // SAFETY: the token proves the instructions.
        unsafe { ctr(keys, program, counter, data) }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn empty_state<const VECTORS: usize>() -> State<VECTORS> {
    Scratch([[_mm512_setzero_si512(); VECTORS]; 2])
}

/// Runs the rounds of all stages. IP and its inverse cancel between stages: the halves of the pre-output are the next
/// stage's L0 and R0.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn run<const VECTORS: usize>(keys: &RowKeys<VECTORS>, program: &[Stage], state: &mut State<VECTORS>) {
    // Kept in registers between stages: through memory, each would begin half a round later.
    let [mut left, mut right] = state.0;
    for stage in program {
        let (left, right) = (&mut left, &mut right);
        match (keys.schedule(stage.key), stage.encipher) {
            (ScheduleRef::One(steps), true) => {
                des::<true, VECTORS>(|step, _| one(steps.0[step]), left, right)
            }
            (ScheduleRef::One(steps), false) => {
                des::<false, VECTORS>(|step, _| one(steps.0[step]), left, right);
            }
            (ScheduleRef::Own(steps), true) => {
                des::<true, VECTORS>(|step, vector| steps[step][vector], left, right);
            }
            (ScheduleRef::Own(steps), false) => {
                des::<false, VECTORS>(|step, vector| steps[step][vector], left, right);
            }
        }
    }
    state.0 = [left, right];
}

/// One step of a key, repeated in all lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn one(step: u64) -> __m512i {
    _mm512_set1_epi64(step.cast_signed())
}

/// Runs a pass: each vector of blocks through the program.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn pass<const VECTORS: usize>(
    keys: &RowKeys<VECTORS>,
    program: &[Stage],
    state: &mut State<VECTORS>,
    blocks: &mut [__m512i; VECTORS],
) {
    for (vector, blocks) in blocks.iter().enumerate() {
        [state.0[0][vector], state.0[1][vector]] = halves_of_blocks(*blocks);
    }
    run(keys, program, state);
    for (vector, blocks) in blocks.iter_mut().enumerate() {
        *blocks = blocks_of_halves(state.0[0][vector], state.0[1][vector]);
    }
}

/// Runs the program on at most a pass of blocks.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn some_blocks<const VECTORS: usize>(keys: &RowKeys<VECTORS>, program: &[Stage], blocks: &mut [Block]) {
    let mut vectors = [_mm512_setzero_si512(); VECTORS];
    for (vector, blocks) in vectors.iter_mut().zip(blocks.chunks(GROUP)) {
        *vector = load_lanes(blocks);
    }
    pass(keys, program, &mut empty_state(), &mut vectors);
    for (vector, blocks) in vectors.into_iter().zip(blocks.chunks_mut(GROUP)) {
        store_lanes(blocks, vector);
    }
}

/// ECB over whole blocks.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn ecb<const VECTORS: usize>(keys: &RowKeys<VECTORS>, program: &[Stage], data: &mut [u8]) {
    let mut state = empty_state();
    each_pass(data, |part: &mut [[u8; GROUP_BYTES]; VECTORS]| {
        let mut blocks = part.each_ref().map(|bytes| load(bytes));
        pass(keys, program, &mut state, &mut blocks);
        for (bytes, blocks) in part.iter_mut().zip(blocks) {
            store(bytes, blocks);
        }
    });
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn cbc_decipher<const VECTORS: usize>(
    keys: &RowKeys<VECTORS>,
    program: &[Stage],
    chain: &mut Block,
    data: &mut [u8],
) {
    let mut state = empty_state();
    let mut before = _mm512_set1_epi64(i64::from_ne_bytes(*chain));
    if let Some(last) = data.last_chunk() {
        *chain = *last;
    }
    each_pass(data, |part: &mut [[u8; GROUP_BYTES]; VECTORS]| {
        let mut blocks = part.each_ref().map(|bytes| load(bytes));
        pass(keys, program, &mut state, &mut blocks);
        for (bytes, blocks) in part.iter_mut().zip(blocks) {
            // The ciphertext before each block: the last block of the vector before, and all but the last of this one.
            let own = load(bytes);
            store(bytes, _mm512_xor_si512(blocks, _mm512_alignr_epi64::<7>(own, before)));
            before = own;
        }
    });
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn ctr<const VECTORS: usize>(keys: &RowKeys<VECTORS>, program: &[Stage], counter: &mut u64, data: &mut [u8]) {
    let mut state = empty_state();
    let swap = _mm512_set4_epi64(
        0x0809_0a0b_0c0d_0e0f,
        0x0001_0203_0405_0607,
        0x0809_0a0b_0c0d_0e0f,
        0x0001_0203_0405_0607,
    );
    let mut next =
        _mm512_add_epi64(_mm512_set1_epi64(counter.cast_signed()), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
    *counter = counter.wrapping_add(data.len().div_ceil(BLOCK_BYTES) as u64);
    each_pass(data, |part: &mut [[u8; GROUP_BYTES]; VECTORS]| {
        let mut blocks = [next; VECTORS];
        for blocks in &mut blocks {
            *blocks = _mm512_shuffle_epi8(next, swap);
            next = _mm512_add_epi64(next, _mm512_set1_epi64(GROUP as i64));
        }
        pass(keys, program, &mut state, &mut blocks);
        for (bytes, blocks) in part.iter_mut().zip(blocks) {
            store(bytes, _mm512_xor_si512(blocks, load(bytes)));
        }
    });
}

/// Passes the text to `work` in parts of one pass; the last part is padded with zeros.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn each_pass<const VECTORS: usize>(data: &mut [u8], mut work: impl FnMut(&mut [[u8; GROUP_BYTES]; VECTORS])) {
    let whole = data.len() - data.len() % (GROUP_BYTES * VECTORS);
    let (whole, rest) = data.split_at_mut(whole);
    for part in whole.as_chunks_mut().0.as_chunks_mut().0 {
        work(part);
    }
    if !rest.is_empty() {
        let mut part = Scratch([[0; GROUP_BYTES]; VECTORS]);
        let bytes = part.0.as_flattened_mut();
        bytes[..rest.len()].copy_from_slice(rest);
        work(&mut part.0);
        rest.copy_from_slice(&part.0.as_flattened()[..rest.len()]);
    }
}

/// Pieces of the streams, eight streams a vector. While transposed, piece `b` of a vector is block `b` of each stream.
type Staged<const VECTORS: usize> = [[Piece; GROUP]; VECTORS];

/// A chaining value for each stream.
type Chains<const VECTORS: usize> = [[Block; GROUP]; VECTORS];

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn cbc_encipher<const VECTORS: usize>(
    keys: &RowKeys<VECTORS>,
    program: &[Stage],
    chains: &mut [Block],
    pieces: &mut [Piece],
    count: usize,
) {
    assert!(pieces.len() <= GROUP * VECTORS && pieces.len() == chains.len());
    assert!((1..=PIECE_BLOCKS).contains(&count));
    if let ([piece], [chain]) = (&mut *pieces, &mut *chains) {
        return cbc_alone(keys, program, chain, piece, count);
    }
    if let (Ok(chains), Ok(pieces)) =
        (chains.as_chunks_mut().0.try_into(), pieces.as_chunks_mut().0.try_into())
    {
        return cbc_groups(keys, program, chains, pieces, count);
    }
    let mut all_chains: Scratch<Chains<VECTORS>> = Scratch([[[0; BLOCK_BYTES]; GROUP]; VECTORS]);
    let mut all: Staged<VECTORS> = [[EMPTY_PIECE; GROUP]; VECTORS];
    all_chains.0.as_flattened_mut()[..chains.len()].copy_from_slice(chains);
    all.as_flattened_mut()[..pieces.len()].copy_from_slice(pieces);
    cbc_groups(keys, program, &mut all_chains.0, &mut all, count);
    chains.copy_from_slice(&all_chains.0.as_flattened()[..chains.len()]);
    pieces.copy_from_slice(&all.as_flattened()[..pieces.len()]);
    wipe_pieces(all.as_flattened_mut());
}

/// A piece of zeros.
const EMPTY_PIECE: Piece = Piece([[0; BLOCK_BYTES]; PIECE_BLOCKS]);

/// CBC of one stream, in lane 0 of the first vector.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn cbc_alone<const VECTORS: usize>(
    keys: &RowKeys<VECTORS>,
    program: &[Stage],
    chain: &mut Block,
    piece: &mut Piece,
    count: usize,
) {
    let text = load_blocks(&piece.0);
    let before = _mm512_maskz_set1_epi64(1, i64::from_ne_bytes(*chain));
    let [mut next_left, mut next_right] = halves_of_blocks(_mm512_xor_si512(text, before));
    let none = _mm512_setzero_si512();
    let (mut left, mut right) = ([none], [none]);
    // The results so far; the latest is in the uppermost lane.
    let [mut out_left, mut out_right] = [none; 2];
    for _ in 0..count {
        left[0] = _mm512_xor_si512(left[0], next_left);
        right[0] = _mm512_xor_si512(right[0], next_right);
        next_left = _mm512_alignr_epi64::<1>(next_left, next_left);
        next_right = _mm512_alignr_epi64::<1>(next_right, next_right);
        for stage in program {
            match (keys.schedule(stage.key), stage.encipher) {
                (ScheduleRef::One(steps), true) => {
                    des::<true, 1>(|step, _| one(steps.0[step]), &mut left, &mut right);
                }
                (ScheduleRef::One(steps), false) => {
                    des::<false, 1>(|step, _| one(steps.0[step]), &mut left, &mut right);
                }
                (ScheduleRef::Own(steps), true) => {
                    des::<true, 1>(|step, _| steps[step][0], &mut left, &mut right);
                }
                (ScheduleRef::Own(steps), false) => {
                    des::<false, 1>(|step, _| steps[step][0], &mut left, &mut right);
                }
            }
        }
        out_left = _mm512_alignr_epi64::<1>(left[0], out_left);
        out_right = _mm512_alignr_epi64::<1>(right[0], out_right);
    }
    for _ in count..PIECE_BLOCKS {
        out_left = _mm512_alignr_epi64::<1>(out_left, out_left);
        out_right = _mm512_alignr_epi64::<1>(out_right, out_right);
    }
    let done = (1_u16 << count).wrapping_sub(1) as u8;
    store_blocks(&mut piece.0, _mm512_mask_mov_epi64(text, done, blocks_of_halves(out_left, out_right)));
    *chain = piece.0[count - 1];
}

/// CBC over the transposed text, one pass for each block. The state between passes is the chaining value: IP and its
/// inverse cancel, so the pre-output of one block is added to the next.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn cbc_groups<const VECTORS: usize>(
    keys: &RowKeys<VECTORS>,
    program: &[Stage],
    chains: &mut Chains<VECTORS>,
    pieces: &mut Staged<VECTORS>,
    count: usize,
) {
    for (pieces, chains) in pieces.iter_mut().zip(&*chains) {
        transpose(pieces);
        let first = _mm512_xor_si512(load_blocks(&pieces[0].0), load_blocks(chains));
        store_blocks(&mut pieces[0].0, first);
    }
    let mut state = empty_state::<VECTORS>();
    for index in 0..count {
        for (vector, pieces) in pieces.iter().enumerate() {
            let [left, right] = halves_of_blocks(load_blocks(&pieces[index].0));
            state.0[0][vector] = _mm512_xor_si512(state.0[0][vector], left);
            state.0[1][vector] = _mm512_xor_si512(state.0[1][vector], right);
        }
        run(keys, program, &mut state);
        for (vector, pieces) in pieces.iter_mut().enumerate() {
            store_blocks(&mut pieces[index].0, blocks_of_halves(state.0[0][vector], state.0[1][vector]));
        }
    }
    for (pieces, chains) in pieces.iter_mut().zip(chains) {
        store_blocks(chains, load_blocks(&pieces[count - 1].0));
        transpose(pieces);
    }
}

/// CBC of streams in place, eight blocks of each at a time. The state is the chaining value from the first block to the
/// last. The parts are separate functions, as in the byte-sliced form.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn cbc_lines<const VECTORS: usize, L: Lines + ?Sized>(
    keys: &RowKeys<VECTORS>,
    program: &[Stage],
    chains: &mut [Block],
    lines: &mut L,
    pieces: usize,
) {
    let lanes = lines.lanes();
    assert!((1..=GROUP * VECTORS).contains(&lanes) && chains.len() == lanes);
    if lanes == 1 {
        return cbc_line_alone(keys, program, chains, lines, pieces);
    }
    let mut all_chains: Scratch<Chains<VECTORS>> = Scratch([[[0; BLOCK_BYTES]; GROUP]; VECTORS]);
    all_chains.0.as_flattened_mut()[..lanes].copy_from_slice(chains);
    let mut state = empty_state::<VECTORS>();
    begin(&all_chains.0, &mut state);
    let mut turned: Staged<VECTORS> = [[EMPTY_PIECE; GROUP]; VECTORS];
    for piece in 0..pieces {
        turn_in(lines, piece, &mut turned);
        line_steps::<VECTORS, L>(keys, program, &mut turned, &mut state);
        if L::WRITTEN {
            turn_out(&turned, lines, piece);
        }
    }
    end(&state, &mut all_chains.0);
    chains.copy_from_slice(&all_chains.0.as_flattened()[..lanes]);
    wipe_pieces(turned.as_flattened_mut());
}

/// Sets the state to the chaining values.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn begin<const VECTORS: usize>(chains: &Chains<VECTORS>, state: &mut State<VECTORS>) {
    for (vector, chains) in chains.iter().enumerate() {
        [state.0[0][vector], state.0[1][vector]] = halves_of_blocks(load_blocks(chains));
    }
}

/// The reverse of [`begin`].
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn end<const VECTORS: usize>(state: &State<VECTORS>, chains: &mut Chains<VECTORS>) {
    for (vector, chains) in chains.iter_mut().enumerate() {
        store_blocks(chains, blocks_of_halves(state.0[0][vector], state.0[1][vector]));
    }
}

/// Transposes a piece of each lane, read in place, to blocks of streams.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn turn_in<const VECTORS: usize, L: Lines + ?Sized>(lines: &L, piece: usize, turned: &mut Staged<VECTORS>) {
    for (vector, turned) in turned.iter_mut().enumerate() {
        let text = array::from_fn(|lane| load(lines.line(GROUP * vector + lane, piece)));
        for (turned, blocks) in turned.iter_mut().zip(transpose_quads(text)) {
            store_blocks(&mut turned.0, blocks);
        }
    }
}

/// The reverse of [`turn_in`]: writes the pieces back in place.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn turn_out<const VECTORS: usize, L: Lines + ?Sized>(turned: &Staged<VECTORS>, lines: &mut L, piece: usize) {
    for (vector, turned) in turned.iter().enumerate() {
        let text = transpose_quads(turned.each_ref().map(|blocks| load_blocks(&blocks.0)));
        for (lane, text) in text.into_iter().enumerate() {
            if let Some(line) = lines.line_mut(GROUP * vector + lane, piece) {
                store(line, text);
            }
        }
    }
}

/// CBC over the blocks of a piece, one after the other.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn line_steps<const VECTORS: usize, L: Lines + ?Sized>(
    keys: &RowKeys<VECTORS>,
    program: &[Stage],
    turned: &mut Staged<VECTORS>,
    state: &mut State<VECTORS>,
) {
    for index in 0..PIECE_BLOCKS {
        for (vector, turned) in turned.iter().enumerate() {
            let [left, right] = halves_of_blocks(load_blocks(&turned[index].0));
            state.0[0][vector] = _mm512_xor_si512(state.0[0][vector], left);
            state.0[1][vector] = _mm512_xor_si512(state.0[1][vector], right);
        }
        run(keys, program, state);
        if L::WRITTEN {
            for (vector, turned) in turned.iter_mut().enumerate() {
                let blocks = blocks_of_halves(state.0[0][vector], state.0[1][vector]);
                store_blocks(&mut turned[index].0, blocks);
            }
        }
    }
}

/// CBC of one stream in place. Only one lane is used, so there is nothing to transpose.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn cbc_line_alone<const VECTORS: usize, L: Lines + ?Sized>(
    keys: &RowKeys<VECTORS>,
    program: &[Stage],
    chains: &mut [Block],
    lines: &mut L,
    pieces: usize,
) {
    let mut copy = Scratch(EMPTY_PIECE);
    for piece in 0..pieces {
        copy.0.0.as_flattened_mut().copy_from_slice(lines.line(0, piece));
        cbc_encipher(keys, program, chains, slice::from_mut(&mut copy.0), PIECE_BLOCKS);
        if let Some(line) = lines.line_mut(0, piece) {
            line.copy_from_slice(copy.0.0.as_flattened());
        }
    }
}

/// Transposes pieces of streams to blocks of streams, or back.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn transpose(pieces: &mut [Piece; GROUP]) {
    let columns = transpose_quads(pieces.each_ref().map(|piece| load_blocks(&piece.0)));
    for (piece, column) in pieces.iter_mut().zip(columns) {
        store_blocks(&mut piece.0, column);
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

#[cfg(test)]
mod tests {
    mod of_8 {
        use super::super::super::tests::form_tests;
        form_tests!(super::super::Rows8);
    }

    mod of_16 {
        use super::super::super::tests::form_tests;
        form_tests!(super::super::Rows16);
    }

    mod of_24 {
        use super::super::super::tests::form_tests;
        form_tests!(super::super::Rows24);
    }
}

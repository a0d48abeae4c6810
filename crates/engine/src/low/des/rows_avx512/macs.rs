//! MACs of few texts of one length, read in place.

use super::super::byte_sliced_vector::Scratch;
use super::super::mac_lines::{line_of_lane, lines_of_lanes, load_lanes, store_lanes};
use super::super::macs::{Macs, Texts};
use super::super::rows_keys::{RowKeys, ScheduleRef};
use super::super::rows_rounds::des;
use super::super::rows_vector::{blocks_of_halves, halves_of_blocks};
use super::super::{Block, PIECE_BLOCKS, Stage};
use super::{GROUP, empty_state, one, run};
use std::arch::x86_64::*;
use std::ops::Range;

/// The blocks of a line of eight texts, for each vector.
type Lines<const VECTORS: usize> = Scratch<[[__m512i; PIECE_BLOCKS]; VECTORS]>;

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn macs<const VECTORS: usize, T: Texts>(
    keys: &RowKeys<VECTORS>,
    macs: &Macs<'_, T>,
    chains: &mut [Block],
) {
    assert!(chains.len() <= GROUP * VECTORS);
    if let [chain] = chains {
        return alone(keys, macs, chain);
    }
    let mut state = empty_state::<VECTORS>();
    for (vector, chains) in chains.chunks(GROUP).enumerate() {
        [state.0[0][vector], state.0[1][vector]] = halves_of_blocks(load_lanes(chains));
    }
    let used = chains.len().div_ceil(GROUP);
    let mut rows: Lines<VECTORS> = Scratch([[_mm512_setzero_si512(); PIECE_BLOCKS]; VECTORS]);
    for line in 0..macs.lines() {
        for (vector, rows) in rows.0[..used].iter_mut().enumerate() {
            let lanes = GROUP * vector..chains.len().min(GROUP * (vector + 1));
            fill(macs, lanes, line, rows);
        }
        for index in 0..macs.count(line) {
            for (vector, rows) in rows.0[..used].iter().enumerate() {
                let [left, right] = halves_of_blocks(rows[index]);
                state.0[0][vector] = _mm512_xor_si512(state.0[0][vector], left);
                state.0[1][vector] = _mm512_xor_si512(state.0[1][vector], right);
            }
            run(keys, macs.program, &mut state);
        }
    }
    run(keys, macs.last, &mut state);
    for (vector, chains) in chains.chunks_mut(GROUP).enumerate() {
        store_lanes(chains, blocks_of_halves(state.0[0][vector], state.0[1][vector]));
    }
}

/// Not inlined, like everything here that has both vectors and lengths: only then can the timing test follow what each
/// branch depends on.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn fill<T: Texts>(macs: &Macs<'_, T>, lanes: Range<usize>, line: usize, rows: &mut [__m512i; PIECE_BLOCKS]) {
    *rows = lines_of_lanes(macs, lanes, line);
}

/// The MAC of one text, in lane 0 of the first vector. The blocks of a line are expanded together, and each is shifted
/// into the lane in its turn; the other lanes do not matter. The state stays in registers.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn alone<const VECTORS: usize, T: Texts>(keys: &RowKeys<VECTORS>, macs: &Macs<'_, T>, chain: &mut Block) {
    let none = _mm512_setzero_si512();
    let [first_left, first_right] = halves_of_blocks(load_lanes(std::slice::from_ref(chain)));
    let (mut left, mut right) = ([first_left], [first_right]);
    let [mut next_left, mut next_right] = [none; 2];
    // One more step at the end, to which no block is added, runs the last program.
    let mut line = 0;
    for index in 0..=macs.blocks {
        let is_last = index == macs.blocks;
        if is_last {
            [next_left, next_right] = [none; 2];
        } else if index % PIECE_BLOCKS == 0 {
            [next_left, next_right] = halves_of_blocks(line_of_lane(macs, 0, line));
            line += 1;
        }
        left[0] = _mm512_xor_si512(left[0], next_left);
        right[0] = _mm512_xor_si512(right[0], next_right);
        next_left = _mm512_alignr_epi64::<1>(next_left, next_left);
        next_right = _mm512_alignr_epi64::<1>(next_right, next_right);
        stages(keys, if is_last { macs.last } else { macs.program }, &mut left, &mut right);
    }
    store_lanes(std::slice::from_mut(chain), blocks_of_halves(left[0], right[0]));
}

/// Runs the rounds of all stages for the first vector.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn stages<const VECTORS: usize>(
    keys: &RowKeys<VECTORS>,
    program: &[Stage],
    left: &mut [__m512i; 1],
    right: &mut [__m512i; 1],
) {
    for stage in program {
        match (keys.schedule(stage.key), stage.encipher) {
            (ScheduleRef::One(steps), true) => des::<true, 1>(|step, _| one(steps.0[step]), left, right),
            (ScheduleRef::One(steps), false) => des::<false, 1>(|step, _| one(steps.0[step]), left, right),
            (ScheduleRef::Own(steps), true) => des::<true, 1>(|step, _| steps[step][0], left, right),
            (ScheduleRef::Own(steps), false) => des::<false, 1>(|step, _| steps[step][0], left, right),
        }
    }
}

//! MACs of up to 64 texts of one length, read in place.

use super::super::byte_sliced_vector::{Scratch, blocks_of_planes, planes_of_blocks, transpose_quads};
use super::super::mac_lines::{lines_of_lanes, load_lanes, store_lanes};
use super::super::macs::{Macs, Texts};
use super::super::{Block, PIECE_BLOCKS};
use super::{ByteSlicedKeys, GROUP, LANES, State, collect, empty_groups, empty_state, expand, run};
use std::arch::x86_64::*;
use std::ops::Range;

/// Planes of the blocks of a line, by group and block of the line.
type Sliced = Scratch<[[__m512i; PIECE_BLOCKS]; LANES / GROUP]>;

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn macs<T: Texts>(keys: &ByteSlicedKeys, macs: &Macs<'_, T>, chains: &mut [Block]) {
    assert!(chains.len() <= LANES);
    let mut state = empty_state();
    let mut groups = empty_groups();
    for (group, chains) in groups.0.iter_mut().zip(chains.chunks(GROUP)) {
        *group = planes_of_blocks(load_lanes(chains));
    }
    state.0 = expand(transpose_quads(groups.0));
    let used = chains.len().div_ceil(GROUP);
    let mut sliced: Sliced = Scratch([[_mm512_setzero_si512(); PIECE_BLOCKS]; LANES / GROUP]);
    for line in 0..macs.lines() {
        let count = macs.count(line);
        for (group, sliced) in sliced.0[..used].iter_mut().enumerate() {
            let lanes = GROUP * group..chains.len().min(GROUP * (group + 1));
            slice_lines(macs, lanes, line, sliced);
        }
        for index in 0..count {
            add(&mut state, sliced.0.each_ref().map(|sliced| sliced[index]));
            run(keys, macs.program, &mut state);
        }
    }
    run(keys, macs.last, &mut state);
    groups.0 = transpose_quads(collect(&state));
    for (group, chains) in groups.0.iter().zip(chains.chunks_mut(GROUP)) {
        store_lanes(chains, blocks_of_planes(*group));
    }
}

/// Not inlined, like everything here that has both vectors and lengths: only then can the timing test follow what each
/// branch depends on.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn slice_lines<T: Texts>(
    macs: &Macs<'_, T>,
    lanes: Range<usize>,
    line: usize,
    sliced: &mut [__m512i; PIECE_BLOCKS],
) {
    for (sliced, row) in sliced.iter_mut().zip(lines_of_lanes(macs, lanes, line)) {
        *sliced = planes_of_blocks(row);
    }
}

/// Adds a block of each text, given as planes of groups, to the state.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn add(state: &mut State, groups: [__m512i; LANES / GROUP]) {
    let text = expand(transpose_quads(groups));
    for (vector, text) in state.0.as_flattened_mut().iter_mut().zip(text.as_flattened()) {
        *vector = _mm512_xor_si512(*vector, *text);
    }
}

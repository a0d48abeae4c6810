//! CBC enciphering and CBC-MAC of eight streams with AES on 128-bit vectors: one lane a vector.

use super::Rounds;
use super::streams::{LaneText, Lanes};
use super::vector::{load_block, store_block};
use crate::low::cpu::Aes;
use std::arch::x86_64::*;
use std::hint::black_box;

/// The number of streams side by side.
pub(super) const LANES: usize = 8;

/// Advances the lanes by `blocks` blocks each.
#[inline]
pub(super) fn run<T: LaneText>(_token: Aes, lanes: &mut Lanes<T>, blocks: usize) {
    // SAFETY: the token proves every feature that the kernel is compiled for.
    unsafe { choose(lanes, blocks) }
}

#[target_feature(enable = "avx2,aes")]
fn choose<T: LaneText>(lanes: &mut Lanes<T>, blocks: usize) {
    match lanes.rounds {
        Rounds::Ten => run_on::<10, T>(lanes, blocks),
        Rounds::Twelve => run_on::<12, T>(lanes, blocks),
        Rounds::Fourteen => run_on::<14, T>(lanes, blocks),
    }
}

#[target_feature(enable = "avx2,aes")]
fn run_on<const ROUNDS: usize, T: LaneText>(lanes: &mut Lanes<T>, blocks: usize) {
    let Lanes { keys, texts, at, chains, .. } = lanes;
    let mut state = [_mm_setzero_si128(); LANES];
    for (l, state) in state.iter_mut().enumerate() {
        *state = load_block(&chains.0[l]);
    }
    let mut done = 0;
    for _ in 0..blocks {
        // Loaded anew for each block: otherwise the compiler would keep keys on the stack, where they are never wiped.
        let keys = black_box(&*keys);
        for (l, state) in state.iter_mut().enumerate() {
            if let Some(block) = texts[l].part(at[l].wrapping_add(done)) {
                *state = _mm_xor_si128(*state, load_block(block));
            }
            *state = _mm_xor_si128(*state, load_block(&keys[0].0[l]));
        }
        for key in &keys[1..ROUNDS] {
            for (l, state) in state.iter_mut().enumerate() {
                *state = _mm_aesenc_si128(*state, load_block(&key.0[l]));
            }
        }
        for (l, state) in state.iter_mut().enumerate() {
            *state = _mm_aesenclast_si128(*state, load_block(&keys[ROUNDS].0[l]));
            if let Some(block) = texts[l].part_mut(at[l].wrapping_add(done)) {
                store_block(block, *state);
            }
        }
        done += 16;
    }
    for (l, state) in state.iter().enumerate() {
        store_block(&mut chains.0[l], *state);
    }
}

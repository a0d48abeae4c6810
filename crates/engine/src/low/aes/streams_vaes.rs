//! CBC enciphering and CBC-MAC of sixteen streams with AES on 512-bit vectors: four lanes a vector.

use super::Rounds;
use super::streams::{LANES_MAX, LaneText, Lanes, Staging, VECTORS};
use super::vector::{load, load_some, store, store_some};
use crate::low::cpu::Avx512;
use std::arch::x86_64::*;
use std::hint::black_box;

/// The number of streams side by side.
pub(super) const LANES: usize = LANES_MAX;
/// Blocks of each lane in one step of the main loop: a whole vector of text.
const STEP: usize = 4;

/// Advances the lanes by `blocks` blocks each.
#[inline]
pub(super) fn run<T: LaneText>(_token: Avx512, lanes: &mut Lanes<T>, blocks: usize) {
    // SAFETY: the token proves every feature that the kernel is compiled for.
    unsafe { choose(lanes, blocks) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
fn choose<T: LaneText>(lanes: &mut Lanes<T>, blocks: usize) {
    match lanes.rounds {
        Rounds::Ten => run_on::<10, T>(lanes, blocks),
        Rounds::Twelve => run_on::<12, T>(lanes, blocks),
        Rounds::Fourteen => run_on::<14, T>(lanes, blocks),
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
fn run_on<const ROUNDS: usize, T: LaneText>(lanes: &mut Lanes<T>, blocks: usize) {
    let mut chains = [_mm512_setzero_si512(); VECTORS];
    for (v, chain) in chains.iter_mut().enumerate() {
        *chain = load(lanes.chains.vector(v));
    }
    let steps = blocks / STEP;
    if steps != 0 {
        for v in 0..VECTORS {
            fetch(lanes, v, 0, 0);
        }
        let mut state = add(chains, &lanes.input[0], 0);
        let mut before = [[_mm512_setzero_si512(); STEP]; VECTORS];
        for step in 0..steps {
            let (this, other) = (step % 2, (step + 1) % 2);
            let mut out = [[_mm512_setzero_si512(); STEP]; VECTORS];
            macro_rules! block {
                ($j:literal) => {
                    if T::WRITES && step != 0 {
                        write(lanes, $j, 64 * (step - 1), before[$j]);
                    }
                    fetch(lanes, $j, other, 64 * (step + 1));
                    let next = if $j + 1 < STEP { (this, $j + 1) } else { (other, 0) };
                    (state, chains) = encipher::<ROUNDS, T>(lanes, state, next);
                    for v in 0..VECTORS {
                        out[v][$j] = chains[v];
                    }
                };
            }
            block!(0);
            block!(1);
            block!(2);
            block!(3);
            before = out;
        }
        if T::WRITES {
            for v in 0..VECTORS {
                write(lanes, v, 64 * (steps - 1), before[v]);
            }
        }
    }
    let rest = blocks % STEP;
    if rest != 0 {
        chains = run_rest::<ROUNDS, T>(lanes, chains, 64 * steps, rest);
    }
    for (v, chain) in chains.iter().enumerate() {
        store(lanes.chains.vector_mut(v), *chain);
    }
}

/// Advances every lane by one to three blocks.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
fn run_rest<const ROUNDS: usize, T: LaneText>(
    lanes: &mut Lanes<T>,
    mut chains: [__m512i; VECTORS],
    done: usize,
    blocks: usize,
) -> [__m512i; VECTORS] {
    for v in 0..VECTORS {
        let mut rows = [_mm512_setzero_si512(); 4];
        for (i, row) in rows.iter_mut().enumerate() {
            let at = lanes.at[4 * v + i].wrapping_add(done);
            if let Some(text) = lanes.texts[4 * v + i].slice(at, 16 * blocks) {
                *row = load_some(text);
            }
        }
        put_input(lanes, v, 0, rows);
    }
    let mut state = add(chains, &lanes.input[0], 0);
    let mut out = [[_mm512_setzero_si512(); STEP]; VECTORS];
    for j in 0..STEP - 1 {
        if j < blocks {
            (state, chains) = encipher::<ROUNDS, T>(lanes, state, (0, j + 1));
            for v in 0..VECTORS {
                out[v][j] = chains[v];
            }
        }
    }
    if T::WRITES {
        for v in 0..VECTORS {
            for (i, row) in transpose(out[v]).into_iter().enumerate() {
                let at = lanes.at[4 * v + i].wrapping_add(done);
                if let Some(text) = lanes.texts[4 * v + i].slice_mut(at, 16 * blocks) {
                    store_some(text, row);
                }
            }
        }
    }
    chains
}

/// Advances every lane by one block, from the sum of chaining value, text and first round key. Returns the same sum for
/// the next block, and the chaining values.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
fn encipher<const ROUNDS: usize, T>(
    lanes: &Lanes<T>,
    mut state: [__m512i; VECTORS],
    (half, j): (usize, usize),
) -> ([__m512i; VECTORS], [__m512i; VECTORS]) {
    // Loaded anew for each block: otherwise the compiler would keep keys on the stack, where they are never wiped.
    let keys = black_box(&lanes.keys);
    for key in &keys[1..ROUNDS] {
        for v in 0..VECTORS {
            state[v] = _mm512_aesenc_epi128(state[v], load(key.vector(v)));
        }
    }
    let mut chains = state;
    for v in 0..VECTORS {
        let next = load(&lanes.input[half][v][j].0);
        let key = _mm512_xor_si512(load(keys[ROUNDS].vector(v)), next);
        state[v] = _mm512_aesenclast_epi128(state[v], key);
        chains[v] = _mm512_xor_si512(state[v], next);
    }
    (state, chains)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn add(mut state: [__m512i; VECTORS], input: &Staging, j: usize) -> [__m512i; VECTORS] {
    for v in 0..VECTORS {
        state[v] = _mm512_xor_si512(state[v], load(&input[v][j].0));
    }
    state
}

/// Reads four blocks of text of each of four lanes into the input, block by block; zeros if a lane has no more text.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn fetch<T: LaneText>(lanes: &mut Lanes<T>, v: usize, half: usize, done: usize) {
    let mut rows = [_mm512_setzero_si512(); 4];
    for (i, row) in rows.iter_mut().enumerate() {
        let at = lanes.at[4 * v + i].wrapping_add(done);
        if let Some(text) = lanes.texts[4 * v + i].part(at) {
            *row = load(text);
        }
    }
    put_input(lanes, v, half, rows);
}

/// Transposes rows of text to blocks, and XORs them with the first round key.
#[inline]
#[target_feature(enable = "avx512f")]
fn put_input<T>(lanes: &mut Lanes<T>, v: usize, half: usize, rows: [__m512i; 4]) {
    for (column, to) in transpose(rows).into_iter().zip(&mut lanes.input[half][v]) {
        let key = load(black_box(&lanes.keys[0]).vector(v));
        store(&mut to.0, _mm512_xor_si512(column, key));
    }
}

/// Writes the output over the text, if the lane has that much text.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn write<T: LaneText>(lanes: &mut Lanes<T>, v: usize, done: usize, columns: [__m512i; STEP]) {
    for (i, row) in transpose(columns).into_iter().enumerate() {
        let at = lanes.at[4 * v + i].wrapping_add(done);
        if let Some(text) = lanes.texts[4 * v + i].part_mut(at) {
            store(text, row);
        }
    }
}

/// Transposes four vectors of four blocks; its own inverse.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose(rows: [__m512i; 4]) -> [__m512i; 4] {
    let low01 = _mm512_shuffle_i32x4::<0b01_00_01_00>(rows[0], rows[1]);
    let high01 = _mm512_shuffle_i32x4::<0b11_10_11_10>(rows[0], rows[1]);
    let low23 = _mm512_shuffle_i32x4::<0b01_00_01_00>(rows[2], rows[3]);
    let high23 = _mm512_shuffle_i32x4::<0b11_10_11_10>(rows[2], rows[3]);
    [
        _mm512_shuffle_i32x4::<0b10_00_10_00>(low01, low23),
        _mm512_shuffle_i32x4::<0b11_01_11_01>(low01, low23),
        _mm512_shuffle_i32x4::<0b10_00_10_00>(high01, high23),
        _mm512_shuffle_i32x4::<0b11_01_11_01>(high01, high23),
    ]
}

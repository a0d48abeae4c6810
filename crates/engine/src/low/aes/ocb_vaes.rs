//! OCB on 512-bit vectors, 32 blocks in flight.

use super::ocb::{OcbSums, OcbTable, WIDE_BLOCKS};
use super::vaes::{WideKeys, four_times, rounds, spread};
use super::vector::{load, load_block, load_some, mask, store, store_block, store_some};
use super::{Block, RoundKeys, Rounds};
use crate::low::cpu::Avx512;
use std::arch::x86_64::*;

/// The number of vectors in flight, four blocks each.
const WIDE: usize = WIDE_BLOCKS / 4;

ocb_doors!(Avx512);

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
fn run<const ROUNDS: usize, const DECIPHER: bool>(
    keys: RoundKeys<'_>,
    table: &OcbTable,
    offset: &Block,
    data: &mut [u8],
) -> OcbSums {
    let keys = spread::<ROUNDS>(keys);
    let mut base = four_times(offset);
    let mut sum = _mm512_setzero_si512();
    let (whole, rest) = data.as_chunks_mut::<{ 64 * WIDE }>();
    let mut i = 0;
    for part in whole {
        i += WIDE_BLOCKS as u64;
        let offsets = full_pass(table, base, i);
        let (vectors, _) = part.as_chunks_mut::<64>();
        let mut state = [base; WIDE];
        for n in 0..WIDE {
            state[n] = load(&vectors[n]);
            if !DECIPHER {
                sum = _mm512_xor_si512(sum, state[n]);
            }
        }
        state = between::<ROUNDS, WIDE, DECIPHER>(&keys, state, offsets);
        for n in 0..WIDE {
            store(&mut vectors[n], state[n]);
            if DECIPHER {
                sum = _mm512_xor_si512(sum, state[n]);
            }
        }
        base = last_of(offsets);
    }
    let blocks = rest.len() / 16;
    let rest = &mut rest[..16 * blocks];
    match blocks {
        0 => {}
        1..=4 => sum = some::<ROUNDS, 1, DECIPHER>(&keys, table, base, sum, rest),
        5..=8 => sum = some::<ROUNDS, 2, DECIPHER>(&keys, table, base, sum, rest),
        9..=16 => sum = some::<ROUNDS, 4, DECIPHER>(&keys, table, base, sum, rest),
        _ => sum = some::<ROUNDS, WIDE, DECIPHER>(&keys, table, base, sum, rest),
    }
    finish(table, base, sum, blocks)
}

/// Enciphers or deciphers at most `N` vectors of text, less than a full pass. Returns the sum of the plaintext so far.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
fn some<const ROUNDS: usize, const N: usize, const DECIPHER: bool>(
    keys: &WideKeys,
    table: &OcbTable,
    base: __m512i,
    mut sum: __m512i,
    data: &mut [u8],
) -> __m512i {
    let mut state = [_mm512_setzero_si512(); N];
    for (part, state) in data.chunks(64).zip(&mut state) {
        *state = load_some(part);
        if !DECIPHER {
            sum = _mm512_xor_si512(sum, *state);
        }
    }
    state = between::<ROUNDS, N, DECIPHER>(keys, state, offsets::<N>(table, base));
    for (part, state) in data.chunks_mut(64).zip(state) {
        store_some(part, state);
        if DECIPHER {
            sum = _mm512_xor_si512(sum, _mm512_maskz_mov_epi8(mask(part.len()), state));
        }
    }
    sum
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
fn run_hash<const ROUNDS: usize>(keys: RoundKeys<'_>, table: &OcbTable, data: &[u8]) -> OcbSums {
    let keys = spread::<ROUNDS>(keys);
    let mut base = _mm512_setzero_si512();
    let mut sum = base;
    let (whole, rest) = data.as_chunks::<{ 64 * WIDE }>();
    let mut i = 0;
    for part in whole {
        i += WIDE_BLOCKS as u64;
        let offsets = full_pass(table, base, i);
        let (vectors, _) = part.as_chunks::<64>();
        let mut state = [base; WIDE];
        for n in 0..WIDE {
            state[n] = load(&vectors[n]);
        }
        for state in enciphered::<ROUNDS, WIDE>(&keys, state, offsets) {
            sum = _mm512_xor_si512(sum, state);
        }
        base = last_of(offsets);
    }
    let blocks = rest.len() / 16;
    let mut state = [_mm512_setzero_si512(); WIDE];
    if blocks != 0 {
        let rest = &rest[..16 * blocks];
        for (part, state) in rest.chunks(64).zip(&mut state) {
            *state = load_some(part);
        }
        let state = enciphered::<ROUNDS, WIDE>(&keys, state, offsets::<WIDE>(table, base));
        for (part, state) in rest.chunks(64).zip(state) {
            sum = _mm512_xor_si512(sum, _mm512_maskz_mov_epi8(mask(part.len()), state));
        }
    }
    finish(table, base, sum, blocks)
}

/// Enciphers or deciphers between two additions of the offsets.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
fn between<const ROUNDS: usize, const N: usize, const DECIPHER: bool>(
    keys: &WideKeys,
    mut state: [__m512i; N],
    mut offsets: [__m512i; N],
) -> [__m512i; N] {
    for n in 0..N {
        state[n] = xor3(state[n], offsets[n], keys[0]);
        offsets[n] = _mm512_xor_si512(offsets[n], keys[ROUNDS]);
    }
    rounds::<ROUNDS, N, DECIPHER>(keys, state, offsets)
}

/// Enciphers after adding the offsets.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
fn enciphered<const ROUNDS: usize, const N: usize>(
    keys: &WideKeys,
    mut state: [__m512i; N],
    offsets: [__m512i; N],
) -> [__m512i; N] {
    for n in 0..N {
        state[n] = xor3(state[n], offsets[n], keys[0]);
    }
    rounds::<ROUNDS, N, false>(keys, state, [keys[ROUNDS]; N])
}

/// All offsets of a full pass that ends with block `i`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn full_pass(table: &OcbTable, base: __m512i, i: u64) -> [__m512i; WIDE] {
    let mut offsets = offsets::<WIDE>(table, base);
    let l = _mm512_maskz_broadcast_i32x4(0xf000, load_block(table.l(i)));
    offsets[WIDE - 1] = _mm512_xor_si512(offsets[WIDE - 1], l);
    offsets
}

/// The offsets of a pass, without the L of its last block.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn offsets<const N: usize>(table: &OcbTable, base: __m512i) -> [__m512i; N] {
    let (vectors, _) = table.relative.as_flattened().as_chunks::<64>();
    let mut offsets = [base; N];
    for n in 0..N {
        offsets[n] = _mm512_xor_si512(base, load(&vectors[n]));
    }
    offsets
}

/// The last offset of a pass, copied to all places.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn last_of(offsets: [__m512i; WIDE]) -> __m512i {
    _mm512_shuffle_i32x4::<0b11_11_11_11>(offsets[WIDE - 1], offsets[WIDE - 1])
}

/// The offset of the block `blocks` after the base, and the sum folded to one block.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn finish(table: &OcbTable, base: __m512i, sum: __m512i, blocks: usize) -> OcbSums {
    let mut sums = OcbSums::default();
    let mut offset = _mm512_castsi512_si128(base);
    if let Some(relative) = blocks.checked_sub(1).and_then(|at| table.relative.get(at)) {
        offset = _mm_xor_si128(offset, load_block(relative));
    }
    store_block(&mut sums.offset, offset);
    let half = _mm256_xor_si256(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64::<1>(sum));
    let block = _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half));
    store_block(&mut sums.sum, block);
    sums
}

#[inline]
#[target_feature(enable = "avx512f")]
fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0x96>(a, b, c)
}

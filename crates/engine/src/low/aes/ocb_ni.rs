//! OCB on 128-bit vectors, eight blocks in flight.

use super::ni::{Keys, rounds, spread};
use super::ocb::{OcbSums, OcbTable};
use super::vector::{load_block, store_block};
use super::{Block, RoundKeys, Rounds};
use crate::low::cpu::Aes;
use std::arch::x86_64::*;

/// The number of blocks in flight.
const WIDE: usize = 8;

ocb_doors!(Aes);

#[target_feature(enable = "avx2,aes")]
fn run<const ROUNDS: usize, const DECIPHER: bool>(
    keys: RoundKeys<'_>,
    table: &OcbTable,
    offset: &Block,
    data: &mut [u8],
) -> OcbSums {
    let keys = spread::<ROUNDS>(keys);
    let mut base = load_block(offset);
    let mut sum = _mm_setzero_si128();
    let (blocks, _) = data.as_chunks_mut::<16>();
    let (whole, rest) = blocks.as_chunks_mut::<WIDE>();
    let mut i = 0;
    for part in whole {
        i += WIDE as u64;
        let offsets = full_pass(table, base, i);
        base = offsets[WIDE - 1];
        sum = pass::<ROUNDS, WIDE, DECIPHER>(&keys, offsets, sum, part);
    }
    for (at, block) in rest.iter_mut().enumerate() {
        let offset = _mm_xor_si128(base, load_block(&table.relative[at]));
        sum = pass::<ROUNDS, 1, DECIPHER>(&keys, [offset], sum, std::array::from_mut(block));
    }
    finish(table, base, sum, rest.len())
}

/// Enciphers or deciphers `N` blocks between two additions of their offsets. Returns the sum of the plaintext so far.
#[inline]
#[target_feature(enable = "avx2,aes")]
fn pass<const ROUNDS: usize, const N: usize, const DECIPHER: bool>(
    keys: &Keys,
    offsets: [__m128i; N],
    mut sum: __m128i,
    blocks: &mut [Block; N],
) -> __m128i {
    let (mut state, mut last) = (offsets, offsets);
    for n in 0..N {
        let text = load_block(&blocks[n]);
        if !DECIPHER {
            sum = _mm_xor_si128(sum, text);
        }
        state[n] = _mm_xor_si128(text, _mm_xor_si128(offsets[n], keys[0]));
        last[n] = _mm_xor_si128(offsets[n], keys[ROUNDS]);
    }
    let state = rounds::<ROUNDS, N, DECIPHER>(keys, state, last);
    for n in 0..N {
        store_block(&mut blocks[n], state[n]);
        if DECIPHER {
            sum = _mm_xor_si128(sum, state[n]);
        }
    }
    sum
}

#[target_feature(enable = "avx2,aes")]
fn run_hash<const ROUNDS: usize>(keys: RoundKeys<'_>, table: &OcbTable, data: &[u8]) -> OcbSums {
    let keys = spread::<ROUNDS>(keys);
    let mut base = _mm_setzero_si128();
    let mut sum = base;
    let (blocks, _) = data.as_chunks::<16>();
    let (whole, rest) = blocks.as_chunks::<WIDE>();
    let mut i = 0;
    for part in whole {
        i += WIDE as u64;
        let offsets = full_pass(table, base, i);
        base = offsets[WIDE - 1];
        sum = hash_pass::<ROUNDS, WIDE>(&keys, offsets, sum, part);
    }
    for (at, block) in rest.iter().enumerate() {
        let offset = _mm_xor_si128(base, load_block(&table.relative[at]));
        sum = hash_pass::<ROUNDS, 1>(&keys, [offset], sum, std::array::from_ref(block));
    }
    finish(table, base, sum, rest.len())
}

/// Enciphers `N` blocks of associated data. Returns their sum so far.
#[inline]
#[target_feature(enable = "avx2,aes")]
fn hash_pass<const ROUNDS: usize, const N: usize>(
    keys: &Keys,
    mut state: [__m128i; N],
    mut sum: __m128i,
    blocks: &[Block; N],
) -> __m128i {
    for n in 0..N {
        state[n] = _mm_xor_si128(load_block(&blocks[n]), _mm_xor_si128(state[n], keys[0]));
    }
    let state = rounds::<ROUNDS, N, false>(keys, state, [keys[ROUNDS]; N]);
    for n in 0..N {
        sum = _mm_xor_si128(sum, state[n]);
    }
    sum
}

/// The offsets of a full pass that ends with block `i`.
#[inline]
#[target_feature(enable = "avx2,aes")]
fn full_pass(table: &OcbTable, base: __m128i, i: u64) -> [__m128i; WIDE] {
    let mut offsets = [base; WIDE];
    for n in 0..WIDE - 1 {
        offsets[n] = _mm_xor_si128(base, load_block(&table.relative[n]));
    }
    offsets[WIDE - 1] = _mm_xor_si128(offsets[WIDE - 2], load_block(table.l(i)));
    offsets
}

/// The offset of the block `blocks` after the base, and the sum.
#[inline]
#[target_feature(enable = "avx2,aes")]
fn finish(table: &OcbTable, base: __m128i, sum: __m128i, blocks: usize) -> OcbSums {
    let mut sums = OcbSums::default();
    let mut offset = base;
    if let Some(relative) = blocks.checked_sub(1).and_then(|at| table.relative.get(at)) {
        offset = _mm_xor_si128(offset, load_block(relative));
    }
    store_block(&mut sums.offset, offset);
    store_block(&mut sums.sum, sum);
    sums
}

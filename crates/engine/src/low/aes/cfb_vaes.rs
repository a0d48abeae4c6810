//! Deciphering CFB (SP 800-38A, 6.3, whole blocks of feedback) on 512-bit vectors, 32 blocks in flight.
//!
//! The key stream is the enciphered preceding ciphertext block: a vector of text moved up by one block, with the last
//! block of the vector before in the free place. Enciphering must wait for its own ciphertext, so it has no form here.
//!
//! Limit: two instructions of AES a cycle, so half as many cycles as rounds for 64 bytes.

use super::vaes::{WideKeys, four_times, rounds, spread};
use super::vector::{load, store, store_block};
use super::{Block, RoundKeys, Rounds};
use crate::low::cpu::Avx512;
use std::arch::x86_64::*;

/// Vectors in flight, enough to cover the latency of an AES instruction.
const WIDE: usize = 8;

/// Deciphers the whole vectors of a text in place. `chain` is the ciphertext block before the text on entry, and the
/// last deciphered one on return. Returns the rest of the text, less than a vector, unchanged.
pub(crate) fn decipher<'a>(
    _token: Avx512,
    keys: RoundKeys<'_>,
    chain: &mut Block,
    blocks: &'a mut [Block],
) -> &'a mut [Block] {
    let whole = blocks.len() / 4 * 4;
    let (vectors, rest) = blocks.split_at_mut(whole);
    // SAFETY: the token proves every feature that the kernel is compiled for.
    unsafe {
        match keys.rounds() {
            Rounds::Ten => run::<10>(keys, chain, vectors.as_flattened_mut()),
            Rounds::Twelve => run::<12>(keys, chain, vectors.as_flattened_mut()),
            Rounds::Fourteen => run::<14>(keys, chain, vectors.as_flattened_mut()),
        }
    }
    rest
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
fn run<const ROUNDS: usize>(keys: RoundKeys<'_>, chain: &mut Block, data: &mut [u8]) {
    let keys = spread::<ROUNDS>(keys);
    let mut before = four_times(chain);
    let (vectors, _) = data.as_chunks_mut::<64>();
    let (parts, rest) = vectors.as_chunks_mut::<WIDE>();
    for part in parts {
        before = pass::<ROUNDS, WIDE>(&keys, before, part);
    }
    for vector in rest {
        before = pass::<ROUNDS, 1>(&keys, before, std::array::from_mut(vector));
    }
    store_block(chain, _mm512_extracti32x4_epi32::<3>(before));
}

/// Deciphers `N` vectors; `before` is the ciphertext vector before them. Returns the last ciphertext vector.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
fn pass<const ROUNDS: usize, const N: usize>(
    keys: &WideKeys,
    mut before: __m512i,
    vectors: &mut [[u8; 64]; N],
) -> __m512i {
    let (mut state, mut last) = ([keys[0]; N], [keys[ROUNDS]; N]);
    for n in 0..N {
        let text = load(&vectors[n]);
        state[n] = _mm512_xor_si512(_mm512_alignr_epi64::<6>(text, before), keys[0]);
        // The last round adds its key at its end, so the text can be added to that key.
        last[n] = _mm512_xor_si512(text, keys[ROUNDS]);
        before = text;
    }
    let state = rounds::<ROUNDS, N, false>(keys, state, last);
    for n in 0..N {
        store(&mut vectors[n], state[n]);
    }
    before
}

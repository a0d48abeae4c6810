//! ECB both ways and deciphering CBC (SP 800-38A, 6.1 and 6.2) of one stream on 512-bit vectors, 32 blocks in flight.
//!
//! No block waits for another. CBC adds the preceding ciphertext block after the cipher: a vector of text moved up by
//! one block, with the last block of the vector before in the free place. It is added to the last round key, so CBC
//! costs one move and one XOR a vector in addition to the AES instructions.
//!
//! Limit: the number of 512-bit AES instructions that a core executes in a cycle, two (AMD Zen 5) or one (Intel up to
//! Emerald Rapids). The library uses two on 128 bits, so the gain is at most 3.9 times or 2.1 times.

use super::vaes::four_times;
use super::vector::{load, load_some, store, store_some};
use super::{Block, RoundKeys, Rounds};
use crate::low::cpu::Avx512;
use std::arch::x86_64::*;
use std::hint::black_box;

/// Vectors in flight, enough to cover the latency of an AES instruction.
const WIDE: usize = 8;

/// Enciphers or deciphers whole blocks in place; the round keys must be those of the direction.
#[inline]
pub(crate) fn ecb(_token: Avx512, keys: RoundKeys<'_>, encipher: bool, data: &mut [u8]) {
    // SAFETY: the token proves every feature that the kernel is compiled for.
    unsafe {
        match (keys.rounds(), encipher) {
            (Rounds::Ten, true) => run_ecb::<10, false>(keys, data),
            (Rounds::Ten, false) => run_ecb::<10, true>(keys, data),
            (Rounds::Twelve, true) => run_ecb::<12, false>(keys, data),
            (Rounds::Twelve, false) => run_ecb::<12, true>(keys, data),
            (Rounds::Fourteen, true) => run_ecb::<14, false>(keys, data),
            (Rounds::Fourteen, false) => run_ecb::<14, true>(keys, data),
        }
    }
}

/// Deciphers whole blocks in CBC in place. `chain` is the ciphertext block before them on entry, and their last
/// ciphertext block on return. The round keys must be for deciphering.
#[inline]
pub(crate) fn cbc_decipher(_token: Avx512, keys: RoundKeys<'_>, chain: &mut Block, data: &mut [u8]) {
    let Some(last) = data.last_chunk().copied() else { return };
    // SAFETY: the token proves every feature that the kernel is compiled for.
    unsafe {
        match keys.rounds() {
            Rounds::Ten => run_cbc::<10>(keys, chain, data),
            Rounds::Twelve => run_cbc::<12>(keys, chain, data),
            Rounds::Fourteen => run_cbc::<14>(keys, chain, data),
        }
    }
    *chain = last;
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
fn run_ecb<const ROUNDS: usize, const DECIPHER: bool>(keys: RoundKeys<'_>, data: &mut [u8]) {
    let (whole, rest) = data.as_chunks_mut::<{ 64 * WIDE }>();
    for part in whole {
        let keys = black_box(keys);
        let (vectors, _) = part.as_chunks_mut::<64>();
        let first = four_times(&keys.blocks[0]);
        let mut state = [first; WIDE];
        for n in 0..WIDE {
            state[n] = _mm512_xor_si512(load(&vectors[n]), first);
        }
        let last = four_times(&keys.blocks[ROUNDS]);
        let state = rounds::<ROUNDS, WIDE, DECIPHER>(keys, state, [last; WIDE]);
        for n in 0..WIDE {
            store(&mut vectors[n], state[n]);
        }
    }
    match rest.len() {
        0 => {}
        1..=64 => some_ecb::<ROUNDS, 1, DECIPHER>(keys, rest),
        65..=128 => some_ecb::<ROUNDS, 2, DECIPHER>(keys, rest),
        129..=256 => some_ecb::<ROUNDS, 4, DECIPHER>(keys, rest),
        _ => some_ecb::<ROUNDS, WIDE, DECIPHER>(keys, rest),
    }
}

/// ECB of at most `N` vectors.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
fn some_ecb<const ROUNDS: usize, const N: usize, const DECIPHER: bool>(keys: RoundKeys<'_>, data: &mut [u8]) {
    let keys = black_box(keys);
    let first = four_times(&keys.blocks[0]);
    let mut state = [first; N];
    for (part, state) in data.chunks(64).zip(&mut state) {
        *state = _mm512_xor_si512(load_some(part), first);
    }
    let last = four_times(&keys.blocks[ROUNDS]);
    let state = rounds::<ROUNDS, N, DECIPHER>(keys, state, [last; N]);
    for (part, state) in data.chunks_mut(64).zip(state) {
        store_some(part, state);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
fn run_cbc<const ROUNDS: usize>(keys: RoundKeys<'_>, chain: &Block, data: &mut [u8]) {
    let mut before = four_times(chain);
    let (whole, rest) = data.as_chunks_mut::<{ 64 * WIDE }>();
    for part in whole {
        let keys = black_box(keys);
        let (vectors, _) = part.as_chunks_mut::<64>();
        let (first, end) = (four_times(&keys.blocks[0]), four_times(&keys.blocks[ROUNDS]));
        let (mut state, mut last) = ([first; WIDE], [end; WIDE]);
        for n in 0..WIDE {
            let text = load(&vectors[n]);
            state[n] = _mm512_xor_si512(text, first);
            last[n] = _mm512_xor_si512(moved_up(text, before), end);
            before = text;
        }
        let state = rounds::<ROUNDS, WIDE, true>(keys, state, last);
        for n in 0..WIDE {
            store(&mut vectors[n], state[n]);
        }
    }
    match rest.len() {
        0 => {}
        1..=64 => some_cbc::<ROUNDS, 1>(keys, before, rest),
        65..=128 => some_cbc::<ROUNDS, 2>(keys, before, rest),
        129..=256 => some_cbc::<ROUNDS, 4>(keys, before, rest),
        _ => some_cbc::<ROUNDS, WIDE>(keys, before, rest),
    }
}

/// Deciphers at most `N` vectors in CBC; `before` is the ciphertext vector before them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
fn some_cbc<const ROUNDS: usize, const N: usize>(keys: RoundKeys<'_>, mut before: __m512i, data: &mut [u8]) {
    let keys = black_box(keys);
    let (first, end) = (four_times(&keys.blocks[0]), four_times(&keys.blocks[ROUNDS]));
    let (mut state, mut last) = ([first; N], [end; N]);
    for (part, (state, last)) in data.chunks(64).zip(state.iter_mut().zip(&mut last)) {
        let text = load_some(part);
        *state = _mm512_xor_si512(text, first);
        *last = _mm512_xor_si512(moved_up(text, before), end);
        before = text;
    }
    let state = rounds::<ROUNDS, N, true>(keys, state, last);
    for (part, state) in data.chunks_mut(64).zip(state) {
        store_some(part, state);
    }
}

/// As [`super::vaes::rounds`], but spreads each key where it is used, in every pass anew. Fifteen keys kept in
/// registers beside two times eight vectors would be too many: the compiler would move one to the stack, where it is
/// never wiped.
#[inline]
#[target_feature(enable = "avx512f,vaes")]
fn rounds<const ROUNDS: usize, const N: usize, const DECIPHER: bool>(
    keys: RoundKeys<'_>,
    mut state: [__m512i; N],
    last: [__m512i; N],
) -> [__m512i; N] {
    for key in &keys.blocks[1..ROUNDS] {
        let key = four_times(key);
        for n in 0..N {
            state[n] = if DECIPHER {
                _mm512_aesdec_epi128(state[n], key)
            } else {
                _mm512_aesenc_epi128(state[n], key)
            };
        }
    }
    for n in 0..N {
        state[n] = if DECIPHER {
            _mm512_aesdeclast_epi128(state[n], last[n])
        } else {
            _mm512_aesenclast_epi128(state[n], last[n])
        };
    }
    state
}

/// For each block of the vector `text`, the block before it.
#[inline]
#[target_feature(enable = "avx512f")]
fn moved_up(text: __m512i, before: __m512i) -> __m512i {
    _mm512_alignr_epi64::<6>(text, before)
}

//! EAX on 128-bit vectors: four counters beside the chain.

use super::ni::{Keys, rounds, spread};
use super::vector::{load_block, store_block};
use super::{Block, RoundKeys, Rounds};
use crate::low::cpu::Aes;
use std::arch::x86_64::*;

/// Counters in flight beside the chain.
const WIDE: usize = 4;

/// See [`super::eax::EaxKernel::run`].
pub(super) fn run(
    _token: Aes,
    encipher: bool,
    keys: RoundKeys<'_>,
    counter: &mut Block,
    chain: &mut Block,
    blocks: &mut [Block],
) {
    // SAFETY: the token proves every feature that the kernel is compiled for.
    unsafe {
        match (keys.rounds(), encipher) {
            (Rounds::Ten, true) => run_on::<10, true>(keys, counter, chain, blocks),
            (Rounds::Ten, false) => run_on::<10, false>(keys, counter, chain, blocks),
            (Rounds::Twelve, true) => run_on::<12, true>(keys, counter, chain, blocks),
            (Rounds::Twelve, false) => run_on::<12, false>(keys, counter, chain, blocks),
            (Rounds::Fourteen, true) => run_on::<14, true>(keys, counter, chain, blocks),
            (Rounds::Fourteen, false) => run_on::<14, false>(keys, counter, chain, blocks),
        }
    }
}

#[target_feature(enable = "avx2,aes")]
fn run_on<const ROUNDS: usize, const ENCIPHER: bool>(
    keys: RoundKeys<'_>,
    counter: &mut Block,
    chain: &mut Block,
    blocks: &mut [Block],
) {
    let keys = spread::<ROUNDS>(keys);
    let mut next = u128::from_be_bytes(*counter);
    let mut mac = load_block(chain);
    let (whole, rest) = blocks.as_chunks_mut::<WIDE>();
    for part in whole {
        mac = pass::<ROUNDS, WIDE, ENCIPHER>(&keys, &mut next, mac, part);
    }
    for block in rest {
        mac = pass::<ROUNDS, 1, ENCIPHER>(&keys, &mut next, mac, std::array::from_mut(block));
    }
    store_block(chain, mac);
    *counter = next.to_be_bytes();
}

/// Enciphers the counters of `N` blocks, which wait for nothing, then continues the chain over the ciphertext; the
/// counters of the next pass overtake the chain.
#[inline]
#[target_feature(enable = "avx2,aes")]
fn pass<const ROUNDS: usize, const N: usize, const ENCIPHER: bool>(
    keys: &Keys,
    next: &mut u128,
    mut mac: __m128i,
    blocks: &mut [Block; N],
) -> __m128i {
    let mut state = [keys[0]; N];
    for n in 0..N {
        state[n] = _mm_xor_si128(load_block(&next.wrapping_add(n as u128).to_be_bytes()), keys[0]);
    }
    *next = next.wrapping_add(N as u128);
    let stream = rounds::<ROUNDS, N, false>(keys, state, [keys[ROUNDS]; N]);
    let mut ciphertext = stream;
    for n in 0..N {
        let text = load_block(&blocks[n]);
        let out = _mm_xor_si128(text, stream[n]);
        store_block(&mut blocks[n], out);
        // Adds the first round key here, so that the chain need not wait for that.
        ciphertext[n] = _mm_xor_si128(if ENCIPHER { out } else { text }, keys[0]);
    }
    for n in 0..N {
        let start = _mm_xor_si128(mac, ciphertext[n]);
        [mac] = rounds::<ROUNDS, 1, false>(keys, [start], [keys[ROUNDS]]);
    }
    mac
}

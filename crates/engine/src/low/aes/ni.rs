//! AES on 128-bit vectors, one block a vector, all under one key.

use super::vector::load_block;
use super::{ROUND_KEYS_MAX, RoundKeys};
use std::arch::x86_64::*;

/// The round keys as vectors.
pub(super) type Keys = [__m128i; ROUND_KEYS_MAX];

/// Loads the round keys.
#[inline]
#[target_feature(enable = "avx2,aes")]
pub(super) fn spread<const ROUNDS: usize>(keys: RoundKeys<'_>) -> Keys {
    let mut wide = [_mm_setzero_si128(); ROUND_KEYS_MAX];
    for r in 0..=ROUNDS {
        wide[r] = load_block(&keys.blocks[r]);
    }
    wide
}

/// Enciphers or deciphers blocks to which the first round key has been added; `last` takes the place of the last round
/// key.
#[inline]
#[target_feature(enable = "avx2,aes")]
pub(super) fn rounds<const ROUNDS: usize, const N: usize, const DECIPHER: bool>(
    keys: &Keys,
    mut state: [__m128i; N],
    last: [__m128i; N],
) -> [__m128i; N] {
    for r in 1..ROUNDS {
        for n in 0..N {
            state[n] = if DECIPHER {
                _mm_aesdec_si128(state[n], keys[r])
            } else {
                _mm_aesenc_si128(state[n], keys[r])
            };
        }
    }
    for n in 0..N {
        state[n] = if DECIPHER {
            _mm_aesdeclast_si128(state[n], last[n])
        } else {
            _mm_aesenclast_si128(state[n], last[n])
        };
    }
    state
}

//! AES on 512-bit vectors, four blocks a vector, all under one key.

use super::vector::load_block;
use super::{Block, ROUND_KEYS_MAX, RoundKeys};
use std::arch::x86_64::*;

/// The round keys, each copied to all four places of a vector.
pub(super) type WideKeys = [__m512i; ROUND_KEYS_MAX];

/// Copies each round key to all four places of a vector.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn spread<const ROUNDS: usize>(keys: RoundKeys<'_>) -> WideKeys {
    let mut wide = [_mm512_setzero_si512(); ROUND_KEYS_MAX];
    for r in 0..=ROUNDS {
        wide[r] = four_times(&keys.blocks[r]);
    }
    wide
}

/// Copies one block to all four places.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn four_times(block: &Block) -> __m512i {
    _mm512_broadcast_i32x4(load_block(block))
}

/// Enciphers or deciphers blocks to which the first round key, and anything of the mode, has been added; `last` takes
/// the place of the last round key.
#[inline]
#[target_feature(enable = "avx512f,vaes")]
pub(super) fn rounds<const ROUNDS: usize, const N: usize, const DECIPHER: bool>(
    keys: &WideKeys,
    mut state: [__m512i; N],
    last: [__m512i; N],
) -> [__m512i; N] {
    for r in 1..ROUNDS {
        for n in 0..N {
            state[n] = if DECIPHER {
                _mm512_aesdec_epi128(state[n], keys[r])
            } else {
                _mm512_aesenc_epi128(state[n], keys[r])
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

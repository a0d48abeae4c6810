//! The wrapping function for sixteen keys with AES on 512-bit vectors: four lanes a vector.

use super::streams::VECTORS;
use super::vector::{load, store};
use super::wrap::{Lanes, PASSES, door};
use crate::low::cpu::Avx512;
use std::arch::x86_64::*;
use std::hint::black_box;

/// The left halves of four blocks, as quad words.
const LEFT: __mmask8 = 0b0101_0101;

door!(Avx512, "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes");

/// Uses one vector for up to four lanes, else all vectors.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
fn fill<const ROUNDS: usize, const ENCIPHER: bool>(lanes: &mut Lanes, used: usize) {
    // Two widths only: with more, the timing test could not tell the jump table from a jump that a secret steers.
    if used <= 4 {
        run_on::<ROUNDS, ENCIPHER, 1>(lanes);
    } else {
        run_on::<ROUNDS, ENCIPHER, VECTORS>(lanes);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes")]
fn run_on<const ROUNDS: usize, const ENCIPHER: bool, const V: usize>(lanes: &mut Lanes) {
    let Lanes { keys, rows, .. } = lanes;
    let [first, rows @ ..] = &mut rows[..] else { return };
    let mut left: [__m512i; V] = std::array::from_fn(|v| load(first.vector(v)));
    let mut number = if ENCIPHER { 0 } else { (PASSES * rows.len()) as u64 };
    macro_rules! step {
        ($row:expr) => {
            let row = $row;
            if ENCIPHER {
                number += 1;
            }
            let count = _mm512_maskz_set1_epi64(LEFT, number.swap_bytes() as i64);
            // Loaded anew in each step: otherwise the compiler would keep these keys on the stack, where they are never
            // wiped.
            let first_key = black_box(&keys[0]);
            let mut state = left;
            for v in 0..V {
                if !ENCIPHER {
                    state[v] = _mm512_xor_si512(state[v], count);
                }
                let block = _mm512_mask_blend_epi64(LEFT, load(row.vector(v)), state[v]);
                state[v] = _mm512_xor_si512(block, load(first_key.vector(v)));
            }
            for key in &keys[1..ROUNDS] {
                for v in 0..V {
                    let key = load(key.vector(v));
                    state[v] = if ENCIPHER {
                        _mm512_aesenc_epi128(state[v], key)
                    } else {
                        _mm512_aesdec_epi128(state[v], key)
                    };
                }
            }
            for v in 0..V {
                let key = load(keys[ROUNDS].vector(v));
                state[v] = if ENCIPHER {
                    _mm512_aesenclast_epi128(state[v], key)
                } else {
                    _mm512_aesdeclast_epi128(state[v], key)
                };
                store(row.vector_mut(v), state[v]);
                left[v] = if ENCIPHER { _mm512_xor_si512(state[v], count) } else { state[v] };
            }
            if !ENCIPHER {
                number -= 1;
            }
        };
    }
    for _ in 0..PASSES {
        if ENCIPHER {
            for row in rows.iter_mut() {
                step!(row);
            }
        } else {
            for row in rows.iter_mut().rev() {
                step!(row);
            }
        }
    }
    for v in 0..V {
        store(first.vector_mut(v), left[v]);
    }
}

//! The wrapping function for eight keys with AES on 128-bit vectors: one lane a vector.

use super::streams_ni::LANES;
use super::vector::{load_block, store_block};
use super::wrap::{Lanes, PASSES, door};
use crate::low::cpu::Aes;
use std::arch::x86_64::*;
use std::hint::black_box;

door!(Aes, "avx2,aes");

#[target_feature(enable = "avx2,aes")]
fn fill<const ROUNDS: usize, const ENCIPHER: bool>(lanes: &mut Lanes, used: usize) {
    match used {
        0 => {}
        1 => run_on::<ROUNDS, ENCIPHER, 1>(lanes),
        2..=4 => run_on::<ROUNDS, ENCIPHER, 4>(lanes),
        _ => run_on::<ROUNDS, ENCIPHER, LANES>(lanes),
    }
}

#[target_feature(enable = "avx2,aes")]
fn run_on<const ROUNDS: usize, const ENCIPHER: bool, const USED: usize>(lanes: &mut Lanes) {
    let Lanes { keys, rows, .. } = lanes;
    let [first, rows @ ..] = &mut rows[..] else { return };
    let mut left: [__m128i; USED] = std::array::from_fn(|l| load_block(&first.0[l]));
    let mut number = if ENCIPHER { 0 } else { (PASSES * rows.len()) as u64 };
    macro_rules! step {
        ($row:expr) => {
            let row = $row;
            if ENCIPHER {
                number += 1;
            }
            let count = _mm_set_epi64x(0, number.swap_bytes() as i64);
            // Loaded anew in each step: otherwise the compiler would keep these keys on the stack, where they are never
            // wiped.
            let first_key = black_box(&keys[0]);
            let mut state = left;
            for l in 0..USED {
                if !ENCIPHER {
                    state[l] = _mm_xor_si128(state[l], count);
                }
                let block = _mm_blend_epi16::<0b0000_1111>(load_block(&row.0[l]), state[l]);
                state[l] = _mm_xor_si128(block, load_block(&first_key.0[l]));
            }
            for key in &keys[1..ROUNDS] {
                for l in 0..USED {
                    let key = load_block(&key.0[l]);
                    state[l] = if ENCIPHER {
                        _mm_aesenc_si128(state[l], key)
                    } else {
                        _mm_aesdec_si128(state[l], key)
                    };
                }
            }
            for l in 0..USED {
                let key = load_block(&keys[ROUNDS].0[l]);
                state[l] = if ENCIPHER {
                    _mm_aesenclast_si128(state[l], key)
                } else {
                    _mm_aesdeclast_si128(state[l], key)
                };
                store_block(&mut row.0[l], state[l]);
                left[l] = if ENCIPHER { _mm_xor_si128(state[l], count) } else { state[l] };
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
    for l in 0..USED {
        store_block(&mut first.0[l], left[l]);
    }
}

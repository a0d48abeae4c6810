//! The rounds of the byte-sliced form (FIPS 46-3, Enciphering), 64 lanes at once.
//!
//! ```text
//! half = 8 vectors             lane 0     lane 1          lane 63
//!   vector t (S-box t)       | 00iiiiii | 00iiiiii | ... | 00iiiiii |   i: inputs of S-box t, expanded (E)
//!
//! a round:  part (s, p)  = table (s, p) permuted by the bytes of vector s of one half     16 vpermb
//!           inside (t)   = other half t ^ step (t) ^ three parts                          16 vpternlog
//!           outside (t)  = other half t ^ step (t) ^ three parts                          16 vpternlog
//!           other half t = split (t) ? inside (t) : outside (t)                            8 vpternlog
//! ```
//!
//! 1. A table of 64 bytes is one operand, always read whole, and `vpermb` looks up 64 lanes in it by the low six bits
//!    of each. So it is constant-time, and no higher bit must be cleared. E and P cost nothing: tables and bit order
//!    include them (`byte_sliced_layout.rs`).
//! 2. Each S-box has two tables. With one table for all six outgoing bits, a target needs six instructions to select
//!    its bits one after the other, and another adds the round key. The second lookup uses idle ports.
//! 3. Early values are added early: to the other half first the step and the part that is looked up first, so that only
//!    two instructions stand between the last lookup and the next round. Four instructions instead of five would do for
//!    a target (the sides first, the half last), but then three would stand there.
//! 4. Round keys are added to the half when it is written, not when it is read, so no XOR stands before the lookup. The
//!    half then carries the key of the round that reads it. The added value is the difference from the key that it
//!    carried before:
//!
//! ```text
//! step   0    1    2      3      4      ...  15       16   17
//!        K1   K2   K1^K3  K2^K4  K3^K5  ...  K14^K16  K15  K16
//!        R0   L0   the halves in turn                 ...  out
//! ```
//!
//! Read in reverse, the same steps decipher.
//!
//! Limit: 56 instructions a round, at four a cycle 14 cycles; without the dependence from round to round this mix runs
//! at 16.2. With it, 22.3: a lookup takes five cycles, two dependent instructions four, and every lookup needs almost
//! every vector of the round before. So a pass reaches 0.63 of the port limit and 0.73 of the limit of its mix: 84 to
//! 88 ns for single DES, 250 to 260 for triple DES.
//!
//! Dropped: one table for each S-box and the round key before the lookup (64 instructions, 29.6 cycles);
//! four instructions for a target (48, 23.1 cycles); assembly in an order found by a search against the
//! clock (20.0 cycles, and 130 lines that no compiler checks; its order of lookups is kept, see [`ORDER`]);
//! six tables for each S-box, which need no splits (48 lookups alone take 24 cycles).

use super::byte_sliced_layout::{BOXES, PARTS, TARGETS};
use super::byte_sliced_vector::{load, xor3};
use std::arch::x86_64::*;

/// Half of the state: vector `t`, lane `l` holds the inputs of S-box `t` of block `l`.
pub(crate) type Half = [__m512i; BOXES];

/// The number of steps of a schedule, the values that one operation adds to the halves.
pub(crate) const STEPS: usize = 18;

/// A key schedule of 64 lanes.
pub(crate) type Schedule = [Half; STEPS];

/// Repeats the body for each of the values, as a constant.
macro_rules! for_each {
    ($index:ident, $body:block, $($value:literal)*) => {
        $({
            const $index: usize = $value;
            $body
        })*
    };
}

/// `half ^= f(inputs) ^ step`. A macro, so that the state stays in registers.
macro_rules! round {
    ($half:ident, $inputs:ident, $step:expr) => {{
        let step: &Half = $step;
        let mut parts = [[$inputs[0]; 2]; BOXES];
        for_each!(I, {
            const PART: (usize, usize) = ORDER[I];
            parts[PART.0][PART.1] = _mm512_permutexvar_epi8($inputs[PART.0], load(&PARTS[PART.0][PART.1].0));
        }, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        for_each!(I, {
            const IN: [(usize, usize); 3] = SIDES[I][0];
            const OUT: [(usize, usize); 3] = SIDES[I][1];
            let inside = xor3($half[I], step[I], parts[IN[0].0][IN[0].1]);
            let outside = xor3($half[I], step[I], parts[OUT[0].0][OUT[0].1]);
            let inside = xor3(inside, parts[IN[1].0][IN[1].1], parts[IN[2].0][IN[2].1]);
            let outside = xor3(outside, parts[OUT[1].0][OUT[1].1], parts[OUT[2].0][OUT[2].1]);
            let split = _mm512_set1_epi8(TARGETS[I].split.cast_signed());
            $half[I] = _mm512_ternarylogic_epi64::<0xca>(split, inside, outside);
        }, 0 1 2 3 4 5 6 7);
    }};
}

/// One single-DES operation without IP and its inverse. The halves are L0 and R0 on entry, and the left and right half
/// of the standard's pre-output on return.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(crate) fn des<const ENCIPHER: bool>(schedule: &Schedule, left: &mut Half, right: &mut Half) {
    let at = |step: usize| if ENCIPHER { &schedule[step] } else { &schedule[STEPS - 1 - step] };
    let (mut a, mut b) = (*right, *left);
    add(&mut a, at(0));
    for pair in 0..8 {
        round!(b, a, at(2 * pair + 1));
        round!(a, b, at(2 * pair + 2));
    }
    add(&mut b, at(STEPS - 1));
    (*left, *right) = (a, b);
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn add(half: &mut Half, step: &Half) {
    for t in 0..BOXES {
        half[t] = _mm512_xor_si512(half[t], step[t]);
    }
}

/// The order of the lookups. Every order is correct; this one was the fastest of some thousands.
#[rustfmt::skip]
const ORDER: [(usize, usize); 2 * BOXES] = [
    (2, 0), (5, 0), (1, 0), (0, 0), (3, 0), (6, 0), (4, 0), (3, 1),
    (5, 1), (7, 0), (1, 1), (4, 1), (7, 1), (6, 1), (2, 1), (0, 1),
];

/// For each target the S-boxes and parts inside its split, and those outside, in the order of the lookups.
const SIDES: [[[(usize, usize); 3]; 2]; BOXES] = sides();

const fn sides() -> [[[(usize, usize); 3]; 2]; BOXES] {
    let mut sides = [[[(0, 0); 3]; 2]; BOXES];
    let mut t = 0;
    while t < BOXES {
        let mut counts = [0; 2];
        let mut rank = 0;
        while rank < 2 * BOXES {
            let mut position = 0;
            while position < 6 {
                let (sbox, part) = TARGETS[t].sources[position];
                if sbox == ORDER[rank].0 && part == ORDER[rank].1 {
                    let side = (TARGETS[t].split >> position & 1 == 0) as usize;
                    sides[t][side][counts[side]] = (sbox, part);
                    counts[side] += 1;
                }
                position += 1;
            }
            rank += 1;
        }
        t += 1;
    }
    sides
}

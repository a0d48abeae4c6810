//! MDC-2 and MDC-4 of up to four texts side by side.
//!
//! ```text
//! quad words of a vector    0  1    2  3    4  5    6  7
//! left and right            of text 0, 1, 2, 3; of one text four times
//! ```
//!
//! A step waits for the one before, whose result gives its keys. So the time is that of the path from its last round
//! through the schedules to the first round of the next step.
//!
//! 1. A key is copied to all quad words of a vector, where its schedule is made, one step after the other. The two
//!    schedules of a text, side by side, are a pair of quad words for each step. The pair is read into the lanes of the
//!    text, so nothing is transposed.
//! 2. Only the first half of the schedules is waited for. The second half, and the expansion of the blocks to encipher,
//!    run beside rounds.
//! 3. The state stays in registers from the first block to the last. Schedules overwrite those of the step before, and
//!    are wiped once, at the end.

use super::super::Block;
use super::super::byte_sliced_vector::{Plain, Scratch};
use super::super::mac_lines::{load_lanes, store_lanes};
use super::super::mdc::{KEY_BITS, KEY_MASK, Pair};
use super::super::rows_keys::schedule;
use super::super::rows_rounds::des;
use super::super::rows_vector::{blocks_of_halves, halves_of_blocks};
use std::arch::x86_64::*;
use std::hint::black_box;

/// MDC-2 or MDC-4 of one to four texts, over as many blocks of each as the shortest has.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn mdc(four: bool, states: &mut [Pair], texts: &[&[Block]]) {
    match texts {
        [] => (),
        [text] => side_by_side(four, states, &[text]),
        [a, b] => side_by_side(four, states, &[a, b]),
        [a, b, c] => side_by_side(four, states, &[a, b, c]),
        [a, b, c, d] => side_by_side(four, states, &[a, b, c, d]),
        _ => panic!("a vector has room for four texts"),
    }
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn side_by_side<const TEXTS: usize>(four: bool, states: &mut [Pair], texts: &[&[Block]; TEXTS]) {
    assert!(states.len() == TEXTS);
    let mut schedules = Scratch([Schedules([[_mm512_setzero_si512(); 3]; 2]); TEXTS]);
    let mut state = load_lanes(states.as_flattened());
    if TEXTS == 1 {
        state = _mm512_shuffle_i64x2::<0>(state, state);
    }
    let count = texts.iter().map(|text| text.len()).min().unwrap_or(0);
    for index in 0..count {
        let mut blocks = blocks_of(texts, index);
        for _ in 0..if four { 2 } else { 1 } {
            let before = state;
            state = step(&mut schedules.0, state, blocks);
            blocks = _mm512_shuffle_epi32::<CROSSED>(before);
        }
    }
    store_lanes(states.as_flattened_mut(), state);
}

/// Block number `index` of each text in both of its lanes; the other lanes hold that of the first text.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn blocks_of<const TEXTS: usize>(texts: &[&[Block]; TEXTS], index: usize) -> __m512i {
    let mut blocks = _mm512_setzero_si512();
    for (at, text) in texts.iter().enumerate() {
        let lanes = if at == 0 { 0xff } else { 3 << (2 * at) };
        blocks = _mm512_mask_set1_epi64(blocks, lanes, i64::from_ne_bytes(text[index]));
    }
    blocks
}

/// The state after a step that enciphers `blocks`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn step<const TEXTS: usize>(schedules: &mut [Schedules; TEXTS], state: __m512i, blocks: __m512i) -> __m512i {
    // Done first, since it waits for nothing.
    let [left, right] = halves_of_blocks(blocks);
    let keys = _mm512_ternarylogic_epi64::<AND_OR>(
        state,
        in_both([first_byte(KEY_MASK, 0xff); 2]),
        in_both(KEY_BITS.map(|bits| first_byte(bits, 0))),
    );
    for (text, schedules) in schedules.iter_mut().enumerate() {
        let (left_key, right_key) = if TEXTS == 1 {
            (_mm512_unpacklo_epi64(keys, keys), _mm512_unpackhi_epi64(keys, keys))
        } else {
            let of_lane = |lane: usize| _mm512_set1_epi64(lane as i64);
            (
                _mm512_permutexvar_epi64(of_lane(2 * text), keys),
                _mm512_permutexvar_epi64(of_lane(2 * text + 1), keys),
            )
        };
        let (of_left, of_right) = (schedule(left_key), schedule(right_key));
        let [even, odd] = &mut schedules.0;
        for part in 0..3 {
            even[part] = _mm512_unpacklo_epi64(of_left[part], of_right[part]);
            odd[part] = _mm512_unpackhi_epi64(of_left[part], of_right[part]);
        }
    }
    // Read back from memory: the compiler knows what was stored, and would otherwise shuffle pairs from registers.
    let schedules = &*black_box(schedules);
    let (mut left, mut right) = ([left], [right]);
    des::<true, 1>(|step, _| pairs(schedules, step), &mut left, &mut right);
    _mm512_shuffle_epi32::<EXCHANGED>(_mm512_xor_si512(blocks, blocks_of_halves(left[0], right[0])))
}

/// A step of the schedules: the pair of each text in its lanes; the other lanes hold the pair of the first text.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn pairs<const TEXTS: usize>(schedules: &[Schedules; TEXTS], step: usize) -> __m512i {
    let mut pairs = _mm512_setzero_si512();
    for (text, schedules) in schedules.iter().enumerate() {
        let words = if text == 0 { 0xffff } else { 0xf << (4 * text) };
        pairs = _mm512_mask_broadcast_i32x4(pairs, words, pair(&schedules.0[step % 2], step / 2));
    }
    pairs
}

/// The pair of this index among those that lie in a row in these vectors.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn pair(vectors: &[__m512i; 3], index: usize) -> __m128i {
    assert!(index < 4 * vectors.len());
    // SAFETY: four in each vector, which are in a row: the one of this index is within them.
    unsafe { _mm_load_si128(vectors.as_ptr().cast::<__m128i>().add(index)) }
}

/// Repeats a pair of quad words in all pairs of a vector.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn in_both([left, right]: [i64; 2]) -> __m512i {
    _mm512_set4_epi64(right, left, right, left)
}

/// A quad word with this first byte, and `others` in all other bytes.
const fn first_byte(first: u8, others: u8) -> i64 {
    i64::from_ne_bytes([first, others, others, others, others, others, others, others])
}

/// The schedules of a text's two keys: pairs of quad words, of the even steps and of the odd ones.
#[derive(Clone, Copy)]
struct Schedules([[__m512i; 3]; 2]);

// SAFETY: integers.
unsafe impl Plain for Schedules {}

/// The bitwise function `(a AND b) OR c`.
const AND_OR: i32 = 0xea;

/// Exchanges the quad words of each pair.
const CROSSED: i32 = 0b01_00_11_10;
/// Exchanges the right halves of the two quad words of each pair.
const EXCHANGED: i32 = 0b01_10_11_00;

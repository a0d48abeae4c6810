//! The round of bit-sliced DES, for any word: bit permutations of the standard are names of words.
//!
//! The S-boxes are not taken in numerical order. A round waits for the last gates of the round before: each S-box reads
//! the outputs of six of the eight, 11 cycles after they were stored. In the order below the first S-boxes do not read
//! the outputs of the last, and deep circuits come early. Of all orders, it waits least in a model of 4 operations a
//! cycle with a latency of 2, and saves 3 % of a pass alone.

use super::bit_sliced_words::{Halves, Lanes, Word};
use super::tables::{E, IP, P, PC1, PC2, SHIFTS};
use std::mem::MaybeUninit;

/// Words of a schedule: C twice in a row, then D twice in a row.
pub(crate) const SCHEDULE: usize = 4 * HALF_KEY;

/// The body of [`Word::round`].
#[inline(always)]
pub(super) fn round<W: Word>(left: &mut [W; 32], right: &[W; 32], key: &[W; WINDOW]) {
    substitute::<W, 7>(left, right, key);
    substitute::<W, 3>(left, right, key);
    substitute::<W, 0>(left, right, key);
    substitute::<W, 5>(left, right, key);
    substitute::<W, 2>(left, right, key);
    substitute::<W, 6>(left, right, key);
    substitute::<W, 1>(left, right, key);
    substitute::<W, 4>(left, right, key);
}

#[inline(always)]
fn substitute<W: Word, const BOX: usize>(left: &mut [W; 32], right: &[W; 32], key: &[W; WINDOW]) {
    let from = const { input_places(BOX) };
    let keys = const { key_places(BOX) };
    let to = const { output_places(BOX) };
    let inputs = [
        right[from[0]].xor(key[keys[0]]),
        right[from[1]].xor(key[keys[1]]),
        right[from[2]].xor(key[keys[2]]),
        right[from[3]].xor(key[keys[3]]),
        right[from[4]].xor(key[keys[4]]),
        right[from[5]].xor(key[keys[5]]),
    ];
    let outputs = W::s_box::<BOX>(inputs, [left[to[0]], left[to[1]], left[to[2]], left[to[3]]]);
    left[to[0]] = outputs[0];
    left[to[1]] = outputs[1];
    left[to[2]] = outputs[2];
    left[to[3]] = outputs[3];
}

/// The body of [`Word::count`]. `index` holds the number of each lane, lowest bit first.
#[inline(always)]
pub(super) fn count<W: Lanes>(index: &[W], first: u64, mut state: Halves<'_, W>) {
    let mut carry = index[0].like(0);
    for (bit, place) in COUNTER_PLACES.into_iter().enumerate() {
        let base = index[0].like(all(first, bit));
        let half_sum = base.xor(carry);
        let (sum, next) = match index.get(bit) {
            Some(lane) => (half_sum.xor(*lane), base.and(carry).xor(lane.and(half_sum))),
            None => (half_sum, base.and(carry)),
        };
        carry = next;
        *state.at(place) = sum;
    }
}

/// The body of [`Word::schedule`].
#[inline(always)]
pub(super) fn schedule<W: Lanes>(mut state: Halves<'_, W>, schedule: &mut [MaybeUninit<W>; SCHEDULE]) {
    for (bit, place) in KEY_PLACES.into_iter().enumerate() {
        set_bit(schedule, bit, *state.at(place));
    }
}

/// The body of [`Word::schedule_of_one`].
#[inline(always)]
pub(super) fn schedule_of_one<W: Lanes>(any: W, key: u64, schedule: &mut [MaybeUninit<W>; SCHEDULE]) {
    for (bit, number) in PC1.into_iter().enumerate() {
        set_bit(schedule, bit, any.like(all(key, 64 - usize::from(number))));
    }
}

/// Writes a bit of C or D to its two places. D begins after both copies of C.
#[inline(always)]
fn set_bit<W: Lanes>(schedule: &mut [MaybeUninit<W>; SCHEDULE], bit: usize, word: W) {
    let at = if bit < HALF_KEY { bit } else { bit + HALF_KEY };
    schedule[at].write(word);
    schedule[at + HALF_KEY].write(word);
}

/// One bit of a value, repeated 64 times.
#[inline(always)]
fn all(value: u64, bit: usize) -> u64 {
    0u64.wrapping_sub(value >> bit & 1)
}

/// The number of bits of C, and of D.
const HALF_KEY: usize = 28;

/// Words that a round can reach from the start of its window: all of one C and, one copy of C further, all of D.
pub(super) const WINDOW: usize = 3 * HALF_KEY;

/// The start of the window for each round of enciphering: the sum of the shifts so far.
pub(super) const STARTS: [usize; 16] = {
    let mut starts = [0; 16];
    let (mut round, mut start) = (0, 0);
    while round < 16 {
        start += SHIFTS[round] as usize;
        starts[round] = start % HALF_KEY;
        round += 1;
    }
    starts
};

/// The words of the right half that an S-box reads.
const fn input_places(s_box: usize) -> [usize; 6] {
    let mut places = [0; 6];
    let mut input = 0;
    while input < 6 {
        places[input] = E[6 * s_box + input] as usize - 1;
        input += 1;
    }
    places
}

/// The words of the schedule's window that are added to an S-box's inputs.
const fn key_places(s_box: usize) -> [usize; 6] {
    let mut places = [0; 6];
    let mut input = 0;
    while input < 6 {
        let bit = PC2[6 * s_box + input] as usize - 1;
        places[input] = if bit < HALF_KEY { bit } else { bit + HALF_KEY };
        input += 1;
    }
    places
}

/// The words of the left half to which an S-box's outputs are added.
const fn output_places(s_box: usize) -> [usize; 4] {
    let mut places = [0; 4];
    let mut place = 0;
    while place < 32 {
        let output = P[place] as usize - 1;
        if output / 4 == s_box {
            places[output % 4] = place;
        }
        place += 1;
    }
    places
}

/// The place of each bit of a block after IP. Bits are counted in memory order: bit `8 * byte + weight`.
pub(super) const PLACES: [usize; 64] = {
    let mut places = [0; 64];
    let mut place = 0;
    while place < 64 {
        let bit = IP[place] as usize - 1;
        places[bit / 8 * 8 + 7 - bit % 8] = place;
        place += 1;
    }
    places
};

/// The place after IP of each bit of a block read as a number, the lowest bit first.
const COUNTER_PLACES: [usize; 64] = {
    let mut places = [0; 64];
    let mut bit = 0;
    while bit < 64 {
        places[bit] = PLACES[8 * (7 - bit / 8) + bit % 8];
        bit += 1;
    }
    places
};

/// The place after IP of each bit of a key that PC1 selects.
const KEY_PLACES: [usize; 56] = {
    let mut places = [0; 56];
    let mut bit = 0;
    while bit < 56 {
        let number = PC1[bit] as usize - 1;
        places[bit] = PLACES[number / 8 * 8 + 7 - number % 8];
        bit += 1;
    }
    places
};

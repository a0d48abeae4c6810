//! The place of each bit of DES in the row form of AVX2, and the tables that follow from it. The compiler makes all of
//! them from the standard's tables and two small tables of choices, [`PAIRS`] and [`PLACES`].
//!
//! # The half as a row
//!
//! A quad word is one half of one block: byte `t` is the index of S-box `t`, with its six inputs (table E) at six of
//! eight places.
//!
//! ```text
//!   the outer four inputs   places 0 to 3         the index of a lookup in 16 bytes, vpshufb
//!   the inner two           two of places 4 to 7  which of four such tables; vpshufb gives 0 where place 7 is set
//! ```
//!
//! # The choice
//!
//! An S-box has 64 entries of four bits, and a byte of a table has room for eight. So two S-boxes share tables
//! ([`PAIRS`]), each of their eight outputs at a place of its own ([`PLACES`]). An output has the same place wherever
//! table E uses it, and the six inputs of an S-box must have different places. Both are possible if outputs that E uses
//! twice have low places: those are the outer inputs, and four of the eight of each pair. Six ways to make pairs allow
//! it; the first is taken.
//!
//! # Four tables for an index
//!
//! No instruction looks up in 64 bytes. Four lookups by the lower four places are added, and each must be zero for some
//! values of the upper two inputs. Sums ([`SUMS`]) set place 7 for those values, and leave the lower places unchanged.
//!
//! ```text
//!   inputs h > l at places below 7                      h at place 7
//!   c                 always               read first   c                  unless h        read first
//!   c - h             if h                              c + 128            if h
//!   c - h - l         if h and l                        c + (128 - l)      if h = l
//!   c + (128 - l), saturated: if neither                the same
//! ```
//!
//! The tables are arranged so that the four lookups with these sums add up to the S-box.

use super::byte_sliced_layout::{BOXES, ROUNDS};
use super::tables::{E, IP, P, PC1, PC2, S, SHIFTS};

/// A vector of bytes as it is loaded.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(crate) struct Row(pub(crate) [u8; ROW_BYTES]);

/// The number of bytes in a vector.
pub(crate) const ROW_BYTES: usize = 32;

/// The S-boxes (from 0) by vector of lookups, half of the vector, and quad word of that half. The two of a half share
/// tables.
const PAIRS: [[[usize; 2]; 2]; VECTORS] = [[[0, 1], [2, 5]], [[3, 6], [4, 7]]];

/// The place of each output of each S-box, in the standard's order from the left. A test below finds pairs and places
/// again.
const PLACES: [[u8; 4]; BOXES] = [
    [0, 1, 4, 5],
    [2, 3, 6, 7],
    [1, 0, 4, 5],
    [4, 2, 5, 0],
    [1, 4, 0, 5],
    [3, 2, 7, 6],
    [1, 3, 6, 7],
    [2, 6, 7, 3],
];

/// The number of vectors of lookups for all S-boxes.
pub(crate) const VECTORS: usize = 2;

/// The number of tables for an index.
const PARTS: usize = 4;

/// The shuffle that copies the index of an S-box to all bytes of its quad word.
pub(crate) static INDICES: [Row; VECTORS] = indices();

/// The values added to indices for the second to fourth lookup; the last one is added with saturation.
pub(crate) static SUMS: [[Row; PARTS - 1]; VECTORS] = sums();

/// The four tables of each vector of lookups.
pub(crate) static TABLES: [[Row; PARTS]; VECTORS] = tables();

/// For each byte, the bits of an S-box's outputs that are inputs of the byte's target.
pub(crate) static MASKS: [Row; VECTORS] = masks();

/// A selection of bits: each byte takes one bit from the 16 bytes of its half.
pub(crate) struct Pick {
    /// The number of the byte to read.
    pub(crate) from: Row,
    /// The bit to read, as a mask.
    pub(crate) bit: Row,
    /// The bit to set, as a mask.
    pub(crate) to: Row,
}

/// From a block to its halves, L before R, twice: each half of the vector has half of the inputs.
pub(crate) static HALVES_OF_BLOCK: [Pick; 3] = halves_of_block();

/// From the halves to a block; each quad word has a quarter of the bits.
pub(crate) static BLOCK_OF_HALVES: [Pick; 2] = block_of_halves();

/// From a key to its round keys, one quad word each, four to a vector.
pub(crate) static ROUND_KEYS: [[Pick; 6]; ROUNDS / 4] = round_keys();

/// The S-box and its output (both from 0) that give an input of a half, numbered as in table E.
const fn origin(edge: usize) -> (usize, usize) {
    let output = P[E[edge] as usize - 1] as usize - 1;
    (output / 4, output % 4)
}

/// The place of each input of a half, in the order of table E.
const INPUTS: [u8; 6 * BOXES] = {
    let mut places = [0; 6 * BOXES];
    let mut edge = 0;
    while edge < places.len() {
        let (sbox, output) = origin(edge);
        places[edge] = PLACES[sbox][output];
        edge += 1;
    }
    places
};

/// The inner two inputs of an S-box, as values of the index; the one at the lower place first.
const fn inner(sbox: usize) -> [u8; 2] {
    let [one, other] = [1 << INPUTS[6 * sbox + 2], 1 << INPUTS[6 * sbox + 3]];
    if one < other { [one, other] } else { [other, one] }
}

/// The outputs of an S-box, at their places, for one of its own indices.
const fn output(sbox: usize, index: usize) -> u8 {
    let (mut input, mut k) = (0, 0);
    while k < 6 {
        input = input << 1 | index >> INPUTS[6 * sbox + k] & 1;
        k += 1;
    }
    let nibble = S[sbox][input >> 4 & 2 | input & 1][input >> 1 & 15];
    let (mut byte, mut o) = (0, 0);
    while o < 4 {
        byte |= (nibble >> (3 - o) & 1) << PLACES[sbox][o];
        o += 1;
    }
    byte
}

/// The S-box that a byte of a vector of lookups belongs to.
const fn sbox_at(vector: usize, byte: usize) -> usize {
    PAIRS[vector][byte / 16][byte / 8 % 2]
}

const fn indices() -> [Row; VECTORS] {
    let mut rows = [Row([0; ROW_BYTES]); VECTORS];
    let mut at = 0;
    while at < VECTORS * ROW_BYTES {
        let (vector, byte) = (at / ROW_BYTES, at % ROW_BYTES);
        rows[vector].0[byte] = sbox_at(vector, byte) as u8;
        at += 1;
    }
    rows
}

/// The value of place 7 in a byte.
const TOP: u8 = 0x80;

const fn sums() -> [[Row; PARTS - 1]; VECTORS] {
    let mut rows = [[Row([0; ROW_BYTES]); PARTS - 1]; VECTORS];
    let mut at = 0;
    while at < VECTORS * ROW_BYTES {
        let (vector, byte) = (at / ROW_BYTES, at % ROW_BYTES);
        let [low, high] = inner(sbox_at(vector, byte));
        let [first, second, third] = &mut rows[vector];
        if high == TOP {
            (first.0[byte], second.0[byte]) = (TOP, TOP - low);
        } else {
            (first.0[byte], second.0[byte]) = (high.wrapping_neg(), (high + low).wrapping_neg());
        }
        third.0[byte] = TOP - low;
        at += 1;
    }
    rows
}

const fn tables() -> [[Row; PARTS]; VECTORS] {
    let mut rows = [[Row([0; ROW_BYTES]); PARTS]; VECTORS];
    let mut at = 0;
    while at < BOXES * 16 {
        let (place, index) = (at / 16, at % 16);
        let (vector, half) = (place / 4, place / 2 % 2);
        let sbox = PAIRS[vector][half][place % 2];
        let [low, high] = inner(sbox);
        let (low, high) = (low as usize, high as usize);
        let [neither, only_low] = [output(sbox, index), output(sbox, index | low)];
        let [only_high, both] = [output(sbox, index | high), output(sbox, index | high | low)];
        let parts = if high == TOP as usize {
            [only_low, only_high, both ^ only_high, neither ^ only_low ^ both ^ only_high]
        } else {
            [only_low, only_high ^ only_low, both ^ only_high, neither ^ only_low]
        };
        let mut part = 0;
        while part < PARTS {
            rows[vector][part].0[16 * half + index] |= parts[part];
            part += 1;
        }
        at += 1;
    }
    rows
}

const fn masks() -> [Row; VECTORS] {
    let mut rows = [Row([0; ROW_BYTES]); VECTORS];
    let mut at = 0;
    while at < VECTORS * ROW_BYTES {
        let (vector, byte) = (at / ROW_BYTES, at % ROW_BYTES);
        let target = byte % BOXES;
        let mut k = 0;
        while k < 6 {
            let edge = 6 * target + k;
            if origin(edge).0 == sbox_at(vector, byte) {
                rows[vector].0[byte] = 1 << INPUTS[edge];
            }
            k += 1;
        }
        at += 1;
    }
    rows
}

impl Pick {
    const NONE: Pick = Pick { from: Row([0; ROW_BYTES]), bit: Row([0; ROW_BYTES]), to: Row([0; ROW_BYTES]) };

    /// Lets a byte take the bit of a block or key that the standard numbers `number` (from 1).
    const fn take(&mut self, byte: usize, number: u8, to: u8) {
        let number = number - 1;
        self.take_bit(byte, number / 8, 7 - number % 8, to);
    }

    const fn take_bit(&mut self, byte: usize, from: u8, bit: u8, to: u8) {
        self.from.0[byte] = from;
        self.bit.0[byte] = 1 << bit;
        self.to.0[byte] = 1 << to;
    }
}

const fn halves_of_block() -> [Pick; 3] {
    let mut picks = [Pick::NONE; 3];
    let mut at = 0;
    while at < 3 * ROW_BYTES {
        let (pick, byte) = (at / ROW_BYTES, at % ROW_BYTES);
        let (half, target) = (byte / 8 % 2, byte % 8);
        let edge = 6 * target + 2 * pick + byte / 16;
        picks[pick].take(byte, IP[32 * half + E[edge] as usize - 1], INPUTS[edge]);
        at += 1;
    }
    picks
}

const fn block_of_halves() -> [Pick; 2] {
    let mut picks = [Pick::NONE; 2];
    let mut at = 0;
    while at < 64 {
        // Bit `at % 32 + 1` of a half is among the middle four inputs of its target.
        let (half, target, k) = (at / 32, at % 32 / 4, 1 + at % 4);
        let number = IP[at] as usize - 1;
        let (byte, bit) = (number / 8, 7 - number % 8);
        let from = (8 * half + target) as u8;
        picks[bit / 4].take_bit(8 * (bit % 4) + byte, from, INPUTS[6 * target + k], bit as u8);
        at += 1;
    }
    picks
}

const fn round_keys() -> [[Pick; 6]; ROUNDS / 4] {
    let mut picks = [const { [Pick::NONE; 6] }; ROUNDS / 4];
    let (mut round, mut shift) = (0, 0);
    while round < ROUNDS {
        shift += SHIFTS[round] as usize;
        let mut edge = 0;
        while edge < 6 * BOXES {
            let chosen = PC2[edge] as usize - 1;
            let number = PC1[28 * (chosen / 28) + (chosen % 28 + shift) % 28];
            picks[round / 4][edge % 6].take(8 * (round % 4) + edge / 6, number, INPUTS[edge]);
            edge += 1;
        }
        round += 1;
    }
    picks
}

/// The 48 inputs of the S-boxes, the first at the top, as a row.
#[cfg(test)]
pub(crate) fn inputs_as_row(inputs: u64) -> u64 {
    (0..48).map(|edge| (inputs >> (47 - edge) & 1) << (8 * (edge / 6) + usize::from(INPUTS[edge]))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The targets of an output, and whether it is an outer input of them.
    fn targets(sbox: usize, output: usize) -> (Vec<usize>, bool) {
        let edges: Vec<usize> = (0..6 * BOXES).filter(|edge| origin(*edge) == (sbox, output)).collect();
        (edges.iter().map(|edge| edge / 6).collect(), edges.len() == 2)
    }

    /// All ways to divide these S-boxes into pairs.
    fn pairings(boxes: &[usize]) -> Vec<Vec<[usize; 2]>> {
        let [first, others @ ..] = boxes else { return vec![Vec::new()] };
        let with = |other: &usize| {
            let rest: Vec<usize> = others.iter().copied().filter(|sbox| sbox != other).collect();
            let pair = [*first, *other];
            pairings(&rest).into_iter().map(move |pairs| [&[pair], &pairs[..]].concat())
        };
        others.iter().flat_map(with).collect()
    }

    /// Finds places for the outputs listed in `order` (those that E uses twice come first), the lowest free place for
    /// each.
    fn places(pairs: &[[usize; 2]], order: &[usize], places: &mut [[u8; 4]; BOXES]) -> bool {
        let [at, order @ ..] = order else { return true };
        let (sbox, output) = (at / 4, at % 4);
        let (of, is_outer) = targets(sbox, output);
        let other = *pairs.iter().find(|pair| pair.contains(&sbox)).unwrap();
        for place in if is_outer { 0..4 } else { 4..8 } {
            let is_taken = (0..4 * BOXES).any(|at| {
                let meets = |target| of.contains(target);
                let is_near = other.contains(&(at / 4)) || targets(at / 4, at % 4).0.iter().any(meets);
                places[at / 4][at % 4] == place && is_near
            });
            if !is_taken {
                places[sbox][output] = place;
                if self::places(pairs, order, places) {
                    return true;
                }
                places[sbox][output] = NONE;
            }
        }
        false
    }

    const NONE: u8 = 8;

    /// The generator finds the first pairs, and the lowest places that they allow.
    #[test]
    fn the_search_finds_the_choice() {
        let mut order: Vec<usize> = (0..4 * BOXES).collect();
        order.sort_by_key(|at| !targets(at / 4, at % 4).1);
        let found = pairings(&[0, 1, 2, 3, 4, 5, 6, 7]).into_iter().find_map(|pairs| {
            let mut found = [[NONE; 4]; BOXES];
            places(&pairs, &order, &mut found).then_some((pairs, found))
        });
        assert_eq!(found, Some((PAIRS.as_flattened().to_vec(), PLACES)));
    }

    /// The lookups of an S-box, computed like the instructions, equal the standard's table.
    #[test]
    fn four_parts_add_up_to_an_s_box() {
        for (at, sbox) in PAIRS.as_flattened().as_flattened().iter().copied().enumerate() {
            let (vector, byte) = (at / 4, 8 * (at % 4));
            let sums: [u8; PARTS - 1] = std::array::from_fn(|sum| SUMS[vector][sum].0[byte]);
            for input in 0..64 {
                let index =
                    (0..6).map(|k| (input >> (5 - k) & 1) << INPUTS[6 * sbox + k]).sum::<usize>() as u8;
                let indices = [
                    index,
                    index.wrapping_add(sums[0]),
                    index.wrapping_add(sums[1]),
                    index.saturating_add(sums[2]),
                ];
                let mut found = 0;
                for (part, index) in indices.into_iter().enumerate() {
                    if index < TOP {
                        found ^= TABLES[vector][part].0[byte / 16 * 16 + usize::from(index % 16)];
                    }
                }
                let expected = S[sbox][input >> 4 & 2 | input & 1][input >> 1 & 15];
                for (o, place) in PLACES[sbox].into_iter().enumerate() {
                    assert_eq!(found >> place & 1, expected >> (3 - o) & 1, "S-box {sbox} of {input}");
                }
            }
        }
    }

    /// Every input of every target comes from one byte of one vector, and the masks select nothing else.
    #[test]
    fn masks_take_each_input_once() {
        for target in 0..BOXES {
            let taken: Vec<u8> = MASKS
                .iter()
                .flat_map(|mask| mask.0.into_iter().skip(target).step_by(BOXES))
                .filter(|mask| *mask != 0)
                .collect();
            let inputs = INPUTS[6 * target..][..6].iter().map(|place| 1 << place);
            assert_eq!(taken.len(), 6);
            assert_eq!(taken.iter().sum::<u8>(), inputs.sum());
        }
    }
}

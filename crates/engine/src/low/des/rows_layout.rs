//! The place of each bit of DES in the row form, and the tables that follow from it. The compiler makes all of them
//! from the standard's tables and one small table of choices, [`CARRIED`].
//!
//! # The half as rows
//!
//! A quad word is one half of one block. Six of its bytes are *rows*, two are zero:
//!
//! ```text
//!   byte 7 - r = row r       bit t = bit r of what target t, the next S-box t, is looked up with
//!
//!                bit 7  6  5  4  3  2  1  0
//!   byte 7, row 0    x  x  x  x  x  x  x  x        as a matrix of 8x8 bits the column t is the index of
//!   byte 6, row 1    x  x  x  x  x  x  x  x        S-box t: vgf2p8affineqb, with the half as the matrix
//!   ...                                            and a byte with bit t alone as the data, gives it
//!   byte 2, row 5    x  x  x  x  x  x  x  x
//! ```
//!
//! So one instruction copies the index of any S-box, with all of its bits, to any byte. A lookup (`vpermb`) at byte `7
//! - r` gives eight bits of row r at once, one for each target.
//!
//! # The choice
//!
//! Six of the eight S-boxes feed a target (tables E and P), and an index has six bits. Six S-boxes have a row each
//! ([`ROWS`]). The other two are *folded*. For a target that an S-box with a row does not feed, the row has a free bit,
//! and carries an output of a folded S-box ([`CARRIED`]).
//!
//! ```text
//!   target 0 is fed by 1 3 4 5 6 7: the rows of 0 and 2 are free there, and carry the outputs of 4 and of 1
//! ```
//!
//! Any two S-boxes can be folded, and either of two free rows can carry either. The choice is the one whose rows take
//! the fewest different inputs of their targets, which determines the cost of expanding a block ([`PICKS`]).

use super::byte_sliced_layout::{BOXES, Bytes, Matrix, ROUNDS, source, with};
use super::tables::{E, IP, P, PC1, PC2, S, SHIFTS};

/// The number of rows of a half.
pub(crate) const ROW_COUNT: usize = 6;

/// The S-box (from 0) of each row.
pub(crate) const ROWS: [usize; ROW_COUNT] = [0, 2, 3, 5, 6, 7];

/// The S-boxes without a row.
pub(crate) const FOLDED: [usize; 2] = [1, 4];

/// An output of a folded S-box that is carried in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Carried {
    /// The S-box whose index contains the bit.
    target: usize,
    /// The S-box whose row carries it.
    row: usize,
    /// The folded S-box that outputs the bit.
    of: usize,
}

const fn carried(target: usize, row: usize, of: usize) -> Carried {
    Carried { target, row, of }
}

/// The choice, found by a complete search, which a test below repeats.
const CARRIED: [Carried; 12] = [
    carried(0, 0, 4),
    carried(0, 2, 1),
    carried(1, 3, 4),
    carried(2, 2, 4),
    carried(2, 7, 1),
    carried(3, 3, 4),
    carried(3, 5, 1),
    carried(4, 6, 1),
    carried(5, 5, 4),
    carried(6, 0, 4),
    carried(6, 6, 1),
    carried(7, 7, 1),
];

/// Tables of the S-boxes: bit `t` is the output for target `t`, or zero if the S-box does not feed it.
pub(crate) static TABLES: [Bytes; BOXES] = tables();

/// The matrix that copies the index of each row's S-box to the row.
pub(crate) const ROW_INDICES: Matrix = row_indices();

/// The matrices that copy the index of each folded S-box to all rows.
pub(crate) const FOLDED_INDICES: [Matrix; 2] = [all_rows(1 << FOLDED[0]), all_rows(1 << FOLDED[1])];

/// The bits of a half that are outputs of each folded S-box.
pub(crate) const FOLDED_MASKS: [Matrix; 2] = [folded_mask(FOLDED[0]), folded_mask(FOLDED[1])];

/// The byte of each row in eight halves, as a mask of bytes.
pub(crate) const ROW_BYTES: [u64; ROW_COUNT] = row_bytes();

/// From indices of targets to rows; the index of target `t` is at byte `7 - t`.
pub(crate) const TO_ROWS: Matrix = to_rows();

/// From a block, as the matrix, to the 32 bits of a half, twice: bit `n` is bit `n + 1` of the standard's L or R.
pub(crate) const PLANES: [Matrix; 2] = [planes(0), planes(1)];

/// Windows of eight bits in the doubled half. The window of target `t`, at byte `7 - t`, begins with its six inputs.
pub(crate) const WINDOWS: u64 = windows();

/// Selections of inputs from the windows: each takes at most one more input into every row, for the bits that need it.
pub(crate) const PICKS: [(Matrix, u64); PICK_COUNT] = picks();

/// The greatest number of different inputs of its targets that a row takes.
const PICK_COUNT: usize = 5;

/// From rows to the indices of the targets `2 q + odd`, at the byte of plane `q` of that half.
pub(crate) const TARGETS_OF_PLANES: [[Matrix; 2]; 2] =
    [[targets_of_planes(0, 0), targets_of_planes(0, 1)], [targets_of_planes(1, 0), targets_of_planes(1, 1)]];

/// For each target, from its index to its four bits of the half, in the upper half of a byte for odd targets.
pub(crate) static BITS_OF_TARGETS: [Bytes; BOXES] = bits_of_targets();

/// The bytes of the planes `q` of eight blocks, as masks of bytes.
pub(crate) const PLANE_BYTES: [u64; 4] = plane_bytes();

/// From planes, as the matrix, to blocks: the transposition.
pub(crate) const TO_BLOCKS: Matrix = 0x0102_0408_1020_4080;

/// From a key, as the matrix, to C in the lower four quad words and D in the upper ones. Three bytes are 24 bits of C
/// or D. The fourth has the last four bits of C in its lower half, and those of D in its upper half.
pub(crate) static HALVES_OF_KEYS: Bytes = halves_of_keys();

/// Windows of eight bits in C or D, each of which is stored twice, as [`KeyWindows`] of two times eight rounds. Byte
/// `i` of each quad word is for round `i` of the eight.
pub(crate) static KEY_WINDOWS: [KeyWindows; 2] = [key_windows(0), key_windows(8)];

/// The four windows that cover C or D.
pub(crate) type KeyWindows = [Bytes; 4];

/// From a window of C or D to the index of the quad word's target.
pub(crate) static KEY_MATRICES: [Bytes; 4] = key_matrices();

/// Byte `8 i + 7 - t` comes from `8 t + i`.
pub(crate) static BY_ROUND: Bytes = by_round();

/// Whether an S-box feeds a target.
const fn feeds(sbox: usize, target: usize) -> bool {
    let mut k = 0;
    while k < 6 {
        if source(6 * target + k) == sbox {
            return true;
        }
        k += 1;
    }
    false
}

/// For each target and row, the S-box whose output the row has there.
const ORIGINS: [[usize; ROW_COUNT]; BOXES] = {
    let mut origins = [ROWS; BOXES];
    let mut at = 0;
    while at < CARRIED.len() {
        let Carried { target, row, of } = CARRIED[at];
        let mut place = 0;
        while ROWS[place] != row {
            place += 1;
        }
        origins[target][place] = of;
        at += 1;
    }
    origins
};

/// The row that holds each input of a half, numbered as in table E.
const ROW_OF: [usize; 48] = {
    let mut rows = [0; 48];
    let mut edge = 0;
    while edge < 48 {
        while ORIGINS[edge / 6][rows[edge]] != source(edge) {
            rows[edge] += 1;
        }
        edge += 1;
    }
    rows
};

/// The four outputs of an S-box for one of its own indices.
const OUTPUTS: [[u8; 64]; BOXES] = {
    let mut outputs = [[0; 64]; BOXES];
    let mut at = 0;
    while at < BOXES * 64 {
        let (sbox, index) = (at / 64, at % 64);
        let (mut input, mut k) = (0, 0);
        while k < 6 {
            input = input << 1 | index >> ROW_OF[6 * sbox + k] & 1;
            k += 1;
        }
        outputs[sbox][index] = S[sbox][input >> 4 & 2 | input & 1][input >> 1 & 15];
        at += 1;
    }
    outputs
};

/// The shift that moves the output bit that feeds a target to the lowest place.
const fn place(sbox: usize, target: usize) -> u8 {
    let mut edge = 6 * target;
    while source(edge) != sbox {
        edge += 1;
    }
    3 - (P[E[edge] as usize - 1] - 1) % 4
}

/// Puts a byte at a row's place.
const fn at_row(row: usize, byte: u64) -> u64 {
    byte << (8 * (7 - row))
}

/// Puts a byte at the place of every row.
const fn all_rows(byte: u64) -> u64 {
    let (mut rows, mut row) = (0, 0);
    while row < ROW_COUNT {
        rows |= at_row(row, byte);
        row += 1;
    }
    rows
}

const fn tables() -> [Bytes; BOXES] {
    let mut tables = [Bytes([0; 64]); BOXES];
    let mut at = 0;
    while at < BOXES * BOXES {
        let (sbox, target) = (at / BOXES, at % BOXES);
        let mut index = 0;
        while index < 64 && feeds(sbox, target) {
            tables[sbox].0[index] |= (OUTPUTS[sbox][index] >> place(sbox, target) & 1) << target;
            index += 1;
        }
        at += 1;
    }
    tables
}

const fn row_indices() -> u64 {
    let (mut rows, mut row) = (0, 0);
    while row < ROW_COUNT {
        rows |= at_row(row, 1 << ROWS[row]);
        row += 1;
    }
    rows
}

const fn folded_mask(sbox: usize) -> u64 {
    let (mut mask, mut at) = (0, 0);
    while at < BOXES * ROW_COUNT {
        let (target, row) = (at / ROW_COUNT, at % ROW_COUNT);
        if ORIGINS[target][row] == sbox {
            mask |= at_row(row, 1 << target);
        }
        at += 1;
    }
    mask
}

/// A mask of this byte in each of eight quad words.
const fn byte_of_lanes(byte: usize) -> u64 {
    0x0101_0101_0101_0101 << byte
}

const fn row_bytes() -> [u64; ROW_COUNT] {
    let mut masks = [0; ROW_COUNT];
    let mut row = 0;
    while row < ROW_COUNT {
        masks[row] = byte_of_lanes(7 - row);
        row += 1;
    }
    masks
}

const fn to_rows() -> u64 {
    let (mut rows, mut row) = (0, 0);
    while row < ROW_COUNT {
        rows |= at_row(row, 1 << row);
        row += 1;
    }
    rows
}

/// The bit within its byte, from the lowest, of a bit of a block or key that the standard numbers `number` (from 1).
/// The eight bits in a row of IP and of PC1 are this bit of all bytes, the last byte first.
const fn bit_of_byte(number: u8) -> usize {
    7 - (number as usize - 1) % 8
}

const fn planes(half: usize) -> u64 {
    let (mut data, mut at) = (0, 0);
    while at < 8 {
        let plane = at % 4;
        let first = 32 * half + 8 * plane;
        let mut i = 0;
        while i < 8 {
            assert!((IP[first + i] as usize - 1) / 8 == 7 - i);
            assert!(bit_of_byte(IP[first + i]) == bit_of_byte(IP[first]));
            i += 1;
        }
        data |= 1 << bit_of_byte(IP[first]) << (8 * at);
        at += 1;
    }
    data
}

const fn windows() -> u64 {
    let (mut starts, mut target) = (0, 0);
    while target < BOXES {
        let start = E[6 * target] as u64 - 1;
        let mut k = 0;
        while k < 6 {
            assert!((start + k) % 32 == E[6 * target + k as usize] as u64 - 1);
            k += 1;
        }
        starts |= start << (8 * (7 - target));
        target += 1;
    }
    starts
}

const fn picks() -> [(Matrix, u64); PICK_COUNT] {
    let mut picks = [(0, 0); PICK_COUNT];
    let mut row = 0;
    while row < ROW_COUNT {
        let (mut pick, mut k) = (0, 0);
        while k < 6 {
            let (mut targets, mut target) = (0, 0);
            while target < BOXES {
                if ROW_OF[6 * target + k] == row {
                    targets |= 1 << target;
                }
                target += 1;
            }
            if targets != 0 {
                picks[pick].0 |= at_row(row, 1 << k);
                picks[pick].1 |= at_row(row, targets);
                pick += 1;
            }
            k += 1;
        }
        row += 1;
    }
    picks
}

/// The byte of plane `q` of a half while blocks are collected: each plane is one bit of all bytes of a block.
const fn plane_byte(half: usize, q: usize) -> usize {
    7 - bit_of_byte(IP[32 * half + 8 * q])
}

const fn targets_of_planes(half: usize, odd: usize) -> u64 {
    let (mut data, mut q) = (0, 0);
    while q < 4 {
        data |= 1 << (2 * q + odd) << (8 * plane_byte(half, q));
        q += 1;
    }
    data
}

const fn bits_of_targets() -> [Bytes; BOXES] {
    let mut tables = [Bytes([0; 64]); BOXES];
    let mut at = 0;
    while at < BOXES * 64 {
        let (target, index) = (at / 64, at % 64);
        let mut k = 0;
        while k < 4 {
            // The middle four of the six inputs of a target are the target's own bits of the half.
            let bit = index >> ROW_OF[6 * target + 1 + k] & 1;
            tables[target].0[index] |= (bit << (4 * (target % 2) + k)) as u8;
            k += 1;
        }
        at += 1;
    }
    tables
}

const fn plane_bytes() -> [u64; 4] {
    let mut masks = [0; 4];
    let mut q = 0;
    while q < 4 {
        masks[q] = byte_of_lanes(plane_byte(0, q)) | byte_of_lanes(plane_byte(1, q));
        q += 1;
    }
    masks
}

const fn halves_of_keys() -> Bytes {
    let mut bytes = [0; 64];
    let mut at = 0;
    while at < BOXES * 4 {
        let (target, byte) = (at / 4, at % 4);
        let first = 28 * (target / 4) + 8 * byte;
        // The last four bits of either half are one bit of four bytes: of the last four for C, of the first four for D.
        bytes[8 * target + byte] = 1 << bit_of_byte(PC1[first]);
        at += 1;
    }
    Bytes(bytes)
}

const fn key_windows(first_round: usize) -> KeyWindows {
    let mut windows = [Bytes([0; 64]); 4];
    let (mut round, mut shift) = (0, 0);
    while round < first_round + 8 {
        shift += SHIFTS[round];
        let mut at = 0;
        while round >= first_round && at < 4 * BOXES {
            let (window, target) = (at / BOXES, at % BOXES);
            windows[window].0[8 * target + round - first_round] = shift + 8 * window as u8;
            at += 1;
        }
        round += 1;
    }
    assert!(round <= ROUNDS);
    windows
}

const fn key_matrices() -> [Bytes; 4] {
    let mut matrices = [[0; BOXES]; 4];
    let mut edge = 0;
    while edge < 48 {
        let chosen = PC2[edge] as usize - 1;
        assert!(chosen / 28 == edge / 24);
        let (target, number) = (edge / 6, chosen % 28);
        let matrix = &mut matrices[number / 8][target];
        *matrix = with(*matrix, ROW_OF[edge], number % 8);
        edge += 1;
    }
    let mut vectors = [Bytes([0; 64]); 4];
    let mut at = 0;
    while at < 4 * 64 {
        let (window, byte) = (at / 64, at % 64);
        vectors[window].0[byte] = (matrices[window][byte / 8] >> (8 * (byte % 8))) as u8;
        at += 1;
    }
    vectors
}

const fn by_round() -> Bytes {
    let mut index = [0; 64];
    let mut at = 0;
    while at < 64 {
        let (target, round) = (at / 8, at % 8);
        index[8 * round + 7 - target] = at as u8;
        at += 1;
    }
    Bytes(index)
}

/// The 48 inputs of the S-boxes, the first at the top, as rows.
#[cfg(test)]
pub(crate) fn inputs_as_rows(inputs: u64) -> u64 {
    (0..48).map(|edge| (inputs >> (47 - edge) & 1) << (8 * (7 - ROW_OF[edge]) + edge / 6)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of different inputs of its targets that each row takes.
    fn inputs_of_rows(rows: &[usize], carried: &[Carried]) -> Vec<usize> {
        let origin = |target: usize, row: usize| {
            carried
                .iter()
                .find(|place| place.target == target && place.row == row)
                .map_or(row, |place| place.of)
        };
        let inputs = |row: usize| {
            let mut inputs: Vec<usize> = (0..BOXES)
                .map(|target| (0..6).position(|k| source(6 * target + k) == origin(target, row)).unwrap())
                .collect();
            inputs.sort_unstable();
            inputs.dedup();
            inputs.len()
        };
        rows.iter().map(|row| inputs(*row)).collect()
    }

    /// All ways to carry the outputs of two folded S-boxes, target by target.
    fn choices(folded: [usize; 2]) -> Vec<Vec<Carried>> {
        let mut choices = vec![Vec::new()];
        for target in 0..BOXES {
            let free: Vec<usize> =
                (0..BOXES).filter(|row| !feeds(*row, target) && !folded.contains(row)).collect();
            let wanted: Vec<usize> = folded.into_iter().filter(|sbox| feeds(*sbox, target)).collect();
            assert_eq!(free.len(), wanted.len(), "as many rows are free as are wanted");
            let orders = if free.len() == 2 { vec![[0, 1], [1, 0]] } else { vec![[0, 1]] };
            choices = orders
                .iter()
                .flat_map(|order| {
                    let more: Vec<_> = (0..free.len())
                        .map(|at| Carried { target, row: free[order[at]], of: wanted[at] })
                        .collect();
                    choices.iter().map(move |choice| [&choice[..], &more[..]].concat())
                })
                .collect();
        }
        choices
    }

    /// The generator compares all pairs and all ways to carry them. It takes the one whose rows need the fewest inputs,
    /// first in the row that needs most, then in all rows together.
    #[test]
    fn the_search_finds_the_choice() {
        let mut found = Vec::new();
        for one in 0..BOXES {
            for other in one + 1..BOXES {
                let rows: Vec<usize> = (0..BOXES).filter(|sbox| *sbox != one && *sbox != other).collect();
                for choice in choices([one, other]) {
                    let inputs = inputs_of_rows(&rows, &choice);
                    let cost = (*inputs.iter().max().unwrap(), inputs.iter().sum::<usize>());
                    found.push((cost, [one, other], choice));
                }
            }
        }
        let (cost, folded, mut choice) = found.into_iter().min_by_key(|(cost, ..)| *cost).unwrap();
        choice.sort_unstable_by_key(|carried| (carried.target, carried.row));
        assert_eq!(cost, (PICK_COUNT, 24));
        assert_eq!(folded, FOLDED);
        assert_eq!(choice, CARRIED);
    }

    /// The six rows of a target are its six sources, in every choice.
    #[test]
    fn every_index_has_six_different_sources() {
        for (target, mut ours) in ORIGINS.into_iter().enumerate() {
            let mut theirs: [usize; 6] = std::array::from_fn(|k| source(6 * target + k));
            ours.sort_unstable();
            theirs.sort_unstable();
            assert_eq!(ours, theirs);
        }
    }

    /// Compares tables, masks and places with the standard's f, for single bits and for all inputs of the S-boxes.
    #[test]
    fn tables_and_rows_are_those_of_the_standard() {
        for sbox in 0..BOXES {
            for input in 0..64 {
                // The six inputs at their rows, the first at the top.
                let index: usize = (0..6).map(|k| (input >> (5 - k) & 1) << ROW_OF[6 * sbox + k]).sum();
                let output = S[sbox][input >> 4 & 2 | input & 1][input >> 1 & 15];
                let entry = TABLES[sbox].0[index];
                for target in 0..BOXES {
                    let edge = (0..6).map(|k| 6 * target + k).find(|edge| source(*edge) == sbox);
                    let expected =
                        edge.map_or(0, |edge| output >> (3 - (P[E[edge] as usize - 1] - 1) % 4) & 1);
                    assert_eq!(entry >> target & 1, expected, "S-box {sbox} to target {target}");
                }
            }
        }
    }

    /// Every bit of the rows has one source: the S-box of its row, or a folded S-box under its mask.
    #[test]
    fn masks_of_folded_ones_cover_what_rows_leave() {
        for (row, sbox) in ROWS.into_iter().enumerate() {
            for target in 0..BOXES {
                let bit = 1_u64 << (8 * (7 - row) + target);
                let sources = [feeds(sbox, target), FOLDED_MASKS[0] & bit != 0, FOLDED_MASKS[1] & bit != 0];
                assert_eq!(sources.into_iter().filter(|is_one| *is_one).count(), 1, "{row} {target}");
            }
        }
        assert_eq!((FOLDED_MASKS[0] | FOLDED_MASKS[1]) & 0xffff, 0, "two bytes are zero");
    }
}

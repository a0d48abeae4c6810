//! The place of each bit of DES in the byte-sliced form, and the tables that follow from it. The compiler makes all of
//! them from the standard's tables and one small table of choices, [`TARGETS`].
//!
//! # The choice
//!
//! A lane of vector `t` of a half is a byte with the six inputs of S-box `t` (table E), in an order chosen here. Each
//! input is an output of some S-box of the round before (tables E and P), from six different S-boxes. So 48 edges lead
//! from S-boxes to S-boxes, six out of and six into each:
//!
//! ```text
//!    S-box s, round i                    S-box t, round i + 1
//!    out: four bits, two of them twice   in: six bits
//!    +--------------+  edge (s, t)       +--------------+
//!    |  part 0 or 1 |------------------->|  position    |  0 to 5: the bit of the lane's byte
//!    +--------------+                    +--------------+
//! ```
//!
//! An S-box is looked up as two *parts*, two tables of 64 bytes that share the same index. Each part holds three of the
//! six outgoing bits, at the positions that their targets need, and zeros elsewhere. A target takes three of its six
//! bits at the positions in its *split*, three at those outside. The choice is such that
//!
//! 1. the six edges into a target have six different positions (an edge colouring at the target's end),
//! 2. the three edges of a part have three different positions (at the source's end), and
//! 3. for two edges of one part that lead to t and u, the split of t has exactly one of their two positions,
//!    and so has the split of u.
//!
//! By 3 the three parts that a target takes on one side of its split are zero at one another's positions. So their XOR
//! is right on this side, and one selection removes the wrong bits on the other.

use super::tables::{E, IP, P, PC1, PC2, S, SHIFTS};

/// Rounds of DES.
pub(crate) const ROUNDS: usize = 16;

/// The number of S-boxes, and of vectors of a half.
pub(crate) const BOXES: usize = 8;

/// The sources of a target's positions.
pub(crate) struct Target {
    /// The positions inside the split, as bits.
    pub(crate) split: u8,
    /// For each position: the S-box whose output it is, and the part that holds it.
    pub(crate) sources: [(usize, usize); 6],
}

/// The choice, found by a search with backtracking, which a test below repeats. There is none with fewer than four
/// different splits: three targets of one part need three, and no choice of three serves all.
pub(crate) const TARGETS: [Target; BOXES] = [
    Target { split: 0x15, sources: [(5, 1), (3, 1), (6, 1), (4, 1), (7, 1), (1, 1)] },
    Target { split: 0x31, sources: [(4, 1), (7, 1), (0, 1), (5, 1), (6, 0), (2, 1)] },
    Target { split: 0x0d, sources: [(0, 0), (3, 0), (6, 0), (5, 0), (1, 0), (4, 0)] },
    Target { split: 0x29, sources: [(1, 0), (2, 1), (4, 1), (6, 1), (0, 0), (7, 0)] },
    Target { split: 0x29, sources: [(0, 1), (5, 0), (2, 0), (3, 0), (1, 1), (7, 1)] },
    Target { split: 0x15, sources: [(4, 0), (6, 0), (3, 0), (2, 0), (7, 0), (0, 0)] },
    Target { split: 0x31, sources: [(2, 0), (7, 0), (1, 0), (4, 0), (3, 1), (5, 0)] },
    Target { split: 0x0d, sources: [(1, 1), (6, 1), (3, 1), (2, 1), (0, 1), (5, 1)] },
];

/// A vector of bytes as it is loaded.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Bytes(pub(crate) [u8; 64]);

/// Each S-box as two parts: index and entry are bytes of a lane.
pub(crate) static PARTS: [[Bytes; 2]; BOXES] = parts();

/// An 8x8 bit matrix as the GF(2) affine instruction takes it.
pub(crate) type Matrix = u64;

/// A vector of a half as the sum of two planes of a block, each multiplied by a matrix.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) planes: [usize; 2],
    pub(crate) matrices: [Matrix; 2],
}

/// From the planes of blocks to the vectors of the left and the right half. Bit `i` of plane `j` is bit `j` of byte `7
/// - i` of the block.
pub(crate) const EXPAND: [[Pair; BOXES]; 2] = expand();

/// From the vectors of both halves back to planes. `planes` are vectors of the half that [`COLLECT_HALF`] names. Bit
/// `i` of plane `j` of ciphertext is bit `j` of byte `i` of the block.
pub(crate) const COLLECT: [Pair; 8] = collect();

/// The half that gives each plane of ciphertext: 0 is the left.
pub(crate) const COLLECT_HALF: [usize; 8] = [0, 1, 0, 1, 0, 1, 0, 1];

/// The planes of a key that hold the half C (targets 0 to 3) and the half D (targets 4 to 7).
const KEY_PLANES: [[usize; 4]; 2] = [[7, 6, 5, 4], [1, 2, 3, 4]];

/// From the planes of keys to round keys: for each round and target, a matrix for each plane of the half: 7 6 5 4 of C,
/// 1 2 3 4 of D.
pub(crate) static ROUND_KEYS: [[[Matrix; 4]; BOXES]; ROUNDS] = round_keys();

/// As [`ROUND_KEYS`], for one key in all lanes: for each round and plane, the matrices of all targets side by side.
pub(crate) static ROUND_KEYS_OF_ONE: [[Bytes; 4]; ROUNDS] = round_keys_of_one();

/// The S-box (from 0) whose output is input `edge` of a half (in the order of table E).
pub(crate) const fn source(edge: usize) -> usize {
    (P[E[edge] as usize - 1] as usize - 1) / 4
}

/// The position of an edge at its target.
const fn position(edge: usize) -> usize {
    let sources = &TARGETS[edge / 6].sources;
    let mut position = 0;
    while sources[position].0 != source(edge) {
        position += 1;
    }
    position
}

const fn round_keys_of_one() -> [[Bytes; 4]; ROUNDS] {
    let by_target = round_keys();
    let mut by_plane = [[Bytes([0; 64]); 4]; ROUNDS];
    let mut at = 0;
    while at < ROUNDS * 4 * 64 {
        let (round, plane, target, byte) = (at / 256, at / 64 % 4, at / 8 % 8, at % 8);
        by_plane[round][plane].0[8 * target + byte] = (by_target[round][target][plane] >> (8 * byte)) as u8;
        at += 1;
    }
    by_plane
}

const fn parts() -> [[Bytes; 2]; BOXES] {
    let mut parts = [[Bytes([0; 64]); 2]; BOXES];
    let mut at = 0;
    while at < BOXES * 64 {
        let (sbox, index) = (at / 64, at % 64);
        let mut input = 0;
        let mut k = 0;
        while k < 6 {
            input = input << 1 | index >> position(6 * sbox + k) & 1;
            k += 1;
        }
        let output = S[sbox][input >> 4 & 2 | input & 1][input >> 1 & 15];
        let mut edge = 0;
        while edge < 48 {
            if source(edge) == sbox {
                let place = position(edge);
                let part = TARGETS[edge / 6].sources[place].1;
                let bit = output >> (3 - (P[E[edge] as usize - 1] - 1) % 4) & 1;
                parts[sbox][part].0[index] |= bit << place;
            }
            edge += 1;
        }
        at += 1;
    }
    parts
}

/// The matrix with one more entry: output bit `to` is input bit `from`.
pub(crate) const fn with(matrix: Matrix, to: usize, from: usize) -> Matrix {
    matrix | 1 << (8 * (7 - to) + from)
}

/// The plane and the bit in it of a bit of a block or key, numbered as in the standard (from 1).
const fn plane_and_bit(number: u8) -> (usize, usize) {
    let bit = 64 - number as usize;
    (bit % 8, bit / 8)
}

const fn expand() -> [[Pair; BOXES]; 2] {
    let mut pairs = [[Pair { planes: [0; 2], matrices: [0; 2] }; BOXES]; 2];
    let mut at = 0;
    while at < 2 * 48 {
        let (half, edge) = (at / 48, at % 48);
        let pair = &mut pairs[half][edge / 6];
        let (plane, bit) = plane_and_bit(IP[32 * half + E[edge] as usize - 1]);
        // The first and the last of the six inputs come from both planes, in either order.
        if edge % 6 == 0 {
            pair.planes[0] = plane;
            pair.planes[1] = plane_and_bit(IP[32 * half + E[edge + 5] as usize - 1]).0;
        }
        let which = (plane != pair.planes[0]) as usize;
        assert!(plane == pair.planes[which]);
        pair.matrices[which] = with(pair.matrices[which], position(edge), bit);
        at += 1;
    }
    pairs
}

const fn collect() -> [Pair; 8] {
    let mut pairs = [Pair { planes: [0; 2], matrices: [0; 2] }; 8];
    let mut at = 0;
    while at < 2 * 32 {
        let (half, number) = (at / 32, at % 32);
        let (plane, bit) = plane_and_bit(IP[at]);
        assert!(COLLECT_HALF[plane] == half);
        let target = number / 4;
        let pair = &mut pairs[plane];
        pair.planes = [target & !1, target | 1];
        // The middle four of the six inputs of a target are its own bits.
        let place = position(6 * target + 1 + number % 4);
        pair.matrices[target & 1] = with(pair.matrices[target & 1], 7 - bit, place);
        at += 1;
    }
    pairs
}

const fn round_keys() -> [[[Matrix; 4]; BOXES]; ROUNDS] {
    let mut matrices = [[[0; 4]; BOXES]; ROUNDS];
    let (mut round, mut shift) = (0, 0);
    while round < ROUNDS {
        shift += SHIFTS[round] as usize;
        let mut edge = 0;
        while edge < 48 {
            let chosen = PC2[edge] as usize - 1;
            let half = chosen / 28;
            let (plane, bit) = plane_and_bit(PC1[28 * half + (chosen % 28 + shift) % 28]);
            let mut which = 0;
            while KEY_PLANES[half][which] != plane {
                which += 1;
            }
            let matrix = &mut matrices[round][edge / 6][which];
            *matrix = with(*matrix, position(edge), bit);
            edge += 1;
        }
        round += 1;
    }
    matrices
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An edge: S-box and part of the source, and the target.
    type Edge = (usize, usize, usize);

    fn separates(split: u8, one: usize, other: usize) -> bool {
        (split >> one ^ split >> other) & 1 == 1
    }

    /// Conditions 2 and 3 of the module's documentation, for two edges.
    fn agree((sbox, part, t): Edge, at: usize, (other, other_part, u): Edge, other_at: usize) -> bool {
        (sbox, part) != (other, other_part)
            || (separates(TARGETS[t].split, at, other_at) && separates(TARGETS[u].split, at, other_at))
    }

    fn edges() -> Vec<(Edge, usize)> {
        let edges_into = |t: usize| {
            TARGETS[t].sources.iter().enumerate().map(move |(at, &(sbox, part))| ((sbox, part, t), at))
        };
        (0..BOXES).flat_map(edges_into).collect()
    }

    #[test]
    fn the_choice_keeps_its_conditions() {
        for (t, target) in TARGETS.iter().enumerate() {
            assert_eq!(target.split.count_ones(), 3);
            assert!(target.split < 64);
            // Condition 1: a position names one source, and the sources are those of the standard.
            let mut ours = target.sources.map(|(sbox, _)| sbox);
            let mut theirs: [usize; 6] = std::array::from_fn(|k| source(6 * t + k));
            ours.sort_unstable();
            theirs.sort_unstable();
            assert_eq!(ours, theirs);
        }
        let edges = edges();
        for (i, (edge, at)) in edges.iter().enumerate() {
            for (other, other_at) in &edges[..i] {
                assert!(agree(*edge, *at, *other, *other_at), "{edge:?} {other:?}");
            }
            let same_part = edges.iter().filter(|(other, _)| other.0 == edge.0 && other.1 == edge.1);
            assert_eq!(same_part.count(), 3);
        }
    }

    /// The generator draws splits and parts at random until this search finds positions for them. Here the search runs
    /// for the ones that it drew.
    #[test]
    fn the_search_finds_positions() {
        let mut open: Vec<Edge> = edges().into_iter().map(|(edge, _)| edge).collect();
        let mut placed = Vec::new();
        assert!(place(&mut open, &mut placed));
        assert_eq!(placed.len(), 48);
    }

    /// Backtracking search; takes the edge with the fewest free positions first.
    fn place(open: &mut Vec<Edge>, placed: &mut Vec<(Edge, usize)>) -> bool {
        let free = |edge: Edge| -> Vec<usize> {
            let fits = |at: &usize| {
                placed.iter().all(|(other, other_at)| {
                    (other.2 != edge.2 || other_at != at) && agree(edge, *at, *other, *other_at)
                })
            };
            (0..6).filter(fits).collect()
        };
        let Some((index, positions)) =
            open.iter().map(|edge| free(*edge)).enumerate().min_by_key(|(_, positions)| positions.len())
        else {
            return true;
        };
        let edge = open.swap_remove(index);
        for at in positions {
            placed.push((edge, at));
            if place(open, placed) {
                return true;
            }
            placed.pop();
        }
        open.push(edge);
        false
    }
}

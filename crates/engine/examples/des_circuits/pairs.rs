//! Whether some nodes can make a target, asked of pairs of points.

use crate::state::{CircuitState, NODES_MAX};

/// Words of a row of pairs.
pub const WORDS: usize = 16;

/// A target where a mask has ones.
#[derive(Clone, Copy)]
pub struct Goal {
    /// A truth table.
    pub target: u64,
    /// The points where it counts.
    pub mask: u64,
}

/// The rows of pairs of all nodes for one target under a mask.
pub struct Pairs {
    words: usize,
    full: [u64; WORDS],
    /// Of each node.
    pub rows: [[u64; WORDS]; NODES_MAX],
}

impl Pairs {
    /// For the nodes of a state.
    pub fn new(state: &CircuitState, goal: Goal) -> Pairs {
        let Goal { target, mask } = goal;
        let (mut few, mut many) = (mask & target, mask & !target);
        if few.count_ones() > many.count_ones() {
            (few, many) = (many, few);
        }
        let (few_count, many_count) = (few.count_ones() as usize, many.count_ones() as usize);
        let ones = if many_count == 64 { !0 } else { (1 << many_count) - 1 };
        let packed = many_count <= 32;
        let shifts = few_count.min(if packed { 2 * WORDS } else { WORDS });
        let words = if packed { shifts.div_ceil(2) } else { shifts };
        let mut pairs = Pairs { words, full: [0; WORDS], rows: [[0; WORDS]; NODES_MAX] };
        let place =
            |shift: usize, row: u64| if packed { (shift / 2, row << (shift % 2 * 32)) } else { (shift, row) };
        for shift in 0..shifts {
            let (word, bits) = place(shift, ones);
            pairs.full[word] |= bits;
        }
        for node in 0..state.nodes {
            let table = state.tables[node];
            let (few_bits, many_bits) = (extract(table, few), extract(table, many));
            let mut repeated = u128::from(few_bits);
            let mut length = few_count;
            while length < 64 + few_count && length < 128 {
                repeated |= repeated << length;
                length *= 2;
            }
            for shift in 0..shifts {
                let (word, bits) = place(shift, ((repeated >> shift) as u64 ^ many_bits) & ones);
                pairs.rows[node][word] |= bits;
            }
        }
        pairs
    }

    /// A row, and what a node adds to it.
    pub fn or(&self, row: &[u64; WORDS], node: usize) -> [u64; WORDS] {
        let mut result = *row;
        for (word, other) in result.iter_mut().zip(&self.rows[node]).take(self.words) {
            *word |= other;
        }
        result
    }

    /// Whether a node tells apart what is left.
    pub fn is_full_with(&self, row: &[u64; WORDS], node: usize) -> bool {
        (0..self.words).all(|word| row[word] | self.rows[node][word] == self.full[word])
    }
}

/// The bits of a table at the ones of a mask, side by side.
fn extract(table: u64, mut mask: u64) -> u64 {
    let (mut result, mut at) = (0, 0);
    while mask != 0 {
        result |= (table >> mask.trailing_zeros() & 1) << at;
        at += 1;
        mask &= mask - 1;
    }
    result
}

/// What a function of some nodes must be: at index `i` (the bits of the nodes, the first node's on top) the
/// target is somewhere 0 (`zeros`), somewhere 1 (`ones`).
pub fn cells(tables: &[u64], goal: Goal) -> (u64, u64) {
    let Goal { target, mask } = goal;
    let mut sets = [0; 32];
    sets[0] = mask;
    let mut count = 1;
    for table in tables {
        for at in (0..count).rev() {
            let set = sets[at];
            sets[2 * at] = set & !table;
            sets[2 * at + 1] = set & table;
        }
        count *= 2;
    }
    let (mut zeros, mut ones) = (0, 0);
    for (at, set) in sets[..count].iter().enumerate() {
        zeros |= u64::from(set & !target != 0) << at;
        ones |= u64::from(set & target != 0) << at;
    }
    (zeros, ones)
}

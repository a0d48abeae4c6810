//! Makes one target with as few new gates as it can find.
//!
//! A node is a truth table of 64 bits, one for each input of the S-box. An output is made by a recursion over
//! *a target under a mask*: the nodes must agree with the target where the mask has ones, the rest is free.
//!
//! ```text
//! make(target, mask, budget):
//!     0 gates  a node that is the target or its complement
//!     1 gate   f(a, b, c)                    every set of three nodes
//!     2 gates  f(g(a, b, c), d, e)           every set of five nodes, ten ways to split each
//!     3 + ...  f(s, make(where s), make(elsewhere)), for many s in random order; the second part
//!              may be the target or its sum with the first part, and is free where f is settled
//!              by the other two; or f(a, b, make(where a and b do not settle the target))
//! ```
//!
//! 1. Complements are free: a gate takes any function of its inputs, so each node stands for both signs.
//! 2. Whether some nodes can make a target is asked of pairs: one point where the target is 0, one where it
//!    is 1. Nodes can make it if each pair is told apart by one of them. A node's pairs are a row of bits, so
//!    a set of five is five ORs, and one in ten thousand survives to be looked at.
//! 3. Where a gate is free, its bits are drawn: it is a different node for those that come later.

use crate::circuit::Gate;
use crate::pairs::{Goal, Pairs, cells};
use crate::random::Random;
use crate::state::CircuitState;

/// What is tried, and how hard.
pub struct Maker {
    /// All choices come from here.
    pub random: Random,
    /// Work left before only short ways are tried.
    pub work: i64,
    split_cells: [[u8; 32]; 10],
    split_nodes: [[usize; 5]; 10],
}

impl Maker {
    /// From a seed.
    pub fn new(seed: u64) -> Maker {
        let (split_cells, split_nodes) = split_tables();
        Maker { random: Random::new(seed), work: 0, split_cells, split_nodes }
    }

    /// A node that is the target (or its complement) under the mask, with at most `budget` gates more.
    pub fn make(
        &mut self,
        state: &mut CircuitState,
        goal: Goal,
        budget: usize,
        depth: usize,
    ) -> Option<usize> {
        let Goal { target, mask } = goal;
        let differs = |table: u64| (table ^ target) & mask;
        if mask & target == 0 || mask & !target == 0 {
            return Some(0);
        }
        let same =
            (0..state.nodes).find(|node| matches!(differs(state.tables[*node]), d if d == 0 || d == mask));
        if same.is_some() || budget == 0 {
            return same;
        }
        self.work -= 100;
        let pairs = Pairs::new(state, goal);
        let mut order: Vec<usize> = (0..state.nodes).collect();
        self.random.shuffle(&mut order);
        if let Some(inputs) = self.one_gate(&pairs, state, &order, goal) {
            return self.gate(state, inputs, goal);
        }
        if budget == 1 {
            return None;
        }
        if let Some((inner, outer)) = self.two_gates(&pairs, state, &order, goal) {
            let node = state.push(inner)?;
            return self.gate(state, [node, outer[0], outer[1]], goal);
        }
        if budget == 2 || self.work < 0 {
            return None;
        }
        let (found, node) = self.split(state, &order, goal, budget, depth)?;
        *state = found;
        Some(node)
    }

    /// Adds the gate that makes the target of these inputs, which can.
    fn gate(&mut self, state: &mut CircuitState, inputs: [usize; 3], goal: Goal) -> Option<usize> {
        let (zeros, ones) = cells(&inputs.map(|input| state.tables[input]), goal);
        debug_assert_eq!(zeros & ones, 0);
        let free = !(zeros | ones) & self.random.next();
        state.push(Gate { function: (ones | free) as u8, inputs })
    }

    fn one_gate(
        &mut self,
        pairs: &Pairs,
        state: &CircuitState,
        order: &[usize],
        goal: Goal,
    ) -> Option<[usize; 3]> {
        for (at, &a) in order.iter().enumerate() {
            for (next, &b) in order.iter().enumerate().skip(at + 1) {
                let row = pairs.or(&pairs.rows[a], b);
                for &c in &order[next + 1..] {
                    if pairs.is_full_with(&row, c) {
                        let (zeros, ones) = cells(&[a, b, c].map(|node| state.tables[node]), goal);
                        if zeros & ones == 0 {
                            return Some([a, b, c]);
                        }
                    }
                }
            }
        }
        self.work -= (order.len() * order.len() * order.len() / 60) as i64;
        None
    }

    /// The inner gate, and the other two inputs of the outer.
    fn two_gates(
        &mut self,
        pairs: &Pairs,
        state: &CircuitState,
        order: &[usize],
        goal: Goal,
    ) -> Option<(Gate, [usize; 2])> {
        let count = order.len();
        for a in 0..count {
            for b in a + 1..count {
                let ab = pairs.or(&pairs.rows[order[a]], order[b]);
                for c in b + 1..count {
                    let abc = pairs.or(&ab, order[c]);
                    for d in c + 1..count {
                        let abcd = pairs.or(&abc, order[d]);
                        for e in d + 1..count {
                            if pairs.is_full_with(&abcd, order[e]) {
                                let nodes = [a, b, c, d, e].map(|at| order[at]);
                                if let Some(found) = self.inner_gate(state, nodes, goal) {
                                    return Some(found);
                                }
                            }
                        }
                    }
                }
            }
        }
        self.work -= (count * count * count * count / 120 * count / 40) as i64;
        None
    }

    fn inner_gate(
        &mut self,
        state: &CircuitState,
        nodes: [usize; 5],
        goal: Goal,
    ) -> Option<(Gate, [usize; 2])> {
        let (zeros, ones) = cells(&nodes.map(|node| state.tables[node]), goal);
        if zeros & ones != 0 {
            return None;
        }
        let start = self.random.below(10);
        for split in (0..10).map(|split| (split + start) % 10) {
            let (mut inner_zeros, mut inner_ones) = ([0u8; 4], [0u8; 4]);
            for (at, cell) in self.split_cells[split].iter().enumerate() {
                inner_zeros[at / 8] |= ((zeros >> cell & 1) as u8) << (at % 8);
                inner_ones[at / 8] |= ((ones >> cell & 1) as u8) << (at % 8);
            }
            // In each of the four cells of the outer two, the inner gate parts the zeros from the ones, or
            // is not needed; which is which is free, but once.
            for signs in 0..8u8 {
                let (mut off, mut on) = (0, 0);
                for cell in 0..4 {
                    let (zeros, ones) = (inner_zeros[cell], inner_ones[cell]);
                    if zeros == 0 || ones == 0 {
                        continue;
                    }
                    let turned = cell > 0 && signs >> (cell - 1) & 1 == 1;
                    off |= if turned { ones } else { zeros };
                    on |= if turned { zeros } else { ones };
                }
                if off & on == 0 {
                    let names = self.split_nodes[split].map(|at| nodes[at]);
                    let free = !(off | on) & self.random.next() as u8;
                    let gate = Gate { function: on | free, inputs: [names[2], names[3], names[4]] };
                    return Some((gate, [names[0], names[1]]));
                }
            }
        }
        None
    }

    /// Three gates or more: the last one chooses.
    fn split(
        &mut self,
        state: &CircuitState,
        order: &[usize],
        goal: Goal,
        mut budget: usize,
        depth: usize,
    ) -> Option<(CircuitState, usize)> {
        let mask = goal.mask;
        let tries = match depth {
            0 => order.len(),
            1 => 8,
            2 => 4,
            _ => 2,
        };
        let mut best = None;
        let mut chosen: Vec<usize> = order.to_vec();
        self.random.shuffle(&mut chosen);
        let mut tried = 0;
        for selector in chosen {
            let table = state.tables[selector];
            if mask & table == 0 || mask & !table == 0 {
                continue;
            }
            tried += 1;
            if tried > tries || budget < 3 || self.work < 0 {
                break;
            }
            let first = if self.random.below(2) == 0 { table } else { !table };
            let mut half = *state;
            let Some(made) = self.make(&mut half, Goal { mask: mask & first, ..goal }, budget - 1, depth + 1)
            else {
                continue;
            };
            let left = budget - 1 - (half.nodes - state.nodes);
            let sum = self.random.below(2) == 0;
            for sum in [sum, !sum] {
                if let Some(found) = self.rest(&half, [selector, made], goal, sum, left, depth) {
                    budget = found.0.nodes - state.nodes - 1;
                    best = Some(found);
                    break;
                }
            }
        }
        // A pair of nodes that settles a part of the mask.
        let tries = if depth == 0 { 12 } else { 3 };
        for _ in 0..tries {
            if budget < 3 || self.work < 0 {
                break;
            }
            let (a, b) = (order[self.random.below(order.len())], order[self.random.below(order.len())]);
            let left = unsettled(state, [a, b], goal);
            if left.count_ones() * 4 > mask.count_ones() * 3 {
                continue;
            }
            let sum = self.random.below(3) == 0;
            if let Some(found) = self.rest(state, [a, b], goal, sum, budget - 1, depth) {
                budget = found.0.nodes - state.nodes - 1;
                best = Some(found);
            }
        }
        best
    }

    /// The gate of two nodes and one to be made.
    fn rest(
        &mut self,
        state: &CircuitState,
        pair: [usize; 2],
        goal: Goal,
        sum: bool,
        budget: usize,
        depth: usize,
    ) -> Option<(CircuitState, usize)> {
        let mut state = *state;
        let left = unsettled(&state, pair, goal);
        let wanted = if sum { goal.target ^ state.tables[pair[1]] } else { goal.target };
        let made = self.make(&mut state, Goal { target: wanted, mask: left }, budget, depth + 1)?;
        let node = self.gate(&mut state, [pair[0], pair[1], made], goal)?;
        Some((state, node))
    }
}

/// Where two nodes do not say what the target is.
fn unsettled(state: &CircuitState, pair: [usize; 2], goal: Goal) -> u64 {
    let Goal { target, mask } = goal;
    let (a, b) = (state.tables[pair[0]], state.tables[pair[1]]);
    [a & b, a & !b, !a & b, !a & !b]
        .map(|cell| cell & mask)
        .into_iter()
        .filter(|cell| cell & target != 0 && cell & !target != 0)
        .fold(0, |all, cell| all | cell)
}

/// For each way to take two of five nodes out: which cell of the five each cell of (two, three) is, and the
/// nodes in that order.
fn split_tables() -> ([[u8; 32]; 10], [[usize; 5]; 10]) {
    let (mut cells, mut nodes) = ([[0; 32]; 10], [[0; 5]; 10]);
    let mut split = 0;
    for first in 0..5 {
        for second in first + 1..5 {
            let others: Vec<usize> = (0..5).filter(|at| *at != first && *at != second).collect();
            nodes[split] = [first, second, others[0], others[1], others[2]];
            for (cell, source) in cells[split].iter_mut().enumerate() {
                *source = (0..5).map(|at| ((cell >> (4 - at) & 1) << (4 - nodes[split][at])) as u8).sum();
            }
            split += 1;
        }
    }
    (cells, nodes)
}

//! The search for the circuit of an S-box: four outputs that share gates.
//!
//! 1. Outputs are made in all orders, each by [`Maker::make`]: for each set of outputs made so far the best few
//!    circuits are kept, and the search goes on from one drawn among them. From each circuit found, outputs
//!    are taken out again with the gates that only they used: this gives starting points that were made for
//!    other outputs.
//! 2. The bit of the left half is one more input of an output. If the output is a function of *two* nodes,
//!    its gate has room for that input; so an output is also tried as the sum of a node and something new.
//! 3. Among circuits of the same cost the shallowest is taken: a pass alone waits for its last gates.
//!
//! Everything is drawn from one generator, and steps are counted, not timed: a seed gives the same circuits.
//!
//! What was left out: three gates of seven nodes, f(g(a, b, c), h(d, e, f), i), looked for as such. It costs
//! more time than all the rest, and most of what it finds is found by choosing.

use crate::circuit::{Circuit, dependent_output};
use crate::maker::Maker;
use crate::pairs::Goal;
use crate::state::CircuitState;

/// Circuits kept for a set of outputs.
const KEPT: usize = 40;
/// A kept circuit costs at most so much more than the best of its set.
const SLACK: usize = 1;
/// Work of a step, in sets of three nodes looked at or so.
const WORK: i64 = 3_000_000;

/// The circuits of one S-box found so far.
pub struct Search {
    maker: Maker,
    targets: [u64; 4],
    /// By the set of outputs made.
    kept: [Vec<CircuitState>; 16],
}

impl Search {
    /// For an S-box, as the truth tables of its outputs, from a seed.
    pub fn new(targets: [u64; 4], seed: u64) -> Search {
        let mut kept: [Vec<CircuitState>; 16] = Default::default();
        kept[0].push(CircuitState::new());
        Search { maker: Maker::new(seed), targets, kept }
    }

    /// The best so far.
    pub fn best(&self) -> Option<Circuit> {
        self.kept[15].iter().min_by_key(|state| (state.cost(), state.depth())).and_then(CircuitState::circuit)
    }

    /// Takes a circuit of an earlier run in as a starting point.
    pub fn resume(&mut self, circuit: &Circuit) {
        let mut state = CircuitState::new();
        for gate in &circuit.gates {
            state.push(*gate);
        }
        state.outputs = circuit.outputs.map(Some);
        self.keep(state);
    }

    /// One step: one more output for a kept circuit.
    pub fn step(&mut self) {
        let set = loop {
            let set = self.maker.random.below(15);
            if !self.kept[set].is_empty() {
                break set;
            }
        };
        let state = self.kept[set][self.maker.random.below(self.kept[set].len())];
        let missing: Vec<usize> = (0..4).filter(|output| set >> output & 1 == 0).collect();
        let output = missing[self.maker.random.below(missing.len())];
        let limit = self.kept[set | 1 << output].iter().map(CircuitState::cost).min().unwrap_or(usize::MAX);
        let most = limit.saturating_add(SLACK).min(state.cost() + 16);
        let Some(budget) = most.checked_sub(state.cost() + 1) else { return };
        self.maker.work = WORK;
        if let Some(state) = self.output(&state, output, budget) {
            self.keep(state);
        }
    }

    fn keep(&mut self, state: CircuitState) {
        let kept = &mut self.kept[state.set()];
        let best = kept.iter().map(CircuitState::cost).min().unwrap_or(usize::MAX).min(state.cost());
        if state.cost() > best + SLACK {
            return;
        }
        kept.retain(|other| other.cost() <= best + SLACK);
        let same = |other: &CircuitState| {
            let (mut ours, mut theirs) = (state.tables, other.tables);
            ours.sort_unstable();
            theirs.sort_unstable();
            ours == theirs
        };
        if kept.iter().any(same) {
            return;
        }
        if kept.len() < KEPT {
            kept.push(state);
        } else {
            // A dearer one leaves first; else the deepest of those done, or any of those that are not.
            let dear = kept.iter().position(|other| other.cost() > best);
            let at = match dear {
                Some(dear) => dear,
                None if state.cost() > best => return,
                None if state.made() == 4 => (0..KEPT).max_by_key(|at| kept[*at].depth()).unwrap_or(0),
                None => self.maker.random.below(KEPT),
            };
            if state.made() < 4 || dear.is_some() || state.depth() <= kept[at].depth() {
                kept[at] = state;
            }
        }
        if state.made() > 1 {
            for output in 0..4 {
                if state.outputs[output].is_some() {
                    self.keep(state.without(output));
                }
            }
        }
    }

    /// The state with one more output for at most `budget` gates, not counting the output's own operation.
    fn output(&mut self, state: &CircuitState, output: usize, mut budget: usize) -> Option<CircuitState> {
        let target = self.targets[output];
        // The sum with nothing, then with each node.
        let mut partners: Vec<Option<usize>> = (0..state.nodes).map(Some).collect();
        self.maker.random.shuffle(&mut partners);
        partners.insert(0, None);
        for level in 0..3.min(budget + 1) {
            for partner in &partners {
                if let Some(found) = self.with_partner(state, output, target, *partner, level) {
                    return Some(found);
                }
            }
        }
        if budget < 3 {
            return None;
        }
        let mut best = None;
        let tries = if self.maker.random.below(2) == 0 { 1 } else { 4 };
        if self.maker.random.below(2) == 0 {
            partners.remove(0);
        }
        for partner in &partners[..tries.min(partners.len())] {
            if let Some(found) = self.with_partner(state, output, target, *partner, budget) {
                budget = found.nodes - state.nodes;
                best = Some(found);
                if budget == 3 {
                    break;
                }
                budget -= 1;
            }
        }
        best
    }

    fn with_partner(
        &mut self,
        state: &CircuitState,
        output: usize,
        target: u64,
        partner: Option<usize>,
        budget: usize,
    ) -> Option<CircuitState> {
        let mut found = *state;
        let wanted = target ^ partner.map_or(0, |partner| state.tables[partner]);
        let node = self.maker.make(&mut found, Goal { target: wanted, mask: !0 }, budget, 0)?;
        found.outputs[output] = Some(dependent_output(&found.tables, target, node, partner));
        Some(found)
    }
}

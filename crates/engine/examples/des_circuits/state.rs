//! A circuit while it grows.

use crate::circuit::{Circuit, GATES_MAX, Gate, INPUTS, Output};

/// Nodes of a circuit under construction.
pub const NODES_MAX: usize = INPUTS + GATES_MAX;

/// A circuit under construction: nodes are the inputs, then the gates.
#[derive(Clone, Copy)]
pub struct CircuitState {
    /// How many there are.
    pub nodes: usize,
    /// The truth tables of the nodes.
    pub tables: [u64; NODES_MAX],
    /// The gates, at the places of their nodes.
    pub gates: [Gate; NODES_MAX],
    /// Those made so far.
    pub outputs: [Option<Output>; 4],
}

impl CircuitState {
    /// The inputs alone.
    pub fn new() -> CircuitState {
        let none = Gate { function: 0, inputs: [0; 3] };
        let mut state = CircuitState {
            nodes: INPUTS,
            tables: [0; NODES_MAX],
            gates: [none; NODES_MAX],
            outputs: [None; 4],
        };
        for point in 0..64 {
            for input in 0..INPUTS {
                // Input 0 is the first bit of the S-box: the top bit of its index.
                state.tables[input] |= (point >> (5 - input) & 1) << point;
            }
        }
        state
    }

    /// How many outputs there are.
    pub fn made(&self) -> usize {
        self.outputs.iter().flatten().count()
    }

    /// The outputs there are, a bit each.
    pub fn set(&self) -> usize {
        (0..4).filter(|output| self.outputs[*output].is_some()).map(|output| 1 << output).sum()
    }

    /// Operations: a gate each, and one for each output, which takes the left half in.
    pub fn cost(&self) -> usize {
        self.nodes - INPUTS + self.made()
    }

    /// Gates in a row before the last output.
    pub fn depth(&self) -> usize {
        self.circuit().map_or(0, |circuit| circuit.depth())
    }

    /// Adds a gate, where there is room.
    pub fn push(&mut self, gate: Gate) -> Option<usize> {
        if self.nodes == NODES_MAX {
            return None;
        }
        self.gates[self.nodes] = gate;
        self.tables[self.nodes] = gate.table(&self.tables);
        self.nodes += 1;
        Some(self.nodes - 1)
    }

    /// Without one output and all that only it used.
    pub fn without(&self, output: usize) -> CircuitState {
        let mut result = CircuitState::new();
        let mut used = [false; NODES_MAX];
        for (at, other) in self.outputs.iter().enumerate() {
            if let (true, Some(other)) = (at != output, other) {
                other.nodes().for_each(|node| used[node] = true);
            }
        }
        for node in (INPUTS..self.nodes).rev() {
            if used[node] {
                self.gates[node].inputs.iter().for_each(|input| used[*input] = true);
            }
        }
        let mut renamed: [usize; NODES_MAX] = std::array::from_fn(|node| node);
        for node in INPUTS..self.nodes {
            if used[node] {
                let gate = self.gates[node].renamed(&renamed);
                // As many nodes at most as there were.
                renamed[node] = result.push(gate).unwrap_or(0);
            }
        }
        for (at, other) in self.outputs.iter().enumerate() {
            if at != output {
                result.outputs[at] = other.map(|other| other.renamed(&renamed));
            }
        }
        result
    }

    /// All of it, when it has all outputs.
    pub fn circuit(&self) -> Option<Circuit> {
        let [Some(a), Some(b), Some(c), Some(d)] = self.outputs else { return None };
        Some(Circuit { gates: self.gates[INPUTS..self.nodes].to_vec(), outputs: [a, b, c, d] })
    }
}

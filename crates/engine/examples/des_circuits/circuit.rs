//! A circuit, how it is checked, written and read.

/// Inputs of an S-box.
pub const INPUTS: usize = 6;
/// Gates that a circuit may have.
pub const GATES_MAX: usize = 42;

/// A gate: bit `4a + 2b + c` of the function is its value where the inputs are `a`, `b`, `c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The truth table.
    pub function: u8,
    /// Nodes: inputs of the S-box from 0 on, then gates.
    pub inputs: [usize; 3],
}

impl Gate {
    /// The truth table over the points of the S-box.
    pub fn table(&self, tables: &[u64]) -> u64 {
        lut3(self.function, self.inputs.map(|input| tables[input]))
    }

    /// Inputs that do not matter repeat one that does.
    fn tidy(&mut self) {
        let matters = |at: usize| turned(self.function, at) != self.function;
        if let Some(kept) = (0..3).rev().find(|at| matters(*at)) {
            let inputs = self.inputs;
            for at in 0..3 {
                if !matters(at) {
                    self.inputs[at] = inputs[kept];
                }
            }
        }
    }

    /// With other names of nodes.
    pub fn renamed(&self, names: &[usize]) -> Gate {
        Gate { function: self.function, inputs: self.inputs.map(|input| names[input]) }
    }
}

/// The last operation of an output, which takes the bit of the left half in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The bit plus a node (or its complement).
    Sum(usize, bool),
    /// The bit plus a function of two nodes: the gate's third input is the bit.
    Absorbed(u8, [usize; 2]),
}

impl Output {
    /// The nodes that it reads.
    pub fn nodes(&self) -> impl Iterator<Item = usize> + use<> {
        let nodes = match *self {
            Output::Sum(node, _) => [node, node],
            Output::Absorbed(_, nodes) => nodes,
        };
        nodes.into_iter()
    }

    /// With other names of nodes.
    pub fn renamed(&self, names: &[usize]) -> Output {
        match *self {
            Output::Sum(node, turned) => Output::Sum(names[node], turned),
            Output::Absorbed(function, nodes) => Output::Absorbed(function, nodes.map(|node| names[node])),
        }
    }

    fn table(&self, tables: &[u64]) -> u64 {
        match *self {
            Output::Sum(node, turned) => tables[node] ^ if turned { !0 } else { 0 },
            Output::Absorbed(function, [a, b]) => lut3(function, [tables[a], tables[b], 0]),
        }
    }
}

/// The output of a node that is the target, or its sum with a partner; up to complement.
pub fn dependent_output(tables: &[u64], target: u64, node: usize, partner: Option<usize>) -> Output {
    let Some(partner) = partner else { return Output::Sum(node, tables[node] != target) };
    let turned = tables[node] ^ tables[partner] != target;
    Output::Absorbed(if turned { 0x69 } else { 0x96 }, [node, partner])
}

fn lut3(function: u8, [a, b, c]: [u64; 3]) -> u64 {
    let pick = |value: u64, bit: usize| if bit == 1 { value } else { !value };
    (0..8)
        .filter(|cell| function >> cell & 1 == 1)
        .map(|cell| pick(a, cell >> 2) & pick(b, cell >> 1 & 1) & pick(c, cell & 1))
        .fold(0, |all, cell| all | cell)
}

/// An S-box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circuit {
    /// In an order in which each reads only earlier nodes.
    pub gates: Vec<Gate>,
    /// First output first.
    pub outputs: [Output; 4],
}

impl Circuit {
    /// Operations, the one of each output counted.
    pub fn cost(&self) -> usize {
        self.gates.len() + 4
    }

    /// Gates in a row before the last output, its own operation not counted.
    pub fn depth(&self) -> usize {
        let mut depths = vec![0; INPUTS];
        for gate in &self.gates {
            depths.push(1 + gate.inputs.map(|input| depths[input]).into_iter().max().unwrap_or(0));
        }
        self.outputs.iter().flat_map(Output::nodes).map(|node| depths[node]).max().unwrap_or(0)
    }

    /// The truth tables of the outputs.
    pub fn outputs(&self) -> [u64; 4] {
        let tables = self.tables();
        self.outputs.map(|output| output.table(&tables))
    }

    /// The truth tables of all nodes.
    pub fn tables(&self) -> Vec<u64> {
        let mut tables: Vec<u64> = (0..INPUTS)
            .map(|input| (0..64u64).map(|point| (point >> (5 - input) & 1) << point).sum())
            .collect();
        for gate in &self.gates {
            tables.push(gate.table(&tables));
        }
        tables
    }

    /// The same circuit written in one way: outputs that are complements turn the sign of their node, and
    /// an input that does not matter repeats one that does.
    pub fn tidy(mut self) -> Circuit {
        for at in 0..4 {
            if let Output::Sum(node, true) = self.outputs[at] {
                self.turn(node);
            }
        }
        for gate in &mut self.gates {
            gate.tidy();
        }
        self
    }

    /// Turns the sign of a gate, for all that read it.
    fn turn(&mut self, node: usize) {
        self.gates[node - INPUTS].function ^= 0xff;
        for gate in &mut self.gates {
            for at in 0..3 {
                if gate.inputs[at] == node {
                    gate.function = turned(gate.function, at);
                }
            }
        }
        for output in &mut self.outputs {
            match output {
                Output::Sum(other, is_turned) if *other == node => *is_turned ^= true,
                Output::Sum(..) => {}
                Output::Absorbed(function, nodes) => {
                    for (at, other) in nodes.iter().enumerate() {
                        if *other == node {
                            *function = turned(*function, at);
                        }
                    }
                }
            }
        }
    }
}

/// The function with one input complemented.
fn turned(function: u8, input: usize) -> u8 {
    match input {
        0 => function.rotate_left(4),
        1 => function >> 2 & 0x33 | function << 2 & 0xcc,
        _ => function >> 1 & 0x55 | function << 1 & 0xaa,
    }
}

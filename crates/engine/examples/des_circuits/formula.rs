//! Functions of three inputs as operations of two, for words without gates of three.

/// An operation of two inputs that is 0 where both are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Both.
    And,
    /// Either.
    Or,
    /// One of them.
    Xor,
    /// The first without the second.
    AndNot,
}

const ALL: [Operation; 4] = [Operation::And, Operation::Or, Operation::Xor, Operation::AndNot];

impl Operation {
    fn of(self, a: u8, b: u8) -> u8 {
        match self {
            Operation::And => a & b,
            Operation::Or => a | b,
            Operation::Xor => a ^ b,
            Operation::AndNot => a & !b,
        }
    }

    /// The name of the function in the kernels.
    pub fn name(self) -> &'static str {
        match self {
            Operation::And => "and",
            Operation::Or => "or",
            Operation::Xor => "xor",
            Operation::AndNot => "and_not",
        }
    }
}

/// Values 0, 1 and 2 are the inputs; each step adds one: an operation of two earlier values.
pub type Formula = Vec<(Operation, usize, usize)>;

/// A shortest formula for each function that is 0 where all inputs are 0. No others can be made without
/// a constant.
pub struct Formulas(Vec<Option<Formula>>);

/// More operations than any function of three inputs needs.
const STEPS_MAX: usize = 5;

impl Formulas {
    /// By looking at all sequences, short ones first.
    pub fn new() -> Formulas {
        let mut found = vec![None; 256];
        for (at, input) in [0xf0, 0xcc, 0xaa].into_iter().enumerate() {
            // A gate is never just an input, but a formula of no steps ends the recursion.
            found[input] = Some((Vec::new(), at));
        }
        found[0] = Some((vec![(Operation::Xor, 0, 0)], 3));
        for steps in 1..=STEPS_MAX {
            extend(&mut vec![0xf0, 0xcc, 0xaa], &mut Vec::new(), steps, &mut found);
            if (0..256).step_by(2).all(|function| found[function].is_some()) {
                break;
            }
        }
        Formulas(found.into_iter().map(|formula| formula.map(|(steps, _)| steps)).collect())
    }

    /// The shortest formula of a function that is right where `care` has ones.
    pub fn shortest(&self, function: u8, care: u8) -> &Formula {
        (0..=255u8)
            .filter(|other| (other ^ function) & care == 0)
            .filter_map(|other| self.0[usize::from(other)].as_ref())
            .filter(|formula| !formula.is_empty())
            .min_by_key(|formula| formula.len())
            .expect("every function that is 0 at 0 has one")
    }
}

fn extend(values: &mut Vec<u8>, steps: &mut Formula, left: usize, found: &mut [Option<(Formula, usize)>]) {
    if left == 0 {
        let last = usize::from(values[values.len() - 1]);
        if found[last].is_none() {
            found[last] = Some((steps.clone(), values.len() - 1));
        }
        return;
    }
    for a in 0..values.len() {
        for b in 0..values.len() {
            for operation in ALL {
                if a == b || (a > b && operation != Operation::AndNot) {
                    continue;
                }
                let value = operation.of(values[a], values[b]);
                if value == 0 || values.contains(&value) {
                    continue;
                }
                values.push(value);
                steps.push((operation, a, b));
                extend(values, steps, left - 1, found);
                values.pop();
                steps.pop();
            }
        }
    }
}

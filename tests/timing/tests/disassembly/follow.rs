//! Follows what came out of vectors and masks through general registers and the stack.

use super::listing::{Function, Instruction};
use std::collections::BTreeSet;

/// What in the function depends on the content of a vector or a mask, or might.
pub fn breaches(function: &Function<'_>) -> Vec<String> {
    let mut follower = Follower::default();
    function
        .code
        .iter()
        .filter_map(|instruction| {
            let breach = follower.step(instruction)?;
            let operands = instruction.operands.join(", ");
            Some(format!("{}: {} {operands}: {breach}", instruction.address, instruction.mnemonic))
        })
        .collect()
}

#[derive(Default)]
struct Follower {
    /// General registers, and places on the stack, that hold what came out of a vector or a mask.
    held: BTreeSet<String>,
    /// General registers that hold a constant of the program, such as the address of a function.
    constant: BTreeSet<String>,
    /// Vectors that hold what stood in memory, unchanged, or zeros: compilers copy pairs of pointers and
    /// lengths so, and clear what they will hold.
    copies: BTreeSet<u8>,
    /// Whether the flags come from such a register, or from a vector or a mask.
    flags: bool,
}

impl Follower {
    fn step(&mut self, instruction: &Instruction<'_>) -> Option<&'static str> {
        let Instruction { mnemonic, operands, .. } = instruction;
        if mnemonic.contains("gather") || mnemonic.contains("scatter") {
            return Some("addresses out of a vector");
        }
        if mnemonic.starts_with("jmp") || mnemonic.starts_with("call") {
            let is_steered = operands
                .first()
                .and_then(|target| target.strip_prefix('*'))
                .is_some_and(|target| !self.is_constant(target));
            self.forget_results();
            return is_steered.then_some("a jump through a register");
        }
        if operands.iter().any(|operand| self.addresses_by_held(operand)) && !mnemonic.starts_with("lea") {
            return Some("an address out of a vector");
        }
        let is_conditional =
            (mnemonic.starts_with('j') && !mnemonic.starts_with("jmp")) || mnemonic.starts_with("loop");
        if is_conditional {
            return self.flags.then_some("a branch on a vector or a mask");
        }
        self.carry(instruction);
        None
    }

    /// Takes over what the instruction does to registers, stack and flags.
    fn carry(&mut self, instruction: &Instruction<'_>) {
        let Instruction { mnemonic, operands, .. } = instruction;
        let Some((destination, sources)) = operands.split_last() else { return };
        if ["kortest", "ktest", "vptest", "vtestp", "vcomis", "vucomis"]
            .iter()
            .any(|start| mnemonic.starts_with(start))
        {
            self.flags = true;
            return;
        }
        let writes_anew = ["mov", "lea", "kmov", "v"].iter().any(|start| mnemonic.starts_with(start));
        let reads_destination = !writes_anew && operands.len() < 3;
        let zeroed = matches!(*mnemonic, "xor" | "sub") && sources == [*destination];
        let reads_flags = ["cmov", "set", "sbb", "adc"].iter().any(|start| mnemonic.starts_with(start));
        let reads_destination = reads_destination || mnemonic.starts_with("cmov") || operands.len() == 1;
        let held = !zeroed
            && (sources.iter().any(|source| is_vector(source) || self.is_held(source))
                || (reads_destination && self.is_held(destination))
                || (reads_flags && self.flags));
        let only_flags = ["cmp", "test", "bt"].contains(&mnemonic.trim_end_matches(['b', 'w', 'l', 'q']));
        if only_flags {
            self.flags = held || self.is_held(destination);
            return;
        }
        if let Some(number) = vector_number(destination) {
            let is_copy = mnemonic.starts_with("vmov") && sources.len() == 1 && sources[0].ends_with(')');
            let is_zero = (mnemonic.starts_with("vpxor") || mnemonic.starts_with("vxorp"))
                && sources.iter().all(|source| vector_number(source) == vector_number(sources[0]));
            if is_copy || is_zero {
                self.copies.insert(number);
            } else {
                self.copies.remove(&number);
            }
            return;
        }
        if let Some(places) = self.places_of_spill(mnemonic, sources, destination) {
            self.held.extend(places);
            return;
        }
        if let Some(place) = place(destination) {
            let constant =
                mnemonic.starts_with("mov") && sources.iter().all(|source| self.is_constant(source));
            if constant {
                self.constant.insert(place.clone());
            } else {
                self.constant.remove(&place);
            }
            if held {
                self.held.insert(place);
            } else {
                self.held.remove(&place);
            }
            if !KEEP_FLAGS.iter().any(|start| mnemonic.starts_with(start)) {
                self.flags = held;
            }
        }
    }

    /// What a function returns is not followed; these registers are its own to change.
    fn forget_results(&mut self) {
        for register in ["rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"] {
            self.held.remove(register);
            self.constant.remove(register);
        }
    }

    /// The places on the stack, a word each, that a computed vector is stored to.
    fn places_of_spill(&self, mnemonic: &str, sources: &[&str], destination: &str) -> Option<Vec<String>> {
        let [source] = sources else { return None };
        let number = vector_number(source)?;
        if !mnemonic.starts_with("vmov") {
            return None;
        }
        let (offset, base) = destination.split_once('(')?;
        let magnitude = offset.trim_start_matches('-').trim_start_matches("0x");
        let magnitude = i64::from_str_radix(magnitude, 16).unwrap_or(0);
        let at = if offset.starts_with('-') { -magnitude } else { magnitude };
        let words = match source.as_bytes().get(1) {
            _ if self.copies.contains(&number) => 0,
            Some(b'z') => 8,
            Some(b'y') => 4,
            _ => 2,
        };
        Some((0..words).filter_map(|word| place(&format!("{}({base}", hexadecimal(at + 8 * word)))).collect())
    }

    fn is_constant(&self, operand: &str) -> bool {
        let in_program = operand.ends_with("(%rip)") || operand.starts_with('$');
        in_program || place(operand).is_some_and(|place| self.constant.contains(&place))
    }

    fn is_held(&self, operand: &str) -> bool {
        place(operand).is_some_and(|place| self.held.contains(&place))
    }

    fn addresses_by_held(&self, operand: &str) -> bool {
        let Some((_, inside)) = operand.split_once('(') else { return false };
        inside
            .trim_end_matches(|letter| letter != ')')
            .trim_end_matches(')')
            .split(',')
            .filter(|part| part.starts_with('%'))
            .any(|register| self.is_held(register))
    }
}

fn hexadecimal(offset: i64) -> String {
    match offset {
        0 => String::new(),
        ..0 => format!("-{:#x}", -offset),
        _ => format!("{offset:#x}"),
    }
}

/// Which vector register an operand is, of any width.
fn vector_number(operand: &str) -> Option<u8> {
    let name = operand.split('{').next()?.strip_prefix('%')?;
    ["xmm", "ymm", "zmm"].iter().find_map(|start| name.strip_prefix(start))?.parse().ok()
}

fn is_vector(operand: &str) -> bool {
    let name = operand.strip_prefix('%').unwrap_or_default();
    ["xmm", "ymm", "zmm"].iter().any(|start| name.starts_with(start))
        || (name.starts_with('k') && name[1..].starts_with(|digit: char| digit.is_ascii_digit()))
}

/// The whole register that an operand names a part of, or the place on the stack; None for other memory,
/// constants, vectors and masks.
fn place(operand: &str) -> Option<String> {
    if let Some((offset, inside)) = operand.split_once('(') {
        return (inside == "%rsp)" || inside == "%rbp)").then(|| format!("{offset}({inside}"));
    }
    let name = operand.strip_prefix('%')?;
    if is_vector(operand) {
        return None;
    }
    let core = match name.strip_prefix('r') {
        Some(number) if number.starts_with(|digit: char| digit.is_ascii_digit()) => {
            return Some(format!("r{}", number.trim_end_matches(['b', 'w', 'd'])));
        }
        Some(rest) => rest,
        None => name.strip_prefix('e').unwrap_or(name),
    };
    let core = match core {
        "al" | "ah" => "ax",
        "bl" | "bh" => "bx",
        "cl" | "ch" => "cx",
        "dl" | "dh" => "dx",
        "sil" => "si",
        "dil" => "di",
        "bpl" => "bp",
        "spl" => "sp",
        other => other,
    };
    Some(format!("r{core}"))
}

/// Beginnings of the names of instructions that leave the flags as they are.
const KEEP_FLAGS: &[&str] = &[
    "mov", "lea", "k", "v", "not", "push", "pop", "cmov", "set", "bswap", "sarx", "shlx", "shrx", "rorx",
    "mulx", "pdep", "pext",
];

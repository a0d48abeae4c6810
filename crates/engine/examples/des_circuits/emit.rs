//! Circuits as source text of the kernels, and back.

use crate::circuit::{Circuit, Gate, INPUTS, Output};
use crate::formula::Formulas;
use std::fmt::Write;

/// The file of circuits of gates of three inputs.
pub fn ternary(circuits: &[Circuit; 8]) -> String {
    let operations: usize = circuits.iter().map(Circuit::cost).sum();
    let mut text = format!(
        "//! The S-boxes (FIPS 46-3, Appendix 1) as circuits of gates of three inputs: {operations} operations in all,\n\
         //! the sums with the left half among them. Written by `examples/des_circuits`, which says how they were\n\
         //! found; not to be edited.\n\n\
         use super::bit_sliced_words::Ternary;\n"
    );
    for (index, circuit) in circuits.iter().enumerate() {
        let _ = write!(text, "\n/// S{}: {} operations.\n", index + 1, circuit.cost());
        let _ = writeln!(text, "#[inline(always)]");
        let _ = writeln!(text, "fn s{}<W: Ternary>(inputs: [W; 6], left: [W; 4]) -> [W; 4] {{", index + 1);
        let _ = writeln!(text, "    let [n0, n1, n2, n3, n4, n5] = inputs;");
        let _ = writeln!(text, "    let [l0, l1, l2, l3] = left;");
        for (at, Gate { function, inputs: [a, b, c] }) in circuit.gates.iter().enumerate() {
            let _ =
                writeln!(text, "    let n{} = W::lut3::<0x{function:02x}>(n{a}, n{b}, n{c});", at + INPUTS);
        }
        for (at, output) in circuit.outputs.iter().enumerate() {
            let _ = match output {
                Output::Sum(node, _) => writeln!(text, "    let o{at} = l{at}.xor(n{node});"),
                Output::Absorbed(function, [a, b]) => {
                    writeln!(text, "    let o{at} = W::lut3::<0x{function:02x}>(n{a}, n{b}, l{at});")
                }
            };
        }
        let _ = writeln!(text, "    [o0, o1, o2, o3]\n}}");
    }
    text + &choice("Ternary")
}

/// The function that names an S-box by its number.
fn choice(words: &str) -> String {
    let mut text = format!(
        "\n/// An S-box, counted from 0, added to bits of the left half.\n\
         #[inline(always)]\n\
         pub(super) fn s_box<W: {words}, const BOX: usize>(inputs: [W; 6], left: [W; 4]) -> [W; 4] {{\n    \
         match BOX {{\n"
    );
    for index in 0..8 {
        let arm = if index == 7 { "_".to_owned() } else { index.to_string() };
        let _ = writeln!(text, "        {arm} => s{}(inputs, left),", index + 1);
    }
    text + "    }\n}\n"
}

/// The circuits of a file that [`ternary`] wrote.
pub fn parse(text: &str) -> Option<Vec<Circuit>> {
    let mut circuits = Vec::new();
    let (mut gates, mut outputs) = (Vec::new(), Vec::new());
    for line in text.lines().map(str::trim) {
        let Some((name, value)) = line.strip_prefix("let ").and_then(|line| line.split_once(" = ")) else {
            if line == "}" && !gates.is_empty() {
                let outputs = std::mem::take(&mut outputs).try_into().ok()?;
                circuits.push(Circuit { gates: std::mem::take(&mut gates), outputs });
            }
            continue;
        };
        let node = |name: &str| name.trim().strip_prefix('n').and_then(|number| number.parse().ok());
        if let Some(call) = value.strip_prefix("W::lut3::<0x") {
            let (function, names) = call.strip_suffix(");")?.split_once(">(")?;
            let function = u8::from_str_radix(function, 16).ok()?;
            let names: Vec<&str> = names.split(',').collect();
            let (a, b) = (node(names.first()?)?, node(names.get(1)?)?);
            match node(names.get(2)?) {
                Some(c) if name.starts_with('n') => gates.push(Gate { function, inputs: [a, b, c] }),
                _ => outputs.push(Output::Absorbed(function, [a, b])),
            }
        } else if let Some((_, sum)) = value.split_once(".xor(") {
            outputs.push(Output::Sum(node(sum.strip_suffix(");")?)?, false));
        }
    }
    Some(circuits)
}

/// The file of the same circuits in operations of two inputs.
///
/// Each node is taken with the sign that makes it 0 at the first point of the S-box, where all inputs are 0:
/// then no gate needs a complement. Only outputs that are 1 there do.
pub fn binary(circuits: &[Circuit; 8]) -> String {
    let formulas = Formulas::new();
    let (mut body, mut operations) = (String::new(), 0);
    for (index, circuit) in circuits.iter().enumerate() {
        let (lines, count) = binary_lines(circuit, &formulas);
        operations += count;
        let _ = write!(body, "\n/// S{}: {count} operations.\n", index + 1);
        let _ = writeln!(body, "#[inline(always)]");
        let _ = writeln!(body, "fn s{}<W: Binary>(inputs: [W; 6], left: [W; 4]) -> [W; 4] {{", index + 1);
        let _ = writeln!(body, "    let [n0, n1, n2, n3, n4, n5] = inputs;");
        let _ = writeln!(body, "    let [l0, l1, l2, l3] = left;");
        body += &lines;
        let _ = writeln!(body, "    [o0, o1, o2, o3]\n}}");
    }
    format!(
        "//! The circuits of [`super::circuits_ternary`] in operations of two inputs: {operations} in all, the sums with\n\
         //! the left half among them. Written by `examples/des_circuits`; not to be edited.\n\n\
         use super::bit_sliced_words::Binary;\n{body}{}",
        choice("Binary")
    )
}

fn binary_lines(circuit: &Circuit, formulas: &Formulas) -> (String, usize) {
    let tables = circuit.tables();
    let (mut text, mut count) = (String::new(), 0);
    let mut lines = |name: String, function: u8, names: [String; 3], nodes: [u64; 3]| {
        // With the signs that the nodes have here.
        let turned: [bool; 3] = nodes.map(|table| table & 1 == 1);
        let cell = |cell: usize| (0..3).fold(cell, |cell, at| cell ^ usize::from(turned[at]) << (2 - at));
        let mut signed = (0..8).fold(0u8, |all, at| all | (function >> cell(at) & 1) << at);
        let signs = nodes.map(|table| if table & 1 == 1 { !table } else { table });
        let care = (0..8).fold(0u8, |all, at| {
            let met = (0..3).fold(!0, |set, input| {
                set & if at >> (2 - input) & 1 == 1 { signs[input] } else { !signs[input] }
            });
            all | u8::from(met != 0) << at
        });
        let is_turned = signed & 1 == 1;
        signed ^= if is_turned { 0xff } else { 0 };
        let formula = formulas.shortest(signed, care);
        let mut values = names.to_vec();
        for (step, (operation, a, b)) in formula.iter().enumerate() {
            let is_last = step + 1 == formula.len();
            let value = if is_last { name.clone() } else { format!("{name}_{step}") };
            let _ = writeln!(text, "    let {value} = {}.{}({});", values[*a], operation.name(), values[*b]);
            values.push(value);
        }
        count += formula.len();
        is_turned
    };
    for (at, gate) in circuit.gates.iter().enumerate() {
        let names = gate.inputs.map(|input| format!("n{input}"));
        lines(format!("n{}", at + INPUTS), gate.function, names, gate.inputs.map(|input| tables[input]));
    }
    let mut last = String::new();
    for (at, output) in circuit.outputs.iter().enumerate() {
        let left = format!("l{at}");
        let is_turned = match *output {
            Output::Sum(node, _) => {
                let _ = writeln!(last, "    let o{at} = {left}.xor(n{node});");
                tables[node] & 1 == 1
            }
            Output::Absorbed(function, [a, b]) => {
                let names = [format!("n{a}"), format!("n{b}"), format!("n{b}")];
                // Without the left half: an input of three that repeats the second.
                let bits = [0usize, 0, 2, 2, 4, 4, 6, 6];
                let plain = (0..8).fold(0u8, |all, cell| all | (function >> bits[cell] & 1) << cell);
                let is_turned = lines(format!("o{at}_sum"), plain, names, [tables[a], tables[b], tables[b]]);
                let _ = writeln!(last, "    let o{at} = {left}.xor(o{at}_sum);");
                is_turned
            }
        };
        count_last(&mut last, at, is_turned);
    }
    let turned = last.matches(".not()").count();
    (text + &last, count + 4 + turned)
}

fn count_last(text: &mut String, at: usize, is_turned: bool) {
    if is_turned {
        let _ = writeln!(text, "    let o{at} = o{at}.not();");
    }
}

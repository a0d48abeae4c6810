//! Reads what `objdump --disassemble` writes, in the AT&T notation.

/// One function of a listing.
pub struct Function<'a> {
    /// Its demangled name.
    pub name: &'a str,
    /// Its instructions in the order of their addresses.
    pub code: Vec<Instruction<'a>>,
}

/// One instruction: the sources come first, the destination last.
pub struct Instruction<'a> {
    /// Where it stands, as printed.
    pub address: &'a str,
    pub mnemonic: &'a str,
    pub operands: Vec<&'a str>,
}

impl Function<'_> {
    /// Whether a register whose name begins so is used.
    pub fn uses(&self, register: &str) -> bool {
        let named = format!("%{register}");
        self.code.iter().any(|instruction| instruction.operands.iter().any(|text| text.contains(&named)))
    }
}

/// The functions of a listing.
pub fn functions(listing: &str) -> Vec<Function<'_>> {
    let mut functions = Vec::new();
    for line in listing.lines() {
        if let Some(name) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")) {
            functions.push(Function { name: name.1, code: Vec::new() });
        } else if let (Some(function), Some(instruction)) = (functions.last_mut(), instruction(line)) {
            function.code.push(instruction);
        }
    }
    functions
}

fn instruction(line: &str) -> Option<Instruction<'_>> {
    let (address, text) = line.trim_start().split_once(":\t")?;
    let text = text.split(" #").next().unwrap_or(text).trim();
    let (mut mnemonic, mut rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    while matches!(
        mnemonic,
        "rep" | "repz" | "repnz" | "lock" | "notrack" | "bnd" | "data16" | "cs" | "{evex}"
    ) {
        (mnemonic, rest) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
    }
    Some(Instruction { address, mnemonic, operands: operands(rest.trim()) })
}

/// Splits at the commas outside parentheses.
fn operands(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut from) = (0, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '<' | '{' => depth += 1,
            ')' | '>' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[from..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

//! The program `cryptand-card`: a card, or the keeper.
#![forbid(unsafe_code)]

use std::process::ExitCode;

/// The heap for secrets; the contexts of the bound library lie there too.
#[global_allocator]
static HEAP: confine::arena::SecretHeap = confine::arena::SecretHeap::new();

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|text| text.to_string_lossy().into()).collect();
    card::program::main(&arguments)
}

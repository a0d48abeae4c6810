//! The program `cryptand-card`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

#[global_allocator]
static HEAP: card::arena::SecretHeap = card::arena::SecretHeap::new();

fn main() -> ExitCode {
    // The C library's contexts belong into the arena too.
    engine::serve_library_from_global_allocator();
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|text| text.to_string_lossy().into()).collect();
    card::program::main(&arguments)
}

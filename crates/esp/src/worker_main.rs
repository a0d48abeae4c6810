//! The program `cryptand-esp-worker`: holds the keys of SAs and carries packets. It is started by `cryptand-esp`, with
//! its channel as descriptor 3.
#![forbid(unsafe_code)]

#[macro_use]
extern crate saying;

use std::process::ExitCode;

/// Keys, and whatever they leave behind, lie in memory that is kept for secrets.
#[global_allocator]
static HEAP: confine::arena::SecretHeap = confine::arena::SecretHeap::new();

/// Exit code where the arguments make no sense.
const USAGE: u8 = 2;
/// Exit code where it cannot begin, or go on: the reason stands on standard error.
const FAILED: u8 = 3;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match arguments.as_slice() {
        [] => {}
        [only] if only == "--version" => {
            let version = env!("CARGO_PKG_VERSION");
            return saying::answer("cryptand-esp-worker", format_args!("cryptand-esp-worker {version}\n"));
        }
        _ => {
            eprintln!(
                "cryptand-esp-worker: it is started by `cryptand ipsec up`, not by hand; it takes no arguments but --version"
            );
            return ExitCode::from(USAGE);
        }
    }
    // Keys that functions keep in their frames lie in the arena as well.
    match confine::arena::on_arena_stack(esp::worker::main) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("cryptand-esp-worker: {why}");
            ExitCode::from(FAILED)
        }
    }
}

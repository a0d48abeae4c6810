//! The program `cryptand-esp-worker`: holds the keys of SAs and carries packets. It is started by `cryptand-esp`, with
//! its channel as descriptor 3.
#![forbid(unsafe_code)]

#[macro_use]
extern crate saying;

use std::process::ExitCode;

/// All heap memory comes from the arena for secrets, so that keys and their copies stay in it.
#[global_allocator]
static HEAP: confine::arena::SecretHeap = confine::arena::SecretHeap::new();

/// Exit code for arguments that make no sense.
const USAGE: u8 = 2;
/// Exit code if the worker cannot begin or go on: the reason stands on standard error.
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
    // The stack lies in the arena as well, for keys in the frames of functions.
    match confine::arena::on_arena_stack(esp::worker::main) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("cryptand-esp-worker: {why}");
            ExitCode::from(FAILED)
        }
    }
}

//! The program `cryptand-agent`: inherits a listening socket, gives up all other access, and holds keys.
#![forbid(unsafe_code)]

#[macro_use]
extern crate saying;

use confine::{arena, sandbox};
use link::Listener;
use std::process::ExitCode;

#[global_allocator]
static HEAP: arena::SecretHeap = arena::SecretHeap::new();

const HELP: &str = "\
Holds unlocked OpenPGP private keys of a user for a time. It is started by `cryptand agent unlock`, not by hand: descriptor 3
is the socket that it listens on. It ends when it holds no key and nobody is connected.

Usage: cryptand-agent [--version | --help]
";

/// Exit code for wrong arguments.
const USAGE: u8 = 2;
/// Exit code if the agent cannot begin; the reason is on standard error.
const START: u8 = 3;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match arguments.as_slice() {
        [] => {}
        [only] if only == "--help" => {
            return saying::answer("cryptand-agent", format_args!("{HELP}"));
        }
        [only] if only == "--version" => {
            let version = env!("CARGO_PKG_VERSION");
            return saying::answer("cryptand-agent", format_args!("cryptand-agent {version}\n"));
        }
        _ => {
            eprint!("cryptand-agent: unknown arguments {arguments:?}\n\n{HELP}");
            return ExitCode::from(USAGE);
        }
    }
    // Keys that functions keep in their frames lie in the arena as well.
    match arena::on_arena_stack(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("cryptand-agent: {why}");
            ExitCode::from(START)
        }
    }
}

fn run() -> Result<(), String> {
    let no_socket = |cause: &dyn std::fmt::Display| {
        format!(
            "descriptor 3 is no listening socket ({cause}); this program is started by `cryptand agent unlock`"
        )
    };
    let listener = sandbox::inherited_socket().map_err(|cause| no_socket(&cause))?;
    let listener = Listener::from_fd(listener).map_err(|cause| no_socket(&cause))?;
    listener.set_nonblocking(true).map_err(|cause| no_socket(&cause))?;
    // The agent leaves the terminal's session, whose end would end the agent too. The call fails harmlessly if the
    // process already leads a session.
    let _ = rustix::process::setsid();
    let uid = rustix::process::geteuid().as_raw();
    // What the engine sets up once, at first use, needs files, which the sandbox takes away.
    openpgp::engine().random(&mut [0; 32]);
    rustix::param::page_size();
    let entered = sandbox::enter().map_err(|error| error.to_string())?;
    let lacks: Vec<_> = confine::lacks(&entered).into_iter().map(str::to_owned).collect();
    agent::serve::serve(&listener, uid, &lacks).map_err(|cause| format!("the listening socket: {cause}"))
}

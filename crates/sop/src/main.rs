//! The program `cryptand-sop`.
#![forbid(unsafe_code)]

#[macro_use]
extern crate saying;

use cryptand_sop::Tool;
use cryptand_sop::words::{self, Words};
use sop::cli::Variant;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// Keeps keys, passphrases and session keys out of core files and of other processes of the same user.
fn keep_out_of_dumps() -> rustix::io::Result<()> {
    use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
}

fn main() -> ExitCode {
    if let Err(cause) = keep_out_of_dumps() {
        eprintln!("cryptand-sop: keep this process out of core files: {cause}");
        return ExitCode::FAILURE;
    }
    let typed: Vec<_> = std::env::args_os().skip(1).collect();
    match words::read(&typed) {
        Words::Plain => sop::cli::main(&mut Tool::program(), Variant::Full),
        // The crate reads the process's own command line: it becomes itself with another one.
        Words::Otherwise(words) => {
            let failed = match std::env::current_exe() {
                Ok(own) => Command::new(own).args(words).exec(),
                Err(error) => error,
            };
            eprintln!("cryptand-sop: cannot start itself: {failed}");
            ExitCode::FAILURE
        }
        Words::Refused { said, code } => {
            eprintln!("cryptand-sop: {said}");
            ExitCode::from(code)
        }
    }
}

//! The program `cryptand-sop`: reads the command line and hands it to the crate `sop`.
#![forbid(unsafe_code)]

#[macro_use]
extern crate saying;

use cryptand_sop::Tool;
use cryptand_sop::words::{self, Words};
use sop::cli::Variant;
use std::any::Any;
use std::os::unix::process::CommandExt;
use std::panic::{self, AssertUnwindSafe};
use std::process::{Command, ExitCode};

/// Keeps keys, passphrases and session keys out of core files and of other processes of the same user.
fn keep_out_of_dumps() -> rustix::io::Result<()> {
    use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
}

/// Start of the message with which `println!` panics.
const UNWRITTEN: &str = "failed printing to stdout: ";

/// Has the crate `sop` carry out the command line. The crate ends the process itself. Only if it cannot print versions,
/// profiles or verified signatures, `println!` panics: this becomes an error without a number of its own in the draft.
fn carry_out() -> ExitCode {
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if cause_of(info.payload()).is_none() {
            default(info);
        }
    }));
    let carried = || -> ExitCode { sop::cli::main(&mut Tool::program(), Variant::Full) };
    panic::catch_unwind(AssertUnwindSafe(carried)).unwrap_or_else(|payload| {
        match cause_of(payload.as_ref()) {
            Some(cause) => {
                eprintln!("cryptand-sop: write to standard output: {cause}");
                ExitCode::FAILURE
            }
            None => panic::resume_unwind(payload),
        }
    })
}

/// Why standard output could not be written, if a panic is about that.
fn cause_of(payload: &(dyn Any + Send)) -> Option<&str> {
    payload.downcast_ref::<String>()?.strip_prefix(UNWRITTEN)
}

fn main() -> ExitCode {
    if let Err(cause) = keep_out_of_dumps() {
        eprintln!("cryptand-sop: keep this process out of core files: {cause}");
        return ExitCode::FAILURE;
    }
    let typed: Vec<_> = std::env::args_os().skip(1).collect();
    match words::read(&typed) {
        Words::Plain => carry_out(),
        // The crate reads the process's own command line, so the process runs itself again with the other one.
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

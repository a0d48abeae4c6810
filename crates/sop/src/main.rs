//! The program `cryptand-sop`.
#![forbid(unsafe_code)]

use cryptand_sop::Tool;
use cryptand_sop::words::{self, Words};
use sop::cli::Variant;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
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

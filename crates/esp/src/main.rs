//! The program `cryptand-esp`: runs the supervisor of a data plane, and the commands that `cryptand ipsec` passes on.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    esp::program::main(&arguments)
}

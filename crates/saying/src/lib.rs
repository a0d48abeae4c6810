//! Messages of programs on standard error, and the short answers to `--help` and `--version`.
//!
//! The standard library's `eprintln!` and `println!` panic if their stream cannot be written: a log on a full disk, a
//! pipe that nobody reads. The program would then exit with the code of a panic. The macros of this crate have the same
//! names: a program that begins with
//!
//! ```text
//! #[macro_use]
//! extern crate saying;
//! ```
//!
//! writes its messages if it can, and goes on if it cannot. Results are not messages: their callers write them, and a
//! failure to write them is an error.
#![forbid(unsafe_code)]

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

/// Writes a line to standard error; a line that cannot be written is lost.
#[macro_export]
macro_rules! eprintln {
    () => { $crate::say(format_args!("\n")) };
    ($($text:tt)*) => { $crate::say(format_args!("{}\n", format_args!($($text)*))) };
}

/// As `eprintln!`, without the end of the line.
#[macro_export]
macro_rules! eprint {
    ($($text:tt)*) => { $crate::say(format_args!($($text)*)) };
}

/// Writes to standard error in one piece, since other threads and processes write there too. Text that cannot be
/// written is lost.
pub fn say(text: Arguments<'_>) {
    let _ = io::stderr().write_all(text.to_string().as_bytes());
}

/// Writes an answer to standard output. The exit code is success if the text was written or its reader has closed the
/// pipe; else 1, with the cause on standard error.
pub fn answer(program: &str, text: Arguments<'_>) -> ExitCode {
    let mut output = io::stdout().lock();
    match output.write_all(text.to_string().as_bytes()).and_then(|()| output.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            say(format_args!("{program}: write to standard output: {error}\n"));
            ExitCode::FAILURE
        }
    }
}

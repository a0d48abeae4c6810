//! What programs say to people, and the short answers to `--help` and `--version`.
//!
//! The standard library's `eprintln!` and `println!` panic where their stream cannot be written: a log on a full disk,
//! a pipe that nobody reads. What a program did would then end with the code of a panic. The macros of this crate have
//! the same names: a program that begins with
//!
//! ```text
//! #[macro_use]
//! extern crate saying;
//! ```
//!
//! says what can be said, and goes on. Results are no sayings: their callers write them, and failing to is an error.
#![forbid(unsafe_code)]

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

/// Says a line on standard error; where it cannot be written, it is lost.
#[macro_export]
macro_rules! eprintln {
    () => { $crate::say(format_args!("\n")) };
    ($($text:tt)*) => { $crate::say(format_args!("{}\n", format_args!($($text)*))) };
}

/// The same without the end of a line.
#[macro_export]
macro_rules! eprint {
    ($($text:tt)*) => { $crate::say(format_args!($($text)*)) };
}

/// Writes to standard error in one piece, since others write there too; what cannot be written is lost.
pub fn say(text: Arguments<'_>) {
    let _ = io::stderr().write_all(text.to_string().as_bytes());
}

/// Writes an answer to standard output. The exit code is that of success where it was written, or where its reader has
/// gone; else 1, and standard error says why.
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

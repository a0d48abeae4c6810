//! Lines for whoever reads standard error, as a rule the service manager.

use std::fmt::Arguments;
use std::io::{self, Write};

/// Writes a line to standard error, where that can be written: a reader that has gone or a disk that is full ends no connection, as
/// the panic of `eprintln!` would.
pub(crate) fn say(line: Arguments<'_>) {
    // In one piece: other threads write there too.
    let _ = io::stderr().write_all(format!("cryptand-tls: {line}\n").as_bytes());
}

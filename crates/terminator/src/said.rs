//! Lines on standard error, which the service manager usually reads.

use std::fmt::Arguments;

/// Writes a line to standard error; an error of writing is ignored.
pub(crate) fn say(line: Arguments<'_>) {
    saying::say(format_args!("cryptand-tls: {line}\n"));
}

//! Lines for whoever reads standard error, as a rule the service manager.

use std::fmt::Arguments;

/// Writes a line to standard error, where that can be written.
pub(crate) fn say(line: Arguments<'_>) {
    saying::say(format_args!("cryptand-tls: {line}\n"));
}

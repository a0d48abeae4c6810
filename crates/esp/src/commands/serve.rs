//! Runs the supervisor in this process.

use crate::supervisor::{self, Serve};
use std::io::Write;
use std::process::ExitCode;

/// Serves, and reports readiness to the service manager and, by standard output, to the command `up`.
pub fn run(settings: &Serve) -> ExitCode {
    let ready = || {
        // The parent may be gone; the supervisor serves all the same.
        let _ = writeln!(std::io::stdout(), "ready");
        if let Err(cause) = home::notify("READY=1") {
            tell!("the service manager was not told that the data plane serves: {cause}");
        }
    };
    match supervisor::serve(settings, ready) {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            tell!("{cause}");
            ExitCode::FAILURE
        }
    }
}

//! The supervisor in this process.

use crate::supervisor::{self, Serve};
use std::io::Write;
use std::process::ExitCode;

/// Serves, and says so to whoever waits: the service manager, and the command `up` by its standard output.
pub fn run(settings: &Serve) -> ExitCode {
    let ready = || {
        // Who started it may have gone; it serves all the same.
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

//! The commands `speed`, `report` and `bench`, one file each.

mod bench;
mod failure;
mod report;
mod speed;

pub use bench::run as bench;
pub use failure::Failure;
pub use report::run as report;
pub use speed::run as speed;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag that an interrupt or SIGTERM raises; a second one ends the process at once.
fn interrupt() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))
            .and_then(|_| flag::register(signal, Arc::clone(&stop)))
            .map_err(Failure::io("watch for interrupts"))?;
    }
    Ok(stop)
}

/// Writes to standard output; a reader that closed it becomes a [`Failure`] rather than a panic.
fn print(text: &str) -> Result<(), Failure> {
    let mut output = std::io::stdout().lock();
    output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .map_err(Failure::io("write to standard output"))
}

/// Writes a value as a line of JSON.
fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::io("write JSON")(error.into()))?;
    print(&(text + "\n"))
}

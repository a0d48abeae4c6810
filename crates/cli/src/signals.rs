//! Signals that end a command's work in order.

use crate::failure::Failure;
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag that an interrupt or SIGTERM raises; a second one ends the process at once.
pub fn interrupt() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))
            .and_then(|_| flag::register(signal, Arc::clone(&stop)))
            .map_err(Failure::io("watch for interrupts"))?;
    }
    // A write beyond the limit of file sizes then fails, instead of killing the process silently (SIGXFSZ).
    flag::register(SIGXFSZ, Arc::default()).map_err(Failure::io("watch for signals"))?;
    Ok(stop)
}

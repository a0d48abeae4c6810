//! The processors that this process may use.

use std::sync::atomic::{AtomicU64, Ordering};

/// Processors that this process may use; asked once.
pub(crate) fn usable() -> u64 {
    static PROCESSORS: AtomicU64 = AtomicU64::new(0);
    match PROCESSORS.load(Ordering::Relaxed) {
        0 => {
            let count = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
            PROCESSORS.store(count, Ordering::Relaxed);
            count
        }
        count => count,
    }
}

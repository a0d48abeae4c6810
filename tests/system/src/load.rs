//! What threads under load share with the test that watches them.

use crate::PATIENCE;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Waits until a counter has grown by so much.
///
/// # Panics
/// After [`PATIENCE`].
pub fn until_grown(counter: &AtomicU64, by: u64) {
    let (end, before) = (Instant::now() + PATIENCE, counter.load(Ordering::Relaxed));
    while counter.load(Ordering::Relaxed) < before + by {
        assert!(Instant::now() < end, "no progress");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Sets a flag when it is dropped, also by a panic: other threads must not go on for ever.
#[derive(Debug)]
pub struct Stop<'a>(pub &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

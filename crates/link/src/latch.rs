//! A latch, which opens once and for good, and the threads of one process that wait for it.

use crate::process::timespec;
use crate::world;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const CLOSED: u32 = 0;
/// Closed, and at least one thread sleeps.
const AWAITED: u32 = 1;
const OPEN: u32 = 2;
/// How long a waiter sleeps before it looks again, if no thread wakes it.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// A latch: closed, then open for good. Opening it costs one exchange if no thread waits.
#[derive(Debug, Default)]
pub struct Latch(AtomicU32);

impl Latch {
    /// A closed latch.
    pub const fn new() -> Self {
        Self(AtomicU32::new(CLOSED))
    }

    /// Whether the latch is open; everything written before it was opened is then seen.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.0.load(Ordering::Acquire) == OPEN
    }

    /// Opens the latch, and wakes the threads that wait.
    pub fn open(&self) {
        if self.0.swap(OPEN, Ordering::Release) == AWAITED {
            world::futex_wake_all(&self.0);
        }
    }

    /// Waits until the latch is open: for ever, in a child of fork whose parent was to open it.
    pub fn wait(&self) {
        while !self.is_open() {
            // Fails if the latch has just been opened, and if other threads wait already.
            let _ = self.0.compare_exchange(CLOSED, AWAITED, Ordering::Relaxed, Ordering::Relaxed);
            world::futex_wait(&self.0, AWAITED, &timespec(LOOK_AGAIN));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn all_who_wait_are_woken_and_see_what_was_done_before() {
        for round in 0..200_u64 {
            let (latch, done) = (Latch::new(), AtomicU64::new(0));
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        latch.wait();
                        assert_eq!(done.load(Ordering::Relaxed), round + 1);
                    });
                }
                if round % 2 == 0 {
                    while latch.0.load(Ordering::Relaxed) != AWAITED {
                        std::thread::yield_now();
                    }
                }
                assert!(!latch.is_open());
                done.store(round + 1, Ordering::Relaxed);
                latch.open();
            });
            assert!(latch.is_open());
            latch.wait();
        }
    }
}

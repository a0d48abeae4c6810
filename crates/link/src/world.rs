//! The only access of the crates on a request's path to time, sleep, other processes, and memory from the system.
//!
//! In programs these functions are plain system calls. Only the workspace of the simulation enables
//! the feature `world`. With it a thread may be given another world (`enter`), in which time, the
//! order of steps, and faults come from a seed. No released program can have that feature: the
//! build fails unless it is told that it builds the simulation.
//!
//! Code that reads a clock, sleeps, waits for a descriptor or checks a process must call this
//! module, or its behaviour cannot be repeated from a seed; `tests/house` checks that.

#[cfg(feature = "world")]
mod simulated;
#[cfg(not(feature = "world"))]
mod system;

#[cfg(feature = "world")]
pub use simulated::*;
#[cfg(not(feature = "world"))]
pub use system::*;

use std::time::Duration;
use wire::registers::RegisterSet;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this exit code.
    Code(i32),
    /// By the signal of this number.
    Signal(i32),
}

/// Events that the simulation is told, because it cannot see them by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A card put a request, given by its payload, into the batch that it runs next.
    Admitted(&'a [u8]),
    /// A card runs what it admitted.
    Running,
    /// A card publishes that it holds current keys of these registers of the first domain.
    Holds(RegisterSet),
    /// A card also opens tokens under keys of these registers of the first domain that become
    /// current next.
    Expects(RegisterSet),
    /// A job of the storage thread, given by its label, is about to be done.
    Storing(&'a str),
}

/// The time since an instant; zero for a later instant.
#[inline]
pub fn elapsed(since: std::time::Instant) -> Duration {
    now().saturating_duration_since(since)
}

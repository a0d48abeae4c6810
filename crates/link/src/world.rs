//! The only access of the crates on a request's path to time, sleep, other processes, and memory from the system.
//!
//! In programs these functions are plain system calls. With the feature `world`,
//! which only the workspace of the simulation enables, a thread may be given another world
//! (`enter`), in which time, the order of steps, and faults come from a seed. No released program
//! can be built with it: the build fails unless it is told that it builds the simulation.
//!
//! Code that reads a clock, sleeps, waits for a descriptor or checks a process must go through here, or
//! a seed does not repeat what it does; `tests/house` checks that.

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

/// What the simulation is told, beside what it sees by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A card put a request, given by its payload, into the batch that it runs next.
    Admitted(&'a [u8]),
    /// A card runs what it admitted.
    Running,
    /// A card holds current keys of these registers of the first domain, and says so.
    Holds(RegisterSet),
    /// Beside them, it opens tokens under keys of these registers of the first domain that are current soon.
    Expects(RegisterSet),
    /// A job of the storage thread, given by its label, is about to be done.
    Storing(&'a str),
}

/// How long ago an instant was.
#[inline]
pub fn elapsed(since: std::time::Instant) -> Duration {
    now().saturating_duration_since(since)
}

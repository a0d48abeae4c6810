//! The atomics of windows and sequence numbers: in the model check, loom's take their place.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering};

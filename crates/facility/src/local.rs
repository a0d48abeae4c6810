//! What runs in the caller's own thread.

pub(crate) mod caller;
pub mod clear;

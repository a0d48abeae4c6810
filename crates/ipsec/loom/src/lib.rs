//! What threads share of an SA of `ipsec`, compiled against loom's atomics so that every order can be explored.
//!
//! The sources are those of `ipsec` itself. `cargo test --release --manifest-path crates/ipsec/loom/Cargo.toml` runs
//! the models in `tests/`.
#![forbid(unsafe_code)]

#[path = "../../src/replay.rs"]
pub mod replay;
#[path = "../../src/sequence.rs"]
pub mod sequence;

/// The atomics of both: here loom's.
mod atomics {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
}

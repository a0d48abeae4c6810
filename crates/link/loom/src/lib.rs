//! The protocols of `link`, compiled against loom's atomics so that every order can be explored.
//!
//! The source is that of `link` itself. `cargo test --release --manifest-path crates/link/loom/Cargo.toml`
//! runs the models in `tests/`.
#![forbid(unsafe_code)]

#[path = "../../src/accounts/cells.rs"]
pub mod cells;
#[path = "../../src/protocol.rs"]
pub mod protocol;
#[path = "../../src/slots.rs"]
pub mod slots;

/// The atomics of all: here loom's.
mod atomics {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};
}

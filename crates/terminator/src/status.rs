//! What `cryptand tls status` shows: asks a running program for its report, and makes text for people of it.

mod ask;
mod shown;

pub use ask::{StatusError, run};

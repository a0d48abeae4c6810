//! The command `cryptand tls status`: asks a running program for its report, and shows it as text for people.

mod ask;
mod shown;

pub use ask::{StatusError, run};

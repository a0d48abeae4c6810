//! Every use of every key: the keys, and for each key parameter of the verb table the requests that use it.

mod blocks;
mod others;
pub mod pins;
pub mod samples;
pub mod ways;

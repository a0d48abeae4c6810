//! What load generators share: when to start, percentiles of times, and processor time used.
//!
//! | need | where |
//! |---|---|
//! | when starts of an open loop are due | [`Pace`] |
//! | the highest rate that holds | [`Search`] |
//! | percentiles of times | [`Times`] |
//! | processor time of processes and threads | [`usage`] |
#![forbid(unsafe_code)]

mod knee;
mod pace;
mod times;
pub mod usage;

pub use knee::Search;
pub use pace::{Pace, TIMER};
pub use times::{LATE, Times};

//! What programs have in common that put load on others and say what became of it.
//!
//! | need | where |
//! |---|---|
//! | when starts of an open loop are due | [`Pace`] |
//! | percentiles of times | [`Times`] |
//! | processor time of processes and threads | [`usage`] |
#![forbid(unsafe_code)]

mod pace;
mod times;
pub mod usage;

pub use pace::{Pace, TIMER};
pub use times::{LATE, Times};

//! The card's process, a card on a thread, and what its roles may do.

mod common;
mod confinement;
mod generating;
mod holding;
mod keeper;
mod matrix;
mod memory;
mod samples;
mod serving;
mod sharing;

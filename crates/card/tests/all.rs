//! The card's process, and a card on a thread.

mod common;
mod confinement;
mod generating;
mod holding;
mod keeper;
mod memory;
mod samples;
mod serving;
mod sharing;

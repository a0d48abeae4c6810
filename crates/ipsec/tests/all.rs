//! What the protocol promises, against twins that were written apart from it.

mod batches;
mod common;
mod inner;
mod pieces;
mod protocol;
mod replay;
mod tables;
mod tally;
mod transport;
mod vectors;

//! What streams promise, against the library that everybody has.

mod borders;
mod common;
mod hostile;
mod properties;
mod round_trip;
mod vectors;

//! What pipelines promise: what goes in, what comes out, and what is left where they fail.

mod common;
mod examples;
mod long;
mod overlap;
mod round_trip;
mod safety;
mod signatures;

//! What the engine promises, tried from outside.

mod aes;
mod batches;
mod cavp;
mod cfb;
mod columns;
mod cross;
mod curve_lanes;
mod des;
mod examples;
mod hash_lanes;
mod layers;
mod level;
mod mdc;
mod refusals;
mod rsa;
mod rsa_lanes;
mod wycheproof;

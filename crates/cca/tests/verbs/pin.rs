//! The PIN verbs, and what the standards publish.

mod blocks;
mod cards;
mod methods;
mod requests;
mod translate;
mod verify;

pub use requests::*;

//! The PIN verbs, and what the standards publish.

mod blocks;
mod cards;
mod counting;
mod methods;
mod passes;
mod security_codes;
mod serials;
mod translate;
pub mod translate2;
mod twin_formats;
pub mod twins;
mod verify;
pub mod verify2;

pub use verb_requests::pin::*;

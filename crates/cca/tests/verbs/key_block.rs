//! The verbs of key blocks: a file each, the requests, and a second way to make blocks.

mod combine;
mod export;
mod import;
mod optional;
mod psec;
#[path = "../../../payments/src/key_block/published.rs"]
pub mod published;
pub mod requests;
pub mod twin;

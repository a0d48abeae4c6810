//! Attacks of a tenant who has the raw verbs and keys for one purpose each: what such a key is kept from must not come
//! out by another way.
//!
//! Each is carried out where it works first, so that it is known to bite: in a role that lets a key serve two purposes,
//! or on a model of a card that shows what ours seals.

pub mod chaining;
mod exchange;
mod export;
pub mod numbers;
mod payloads;
mod private_blocks;
mod signatures;
mod transport;
mod variable;

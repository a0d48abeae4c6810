//! What happens to secure keys: wrapping under master keys, and the CCA verbs.
//!
//! A verb is a resumable computation: straight-line code that asks for kernel work and goes on with
//! the answers. A [`Processor`] runs a whole [`Batch`] of them side by side: every computation runs
//! until it asks, then one kernel pass does everything that was asked, grouped by kind, then every
//! computation goes on. Driven alone, a verb is a pure function of request, master keys and random
//! numbers, and a batch gives the same answers as its requests alone.
//!
//! ```text
//! Batch --begin--> computations --ask--> queues by kind --one pass--> answers --go on--> replies
//!                      ^----------------------------------------------------'
//! ```
//!
//! | need | item |
//! |---|---|
//! | master keys of every domain, running batches | [`Processor`] |
//! | requests and their answers | [`Batch`], [`Incoming`], [`Answer`] |
//! | verification patterns of master keys | [`patterns`] |
//!
//! This crate does no I/O, reads no clock and starts no thread. Clear symmetric keys live as long as
//! the request that unwrapped them; prepared RSA keys are kept, bounded, until their master key goes.
#![forbid(unsafe_code)]

mod batch;
mod call;
mod chaining;
mod key;
mod parity;
mod pass;
pub mod patterns;
mod pka;
mod processor;
mod registers;
mod search;
mod self_test;
mod verbs;
mod wipe;
mod wrap;

pub use batch::{Answer, Batch, BatchFull, Incoming};
pub use processor::{LoadError, Processor};
pub use registers::{DomainPatterns, RegisterPatterns};
pub use search::{Found, Search};
pub use self_test::SelfTestFailure;

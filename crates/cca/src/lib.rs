//! Operations with secure keys: wrapping under master keys, and the CCA verbs.
//!
//! A verb is a resumable computation: straight-line code that requests kernel work and continues with
//! the results. A [`Processor`] runs a whole [`Batch`] of them side by side: every computation runs
//! until it requests work, then one kernel pass does all the requested work, grouped by kind, then every
//! computation continues. Run alone, a verb is a pure function of request, master keys and random
//! numbers, and a batch gives the same answers as its requests run alone.
//!
//! ```text
//! Batch --begin--> computations --ask--> queues by kind --one pass--> answers --go on--> replies
//!                      ^----------------------------------------------------'
//! ```
//!
//! | need | item |
//! |---|---|
//! | master keys of every domain, running batches, what of a batch was done when | [`Processor`], [`BatchStep`] |
//! | requests and their answers | [`Batch`], [`Incoming`], [`Answer`] |
//! | what is counted of wrong PINs | [`Count`], [`Failures`] |
//! | verification patterns of master keys | [`patterns`] |
//!
//! This crate does no I/O, reads no clock and starts no thread. Clear symmetric keys live as long as the request that
//! unwrapped them; prepared RSA and elliptic-curve keys are cached, within a bound, until their master key is replaced.
#![forbid(unsafe_code)]

mod batch;
mod call;
mod chaining;
mod chip;
mod counting;
mod ground;
mod kernel;
mod key;
mod parity;
mod pass;
pub mod patterns;
mod pin;
mod pka;
mod prepared;
mod processor;
mod registers;
mod search;
mod self_test;
mod verbs;
mod wipe;
mod wrap;

pub use batch::{Answer, Batch, BatchFull, Incoming};
pub use counting::{Count, Failures};
pub use ground::BatchStep;
pub use processor::{LoadError, Processor};
pub use registers::{DomainPatterns, RegisterPatterns};
pub use search::{Found, Search};
pub use self_test::SelfTestFailure;

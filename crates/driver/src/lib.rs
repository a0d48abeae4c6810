//! `cryptand tls drive`: load for TLS servers, and what became of it.
//!
//! | need | where |
//! |---|---|
//! | what was typed, and what it means | [`Typed`], [`Plan`] |
//! | files, names of hosts and processes that it names | [`Outside`] |
//! | a run from begin to end | [`run`] |
//! | loops of connections, one a thread | `looped` |
//! | the highest rate that is served in time | `knee` |
//! | one connection | `transaction` |
//! | signatures of the client's certificate, in lanes | `signing` |
//! | the TLS library of connections | `library`, `gnutls_ffi` |
//! | sessions to go on with | `cache` |
//! | counts | `tally` |
//! | when connections of an open loop begin, percentiles, processor time | [`pacing`] |
//! | the table and the JSON | `report` |
//!
//! A loop holds as many connections as it was given, each in a slot; what it waits for, it waits for with all of them
//! at once.
#![deny(unsafe_code)]

mod cache;
mod conduct;
#[allow(unsafe_code)]
mod gnutls_ffi;
mod http;
mod knee;
mod library;
mod looped;
mod names;
mod outside;
mod plan;
mod report;
mod signing;
mod socket;
mod tally;
mod target;
mod transaction;

pub use conduct::{DriveFailure, run};
pub use outside::{Machine, Outside};
pub use plan::{Plan, Typed};

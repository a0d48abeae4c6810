//! `cryptand tls drive`: load for TLS servers, and a report of the results.
//!
//! | need | where |
//! |---|---|
//! | the options, checked and resolved | [`Drive`](options::tls::Drive), [`Plan`] |
//! | files, host names and processes named in the options | [`Outside`] |
//! | a run from begin to end | [`run`] |
//! | loops of connections, one a thread | `looped` |
//! | the search for the highest rate served in time | `knee` |
//! | one connection | `transaction` |
//! | signatures of the client's certificate, in lanes | `signing` |
//! | the TLS library of connections | `library`, `gnutls_ffi` |
//! | sessions for resumption | `cache` |
//! | counts and times | `tally` |
//! | when connections of an open loop begin, percentiles, processor time | [`pacing`] |
//! | the table and the JSON | `report` |
//!
//! A loop holds a fixed number of connections, each in a slot, and waits for all of them at once.
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
pub use plan::Plan;

//! Workloads over TCP and UDP that measure networks and tunnels: client, server and report.
//!
//! | need | where |
//! |---|---|
//! | the options, checked and resolved | [`Load`], [`Plan`] |
//! | a run from begin to end | [`drive()`] |
//! | the report of a run, as JSON and as a table | [`Report`] |
//! | the server for all workloads | [`Server`] |
//! | two network namespaces with a wire between them | [`namespaces::Pair`] |
//! | the commands of the command line | [`command`] |
//! | the header of a connection | [`Header`] |
//!
//! The workloads are those of the mainframe's Linux report on IPsec, in the terms of netperf and uperf: *rr* (request
//! and response over connections that stay), *crr* (connect, request, response, close), *stream* (one way, as fast as
//! it goes), and beside them *udp* (datagrams, with what was lost) and *ping* (one short request at a time over one
//! connection). Every byte is checked at the end that receives it: a tunnel that changes, repeats or swaps bytes fails
//! the run.
#![forbid(unsafe_code)]

mod client;
pub mod command;
mod drive;
mod failure;
mod header;
pub mod namespaces;
mod pattern;
mod plan;
mod report;
mod server;
mod wake;

pub use drive::{Progress, drive};
pub use failure::DriveFailure;
pub use header::{Header, HeaderError};
pub use options::ipsec::{Load, Workload};
pub use plan::Plan;
pub use report::{Datagrams, Percentiles, ProcessTime, Report, Starts};
pub use server::{Counters, Options as ServerOptions, Running, Server, Stopper};

//! TLS with keys on cards, measured as people use it: whole servers, and clients that load them.
//!
//! - [`desk`]: keys, certificates and programs; [`cards`]: the home that holds the keys; [`server`]: servers of ours
//!   and nginx, on a processor; [`drive`]: the load driver, whose figures count only where it did what was asked.
//! - [`promised`]: the promised measures, beside nginx. [`tables`]: the published ones, for the report.

pub mod cards;
pub mod desk;
pub mod drive;
pub mod promised;
pub mod server;
pub mod tables;

//! Workloads, statistics, published figures and reports: the house measures itself through the path
//! that its users take.
//!
//! - [`workload`]: one measurement, `cryptand speed`.
//! - [`target`]: where it runs; [`helper`] for levels below the machine's own.
//! - [`peer`]: another library, by its own benchmark; called directly, in [`bench`], by the room `peers`.
//! - [`report`]: the published sweeps on this machine, `cryptand report`.
//! - [`container`]: native against a tenant in a container of its own, `cryptand report --container`.
//! - [`tenancy`]: queues and tenants, many of them on timed cards: the last part of the report.
//! - [`bench`]: the promised measures, `make bench`.
//! - [`openpgp`]: OpenPGP files, by whole programs: a part of bench and report.
//! - [`published`]: the figures that they are set beside, and [`claims`] what their text says.
//! - [`statistics`]: medians with their spread, ratios taken in one run, fits.
//!
//! The lab knows engine and facility as any program does; it never sees a card from within.
#![forbid(unsafe_code)]

pub mod bench;
pub mod claims;
pub mod container;
mod digits;
mod guest;
pub mod helper;
pub mod machine;
pub mod openpgp;
pub mod operation;
pub mod peer;
pub mod published;
mod random;
pub mod report;
pub mod results;
pub mod statistics;
pub mod target;
pub mod tenancy;
pub mod workload;

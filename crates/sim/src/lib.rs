//! Facility, link, daemon and cards in one process, with time, the order of steps, and what goes
//! wrong from a seed.
//!
//! | need | module |
//! |---|---|
//! | what a seed is like | [`plan`] |
//! | whose turn it is; processes, time, death | [`stage`] |
//! | the hooks of the rooms | [`world`] |
//! | the programs as actors | [`programs`], [`client`], [`clear`], [`officer`] |
//! | what clients ask | [`requests`] |
//! | tenants and their limits | [`tenants`] |
//! | what tenants may do, and who changes it | [`rights`] |
//! | a key store that others change, and who does | [`outside`] |
//! | answers that wait for an audit log | [`audits`] |
//! | what befalls them | [`fate`] |
//! | shared memories, and what the dead left in them | [`memory`] |
//! | what must hold | [`oracle`] |
//! | one run from its seed | [`run`] |
//!
//! What is real and what is not stands in `docs/simulation.md`.

pub mod audits;
pub mod clear;
pub mod client;
pub mod fate;
pub mod hostile;
pub mod memory;
pub mod officer;
pub mod oracle;
pub mod outside;
pub mod plan;
pub mod programs;
pub mod requests;
pub mod rights;
pub mod run;
pub mod stage;
pub mod tenants;
pub mod world;

pub use plan::{Plan, Role, Sabotage};
pub use run::{Outcome, run};

//! Facility, link, daemon and cards in one process; a seed determines time, the order of steps, and the
//! faults.
//!
//! | need | module |
//! |---|---|
//! | what a seed contains | [`plan`] |
//! | scheduling; processes, time, death | [`stage`] |
//! | the hooks of the simulated crates | [`world`] |
//! | the programs as actors | [`programs`], [`client`], [`clear`], [`officer`] |
//! | the clients' requests | [`requests`] |
//! | tenants and their limits | [`tenants`] |
//! | the officer who changes the tenants' rights | [`rights`] |
//! | a key store that another host changes, and that host | [`outside`] |
//! | answers that wait for an audit log | [`audits`] |
//! | a tenant whose requests kill cards | [`hostile`] |
//! | faults | [`fate`] |
//! | shared memories, and what the dead left in them | [`memory`] |
//! | what must hold, for tenants, their rights and the keys of other hosts too | [`oracle`] |
//! | what the programs said last | [`said`] |
//! | one run from its seed | [`run`] |
//!
//! `docs/project/simulation.md` says what is real and what is simulated.

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
pub mod said;
pub mod stage;
pub mod tenants;
pub mod world;

pub use plan::{Plan, Role, Sabotage};
pub use run::{SimulationOutcome, run};

//! Workloads, statistics, published figures and reports: the house measures itself through the path
//! that its users take.
//!
//! From below, each folder naming only those before it (a law of `tests/folders.rs`):
//!
//! - [`kit`]: figures, charts, pages, journals, the machine. [`load`]: one measurement, `cryptand speed`; where it
//!   runs, helpers for levels below the machine's own, other libraries by their own benchmark.
//! - [`published`]: the figures that ours are set beside. [`experiment`]: cases that run several times, by one runner;
//!   what became of a published statement, and what is promised of a measure.
//! - The subjects: [`engine`] beside other libraries, [`cards`], [`payments`], [`queues`] and tenants, many of them on
//!   timed cards, [`openpgp`] files by whole programs, [`tls`] servers as clients see them, [`ipsec`] tunnels between
//!   namespaces, [`sweeps`] as the published reports have them, [`container`] of a tenant's own, [`faults`].
//! - Readers of them: [`report`], `cryptand report`, and [`promises`], `make bench`.
//!
//! The lab knows engine and facility as any program does; it never sees a card from within.
#![forbid(unsafe_code)]

#[macro_use]
extern crate saying;

pub mod cards;
pub mod container;
pub mod engine;
pub mod experiment;
pub mod faults;
pub mod ipsec;
pub mod kit;
pub mod load;
pub mod openpgp;
pub mod payments;
pub mod promises;
pub mod published;
pub mod queues;
pub mod report;
pub mod sweeps;
pub mod tls;

/// Does the work of a process that was started for a measurement, and then ends it. A program that measures calls this
/// first; in every other process it returns at once.
pub fn serve_if_asked() {
    let asked = load::helper::serve_if_asked()
        .or_else(engine::levels::serve_if_asked)
        .or_else(openpgp::serve_if_asked)
        .or_else(ipsec::serve_if_asked);
    let Some(served) = asked else { return };
    std::process::exit(match served {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("cryptand: {error}");
            1
        }
    });
}

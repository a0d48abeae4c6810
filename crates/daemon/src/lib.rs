//! The control plane of a home: key store, labels, tenants, supervision of cards.
//!
//! It is not on the path of a request: it decides who may attach a queue, makes the queue's memory,
//! and hands one end to the client and the other, with a grant, to a card. It holds no clear key and no
//! master key; what passes through it for the keeper is sealed.
//!
//! | need | module |
//! |---|---|
//! | key records that survive a loss of power | [`store`], on the thread of [`storage`] |
//! | verbs of key records, queries | [`verbs`] |
//! | serial numbers, by which programs tell cards apart | [`serials`] |
//! | who may use a home | [`access`] |
//! | rights: roles, labels | [`rights`]; which roles cards know: [`card_roles`] |
//! | which tenant a process belongs to, and its row in accounts | [`tenants`] |
//! | which labels are open | [`labels`] |
//! | tenants that cards die with, and their confinement | [`quarantine`] |
//! | queues that bounds kept tenants from, counted | [`queue_refusals`] |
//! | wrong PINs, counted | [`pin_failures`] |
//! | the life of cards and keeper, as data | [`supervise`] |
//! | the other programs of a system service, with users of their own | [`service`] |
//! | lines for an auditor, and their files | [`audit`], [`audit_log`] |
//! | bounds on log lines that others cause | [`bounded`] |
//! | what a later daemon must know | [`rows`] |
//! | arguments, log, exit codes | [`command`] |
//! | the event loop, and all of the above at work | [`serve`] |
//!
//! Cards and keeper outlive a daemon that is killed; the next one adopts them, with their queues and
//! the opened labels. A daemon that is told to stop stops them too.
#![forbid(unsafe_code)]

#[macro_use]
extern crate saying;

pub mod access;
pub mod audit;
pub mod audit_log;
pub mod backup;
pub mod bounded;
pub mod card_roles;
pub mod command;
pub mod error;
pub mod health;
pub mod labels;
pub mod log;
mod manager;
pub mod outbox;
pub mod pin_failures;
pub mod poller;
pub mod quarantine;
mod queue_refusals;
pub mod rights;
pub mod rows;
pub mod serials;
pub mod serve;
pub mod service;
pub mod storage;
pub mod store;
pub mod supervise;
pub mod tenants;
mod unattended;
pub mod verbs;

pub use error::DaemonError;
pub use serve::{Daemon, Ended, Ready, StartedBy};

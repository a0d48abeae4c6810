//! Everything that two processes exchange, as data types: request frames, the verb table, key references, grants,
//! control-plane messages and the named bounds of all of them.
//!
//! This crate holds no logic beyond reading and writing its own layouts: no I/O, no clock, no
//! cryptography. Every reader treats its input as a claim made by another process.
//!
//! | need | module |
//! |---|---|
//! | a limit on anything | [`bounds`] |
//! | which verbs exist, their parameters, class and rights | [`verb`] |
//! | the header and the arguments of a request or a reply | [`frame`] |
//! | return and reason codes | [`code`] |
//! | the certificate chain of a key record | [`chain`] |
//! | labels and references to opened keys | [`key`] |
//! | what a queue may do | [`grant`] |
//! | access-control points, and roles that hold them | [`point`], [`role`] |
//! | which labels a tenant may open, and what for | [`pattern`], [`uses`] |
//! | which verbs handle clear keys | [`secret`] |
//! | stored decimalisation tables, failures of PINs | [`pin`] |
//! | which master-key registers a card holds | [`registers`] |
//! | tenants, and changes of tenants and cards | [`tenant`] |
//! | messages between client, daemon, card and keeper | [`control`] |
#![forbid(unsafe_code)]

pub mod bounds;
mod card;
pub mod chain;
pub mod code;
pub mod control;
pub mod frame;
pub mod grant;
pub mod key;
mod level;
mod parameters;
pub mod pattern;
pub mod pin;
pub mod point;
pub mod registers;
pub mod role;
pub mod secret;
pub mod tenant;
pub mod uses;
pub mod verb;

pub use code::Codes;
pub use key::{KeyReference, Label};
pub use parameters::Verb;

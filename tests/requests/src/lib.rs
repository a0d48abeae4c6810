//! Requests of verbs for tests, the keys that they take, and second ways to what they answer.
//!
//! `crates/payments` and `crates/cca` test key blocks and verbs with them, `crates/card` what roles admit of them,
//! `tests/twins` what chip cards compute beside another library.
#![allow(clippy::new_without_default, reason = "keys are made by verbs that run")]

pub mod book;
pub mod chip;
pub mod exercised;
pub mod format_preserving;
pub mod key_block;
pub mod keys;
pub mod pairs;
pub mod peer;
pub mod pin;
pub mod pin2;
pub mod pka;
pub mod published;
pub mod support;
pub mod twin;
pub mod unique;
pub mod uses;
pub mod wrapped;

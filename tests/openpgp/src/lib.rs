//! Other people's OpenPGP programs behind one interface, so that any of them can write, and any read, a table of
//! messages.
//!
//! # Which module for which need
//!
//! | need | module |
//! |---|---|
//! | the interface of every peer | [`peer`] |
//! | Cryptand in this process | [`ours`] |
//! | GnuPG 2.2 | [`gpg`] |
//! | `sq` 0.27 | [`sq`] |
//! | `sqop`, `pgpainless-cli`, `cryptand-sop` | [`sop`] |
//! | `pysequoia`, OpenPGP.js, gopenpgp: helper programs in other languages | [`helper`] |
//! | running programs, and folders for it | [`run`] |
//! | messages that standards print | [`samples`] |
#![forbid(unsafe_code)]

pub mod gpg;
pub mod helper;
pub mod ours;
pub mod peer;
pub mod run;
pub mod samples;
pub mod sop;
pub mod sq;

//! Derived unique keys per transaction: the data of each derivation step, which need no key.

pub mod aes;
pub mod tdes;

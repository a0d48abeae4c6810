//! Derived unique keys per transaction: what is known of the derivations without a key.

pub mod aes;
pub mod tdes;

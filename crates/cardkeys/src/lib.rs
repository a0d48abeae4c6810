//! OpenPGP private keys whose operations run on the cards of a home, for `openpgp`, which itself does no input or
//! output.
//!
//! | need | item |
//! |---|---|
//! | an RSA key that is a label: its private numbers are never in this process | [`LabelKey`] |
//! | clear RSA keys of this process, on the home's accelerators | [`Accelerators`] |
#![forbid(unsafe_code)]

mod accelerators;
mod label;

pub use accelerators::Accelerators;
pub use label::{LabelKey, Role};

#[cfg(test)]
mod tests;

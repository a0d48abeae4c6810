//! Keys as other programs write them, in PEM and DER, and as key tokens.
//!
//! | need | item |
//! |---|---|
//! | public keys: tokens, PEM, SubjectPublicKeyInfo | [`PublicKey`] |
//! | private keys of PEM files, as external tokens that a card imports | [`PrivateKey`], [`PrivateUse`] |
//! | private keys of PEM files that sign in this process | [`SigningKey`] |
//! | signatures as certificates and TLS encode them | [`ecdsa_sig_value`], [`ecdsa_numbers`] |
#![forbid(unsafe_code)]

mod private;
mod public;
mod signature;
mod signing;

pub use private::{PrivateKey, PrivateUse};
pub use public::PublicKey;
pub use signature::{ecdsa_numbers, ecdsa_sig_value};
pub use signing::SigningKey;

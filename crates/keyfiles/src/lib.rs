//! Keys as other programs write them, in PEM and DER, and as key tokens.
//!
//! | need | item |
//! |---|---|
//! | public keys: tokens, PEM, SubjectPublicKeyInfo | [`PublicKey`] |
//! | private keys of PEM files, as external tokens that a card imports | [`PrivateKey`], [`PrivateUse`] |
#![forbid(unsafe_code)]

mod private;
mod public;

pub use private::{PrivateKey, PrivateUse};
pub use public::PublicKey;

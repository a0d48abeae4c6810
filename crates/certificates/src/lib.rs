//! X.509 certificates (RFC 5280) for private keys that never leave a card.
//!
//! | need | item |
//! |---|---|
//! | the public key under a label | [`public_key`] |
//! | sign with the key under a label | [`LabelSigner`] |
//! | ask an authority for a certificate (PKCS #10, RFC 2986) | [`request`] |
//! | a certificate without an authority | [`self_signed`] |
//! | read the certificates of a PEM file | [`Chain`] |
//! | find what a client would refuse | [`Chain::check`] |
//! | let clients in by their certificates, or refuse them | [`Authorities::check`] |
#![forbid(unsafe_code)]

mod chain;
mod check;
mod clients;
mod error;
mod name;
mod plain_lists;
mod signer;
mod write;

pub use chain::{Chain, Described, roots};
pub use check::{Checked, Finding, Severity};
pub use clients::{Authorities, CLIENT_DEPTH_MAX, Client, ListFacts, Refused};
pub use error::CertificateError;
pub use keyfiles::{PublicKey, ecdsa_sig_value};
pub use name::Name;
pub use signer::{LabelSigner, public_key};
pub use write::{DAYS_MAX, Wanted, request, self_signed};

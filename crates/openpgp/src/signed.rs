//! What a signature is over, as its hash takes it, and whom it names (RFC 9580, 5.2.1 and 5.2.4): texts, keys, user
//! ids.

mod issuer;
mod keys;
mod text;

pub use issuer::Issuer;
pub(crate) use keys::{Subject, key_part, user_part};
pub(crate) use text::{Spec, TextHash, trailer};

//! The data that signatures cover, in the form in which they are hashed, and the issuers that signatures name (RFC
//! 9580, 5.2.1 and 5.2.4). The data are texts, keys and user ids.

mod issuer;
mod keys;
mod text;

pub use issuer::Issuer;
pub(crate) use keys::{Subject, key_part, user_part};
pub(crate) use text::{Spec, TextHash, trailer};

//! What a signature is over, as its hash takes it (RFC 9580, 5.2.1 and 5.2.4): texts, keys, user ids.

mod keys;
mod text;

pub(crate) use keys::{Subject, key_part, user_part};
pub(crate) use text::{Spec, TextHash, trailer};

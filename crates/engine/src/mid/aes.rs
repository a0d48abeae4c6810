//! Modes for AES only, and many chained AES streams side by side.

pub(crate) mod aead;
pub(crate) mod cfb;
pub(crate) mod columns;
pub(crate) mod eax;
pub(crate) mod gcm;
pub(crate) mod hctr2;
pub(crate) mod ocb;
pub(crate) mod streams;
pub(crate) mod wrap;

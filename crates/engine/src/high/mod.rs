//! Constructions over the algorithms of `mid`: MACs, padding, key derivation.

pub(crate) mod hkdf;
pub(crate) mod hmac;
pub(crate) mod mac;
pub(crate) mod padding;

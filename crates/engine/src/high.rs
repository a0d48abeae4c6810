//! Constructions over the algorithms of `mid`: MACs, padding, key derivation, sealing.

pub(crate) mod columns;
pub(crate) mod hkdf;
pub(crate) mod hmac;
pub(crate) mod kbkdf;
pub(crate) mod key_wrap;
pub(crate) mod mac;
pub(crate) mod mdc;
pub(crate) mod padding;
pub(crate) mod sealing;

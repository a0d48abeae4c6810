//! The bound C library, AWS-LC: one file for each family of functions.

pub(crate) mod aead;
pub(crate) mod aes;
pub(crate) mod bignum;
pub(crate) mod dsa;
pub(crate) mod ec;
pub(crate) mod hash;
pub(crate) mod internal;
pub(crate) mod memory;
pub(crate) mod prime;
pub(crate) mod prime_field;
pub(crate) mod random;
pub(crate) mod rsa;
pub(crate) mod xcurve;

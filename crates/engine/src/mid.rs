//! Algorithms and batches over the kernels of `low`. Arguments are checked here.

pub(crate) mod aes;
pub(crate) mod chacha;
pub(crate) mod cipher;
pub(crate) mod columns;
pub(crate) mod des;
pub(crate) mod dsa;
pub(crate) mod ec;
pub(crate) mod hash;
pub(crate) mod prime_field;
pub(crate) mod random;
pub(crate) mod rsa;

//! Algorithms and batches over the kernels of `low`; what is asked of them is checked here.

pub(crate) mod aead;
pub(crate) mod aes_streams;
pub(crate) mod cfb;
pub(crate) mod cipher;
pub(crate) mod des;
pub(crate) mod des_forms;
pub(crate) mod des_streams;
pub(crate) mod des_texts;
pub(crate) mod eax;
pub(crate) mod ec;
pub(crate) mod gcm;
pub(crate) mod hash;
pub(crate) mod hash_lanes;
pub(crate) mod hctr2;
pub(crate) mod ocb;
pub(crate) mod prime_field;
pub(crate) mod random;
pub(crate) mod rsa;
pub(crate) mod rsa_batch;
mod rsa_lane_keys;
mod rsa_lanes;
mod rsa_primes;
mod rsa_sieve;

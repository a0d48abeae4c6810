//! See `fuzz_targets::openpgp_gnupg_aead`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::openpgp_gnupg_aead(data));

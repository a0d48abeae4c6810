//! See `fuzz_targets::openpgp_armor`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::openpgp_armor(data));

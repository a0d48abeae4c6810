//! See `fuzz_targets::openpgp_certificate`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::openpgp_certificate(data));

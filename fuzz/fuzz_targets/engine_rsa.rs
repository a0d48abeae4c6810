//! See `fuzz_targets::engine_rsa`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::engine_rsa(data));

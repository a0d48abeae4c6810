//! See `fuzz_targets::engine_aead`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::engine_aead(data));

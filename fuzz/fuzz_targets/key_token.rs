//! See `fuzz_targets::key_token`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::key_token(data));

//! See `fuzz_targets::inflate`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::inflate(data));

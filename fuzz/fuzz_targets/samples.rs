//! See `fuzz_targets::samples`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::samples(data));

//! See `fuzz_targets::selectors`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::selectors(data));

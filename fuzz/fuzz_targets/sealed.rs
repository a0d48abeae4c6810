//! See `fuzz_targets::sealed`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::sealed(data));

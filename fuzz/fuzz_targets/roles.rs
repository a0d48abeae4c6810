//! See `fuzz_targets::roles`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::roles(data));

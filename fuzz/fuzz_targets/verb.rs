//! See `fuzz_targets::verb`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::verb(data));

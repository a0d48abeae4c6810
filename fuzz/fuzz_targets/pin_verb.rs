//! See `fuzz_targets::pin_verb`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::pin_verb(data));

//! See `fuzz_targets::pin_failures`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::pin_failures(data));

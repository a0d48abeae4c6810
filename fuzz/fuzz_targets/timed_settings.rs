//! See `fuzz_targets::timed_settings`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::timed_settings(data));

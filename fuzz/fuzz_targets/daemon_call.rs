//! See `fuzz_targets::daemon_call`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::daemon_call(data));

//! See `fuzz_targets::daemon_clients`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::daemon_clients(data));

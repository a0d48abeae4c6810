//! See `fuzz_targets::client_queue`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::client_queue(data));

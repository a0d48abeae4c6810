//! See `fuzz_targets::agent_requests`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::agent_requests(data));

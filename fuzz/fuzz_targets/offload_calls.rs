//! See `fuzz_targets::offload_calls`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::offload_calls(data));

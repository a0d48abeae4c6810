//! See `fuzz_targets::frame_request`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::frame_request(data));

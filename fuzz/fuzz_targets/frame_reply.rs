//! See `fuzz_targets::frame_reply`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::frame_reply(data));

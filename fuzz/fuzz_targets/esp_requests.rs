//! See `fuzz_targets::esp_requests`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::esp_requests(data));

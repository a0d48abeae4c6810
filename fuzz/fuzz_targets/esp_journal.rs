//! See `fuzz_targets::esp_journal`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::esp_journal(data));

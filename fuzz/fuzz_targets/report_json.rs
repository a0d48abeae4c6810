//! See `fuzz_targets::report_json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::report_json(data));

//! See `fuzz_targets::emv_data`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::emv_data(data));

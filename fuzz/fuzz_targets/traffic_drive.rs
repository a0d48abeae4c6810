//! See `fuzz_targets::traffic_drive`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::traffic_drive(data));

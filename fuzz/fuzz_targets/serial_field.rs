//! See `fuzz_targets::serial_field`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::serial_field(data));
